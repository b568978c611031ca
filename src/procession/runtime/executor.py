"""
Executor: runs one step, and says how it ended.  The one place where signals are caught.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import anyio
import anyio.to_thread

from procession.errors import BudgetExceeded, ProcessionError, SchemaError, StepError, StepTimeout
from procession.runtime.context import Context
from procession.runtime.deadline import limited
from procession.runtime.events import Note
from procession.runtime.observability.logging import log_stop
from procession.runtime.records import Record
from procession.runtime.state import RunState
from procession.steps.result import Bailed, Blocked, Cancelled, Failed, Stop, Suspended
from procession.steps.signals import Bail, CancelRun, Signal, Suspend, Tripwire
from procession.steps.stray import is_stray
from procession.workflows.plan import GUARDED, INLINE, Leaf, PlanNode

__all__ = ["conclude", "fail", "is_awaitable", "perform"]


_COUNTED: frozenset[type] = frozenset((str, bytes, list, tuple, set, frozenset, dict))
"""What has a size that says something, and can be asked for it without running code of the user's."""


def is_awaitable(value: object) -> bool:
    """
    Return whether a plain function has returned something to wait for.
    """
    return hasattr(type(value), "__await__")


async def perform(node: Leaf, run: RunState, record: Record, value: Any) -> Any:
    """
    Run a step that has validation, retries, a timeout or a thread, and return its output.
    """
    path = record.path
    if node.mode == INLINE:
        output = node.function(value, run, path)
        return await output if node.is_async else output
    if node.check_in is not None:
        value = node.check_in.validate(value, where=node.taken, path=path)
    if node.mode != GUARDED:
        output = node.function(Context(run, record, value))
        if node.is_async or is_awaitable(output):
            output = await output
        return output if node.check_out is None else node.check_out.validate(output, where=node.made, path=path)
    if node.total_timeout is None:
        return await _attempts(node, run, record, value)
    output = None
    with limited(run, path + "/", node.total_timeout) as limit:
        output = await _attempts(node, run, record, value)
    if not limit.cancelled_caught:
        return output
    raise StepTimeout(
        f"step {node.id!r} took longer than {node.total_timeout:g} s in {_times(record.attempt)}",
        path=path,
        hint="raise its total_timeout=, or try less often",
    )


async def _attempts(node: Leaf, run: RunState, record: Record, value: Any) -> Any:
    path, policy = record.path, node.retry
    if policy is None:
        return await _attempt(node, run, record, value)
    delays = policy.delays(f"{run.run_id}:{path}")
    if record.attempt > 1:  # attempts of before a restart count, those of a run that this was forked from do not
        before = run.history.uncounted.get(path, 0) if run.history is not None else 0
        for _ in range(record.attempt - 1 - before):
            next(delays, None)
    while True:
        try:
            return await _attempt(node, run, record, value)
        except policy.retry_on as error:
            delay = next(delays, None)
            if delay is None or isinstance(error, SchemaError | BudgetExceeded) or record.stop is not None:
                raise
            if run.journal is not None:
                await run.journal.retried(record, error)
            run.shared.undo(path, below=run.journal is None)  # what was called in a run that is kept is not done again
            record.attempt += 1
            payload = {"error": error, "delay": delay}
            run.append(Note("node.retrying", run.now(), path, node.id, record.attempt, payload))
            await anyio.sleep(delay)


def _times(attempts: int) -> str:
    return f"{attempts} attempt{'s' if attempts > 1 else ''}"


async def _attempt(node: Leaf, run: RunState, record: Record, value: Any) -> Any:
    context = Context(run, record, value)
    if node.timeout is None:
        output = await _invoke(node, context)
    else:
        output = None
        with limited(run, record.path + "/", node.timeout) as limit:
            output = await _invoke(node, context)
        if limit.cancelled_caught:
            raise StepTimeout(
                f"step {node.id!r} took longer than {node.timeout:g} s",
                path=record.path,
                hint="raise its timeout=, or retry",
            )
    if node.check_out is not None:
        output = node.check_out.validate(output, where=node.made, path=record.path)
    return output


async def _invoke(node: Leaf, context: Context) -> Any:
    if node.step.blocking and not node.is_async:
        output = await _in_thread(node.function, context)
    else:
        output = node.function(context)
    return await output if node.is_async or is_awaitable(output) else output


async def _in_thread(function: Callable[[Any], Any], context: Context) -> Any:
    """
    Call *function* in a worker thread, which is left behind where the step is cancelled.
    """

    def call() -> tuple[Any, Signal | None]:
        try:
            return function(context), None
        except Signal as signal:
            return None, signal

    output, signal = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
    if signal is not None:
        raise signal
    return output


def conclude(run: RunState, record: Record, error: BaseException | None = None) -> Stop:
    """
    Record how a step ended that gave no output: by *error*, or by a verdict that was noted and then swallowed.

    Raises *error* again where it is a cancellation, or anything else that is neither a signal nor an error.
    """
    stop = _stop_of(run, record, error)
    run.close(record, stop)
    if isinstance(stop, Failed | Suspended | Cancelled):
        run.shared.undo(record.path)
    if isinstance(stop, Cancelled) and error is not None and not isinstance(error, CancelRun):
        raise error
    if isinstance(stop, Failed | Blocked):
        log_stop(run.run_id, record, stop)
    return stop


def fail(run: RunState, node: PlanNode, path: str, error: BaseException, record: Record | None = None) -> Stop:
    """
    Record that the engine's own work at *node* failed.
    """
    if record is None:
        record = run.records[path] = Record(node, path, 0.0)
    return conclude(run, record, error)


def _stop_of(run: RunState, record: Record, error: BaseException | None) -> Stop:
    path, noted = record.path, record.stop
    found: BaseException | None = error
    if isinstance(error, BaseExceptionGroup):  # a task group of the step's own has wrapped a signal
        found = _signal_in(cast("BaseExceptionGroup[BaseException]", error)) or found
    match found:
        case Tripwire():
            return Blocked(path, found.info)
        case Suspend():
            return noted if isinstance(noted, Suspended) else Suspended(path, found.payload, found.label)
        case Bail():
            return noted if isinstance(noted, Bailed) else Bailed(path, found.value, found.scope)
        case CancelRun():
            return noted if isinstance(noted, Cancelled) else Cancelled(path, "a step asked for it")
        case Exception():
            return noted if noted is not None else Failed(path, _wrapped(record, found))
        case None:
            assert noted is not None
            return noted
        case _:
            if is_stray(found):
                return Failed(path, _wrapped(record, found))
            return Cancelled(path, run.why_cancelled(path))


def _wrapped(record: Record, error: BaseException) -> Exception:
    if isinstance(error, ProcessionError):
        return error
    made = StepError(
        f"{record.kind} {record.path or record.id!r} raised {type(error).__name__}: {error}",
        path=record.path,
        attempt=record.attempt,
        given=None if record.input is None else _outline(record.input),
    )
    made.__cause__ = error
    return made


def _outline(value: Any) -> str:
    name = type(value).__name__
    return f"{name} of {len(value)}" if type(value) in _COUNTED else name


def _signal_in(group: BaseExceptionGroup[BaseException]) -> BaseException | None:
    for error in group.exceptions:
        inner = cast("BaseExceptionGroup[BaseException]", error) if isinstance(error, BaseExceptionGroup) else None
        found = error if isinstance(error, Signal) else _signal_in(inner) if inner is not None else None
        if found is not None:
            return found
    return None
