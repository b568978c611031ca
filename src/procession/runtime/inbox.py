"""
Inbox: what one reader has not read yet, and what becomes of it where there is too much.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Literal, TypeAlias

import anyio

from procession.runtime.events import Entry, Gap, Note

__all__ = ["BUFFER", "Inbox", "WhenFull", "is_output"]

WhenFull: TypeAlias = Literal["block", "drop"]
"""What happens where a reader lags behind: the run waits, or the reader's oldest outputs are left out."""
BUFFER: Final = 64
"""How many entries a reader may lag behind."""


def is_output(entry: Entry) -> bool:
    """
    Return whether *entry* is the output of a step, of which there may be any number.
    """
    return isinstance(entry, Note) and entry.type == "node.output"


class Inbox:
    """
    The entries that wait for one reader.

    With ``when_full="drop"`` at most *buffer* outputs are among them, the newest; so it is for a reader who has not
    begun, where the run keeps no outputs (*kept*).  All else stays, which is no more than the run's log holds anyway.
    """

    __slots__ = ("_held", "_recent", "_settled", "begun", "buffer", "closed", "kept", "signal", "when_full")

    def __init__(self, entries: list[Entry], when_full: WhenFull, buffer: int, *, kept: bool) -> None:
        self.when_full = when_full
        self.buffer = buffer
        self.kept = kept
        self.begun = False
        """Whether somebody reads, for whom the run may wait."""
        self.closed = False
        self.signal: anyio.Event | None = None
        self._settled = entries
        """What is not left out any more: the entries before the oldest output that may be."""
        self._recent: deque[Entry] = deque()
        self._held = 0
        """How many outputs are in ``_recent``."""

    @property
    def waiting(self) -> int:
        """
        How many entries wait to be read.
        """
        return len(self._settled) + len(self._recent)

    @property
    def full(self) -> bool:
        """
        Whether the run has to wait for the reader.
        """
        return self.begun and self.when_full == "block" and self.waiting >= self.buffer

    @property
    def filling(self) -> bool:
        """
        Whether the reader should have a turn, so that a run which never waits leaves out nothing for one that reads.
        """
        return self.begun and self.when_full == "drop" and self.waiting == self.buffer

    def put(self, entry: Entry) -> None:
        """
        Add an entry.
        """
        bounded = self.when_full == "drop" or not (self.begun or self.kept)
        output = bounded and is_output(entry)
        if not output and not self._recent:
            self._settled.append(entry)
            return
        self._recent.append(entry)
        if output:
            self._held += 1
            if self._held > self.buffer:
                self._shed()

    def _shed(self) -> None:
        """
        Leave out the oldest output: what follows it, up to the next, is settled.
        """
        settled, recent = self._settled, self._recent
        recent.popleft()
        self._held -= 1
        last = settled[-1] if settled else None
        if isinstance(last, Gap):
            last.count += 1
        else:
            settled.append(Gap(1))
        while not is_output(recent[0]):
            settled.append(recent.popleft())

    def take(self) -> list[Entry]:
        """
        Hand over all that waits.
        """
        entries, self._settled = self._settled, []
        if self._recent:
            entries.extend(self._recent)
            self._recent.clear()
            self._held = 0
        return entries

    def wake(self) -> None:
        """
        Let the reader look again, if it waits.
        """
        if self.signal is not None:
            self.signal.set()
            self.signal = None
