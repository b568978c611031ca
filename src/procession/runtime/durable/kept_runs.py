"""
KeptRuns: what a runtime does with runs by their id alone.

What reads and writes journals is imported by the methods that do: most programs keep no runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from procession.errors import (
    DefinitionError,
    InputError,
    RunAlreadyClaimed,
    TargetError,
)
from procession.runtime.durable.keeper import Keeper
from procession.runtime.events import WorkflowEvent
from procession.runtime.registry import Registry
from procession.runtime.run import Run, RunResult, RunStream
from procession.runtime.walk import plan_of
from procession.steps.request_context import RequestContext
from procession.steps.scope import RequestScope
from procession.steps.step import SupportsStep
from procession.storage.base import RunRow, RunStatus
from procession.workflows.options import check_choice, check_count

if TYPE_CHECKING:
    from procession.runtime.durable.journal import Journal
    from procession.runtime.durable.reader import RunStateReader
    from procession.runtime.durable.rows import History

__all__ = ["KeptRuns", "ResumeOptions", "ResumedStream"]

Workflows = SupportsStep[Any, Any]

_USED = 512
"""How many definitions a runtime remembers that were not registered."""


class ResumeOptions(TypedDict, total=False):
    """
    What an answer may come with; see :meth:`KeptRuns.resume`.
    """

    step: str | None
    label: str | None
    workflow: Workflows | None
    request_context: RequestContext | None
    scope: RequestScope | None
    accept_changes: Collection[str]


class ResumedStream:
    """
    A run that goes on in the background of a block; see :meth:`KeptRuns.resume_stream`.
    """

    __slots__ = ("_make", "_stream")

    def __init__(self, make: Callable[[], Awaitable[Run[Any, Any]]]) -> None:
        self._make = make
        self._stream: RunStream[Any, Any] | None = None

    async def __aenter__(self) -> Run[Any, Any]:
        run = await self._make()
        self._stream = run.stream(run.state.init_data)
        return await self._stream.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            await self._stream.__aexit__(kind, error, trace)


class KeptRuns(ABC):
    """
    The part of a runtime that knows runs by their id.
    """

    __slots__ = ("_keeper", "_used", "registry")

    _keeper: Keeper
    registry: Registry
    _used: dict[str, Any]
    """The definitions that runs were made of here, by id: what was run can be resumed without being registered."""

    @abstractmethod
    def _make(
        self,
        definition: Any,
        row: RunRow,
        history: History,
        journal: Journal,
        request_context: RequestContext | None,
        init_data: Any,
        scope: RequestScope | None,
    ) -> Run[Any, Any]: ...

    async def resume(self, run_id: str, answer: Any = None, **options: Unpack[ResumeOptions]) -> RunResult[Any]:
        """
        Give a suspended run the *answer* it waits for, and return how it ended this time.

        Where several steps wait, ``step`` (a path, or an id that is clear) or ``label`` says which one is meant; the others
        go on waiting.  The step runs again from the top, and its ``ctx.suspend`` returns the answer.  In another process
        the workflow is found by its id in ``runtime.registry``, or given as ``workflow``.  The values of the request are
        not kept: give ``request_context`` again.

        Raises ``RunNotFound``; ``ResumeError`` where the run does not wait, or not for that; ``SchemaError`` where the
        answer does not fit, after which the run waits as before; ``RunAlreadyClaimed`` where somebody else resumes the
        run or has done so; ``GraphChanged`` where the workflow is another one now, but for the paths ``accept_changes``.
        """
        run = await self.resumed(run_id, answer, **options)
        return await run.start(run.state.init_data)

    def resume_stream(self, run_id: str, answer: Any = None, **options: Unpack[ResumeOptions]) -> ResumedStream:
        """
        Do what :meth:`resume` does while a block runs: ``async with runtime.resume_stream(run_id, answer) as run``.

        The run is one to watch: ``async for event in run.events()``, ``await run.result()``.
        """
        return ResumedStream(lambda: self.resumed(run_id, answer, **options))

    async def resumed(self, run_id: str, answer: Any = None, **options: Unpack[ResumeOptions]) -> Run[Any, Any]:
        """
        Give a suspended run its answer and return it, which is ours now and has not gone on: to start it with its own
        ``run.state.init_data`` is what :meth:`resume` does next.
        """
        from procession.runtime.durable.going_on import answer_run

        workflow = options.get("workflow")

        def revive(row: RunRow, history: History, journal: Journal) -> Run[Any, Any]:
            context, scope = options.get("request_context"), options.get("scope")
            return self._revived(row, history, journal, workflow, context, scope)

        return await answer_run(
            self._keeper,
            run_id,
            answer,
            revive,
            lambda owner: self._definition(owner, workflow),
            step=options.get("step"),
            label=options.get("label"),
            accept_changes=options.get("accept_changes", ()),
        )

    async def restart(
        self,
        run_id: str,
        *,
        workflow: Workflows | None = None,
        request_context: RequestContext | None = None,
        scope: RequestScope | None = None,
        accept_changes: Collection[str] = (),
    ) -> RunResult[Any]:
        """
        Take up a run whose process died, and return how it ended: what was completed is not done again.

        A run is free once its holder has not been heard of for 30 seconds, or gave it back while its runtime closed.

        Raises what :meth:`resume` raises; ``RunAlreadyClaimed`` where somebody holds the run, or it has ended.
        """
        run = await self.restarted(
            run_id, workflow=workflow, request_context=request_context, scope=scope, accept_changes=accept_changes
        )
        return await run.start(run.state.init_data)

    async def restarted(
        self,
        run_id: str,
        *,
        workflow: Workflows | None = None,
        request_context: RequestContext | None = None,
        scope: RequestScope | None = None,
        accept_changes: Collection[str] = (),
    ) -> Run[Any, Any]:
        """
        Take up a run whose process died and return it, which is ours now and has not gone on; :meth:`restart` starts it.
        """
        from procession.runtime.durable.going_on import restart_run

        def revive(row: RunRow, history: History, journal: Journal) -> Run[Any, Any]:
            return self._revived(row, history, journal, workflow, request_context, scope)

        return await restart_run(
            self._keeper, run_id, revive, lambda owner: self._definition(owner, workflow), accept_changes=accept_changes
        )

    async def recover(self, *, concurrency: int = 100) -> list[RunResult[Any]]:
        """
        Restart every run that lost its process and whose workflow is known here, and return how they ended, the oldest
        first; *concurrency* is how many go on at the same time.

        Runs that somebody holds, whose workflow has changed, or that cannot be read by it, stay as they are: the last is
        logged.  Where this is cancelled, the runs are given back as they are.  Raises ``StoreError`` where the store
        cannot be used.
        """
        from procession.runtime.durable.recovering import recover_runs, without_process

        if concurrency < 1:
            raise InputError(f"recover() has concurrency={concurrency!r}", hint="it is 1 or more")
        found = await without_process(self._keeper, lambda owner: self._known(owner) is not None)
        return await recover_runs(self._keeper, found, self.restart, concurrency)

    async def fork(
        self,
        run_id: str,
        at: str | None = None,
        *,
        outputs: Mapping[str, Any] | None = None,
        new_run_id: str | None = None,
        workflow: Workflows | None = None,
        request_context: RequestContext | None = None,
    ) -> RunResult[Any]:
        """
        Run again from the step *at* as a new run, and return how that ended; the old run stays as it is.

        What the old run completed before *at*, and beside it, holds for the new one.  Without *at* it begins where the old
        one stopped.  *outputs* replaces outputs of completed steps, by path.  The new run names the old one as its
        ``parent_run_id``.

        Raises ``RunNotFound``, and ``ResumeError`` where there is no such step.
        """
        run = await self.forked(
            run_id, at, outputs=outputs, new_run_id=new_run_id, workflow=workflow, request_context=request_context
        )
        return await run.start(run.state.init_data)

    async def forked(
        self,
        run_id: str,
        at: str | None = None,
        *,
        outputs: Mapping[str, Any] | None = None,
        new_run_id: str | None = None,
        workflow: Workflows | None = None,
        request_context: RequestContext | None = None,
    ) -> Run[Any, Any]:
        """
        Return the new run that :meth:`fork` starts.
        """
        from procession.runtime.durable.forking import fork_run

        def revive(row: RunRow, history: History, journal: Journal) -> Run[Any, Any]:
            return self._revived(row, history, journal, workflow, request_context)

        return await fork_run(
            self._keeper,
            run_id,
            at,
            revive,
            lambda owner: self._definition(owner, workflow),
            outputs=outputs or {},
            new_run_id=new_run_id,
        )

    async def cancel(self, run_id: str) -> bool:
        """
        Cancel a run wherever it is; ``False`` where it has ended.

        One that goes on here is told at once; one that goes on in another process hears of it within a second or so; one that
        waits, or has lost its process, is cancelled in the store; where its workflow is known here, so are the runs of
        agents that wait in its steps.

        Raises ``RunNotFound``.
        """
        from procession.runtime.durable.going_on import cancel_run

        return await cancel_run(self._keeper, run_id, self._known)

    def observe(self, run_id: str) -> AsyncIterator[WorkflowEvent]:
        """
        Yield the events of a run: live where it goes on here, else of what is written down, until it ends or waits.

        What is written down are completions: a step of another process is told of once it is done.  Outputs are as JSON
        then.  Raises ``RunNotFound``.
        """
        from procession.runtime.durable.observing import Observation

        return Observation(self._keeper, run_id)

    async def get(self, run_id: str, *, workflow: Workflows | None = None) -> RunStateReader:
        """
        Return how a run stands, by what is written down of it.

        Raises ``RunNotFound``.
        """
        from procession.runtime.durable.going_on import row_of
        from procession.runtime.durable.reader import RunStateReader

        row = await row_of(self._keeper, run_id)
        rows = await self._keeper.store.entries(run_id)
        known = workflow if workflow is not None else self._known(row.owner)
        return RunStateReader(row, rows, plan_of(known, None) if known is not None else None)

    async def list(
        self,
        workflow: str | None = None,
        *,
        status: RunStatus | Collection[RunStatus] | None = None,
        resource_id: str | None = None,
        thread_id: str | None = None,
        parent_run_id: str | None = None,
        since: float | None = None,
        until: float | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        """
        Return runs, the newest first: those of a *workflow* (its id), in a *status*, of a resource, of a thread, forked from
        another.

        *since* and *until* are seconds since the epoch; *after* is the id of the last run of the page before.

        Raises ``DefinitionError`` for a status that there is not, and a page of none; ``RunNotFound`` where *after* is gone.
        """
        check_count("list()", "limit", limit)
        statuses = (status,) if isinstance(status, str) else status
        for each in statuses or ():
            check_choice("list()", "status", each, RunStatus)
        return await self._keeper.store.runs(
            owner=workflow,
            status=statuses,
            resource_id=resource_id,
            thread_id=thread_id,
            parent_run_id=parent_run_id,
            since=since,
            until=until,
            after=after,
            limit=limit,
        )

    async def delete(self, run_id: str) -> bool:
        """
        Remove a run and all that is written down of it; ``False`` where it is not there.  Where its workflow is known here,
        the runs of agents that wait in its steps are ended.

        Raises ``RunAlreadyClaimed`` where somebody goes on with it.
        """
        if run_id in self._keeper.live:
            raise RunAlreadyClaimed(f"run {run_id} goes on here", hint="cancel it first: runtime.cancel(run_id)")
        from procession.runtime.durable.abandoning import delete_run

        if await delete_run(self._keeper, run_id, self._known):
            return True
        if await self._keeper.store.row(run_id) is not None:
            raise RunAlreadyClaimed(f"run {run_id} goes on elsewhere", hint="cancel it first: runtime.cancel(run_id)")
        return False

    def _use(self, owner: str, definition: Any) -> None:
        """
        Remember *definition*, among the last that runs were made of.
        """
        used = self._used
        if used.get(owner) is not definition:
            if len(used) >= _USED:
                del used[next(iter(used))]
            used[owner] = definition

    # --- definitions ------------------------------------------------------------------------------------------------

    def _known(self, owner: str) -> Any:
        return self.registry.get(owner) or self._used.get(owner)

    def _definition(self, owner: str, given: Workflows | None) -> Any:
        if given is not None:
            id = getattr(given, "id", None)
            if id != owner:
                raise DefinitionError(f"the run is one of workflow {owner!r}, not of {id!r}", hint="give that workflow")
            return given
        known = self._known(owner)
        if known is None:
            raise TargetError(
                f"workflow {owner!r} is not known to this runtime",
                hint="runtime.registry.add(workflow), or give it: workflow=...",
            )
        return known

    def _revived(
        self,
        row: RunRow,
        history: History,
        journal: Journal,
        workflow: Workflows | None,
        request_context: RequestContext | None,
        scope: RequestScope | None = None,
    ) -> Run[Any, Any]:
        definition = self._definition(row.owner, workflow)
        from procession.runtime.durable.holding import decode_input, kept_input

        value = decode_input(definition, row)
        journal.input = kept_input(row)
        return self._make(definition, row, history, journal, request_context, value, scope)
