"""
Context: what the engine hands to a step.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from inspect import isawaitable
from typing import Any, NoReturn

from procession.errors import ResumeError, RunError
from procession.messages.chunks import Chunk
from procession.messages.usage import NO_USAGE, Usage
from procession.runtime.meter import refuse_spent
from procession.runtime.records import Record
from procession.runtime.state import RunState, is_within
from procession.steps.request_context import RequestContext
from procession.steps.result import Bailed, BailScope, Cancelled, Failed, Stop, Suspended
from procession.steps.schema import schema_of
from procession.steps.scope import RequestScope
from procession.steps.signals import Bail, CancelRun, Suspend, signal_of
from procession.steps.spending import METERS, Count, report
from procession.steps.step import SupportsStep
from procession.workflows.options import check_choice
from procession.workflows.plan import Leaf

__all__ = ["Answer", "Context"]


class Answer:
    """
    What ``ctx.suspend`` gives to the ``await`` before it.  It is no truth by itself: that would be a yes to each question.
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __await__(self) -> Generator[Any, Any, Any]:
        yield from ()  # nothing is waited for: the answer is there
        return self._value

    def __bool__(self) -> bool:
        raise RunError("an answer is neither true nor false before it is awaited", hint="await ctx.suspend(...)")


class Context:
    """
    The concrete ``StepContext``; see there.
    """

    __slots__ = ("_asked", "_called", "_run", "input", "record")

    def __init__(self, run: RunState, record: Record, input: Any) -> None:
        self._run = run
        self.record = record
        self.input = input
        self._asked = 0
        self._called: dict[str, int] | None = None

    @property
    def init_data(self) -> Any:
        """
        The value that the run was started with.
        """
        return self._run.init_data

    @property
    def request_context(self) -> RequestContext:
        """
        The values of this request.
        """
        return self._run.request_context

    @property
    def scope(self) -> RequestScope:
        """
        What the request carries beside its payload.
        """
        return self._run.scope

    @property
    def run_id(self) -> str:
        """
        The id of the run.
        """
        return self._run.run_id

    @property
    def path(self) -> str:
        """
        Where in the workflow the step stands.
        """
        return self.record.path

    @property
    def attempt(self) -> int:
        """
        Which attempt this is, from 1.
        """
        return self.record.attempt

    @property
    def state(self) -> dict[str, Any]:
        """
        The run's shared state, a copy.
        """
        return self._run.shared.copy()

    def set_state(self, **values: Any) -> None:
        """
        Write to the run's shared state; visible at once, and taken back where the step fails or suspends.

        Raises ``MergeConflict`` where a branch beside this one has written another value and the workflow has no
        reducer for the key, ``SchemaError`` where the value is not of the key's type.
        """
        run = self._run
        for key, value in values.items():
            run.shared.set(self.record.path, key, value, run.forks)

    def unset_state(self, *keys: str) -> None:
        """
        Take *keys* out of the run's shared state, whether they are there or not; otherwise as ``set_state``.
        """
        run = self._run
        for key in keys:
            run.shared.unset(self.record.path, key, run.forks)

    def result_of(self, step_id: str) -> Any:
        """
        Return the output of a step that has completed: of this workflow, or of one around it.
        """
        records = self._run.records
        prefix = self.record.path
        while prefix:
            prefix = prefix[: prefix.rstrip("/").rfind("/") + 1]
            found = records.get(prefix + step_id)
            if found is not None and found.status == "success":
                return found.output
        done = [path for path, record in records.items() if record.status == "success"]
        raise KeyError(f"step {step_id!r} has no result here; completed: {', '.join(done) or 'none'}")

    async def call(self, step: SupportsStep[Any, Any], value: Any) -> Any:
        """
        Run another definition inside this step and return its output.
        """
        id = step.as_step().id
        called = self._called
        if called is None:
            called = self._called = {}
        number = called[id] = called.get(id, 0) + 1
        path = f"{self.record.path}/{id}" if number == 1 else f"{self.record.path}/{id}[{number - 1}]"
        output = await self._run.caller(self._run, step, value, path, None, True)
        if isinstance(output, Stop):
            if not isinstance(output, Failed):  # a verdict stands even where the step's code swallows the signal
                self.record.stop = output
            raise signal_of(output)
        return output

    async def emit(self, chunk: Chunk) -> None:
        """
        Send a chunk to whoever reads the run's stream.
        """
        await self._run.emit(self.record, chunk)

    def bail(self, value: Any = None, *, scope: BailScope = "workflow") -> NoReturn:
        """
        End the workflow that contains this step with *value* as its result.

        With *scope* ``"branch"`` it ends the arm or the item that the step stands in, with ``"run"`` the run.
        """
        check_choice("ctx.bail()", "scope", scope, BailScope)
        self.record.stop = Bailed(self.record.path, value, scope)
        raise Bail(value, scope=scope)

    def cancel_run(self) -> NoReturn:
        """
        Cancel the run.
        """
        self.record.stop = Cancelled(self.record.path, "the step asked for it")
        raise CancelRun

    def suspend(self, payload: Any = None, *, label: str | None = None) -> Awaitable[Any]:
        """
        Wait for an answer from outside: the run ends as suspended.  Resumed, the step runs again from the top, and this,
        awaited, returns the answer, as the step's ``resume_type``.

        The run ends with the call: a forgotten ``await`` lets no step go on without an answer.

        Raises ``ResumeError`` where another step of the run waits under the same *label*, ``SchemaError`` where the
        payload is not of the step's ``suspend_type``.
        """
        run, record = self._run, self.record
        number = self._asked
        self._asked = number + 1
        step = record.node.step if isinstance(record.node, Leaf) else None
        answers = run.history.answers.get(record.path, ()) if run.history is not None else ()
        if number < len(answers):
            from procession.steps.codec import codec_of

            codec = codec_of(step.resume_type if step is not None else None)
            return Answer(codec.decode(answers[number], where=f"answer to step {record.id!r}", path=record.path))
        if step is not None and step.suspend_type is not None and (schema := schema_of(step.suspend_type)) is not None:
            payload = schema.validate(payload, where=f"question of step {record.id!r}", path=record.path)
        if label is not None:
            _refuse_label(run, label, record.path)
        record.stop = Suspended(record.path, payload, label, number)
        raise Suspend(payload, label=label)

    async def memoize(self, key: str, function: Callable[[], Any]) -> Any:
        """
        Call *function*, plain or async, and return its result; once that is kept, return it without another call.

        A process that dies between the call and the write calls it again: give what must not be done twice the
        ``idempotency_key`` as well.  *key* names it within the step.  The result is kept as the annotation of *function* says: it is of the kinds
        that can be kept.

        Raises ``UntypedValue`` where the result cannot be kept.
        """
        from procession.steps.codec import codec_of
        from procession.workflows.typeflow import function_types

        run, path = self._run, self.record.path
        codec = codec_of(function_types(function)[1])
        where = f"memo {key!r} of step {self.record.id!r}"
        if (path, key) in run.memos:
            return codec.decode(run.memos[path, key], where=where, path=path)
        value: Any = function()
        if isawaitable(value):
            value = await value
        tree = codec.encode(value, where=where, path=path)
        if run.journal is not None:
            await run.journal.memoized(path, key, tree)
        run.memoize(path, key, tree)
        return value

    def spend(self, usage: Usage | None = None, *, money: float = 0.0, model: str = "") -> None:
        """
        Report the tokens of a model call that the step has made by itself, and *money*, in whatever the budgets are in.

        The tokens are in the request's usage too.  *model* is the id of the model, for the price that a budget has.

        Raises ``BudgetExceeded`` where a budget around the step is used up by now: the step is being stopped;
        ``InputError`` for less than nothing.
        """
        run, path, begun = self._run, self.record.path, None
        if run.caps and not METERS.get():  # perhaps a thread that was begun without the step's context variables
            meters: tuple[Count, ...] = tuple(each for each in run.caps if is_within(path, each.path))
            calls = run.spent.get(path) if run.spent is not None else None
            begun = METERS.set((*meters, calls) if calls is not None else meters)
        try:
            report(usage, model, money)
            if usage is not None:
                run.scope.charge(usage)
            run.scope.tell_call(model, usage or NO_USAGE, money=money)
            refuse_spent()
        finally:
            if begun is not None:
                METERS.reset(begun)

    @property
    def idempotency_key(self) -> str:
        """
        The same for every time this step runs in this run: in another attempt, resumed, or after a crash.

        A round of a loop and an item of a list have keys of their own, and so has a run that was forked.
        """
        return f"{self._run.run_id}:{self.record.path}"


def _refuse_label(run: RunState, label: str, path: str) -> None:
    labels = run.labels
    if labels is None:  # of a run that goes on, those of before
        asked = {at: record.stop for at, record in run.records.items() if isinstance(record.stop, Suspended)}
        labels = run.labels = {stop.label: at for at, stop in asked.items() if stop.label and stop.path == at}
    other = labels.get(label, path)
    record = run.records.get(other)
    if other != path and record is not None and isinstance(record.stop, Suspended) and record.stop.label == label:
        raise ResumeError(
            f"{path!r} and {other!r} both wait under the label {label!r}",
            run_id=run.run_id,
            waiting=(other, path),
            hint="labels are unique within a run: add what tells them apart, such as the id of the item",
        )
    labels[label] = path
