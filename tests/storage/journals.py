"""What the tests of journals share: rows, a clock that is set by hand, and how a store of either kind is made."""

from __future__ import annotations

from procession.storage.base import JournalRow, RunRow

RUN = RunRow(run_id="r", owner="agent", data='{"a":1}')
"""A run that waits."""


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def entry(seq: int, data: str | None = None, path: str = "step") -> JournalRow:
    """Return a row of a journal."""
    return JournalRow(seq=seq, kind="step", path=path, data=data)


def known(row: RunRow | None) -> tuple[str, str | None] | None:
    """Return what most tests ask of a run: its status and its data."""
    return None if row is None else (row.status, row.data)
