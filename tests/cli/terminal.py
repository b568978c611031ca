"""
A command in a terminal of its own: what it shows, what is typed, and how it ends.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 30.0
"""Seconds after which what is waited for will not come."""


class Terminal:
    """
    A running command, and the screen that it writes to, as the bytes that came.
    """

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process = process
        self._screen = screen
        self._seen = b""
        self._read_to = 0

    @property
    def text(self) -> str:
        """
        All that was shown so far.
        """
        return self._seen.decode("utf-8", "replace")

    def until(self, text: str, *, pressing: str = "") -> str:
        """
        Read until *text* is shown, and return what came since the last time, *text* included.

        *pressing* is typed, and again after a second: Python misses a Ctrl-C that comes in the instant between showing a
        prompt and waiting for a key.
        """
        wanted = text.encode()
        begun = pressed = time.monotonic()
        self.type(pressing)
        while (found := self._seen.find(wanted, self._read_to)) < 0:
            now = time.monotonic()
            if pressing and now - pressed > 1.0:
                self.type(pressing)
                pressed = now
            came = self._more(1.0 if pressing else PATIENCE)
            if now - begun > PATIENCE or (not came and (not pressing or self.process.poll() is not None)):
                raise AssertionError(f"{text!r} did not come: {self.text[self._read_to :]!r}")
        end = found + len(wanted)
        shown, self._read_to = self._seen[self._read_to : end], end
        return shown.decode("utf-8", "replace")

    def type(self, text: str) -> None:
        """
        Type *text*; ``"\\x03"`` is Ctrl-C, ``"\\x04"`` Ctrl-D.
        """
        os.write(self._screen, text.encode())

    def ended(self) -> int:
        """
        Read until the command has ended and return its exit status.
        """
        while self._more():
            continue
        return self.process.wait(PATIENCE)

    def _more(self, patience: float = PATIENCE) -> bool:
        ready, _, _ = select.select([self._screen], [], [], patience)
        piece = b""
        with suppress(OSError):  # the other side is closed
            piece = os.read(self._screen, 65_536) if ready else b""
        self._seen += piece
        return piece != b""


@contextmanager
def terminal(
    arguments: Sequence[object], *, cwd: Path, columns: int = 80, environ: Mapping[str, str] | None = None
) -> Generator[Terminal]:
    """
    Run the command line in a terminal of this many columns, until the block is left.
    """
    screen, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    unset = {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"}
    kept = {name: value for name, value in os.environ.items() if name not in unset}

    def own_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C is for whoever has a terminal of its own

    program = "from procession.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
        stdin=end, stdout=end, stderr=end, cwd=cwd, preexec_fn=own_terminal,
        env={**kept, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(environ or {})},
    )  # fmt: skip
    os.close(end)
    try:
        yield Terminal(process, screen)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
        os.close(screen)
