"""
Progress: one live line on a terminal, an occasional plain line elsewhere.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = ["Meter"]

EVERY = 2.0
"""Seconds between plain lines."""


class Meter:
    """
    Shows how far a run has come, on *console*.  *size* is how many bytes there are to read, if that is known.
    """

    def __init__(self, console: Console, title: str, *, size: int | None = None) -> None:
        self.console = console
        self.title = title
        self.messages = 0
        self.blocked = 0
        self._read = 0
        self._size = size
        self._said = time.monotonic()
        self._live: Progress | None = None
        if console.is_terminal:
            columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), TimeElapsedColumn()]
            self._live = Progress(*columns, console=console, transient=True)
            self._task = self._live.add_task(escape(title), total=size)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        else:
            self.say(f"{self.title} ...")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """
        Print a line without disturbing the live one.
        """
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def step(self, *, size: int, message: bool = True, blocked: bool = False) -> None:
        """
        Count one line of *size* bytes.
        """
        self.messages += message
        self.blocked += blocked
        self._read += size
        if self._live is not None:
            self._live.update(self._task, completed=self._read, description=escape(f"{self.title}: {self._counts()}"))
        elif (now := time.monotonic()) - self._said >= EVERY:
            self._said = now
            share = f" ({100 * self._read // self._size} %)" if self._size else ""
            self.say(f"{self.title}: {self._counts()}{share}")

    def _counts(self) -> str:
        return f"{self.messages} messages, {self.blocked} blocked"
