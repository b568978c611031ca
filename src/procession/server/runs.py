"""
Runs: the runs that were seen of late, and those that a store keeps.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterator
from typing import TYPE_CHECKING, Any

from procession.errors import RunNotFound
from procession.runtime.observer import Tap
from procession.runtime.run import Run
from procession.runtime.runtime import Runtime
from procession.server.redaction import DEFAULT, Redactor, redacted

if TYPE_CHECKING:
    from procession.server.run_log import LoggedEvent
    from procession.server.seen_run import SeenRun

__all__ = ["Runs"]


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

    def observe(self, run: Run[Any, Any], /) -> Tap | None:
        """
        Return what takes down the log of *run*.
        """
        from procession.server.run_log import RunLog  # with the first run: an app may be made of agents that never run
        from procession.server.run_tap import RunTap
        from procession.server.seen_run import SeenRun

        seen = self._runs.get(run.id)
        inside = seen is not None and seen.run is not None
        if seen is None:
            self._make_room()
            log = RunLog(run.id, max_events=self.max_events, max_size=self.max_size // 8, redact=self.redact)
            seen = self._runs[run.id] = SeenRun(run.id, log)
        if not inside:
            seen.run = run
            seen.graph_hash = getattr(run.definition, "graph_hash", "") or seen.graph_hash
            seen.resource_id = run.resource_id if run.resource_id is not None else seen.resource_id
            outer = run.scope.outer
            seen.outer_run_id = outer.run_id if outer is not None else None
        return RunTap(run, seen, inside=inside)

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
        found: list[dict[str, Any]] = []
        for seen in reversed(tuple(self._runs.values())):
            if (
                owner in (None, seen.owner) and kind in (None, seen.kind) and status in (None, seen.status)
                and resource in (None, seen.resource_id)
            ):  # fmt: skip
                found.append(seen.summary(nodes=False))
        found.sort(key=lambda one: one["created_at"], reverse=True)
        if after is not None:
            ids = [one["run_id"] for one in found]
            found = found[ids.index(after) + 1 :] if after in ids else []
        more = len(found) > limit
        found = found[:limit]
        return {"runs": redacted(found, self.redact), "next": found[-1]["run_id"] if more else None}

    async def summary(self, run_id: str) -> dict[str, Any]:
        """
        Return how a run stands: the JSON of ``GET /api/runs/{id}``.

        Raises ``RunNotFound``.
        """
        seen = self._seen(run_id)
        made = seen.summary()
        forks = [one.run_id for one in self._runs.values() if one.parent_run_id == run_id]
        inner = [one.run_id for one in self._runs.values() if one.outer_run_id == run_id]
        shown: dict[str, Any] = redacted(made, self.redact)
        return shown | {"run_id": run_id, "forks": forks, "inner_runs": inner}

    async def events(
        self, run_id: str, *, after: int = -1, types: Collection[str] | None = None, limit: int = 500
    ) -> dict[str, Any]:
        """
        Return a page of events: ``{"events": [...], "last_seq", "first_seq", "ended"}``.

        Raises ``RunNotFound``.
        """
        log = self._seen(run_id).log
        ended, last = log.ended, log.last_seq
        found = log.kept(after, types=types, limit=limit)
        return {
            "events": [event.data for event in found], "last_seq": last, "first_seq": log.first_seq, "ended": ended,
        }  # fmt: skip

    async def read(
        self, run_id: str, *, after: int = -1, types: Collection[str] | None = None
    ) -> AsyncGenerator[LoggedEvent, None]:
        """
        Return the events behind number *after*, live, until the run has ended or waits: ``async for event in await
        runs.read(run_id)``; each has ``seq``, ``type`` and ``text``, its JSON in one line.

        Raises ``RunNotFound``.
        """
        return self._seen(run_id).log.read(after, types=types)

    def _seen(self, run_id: str) -> SeenRun:
        seen = self._runs.get(run_id)
        if seen is None:
            raise RunNotFound(f"there is no run {run_id!r}", hint="GET /api/runs lists them")
        return seen
