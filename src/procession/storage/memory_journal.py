"""
InMemoryJournal: the runs of one process that may forget.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence

from procession.errors import RunNotFound, StoreError
from procession.storage.base import FINAL, UNCHANGED, WAITING, JournalRow, RunKind, RunRow, RunStatus, Unchanged

__all__ = ["InMemoryJournal"]

_ENDED = 1000
"""How many runs that have ended are remembered, so that a second resume is told so."""


class InMemoryJournal:
    """
    A ``JournalStore`` that lasts as long as the object.  It may be used from several threads.

    Of the runs that have ended the last thousand are kept.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rows: dict[str, RunRow] = {}
        self._entries: dict[str, dict[int, JournalRow]] = {}
        self._claims: dict[str, tuple[str, float]] = {}
        self._ended: dict[str, None] = {}
        self._graphs: dict[str, str] = {}

    async def add(self, row: RunRow, *, token: str | None = None, seconds: float = 0.0) -> bool:
        """
        Keep a new run, held by *token* for *seconds* if one is given; ``False`` where its id is known already.
        """
        with self._lock:
            if row.run_id in self._rows:
                return False
            now = self._clock()
            self._rows[row.run_id] = row.replace(created_at=now, updated_at=now, claimed=False, cancel_requested=False)
            if row.status in FINAL:
                self._remember_end(row.run_id)
            elif token is not None:
                self._claims[row.run_id] = (token, now + seconds)
            return True

    async def row(self, run_id: str) -> RunRow | None:
        """
        Return what is kept of a run as a whole, or ``None``.
        """
        with self._lock:
            return self._seen(run_id, self._clock())

    async def claim(
        self, run_id: str, token: str, seconds: float, *, of: Collection[RunStatus] = WAITING
    ) -> RunRow | None:
        """
        Take a run that is in one of the states *of* for *seconds*, or prolong a claim; ``None`` where that cannot be.
        """
        with self._lock:
            row = self._rows.get(run_id)
            if row is None or row.status not in of or row.status in FINAL:
                return None
            now = self._clock()
            holder, until = self._claims.get(run_id, (token, now))
            if holder != token and until > now:
                return None
            self._claims[run_id] = (token, now + seconds)
            return self._seen(run_id, now)

    async def write(
        self,
        run_id: str,
        token: str,
        rows: Sequence[JournalRow] = (),
        *,
        status: RunStatus | None = None,
        data: str | None | Unchanged = UNCHANGED,
        release: bool = False,
    ) -> bool:
        """
        Add *rows*, set what is given, and give the run back with *release*; ``False`` unless the token holds it.
        """
        with self._lock:
            row = self._rows.get(run_id)
            if row is None or row.status in FINAL or self._claims.get(run_id, ("", 0.0))[0] != token:
                return False
            self._add_rows(run_id, rows)
            if status is not None or data is not UNCHANGED:
                self._rows[run_id] = row.replace(
                    status=status or row.status,
                    data=row.data if isinstance(data, Unchanged) else data,
                    updated_at=self._clock(),
                )
            if release or status in FINAL:
                del self._claims[run_id]
            if status in FINAL:
                self._remember_end(run_id)
            return True

    async def entries(self, run_id: str, *, after: int = -1) -> list[JournalRow]:
        """
        Return the rows of a run whose ``seq`` is above *after*, in order.
        """
        with self._lock:
            kept = self._entries.get(run_id, {})
            return [kept[seq] for seq in sorted(kept) if seq > after]

    async def runs(
        self,
        *,
        owner: str | None = None,
        kind: RunKind | None = None,
        status: Collection[RunStatus] | None = None,
        resource_id: str | None = None,
        thread_id: str | None = None,
        parent_run_id: str | None = None,
        since: float | None = None,
        until: float | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        """
        Return runs, the newest first, without their ``data``, on pages of *limit*.

        Raises ``RunNotFound`` where the run *after* is not there.
        """
        asked = {
            "owner": owner, "kind": kind, "resource_id": resource_id, "thread_id": thread_id, "parent_run_id": parent_run_id,
        }  # fmt: skip
        wanted = {name: value for name, value in asked.items() if value is not None}
        with self._lock:
            if after is not None and after not in self._rows:
                raise RunNotFound(f"run {after!r}, after which the page is to begin, is not in the store")
            now = self._clock()
            found: list[RunRow] = []
            newest = sorted(self._rows.values(), key=lambda row: row.created_at)
            for row in reversed(newest):
                if after is not None:
                    after = None if row.run_id == after else after
                elif len(found) >= limit:
                    break
                elif (
                    all(getattr(row, name) == value for name, value in wanted.items())
                    and (status is None or row.status in status)
                    and (since is None or row.created_at >= since)
                    and (until is None or row.created_at < until)
                ):
                    found.append(row.replace(data=None, claimed=self._is_held(row.run_id, now)))
            return found

    async def request_cancel(self, run_id: str) -> bool:
        """
        Ask whoever holds the run to cancel it; ``False`` where the run is not there or has ended.
        """
        with self._lock:
            row = self._rows.get(run_id)
            if row is None or row.status in FINAL:
                return False
            self._rows[run_id] = row.replace(cancel_requested=True)
            return True

    async def delete(self, run_id: str) -> bool:
        """
        Remove a run and its rows; ``False`` where it is not there or somebody holds it.
        """
        with self._lock:
            if run_id not in self._rows or self._is_held(run_id, self._clock()):
                return False
            self._claims.pop(run_id, None)
            self._ended.pop(run_id, None)
            self._forget(run_id)
            return True

    async def save_graph(self, graph_hash: str, spec: str) -> None:
        """
        Keep a workflow as data, JSON, under its hash.
        """
        self._graphs[graph_hash] = spec

    async def graph(self, graph_hash: str) -> str | None:
        """
        Return a workflow as data, or ``None``.
        """
        return self._graphs.get(graph_hash)

    def _seen(self, run_id: str, now: float) -> RunRow | None:
        row = self._rows.get(run_id)
        return row.replace(claimed=True) if row is not None and self._is_held(run_id, now) else row

    def _is_held(self, run_id: str, now: float) -> bool:
        return self._claims.get(run_id, ("", now))[1] > now

    def _add_rows(self, run_id: str, rows: Sequence[JournalRow]) -> None:
        kept = self._entries.get(run_id, {})
        added: dict[int, JournalRow] = {}
        for row in rows:
            if row.seq in kept or row.seq in added:
                raise StoreError(f"run {run_id} has a row {row.seq} already")
            added[row.seq] = row
        if added:
            self._entries.setdefault(run_id, {}).update(added)

    def _remember_end(self, run_id: str) -> None:
        self._ended[run_id] = None
        if len(self._ended) > _ENDED:
            oldest = next(iter(self._ended))
            del self._ended[oldest]
            self._forget(oldest)

    def _forget(self, run_id: str) -> None:
        del self._rows[run_id]
        self._entries.pop(run_id, None)
