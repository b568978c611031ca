"""
Run: the handle of one run, and its result.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

import anyio
import anyio.lowlevel

from procession.errors import InputError, RunCancelled, RunError, TripwireError
from procession.messages.chunks import TripwireInfo
from procession.runtime.broadcast import EventReader
from procession.runtime.engine import Engine
from procession.runtime.events import Note
from procession.runtime.inbox import BUFFER, WhenFull
from procession.runtime.records import StepsView
from procession.runtime.state import RunState
from procession.steps.event_loop import cancel_scope
from procession.steps.request_context import RequestContext
from procession.steps.result import STOPS, Bailed, Blocked, Cancelled, Failed, Stop, Suspended
from procession.steps.scope import RequestScope
from procession.workflows.plan import Plan

__all__ = ["Run", "RunKeeper", "RunResult", "RunStatus", "RunStream"]

In = TypeVar("In")
Out = TypeVar("Out")
Out_co = TypeVar("Out_co", covariant=True)

_CANCELLED = "the run was cancelled"
_NO_SCOPE: AbstractContextManager[None] = nullcontext()

RunStatus = Literal["success", "failed", "blocked", "cancelled", "suspended"]


class RunKeeper(Protocol):
    """
    Writes runs down, and knows those that go on: ``runtime/durable/keeper.py``.
    """

    @property
    def eager(self) -> bool:
        """Whether a run is written down from its start."""
        ...

    @property
    def live(self) -> dict[str, Any]:
        """The runs that go on in this process, by id."""
        ...

    async def begin(self, run: Run[Any, Any], value: Any, /) -> None:
        """Write down that *run* begins with *value*."""
        ...

    async def end(self, run: Run[Any, Any], output: Any, /, *, broken_off: bool = False) -> Any:
        """Write down how *run* has ended, and return how."""
        ...


class RunResult(Generic[Out_co]):
    """
    How a run ended.
    """

    __slots__ = ("_output", "error", "run_id", "status", "steps", "stop")

    def __init__(self, run_id: str, status: RunStatus, output: Any, stop: Stop | None, steps: StepsView) -> None:
        self.run_id = run_id
        self.status: RunStatus = status
        self._output = output
        self.stop = stop
        """What ended the run before its last step, if anything did."""
        self.error: Exception | None = stop.error if stop is not None and isinstance(stop, Failed) else None
        """What failed it."""
        self.steps = steps
        """The records by path; a step's id finds its last one."""

    @property
    def output(self) -> Out_co:
        """
        The workflow's output; ``None`` unless the status is ``success``.
        """
        return cast("Out_co", self._output)

    @property
    def tripwire(self) -> TripwireInfo | None:
        """
        The verdict that blocked the run.
        """
        return self.stop.tripwire if isinstance(self.stop, Blocked) else None

    @property
    def suspended(self) -> Mapping[str, Any]:
        """
        What each step that waits for an answer has said, by path.
        """
        return {
            path: record.stop.payload
            for path, record in self.steps.items()
            if isinstance(record.stop, Suspended) and record.stop.path == path
        }

    def raise_for_status(self) -> None:
        """
        Raise what ended the run, unless it was a success.

        The error of a failed run as it is, ``TripwireError``, ``RunCancelled``, or ``RunError`` for a suspended one.
        """
        if self.status == "success":
            return
        if self.error is not None:
            raise self.error
        if self.tripwire is not None:
            raise TripwireError(self.tripwire)
        if self.status == "cancelled":
            raise RunCancelled(f"run {self.run_id} was cancelled")
        waiting = ", ".join(self.suspended) or "a step"
        raise RunError(f"run {self.run_id} waits for an answer to {waiting}")

    def unwrap(self) -> Out_co:
        """
        Return the output, or raise what ended the run: see :meth:`raise_for_status`.
        """
        self.raise_for_status()
        return self.output

    def __repr__(self) -> str:
        return f"RunResult({self.status!r}, run_id={self.run_id!r})"


class Run(Generic[In, Out]):
    """
    One run of a workflow: start it, watch it, cancel it.
    """

    __slots__ = (
        "_cancellable", "_cancelled", "_engine", "_finished", "_keeper", "_result", "_scope", "_started", "definition",
        "plan", "resource_id", "state",
    )  # fmt: skip

    def __init__(
        self,
        plan: Plan,
        state: RunState,
        engine: Engine,
        *,
        definition: Any = None,
        cancellable: bool = True,
        keeper: RunKeeper | None = None,
        resource_id: str | None = None,
    ) -> None:
        self.state = state
        """The run from the inside."""
        self.plan = plan
        """What it walks."""
        self.definition = definition
        """The workflow, or whatever else it runs."""
        self.resource_id = resource_id
        """Whose run it is, where that is known."""
        self._keeper = keeper
        self._engine = engine
        self._cancellable = cancellable
        self._scope: anyio.CancelScope | None = None
        self._started = False
        self._cancelled = False
        self._result: RunResult[Out] | None = None
        self._finished: anyio.Event | None = None

    @property
    def id(self) -> str:
        """
        The id of the run.
        """
        return self.state.run_id

    @property
    def scope(self) -> RequestScope:
        """
        What the request carries beside its payload.
        """
        return self.state.scope

    @property
    def request_context(self) -> RequestContext:
        """
        The values of the request.
        """
        return self.state.request_context

    @property
    def steps(self) -> StepsView:
        """
        The records so far.
        """
        return StepsView(self.state.records)

    @property
    def begun(self) -> bool:
        """
        Whether it was started.
        """
        return self._started

    async def start(self, value: In) -> RunResult[Out]:
        """
        Run the workflow on *value* in this task and return how it ended.

        Raises ``RunError`` where the run was started before, and nothing that its steps raise: that is in the result.
        Where it is kept, also ``RunError`` for an id that the store has already, ``UntypedValue`` for a value that cannot be
        kept and ``StoreError``: nothing was done then.
        """
        if self._started:
            raise RunError(f"run {self.id} was started before", hint="create_run() gives a new one")
        self._started = True
        state, plan, keeper = self.state, self.plan, self._keeper
        state.init_data = value
        if keeper is not None:
            if keeper.eager or state.journal is not None:
                try:
                    await keeper.begin(self, value)
                except BaseException as error:
                    state.begin(plan.id)
                    self._finish(Failed("", error) if isinstance(error, Exception) else Cancelled("", _CANCELLED))
                    raise
            keeper.live[state.run_id] = self
        state.begin(plan.id)
        output: Any = None
        try:
            with cancel_scope() if self._cancellable else _NO_SCOPE as scope:
                self._scope = scope
                if self._cancelled and scope is not None:
                    scope.cancel()
                    await anyio.lowlevel.checkpoint()
                output = await self._engine.execute(plan, value, state)
            if state.scope.pending:
                await state.scope.settle()
            if scope is not None and scope.cancelled_caught:
                state.scope.give_up()
                output = Cancelled("", _CANCELLED)
        except BaseException:  # the task itself is being cancelled
            state.scope.give_up()
            output = Cancelled("", state.cancelled_because)
            if keeper is not None:
                output = await keeper.end(self, output, broken_off=True)
            self._finish(output)
            raise
        finally:
            self._scope = None
        if keeper is not None and (state.journal is not None or type(output) in STOPS):
            output = await keeper.end(self, output)
        return self._finish(output)

    def _finish(self, output: Any) -> RunResult[Out]:
        state = self.state
        keeper = self._keeper
        if keeper is not None and keeper.live.get(state.run_id) is self:
            del keeper.live[state.run_id]
        stop: Stop | None = None
        status: RunStatus = "success"
        kind: Literal["run.suspended", "run.finished"] = "run.finished"
        if type(output) in STOPS:
            if isinstance(output, Bailed):
                output = output.value
            else:
                stop, output = cast("Stop", output), None
                status = cast("RunStatus", stop.status)
                kind = "run.suspended" if status == "suspended" else kind
        result = self._result = RunResult(state.run_id, status, output, stop, StepsView(state.records))
        payload: dict[str, Any] = {"status": status}
        if stop is None:
            payload["output"] = output
        elif isinstance(stop, Failed):
            payload["error"] = stop.error
        elif isinstance(stop, Blocked):
            payload["tripwire"] = stop.tripwire
        elif isinstance(stop, Cancelled):
            payload["reason"] = stop.reason
        state.end(Note(kind, state.now(), "", None, 1, payload))
        if self._finished is not None:
            self._finished.set()
        return result

    async def result(self) -> RunResult[Out]:
        """
        Wait for the run to end and return how; no reader of events is waited for from now on.
        """
        if self._result is None:
            self.state.broadcast.flow()
            if self._finished is None:
                self._finished = anyio.Event()
            await self._finished.wait()
        assert self._result is not None
        return self._result

    def events(self, *, when_full: WhenFull = "block", buffer: int = BUFFER) -> EventReader:
        """
        Return the run's events from the first on: ``async for event in run.events()``.

        Any number of readers may join at any time.  Where one lags *buffer* entries behind, the run waits for it
        (``when_full="block"``), or the oldest of the outputs that wait for it are left out, all but so many
        (``"drop"``): their numbers are missing, and the reader's ``dropped`` counts them.

        Raises ``InputError`` for a policy that there is not, and a buffer of none.
        """
        if when_full not in ("block", "drop") or buffer < 1:
            raise InputError(
                f"events(when_full={when_full!r}, buffer={buffer!r}) cannot be",
                hint='when_full is "block" or "drop", buffer 1 or more',
            )
        reader = self.state.broadcast.join(when_full, buffer)
        self.state.listen()
        return reader

    def cancel(self, *, after: float = 0.0) -> None:
        """
        Cancel the run, now or *after* so many seconds; a run that has ended stays as it is.

        Raises ``RunError`` where the run was made with ``cancellable=False``.
        """
        if not self._cancellable:
            raise RunError(f"run {self.id} cannot be cancelled", hint="create_run(..., cancellable=True)")
        if after > 0 and self._scope is not None:
            self._scope.deadline = anyio.current_time() + after
            self.state.cancelled_because = _CANCELLED
            return
        self._cancelled = True
        self.state.breathe_at = 0.0
        self.state.cancelled_because = _CANCELLED
        if self._scope is not None:
            self._scope.cancel()

    def stream(self, value: In) -> RunStream[In, Out]:
        """
        Run in the background while a block runs: ``async with run.stream(value): async for event in run.events()``.

        Where the block ends before the run, the run is cancelled; ``await run.result()`` waits for it.
        """
        return RunStream(self, value)

    def __repr__(self) -> str:
        status = self._result.status if self._result is not None else "running" if self._started else "new"
        return f"Run({self.id!r}, {status})"


class RunStream(Generic[In, Out]):
    """
    A run in the background of a block; see :meth:`Run.stream`.
    """

    __slots__ = ("_group", "_run", "_value")

    def __init__(self, run: Run[In, Out], value: In) -> None:
        self._run = run
        self._value = value
        self._group = anyio.create_task_group()

    async def __aenter__(self) -> Run[In, Out]:
        await self._group.__aenter__()
        self._group.start_soon(self._start)
        return self._run

    async def _start(self) -> None:
        run = self._run
        new = not run.begun
        try:
            await run.start(self._value)
        except Exception:
            if not new:  # else the result says it, and the last event
                raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run = self._run
        run.state.broadcast.flow()
        run.cancel()
        # The block's own error is not handed to the group: it would come out wrapped.
        await self._group.__aexit__(None, None, None)
