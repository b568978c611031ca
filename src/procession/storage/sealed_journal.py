"""
SealedJournal: runs in any store of runs, whose content stands there as records do, encrypted or elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any, Self

import anyio

from procession.storage.base import UNCHANGED, WAITING, JournalRow, JournalStore, RunKind, RunRow, RunStatus, Unchanged
from procession.storage.records import Records, record_name

__all__ = ["SealedJournal"]

_DATA = record_name("run")


class SealedJournal:
    """
    A ``JournalStore`` that keeps runs in *store*, their data and that of their rows as *records* say.

    The rest stands as it does without: ids, states, times, whose they are, paths, and workflows as data.

    >>> import anyio
    >>> from procession.storage.cipher import new_key
    >>> from procession.storage.memory_journal import InMemoryJournal
    >>> async def main() -> tuple[str | None, bool]:
    ...     store = InMemoryJournal()
    ...     journal = SealedJournal(store, Records(key=new_key()))
    ...     await journal.add(RunRow(run_id="r", owner="support", data='{"secret":1}'))
    ...     return (await journal.row("r")).data, "secret" in (await store.row("r")).data
    >>> anyio.run(main)
    ('{"secret":1}', False)
    """

    def __init__(self, store: JournalStore, records: Records) -> None:
        self.store = store
        """Where the runs are."""
        self.records = records

    async def add(self, row: RunRow, *, token: str | None = None, seconds: float = 0.0) -> bool:
        """
        Keep a new run, held by *token* for *seconds* if one is given; ``False`` where its id is known already.

        Raises ``StoreError``, as every method does, where the store, the key or the sink cannot be used.
        """
        data = await self._written(row.run_id, _DATA, row.data)
        added = await self.store.add(row.replace(data=data), token=token, seconds=seconds)
        if not added:
            await self._let_go(row.run_id, [data])
        return added

    async def row(self, run_id: str) -> RunRow | None:
        """
        Return what is kept of a run as a whole, or ``None``.
        """
        return await self._opened(await self.store.row(run_id))

    async def claim(
        self, run_id: str, token: str, seconds: float, *, of: Collection[RunStatus] = WAITING
    ) -> RunRow | None:
        """
        Take a run that is in one of the states *of* for *seconds*, or prolong a claim; ``None`` where that cannot be.
        """
        return await self._opened(await self.store.claim(run_id, token, seconds, of=of))

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

        Where the store fails nobody knows here whether all was written: what stands elsewhere for it stays there.
        """
        old: list[str | None] = []
        new: list[str | None] = []
        try:
            for row in rows:
                new.append(await self._written(run_id, _entry(row.seq), row.data))
            kept = [row.replace(data=text) for row, text in zip(rows, new, strict=True)]
            if not isinstance(data, Unchanged):
                if self.records.has_sink:
                    before = await self.store.row(run_id)
                    old = [before.data] if before is not None else []
                data = await self._written(run_id, _DATA, data)
                new.append(data)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._let_go(run_id, new)
            raise
        written = await self.store.write(run_id, token, kept, status=status, data=data, release=release)
        await self._let_go(run_id, old if written else new)
        return written

    async def entries(self, run_id: str, *, after: int = -1) -> list[JournalRow]:
        """
        Return the rows of a run whose ``seq`` is above *after*, in order.
        """
        found = await self.store.entries(run_id, after=after)
        return [row.replace(data=await self._read(run_id, _entry(row.seq), row.data)) for row in found]

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
        """
        return await self.store.runs(
            owner=owner, kind=kind, status=status, resource_id=resource_id, thread_id=thread_id,
            parent_run_id=parent_run_id, since=since, until=until, after=after, limit=limit,
        )  # fmt: skip

    async def request_cancel(self, run_id: str) -> bool:
        """
        Ask whoever holds the run to cancel it; ``False`` where the run is not there or has ended.
        """
        return await self.store.request_cancel(run_id)

    async def delete(self, run_id: str) -> bool:
        """
        Remove a run, its rows and what they refer to; ``False`` where it is not there or somebody holds it.
        """
        row = await self.store.row(run_id)
        old = [row.data if row is not None else None, *[each.data for each in await self.store.entries(run_id)]]
        deleted = await self.store.delete(run_id)
        if deleted:
            await self.records.forget([one for one in old if one is not None], scope=_scope(run_id))
        return deleted

    async def save_graph(self, graph_hash: str, spec: str) -> None:
        """
        Keep a workflow as data, JSON, under its hash: it is code, and nobody's secret.
        """
        await self.store.save_graph(graph_hash, spec)

    async def graph(self, graph_hash: str) -> str | None:
        """
        Return a workflow as data, or ``None``.
        """
        return await self.store.graph(graph_hash)

    async def aclose(self) -> None:
        """
        Close the store, where it can be closed.
        """
        close: Any = getattr(self.store, "aclose", None)
        if close is not None:
            await close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _opened(self, row: RunRow | None) -> RunRow | None:
        if row is None or row.data is None:
            return row
        return row.replace(data=await self._read(row.run_id, _DATA, row.data))

    async def _written(self, run_id: str, name: str, data: str | None) -> str | None:
        return None if data is None else await self.records.write(data, scope=_scope(run_id), name=name)

    async def _read(self, run_id: str, name: str, data: str | None) -> str | None:
        return None if data is None else await self.records.read(data, scope=_scope(run_id), name=name)

    async def _let_go(self, run_id: str, stored: Sequence[str | None]) -> None:
        if self.records.has_sink:
            await self.records.let_go([one for one in stored if one is not None], scope=_scope(run_id))


def _scope(run_id: str) -> str:
    """
    Return what the records of a run are kept apart by: whoever writes a row knows its run, and not always whose it is.
    """
    return f"run:{run_id}"


def _entry(seq: int) -> str:
    return record_name("entry", str(seq))
