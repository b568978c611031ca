"""A redis-server of the tests' own: on loopback, on a free port, with nothing on the disk; ended by its own process."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

__all__ = ["RedisServer"]

_PATIENCE = 20.0
"""Seconds within which the server must answer."""


class RedisServer:
    """A server that runs."""

    def __init__(self, command: str, folder: Path) -> None:
        """Start *command*, and wait until it answers."""
        self.port = _free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None
        self._command = [
            command, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            "--dir", str(folder), "--daemonize", "no",
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + _PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise RuntimeError("redis-server did not start")
            time.sleep(0.02)

    def stop(self) -> None:
        """End it: this very process and no other."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.wait(_PATIENCE)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as made:
                made.sendall(b"PING\r\n")
                return made.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
        return port
