"""
RequestScope: what one request carries beside its payload.

Nothing in here is journalled or forked: the state of processors by id, what they found, what is to be saved once the
outcome is known, and the ports through which lower rooms reach what upper rooms own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

from procession.ids import new_id
from procession.messages.chunks import Chunk
from procession.messages.usage import NO_USAGE, Usage
from procession.steps.abort import AbortSignal
from procession.steps.left import Mark
from procession.steps.request_context import RequestContext
from procession.steps.spending import METERS, ModelCall, report
from procession.steps.step_marks import StepMark, StepMarks

__all__ = ["GRACE", "Background", "Emit", "Leftover", "Outcome", "RequestScope", "SaveMark"]

GRACE = 5.0
"""Seconds for which what was cancelled is waited for, unless the runtime says otherwise (D17)."""

Outcome = Literal["completed", "model_failed", "aborted", "blocked", "failed", "cancelled", "suspended"]
"""
How a request ended, as far as saving is concerned.

``model_failed`` came to its end with a model's error, ``aborted`` before its end and was brought to one;
``cancelled`` was broken off.
"""

Emit = Callable[[Chunk], Awaitable[None] | None]
"""Takes a chunk to the reader of the stream; waits where the reader is slow."""


class SaveMark(Protocol):
    """
    Something to be saved once the outcome is known (D34), such as memory's messages.
    """

    @property
    def always(self) -> bool:
        """
        Whether it is of what the run has done, and not of what it said: then it is saved whatever becomes of the rest.
        """
        ...

    async def commit(self, outcome: Outcome) -> None:
        """
        Save, or not, now that the request ended in *outcome*.
        """
        ...


class Leftover(Protocol):
    """
    Work that goes on although nobody waits for it any longer.
    """

    @property
    def busy(self) -> bool:
        """
        Whether it still goes on.
        """
        ...

    @property
    def mark(self) -> Mark:
        """
        Tells its code that it was left behind.
        """
        ...

    async def wait(self) -> None:
        """
        Wait for its end.
        """
        ...

    def cancel(self) -> None:
        """
        Ask it to stop.
        """
        ...


class Background(Protocol):
    """
    The port behind which work goes on that nobody waits for: the open runtime's own group.
    """

    def start(self, function: Callable[..., Any], *args: Any) -> bool:
        """
        Begin ``function(*args)``, and return whether there was room for it.
        """
        ...

    async def rest(self, seconds: float) -> bool:
        """
        Wait so long, such as before something is tried again; ``False``, at once, where the runtime closes meanwhile.
        """
        ...

    def adopt(self, name: str, work: Leftover) -> None:
        """
        Look after *work*, which ignored its cancellation.
        """
        ...


class RequestScope:
    """
    What one request carries beside its payload.
    """

    __slots__ = (
        "_spent",
        "abort_signal",
        "background",
        "calls",
        "emit",
        "grace",
        "guard_usage",
        "left_behind",
        "looked",
        "marks",
        "observers",
        "outer",
        "pending",
        "replaced_by",
        "replacement",
        "request_context",
        "resources",
        "run_id",
        "reveals",
        "stand_ins",
        "states",
        "step_marks",
        "tracing_context",
        "violations",
    )

    def __init__(
        self,
        *,
        run_id: str = "",
        request_context: RequestContext | None = None,
        emit: Emit | None = None,
    ) -> None:
        self.run_id = run_id
        self.request_context = request_context if request_context is not None else RequestContext()
        self.emit = emit
        """Where chunks go, or ``None`` where nobody listens."""
        self.tracing_context: Any = None
        """What the caller's tracing needs to tell where this request belongs; handed on as it is, never looked at."""
        self.abort_signal: AbortSignal | None = None
        """The request's abort signal, if anybody has asked for it; see ``abort``."""
        self.states: dict[str, dict[str, Any]] = {}
        """One dict per processor id, shared by all hooks and both lists (D11)."""
        self.violations: list[Any] = []
        """What guards found, in order (``processors.violation.Violation``)."""
        self.looked: dict[tuple[str, str], None] | None = None
        """Which guards were asked, by id and hook, once one was."""
        self.marks: list[SaveMark] = []
        self.step_marks: StepMarks | None = None
        """What waits for the step in hand to be accepted, where anything does."""
        self._spent: list[Usage] = []
        self.guard_usage = NO_USAGE
        """Tokens of what processors asked a model: an account of its own, as a step's tokens are those of its model call."""
        self.calls: list[ModelCall] | None = None
        """The model calls of the request, those of runs inside it too, where a processor has asked to be told of them."""
        self.pending: list[Awaitable[Any]] = []
        """What callbacks and monitors left to be awaited before the request ends."""
        self.replacement: Any = None
        """The answer that a processor gave in place of the model's, if one did (D36)."""
        self.replaced_by: str | None = None
        """The id of that processor."""
        self.resources: dict[Any, Any] = {}
        """What framework processors keep per request, by a key of their own: thread, resource, agent."""
        self.outer: RequestScope | None = None
        """That of the run which this one stands inside, if it stands in one."""
        self.observers: tuple[Any, ...] = ()
        """Who is shown the run of this request, and those inside it (``runtime.observer.RunObserver``)."""
        self.stand_ins: Any = None
        """Tokens that stand for private values in this request (``processors.stand_ins``), once there is one."""
        self.reveals = False
        """Whether the reader gets the values in place of their tokens."""
        self.grace = GRACE
        """Seconds for which what was cancelled is waited for."""
        self.background: Background | None = None
        """Where work goes that need not hold up the answer; ``None`` where no runtime is open."""
        self.left_behind: tuple[str, ...] = ()
        """What ignored its cancellation and goes on: ``processor 'x' in process_input``, the path of a branch."""

    @property
    def abort(self) -> AbortSignal:
        """
        The signal that says that the request's answer is no longer wanted; made when it is first asked for.
        """
        if self.abort_signal is None:
            self.abort_signal = AbortSignal()
        return self.abort_signal

    @property
    def usage(self) -> Usage:
        """
        Tokens of every model call of the request so far but those of guards; added up when somebody asks.
        """
        if len(self._spent) > 1:
            self._spent = [sum(self._spent[1:], self._spent[0])]
        return self._spent[0] if self._spent else NO_USAGE

    def spend(self, usage: Usage, model: str = "", *, told: bool = True) -> None:
        """
        Count the tokens of a call of the model with this id; for the budgets around it as well.

        With *told* it is told to whoever asked for calls: it has to be paid for.
        """
        self._spent.append(usage)
        if told:
            self.tell_call(model, usage)
        if METERS.get():
            report(usage, model)

    def spend_on_guard(self, usage: Usage, model: str = "", *, told: bool = True) -> None:
        """
        Count the tokens of what a processor asked a model; for the budgets around it as well.
        """
        self.guard_usage = self.guard_usage + usage
        if told:
            self.tell_call(model, usage)
        if METERS.get():
            report(usage, model)

    @property
    def tells_calls(self) -> bool:
        """
        Whether anybody has asked to be told of model calls: here, or in a run around this one.
        """
        scope: RequestScope | None = self
        while scope is not None and scope.calls is None:
            scope = scope.outer
        return scope is not None

    def tell_call(self, model: str, usage: Usage, *, money: float = 0.0, estimated: bool = False) -> None:
        """
        Note a model call that has to be paid for, for whoever has asked to be told, here and in the runs around this one.
        """
        call: ModelCall | None = None
        scope: RequestScope | None = self
        while scope is not None:
            if scope.calls is not None:
                if call is None:
                    call = ModelCall(id=new_id(), model=model, usage=usage, money=money, estimated=estimated)
                scope.calls.append(call)
            scope = scope.outer

    def charge(self, usage: Usage, guards: Usage = NO_USAGE) -> None:
        """
        Count what was counted elsewhere already: by a run inside this one, or before it was suspended.
        """
        self._spent.append(usage)
        self.guard_usage = self.guard_usage + guards

    def mark_step(self, mark: StepMark, *, stays: bool = False) -> None:
        """
        Let *mark* wait for the step in hand: the loop tells it once that is accepted, or dropped (D33).

        One that *stays* is told of each step that is accepted before the last one.
        """
        if self.step_marks is None:
            self.step_marks = StepMarks()
        if stays:
            self.step_marks.stay(mark)
        else:
            self.step_marks.add(mark)

    async def settle(self) -> None:
        """
        Await what is left to be awaited, and what that leaves; it deals with its own errors.
        """
        while self.pending:
            await self.pending.pop(0)

    def give_up(self) -> None:
        """
        Drop what callbacks have left to be awaited: the request was cancelled.
        """
        pending, self.pending = self.pending, []
        for waiting in pending:
            close = getattr(waiting, "close", None)
            if close is not None:
                close()

    def note_look(self, processor_id: str, hook: str) -> None:
        """
        Note that a guard was asked in *hook*.
        """
        if self.looked is None:
            self.looked = {}
        self.looked[processor_id, hook] = None

    def state(self, processor_id: str) -> dict[str, Any]:
        """
        The state of one processor.
        """
        found = self.states.get(processor_id)
        if found is None:
            found = self.states[processor_id] = {}
        return found
