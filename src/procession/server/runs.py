"""
Runs: the runs that were seen of late, and those that a store keeps.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from procession.errors import RunNotFound
from procession.runtime.observer import Tap
from procession.runtime.run import Run
from procession.runtime.runtime import Runtime
from procession.server.redaction import DEFAULT, Redactor, redacted
from procession.storage.base import FINAL, RunRow

if TYPE_CHECKING:
    from procession.server.run_log import LoggedEvent
    from procession.server.seen_run import SeenRun

__all__ = ["Runs"]

_FEW: Final = 10
"""How many events are redacted where they are asked for."""
_POLL: Final = 0.5
"""Seconds after which a store is asked again for what has happened to a run that goes on in another process."""


class Runs:
    """
    The runs of an app: an observer of its runtimes, and what is shown of each run.

    At most *max_runs* are kept, the oldest that have ended go first; of each at most *max_events* events.
    """

    def __init__(
        self,
        *,
        redact: Redactor | None = DEFAULT,
        max_runs: int = 200,
        max_events: int = 10_000,
        max_size: int = 128 * 1024 * 1024,
    ) -> None:
        self.redact = redact
        self.max_runs = max_runs
        self.max_events = max_events
        self.max_size = max_size
        """How many characters the events of all of them have together."""
        self._runs: dict[str, SeenRun] = {}
        self._runtimes: list[Runtime] = []
        """Those whose stores are asked for what is not in memory."""

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[SeenRun]:
        return iter(tuple(self._runs.values()))

    def get(self, run_id: str) -> SeenRun | None:
        """
        Return a run that is in memory.
        """
        return self._runs.get(run_id)

    # -- an observer

    def watch(self, runtime: Runtime) -> None:
        """
        See the runs of *runtime* from now on, once however often it is said.
        """
        if self not in runtime.observers:
            runtime.observers += (self,)
        if runtime not in self._runtimes:
            self._runtimes.append(runtime)

    def observe(self, run: Run[Any, Any], /) -> Tap | None:
        """
        Return what takes down the log of *run*.
        """
        from procession.server.run_tap import RunTap

        return RunTap(run, self._seen(run.id), self._begin)

    def _seen(self, run_id: str) -> SeenRun:
        from procession.server.run_log import RunLog  # with the first run: an app may be made of agents that never run
        from procession.server.seen_run import SeenRun

        seen = self._runs.get(run_id)
        if seen is None:
            self._make_room()
            log = RunLog(run_id, max_events=self.max_events, max_size=self.max_size // 8, redact=self.redact)
            seen = self._runs[run_id] = SeenRun(run_id, log)
        return seen

    def _begin(self, run: Run[Any, Any], seen: SeenRun) -> bool:
        """
        Note that *run* begins; whether it is inside of one that goes on already under the same id.
        """
        self._runs.setdefault(run.id, seen)
        if seen.run is not None:
            return True
        seen.run = run
        seen.went_on = seen.went_on or (run.state.history is not None and not seen.log.next_seq)
        seen.graph_hash = getattr(run.definition, "graph_hash", "") or seen.graph_hash
        seen.resource_id = run.resource_id if run.resource_id is not None else seen.resource_id
        outer = run.scope.outer
        seen.outer_run_id = outer.run_id if outer is not None else None
        return False

    async def told_before(self, run_id: str) -> list[LoggedEvent]:
        """
        Return the events of a run that is not in memory, for :meth:`take_up` once it is ours; of any other none.

        Raises ``RunNotFound``.
        """
        from procession.server.kept_runs import kept_events

        if run_id in self._runs:
            return []
        return await kept_events(*await self._kept(run_id), None)

    def take_up(self, run: Run[Any, Any], before: Sequence[LoggedEvent]) -> None:
        """
        Let the log of a run that goes on here begin with the events *before*: who has read those goes on behind them.
        """
        seen = self._seen(run.id)
        if not before or seen.log.next_seq:
            return
        for event in before:
            seen.log.append(
                event.type, {name: value for name, value in event.data.items() if name not in ("seq", "type")}
            )
        first = before[0].data
        seen.went_on, seen.created_at, seen.input = True, first["ts"], first["payload"].get("input")

    def _make_room(self) -> None:
        size = sum(seen.log.size for seen in self._runs.values())
        for seen in [one for one in self._runs.values() if one.run is None]:
            if len(self._runs) < self.max_runs and size <= self.max_size:
                return
            size -= seen.log.size
            self.forget(seen.run_id)

    def forget(self, run_id: str) -> bool:
        """
        Drop what is in memory of a run; ``False`` where there is nothing.
        """
        seen = self._runs.pop(run_id, None)
        if seen is not None:
            seen.log.close()
        return seen is not None

    # -- as they are shown

    async def list(
        self,
        *,
        owner: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        resource: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> dict[str, Any]:
        """
        Return runs, the newest first: ``{"runs": [summary without nodes], "next": run id | None}``.
        """
        from procession.server.kept_runs import kept_heads

        await self._look_after_waiting()
        found: dict[str, dict[str, Any]] = {}
        for seen in tuple(self._runs.values()):
            if (
                seen.status != "pending" and owner in (None, seen.owner) and kind in (None, seen.kind) and status in (None, seen.status)
                and resource in (None, seen.resource_id)
            ):  # fmt: skip
                found[seen.run_id] = seen.summary(nodes=False)
        place = await self._place(after) if after is not None else None
        kept = await kept_heads(
            self._runtimes, owner=owner, status=status, resource=resource, until=place[0] if place else None,
            limit=limit + 1 + len(self._runs),
        )  # fmt: skip
        for head in kept:
            if head["run_id"] not in self._runs and kind in (None, head["kind"]):
                found[head["run_id"]] = head
        listed = sorted(found.values(), key=_age, reverse=True)
        if place is not None:
            listed = [one for one in listed if _age(one) < place]
        page = listed[:limit]
        more = len(listed) > limit
        return {"runs": redacted(page, self.redact), "next": page[-1]["run_id"] if more else None}

    async def _look_after_waiting(self) -> None:
        """
        Look whether the runs that wait here have been brought to their end elsewhere.
        """
        for run_id in [seen.run_id for seen in self._runs.values() if seen.status == "suspended"]:
            with suppress(RunNotFound):
                _, row = await self._kept(run_id)
                self._as_kept(self._runs.get(run_id), row)

    def _as_kept(self, seen: SeenRun | None, row: RunRow) -> SeenRun | None:
        """
        Return what is in memory of the run of *row*; where it waits here and has ended elsewhere, the store knows more.
        """
        if seen is None or seen.status != "suspended" or row.status not in FINAL:
            return seen
        if row.status == "cancelled" or row.kind == "agent":  # the store has no more of it than that
            seen.give_up(row.updated_at, row.status)
            return seen
        self.forget(seen.run_id)
        return None

    async def _place(self, run_id: str) -> tuple[float, str]:
        """
        Return where in a list the run stands that a page ended with.
        """
        seen = self._runs.get(run_id)
        if seen is not None:
            return seen.created_at, run_id
        return (await self._kept(run_id))[1].created_at, run_id

    async def _kept(self, run_id: str) -> tuple[Runtime, RunRow]:
        """
        Return the runtime whose store has a run, and what it has.

        Raises ``RunNotFound``.
        """
        for runtime in self._runtimes:
            row = await runtime.store.row(run_id)
            if row is not None:
                return runtime, row
        raise RunNotFound(f"there is no run {run_id!r}", hint="GET /api/runs lists them")

    async def summary(self, run_id: str) -> dict[str, Any]:
        """
        Return how a run stands: the JSON of ``GET /api/runs/{id}``.

        Raises ``RunNotFound``.
        """
        from procession.server.kept_runs import kept_nodes, kept_summary

        seen = self._runs.get(run_id)
        try:
            runtime, row = await self._kept(run_id)
        except RunNotFound:
            if seen is None:
                raise
            made = seen.summary()
        else:
            seen = self._as_kept(seen, row)
            made = await kept_summary(runtime, row) if seen is None else seen.summary()
            lost = row.kind == "workflow" and row.status == "running" and not row.claimed
            made |= {
                "parent_run_id": row.parent_run_id, "forked_at": row.forked_at,
                "broken_off": lost and (seen is None or seen.run is None),
            }  # fmt: skip
            if seen is not None and seen.went_on and row.kind == "workflow":
                known = {node["path"] for node in made["nodes"]}
                before = [node for node in kept_nodes(await runtime.get(run_id)) if node["path"] not in known]
                made["nodes"] = before + made["nodes"]
        forks = dict.fromkeys(one.run_id for one in self._runs.values() if one.parent_run_id == run_id)
        for store in dict.fromkeys(each.store for each in self._runtimes):
            forks |= dict.fromkeys([one.run_id for one in await store.runs(parent_run_id=run_id, limit=100)])
        inner = [one.run_id for one in self._runs.values() if one.outer_run_id == run_id]
        shown: dict[str, Any] = redacted(made, self.redact)
        return shown | {"run_id": run_id, "forks": list(forks), "inner_runs": inner}

    async def events(
        self, run_id: str, *, after: int = -1, types: Collection[str] | None = None, limit: int = 500
    ) -> dict[str, Any]:
        """
        Return a page of events: ``{"events": [...], "last_seq", "first_seq", "ended"}``.

        Raises ``RunNotFound``.
        """
        from procession.server.kept_runs import kept_events

        seen = self._runs.get(run_id)
        if seen is None:
            runtime, row = await self._kept(run_id)
            told = await kept_events(runtime, row, self.redact)
            behind = [event for event in told if event.seq > after and (types is None or event.type in types)]
            return {
                "events": await _shown(behind[:limit]), "last_seq": len(told) - 1, "first_seq": 0,
                "ended": row.status not in ("running", "pending"),
            }  # fmt: skip
        log = seen.log
        ended, last = log.ended, log.last_seq
        found = log.kept(after, types=types, limit=limit)
        return {
            "events": await _shown(found), "last_seq": last, "first_seq": log.first_seq, "ended": ended,
        }  # fmt: skip

    async def read(
        self, run_id: str, *, after: int = -1, types: Collection[str] | None = None
    ) -> AsyncGenerator[LoggedEvent, None]:
        """
        Return the events behind number *after*, live, until the run has ended or waits: ``async for event in await
        runs.read(run_id)``; each has ``seq``, ``type`` and ``text``, its JSON in one line.

        Raises ``RunNotFound``.
        """
        seen = self._runs.get(run_id)
        if seen is not None:
            return seen.log.read(after, types=types)
        runtime, row = await self._kept(run_id)
        return self._read_kept(runtime, row, after, types)

    async def _read_kept(
        self, runtime: Runtime, row: RunRow, after: int, types: Collection[str] | None
    ) -> AsyncGenerator[LoggedEvent, None]:
        """
        Yield the events of a run that is not in memory, and of one that goes on elsewhere those to come.
        """
        from procession.server.kept_runs import kept_events

        while True:
            for event in await kept_events(runtime, row, self.redact):
                if event.seq > after:
                    after = event.seq
                    if types is None or event.type in types:
                        yield event
            if row.status not in ("running", "pending"):
                return
            await anyio.sleep(_POLL)
            found = await runtime.store.row(row.run_id)
            if found is None:
                return
            row = found


def _age(head: dict[str, Any]) -> tuple[float, str]:
    return head["created_at"], head["run_id"]


async def _shown(events: Sequence[LoggedEvent]) -> list[dict[str, Any]]:
    """
    Return events as they may be shown; many of them in another thread, as to look for what is private takes its time.
    """
    if len(events) < _FEW:
        return [event.data for event in events]
    return await anyio.to_thread.run_sync(lambda: [event.data for event in events])
