"""A PostgreSQL of the tests' own: on loopback, on a free port, in a folder of its own; ended by its own process."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

__all__ = ["PostgresServer", "find_postgres"]

_PATIENCE = 60.0
"""Seconds within which the server must answer, or end."""

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "100",
    "shared_buffers": "32MB",
    "log_min_messages": "fatal",
}


def find_postgres() -> Path | None:
    """Return the folder of the server's programs: that on the path, or the newest one of Debian's."""
    command = shutil.which("initdb")
    if command is not None:
        return Path(command).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: float(file.parts[-3]))
    return found[-1].parent if found else None


class PostgresServer:
    """A server that runs.  Root, whom it refuses, has it run by the user ``postgres``."""

    def __init__(self, programs: Path) -> None:
        """Make a database, start its server, and wait until it answers."""
        self.port = _free_port()
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="procession-postgres-"))  # pytest's let no other user in
        self._data = self._folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._as_user: list[str] = []
        if os.geteuid() == 0:
            self._as_user = ["runuser", "-u", "postgres", "--"]
            shutil.chown(self._folder, "postgres")
        options = ["--username", "procession", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"]
        subprocess.run(
            [*self._as_user, str(programs / "initdb"), "-D", str(self._data), *options],
            check=True, stdout=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
        self.url = f"postgresql://procession@127.0.0.1:{self.port}/postgres"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {**_SETTINGS, "port": str(self.port), "unix_socket_directories": str(self._data)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self._process = subprocess.Popen(
            [*self._as_user, str(self._programs / "postgres"), "-D", str(self._data), *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
        until = time.monotonic() + _PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self.remove()
                raise RuntimeError("postgres did not start")
            time.sleep(0.05)

    def remove(self) -> None:
        """End it, and delete what it has kept."""
        self.stop()
        shutil.rmtree(self._folder)

    def stop(self, how: int = signal.SIGQUIT) -> None:
        """End it at once, without its clients being told: this very process and no other."""
        process, self._process = self._process, None
        if process is None:
            return
        number = self._number()
        if number is not None:
            os.kill(number, how)
        elif process.poll() is None:
            process.terminate()
        process.wait(_PATIENCE)

    def _number(self) -> int | None:
        """Return the id of the server's process, which is a child of ``runuser``."""
        try:
            return int((self._data / "postmaster.pid").read_text().split("\n", 1)[0])
        except (OSError, ValueError):
            return None

    def _answers(self) -> bool:
        """Return whether the server has written that it is ready, into the eighth line of its file."""
        try:
            return (self._data / "postmaster.pid").read_text().splitlines()[7].strip() == "ready"
        except (OSError, IndexError):
            return False


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
        return port
