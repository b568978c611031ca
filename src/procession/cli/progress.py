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
from rich.table import Column

__all__ = ["Meter"]

EVERY = 2.0
"""Seconds between plain lines."""

BLINK = 0.1
"""Seconds between changes of the live line."""


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
            # The title alone gives way where the terminal is narrow.
            columns = [
                SpinnerColumn(),
                TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
                TextColumn("{task.fields[counts]}", table_column=Column(no_wrap=True)),
                BarColumn(24),
                TimeElapsedColumn(),
            ]
            self._live = Progress(*columns, console=console, transient=True, expand=True)
            self._task = self._live.add_task(escape(title), total=size, counts="")

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
        now = time.monotonic()
        if now - self._said < (BLINK if self._live is not None else EVERY):
            return
        self._said = now
        if self._live is not None:
            self._live.update(self._task, completed=self._read, counts=self._counts())
        else:
            share = f" ({100 * self._read // self._size} %)" if self._size else ""
            self.say(f"{self.title}: {self._counts()}{share}")

    def _counts(self) -> str:
        return f"{self.messages} message{'' if self.messages == 1 else 's'}, {self.blocked} blocked"
