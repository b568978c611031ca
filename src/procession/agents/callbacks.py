"""
Callbacks of a call: told what happens, and, for some, asked whether to go on.

What a callback raises is told in its own name, so that it is not taken for an error of the model or of a processor.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from procession.agents.output import AgentStep
from procession.errors import StepError
from procession.messages.chunks import AbortChunk, Chunk, ErrorChunk, Finish, StepFinish, TripwireChunk
from procession.messages.shapes import is_form, is_unread
from procession.messages.value import Value
from procession.steps.scope import RequestScope
from procession.steps.stray import is_failure

__all__ = [
    "CALLBACKS", "Callback", "Condition", "Iteration", "after_iteration", "is_met", "tell_after", "tell_callback", "told",
]  # fmt: skip

Callback: TypeAlias = Callable[..., Any]
Condition: TypeAlias = Callable[[Sequence[AgentStep]], bool | Awaitable[bool]]

CALLBACKS = frozenset({"on_chunk", "on_step_finish", "on_finish", "on_error", "on_abort", "on_iteration_complete"})

_ANSWER = 'return None, or {"continue_": False} to stop, {"feedback": "..."} to tell the model something'


class Iteration(Value):
    """
    One turn of the loop, as ``on_iteration_complete`` is told it.
    """

    step: AgentStep
    """The step that has come to its end, its tools included."""
    steps: Sequence[AgentStep]
    """The accepted steps so far, this one included."""
    is_last: bool
    """Whether the run ends with it."""
    run_id: str


async def told(name: str, callback: Callback, value: Any) -> Any:
    """
    Call a callback and return its answer.

    Raises ``StepError``, which names the callback, where it raises.
    """
    try:
        answer = callback(value)
        return await answer if hasattr(answer, "__await__") else answer
    except BaseException as error:
        if not is_failure(error):
            raise
        raise StepError(f"{name} raised {type(error).__name__}: {error}") from error


async def tell_after(name: str, callback: Callback, value: Any, run_id: str) -> None:
    """
    Call a callback about an outcome that stands: what it raises is logged, without its words.
    """
    try:
        await told(name, callback, value)
    except StepError as error:
        import structlog

        structlog.get_logger("procession.agents").warning(
            f"{name} failed", run_id=run_id, error=type(error.__cause__).__name__
        )


async def is_met(conditions: Sequence[Condition], steps: Sequence[AgentStep]) -> bool:
    """
    Whether one of ``stop_when``'s conditions is true for the accepted *steps*; they are asked in their order.

    Raises ``StepError``, which names the condition, where one raises or gives an answer that is still to be read.
    """
    for condition in conditions:
        answer = await told(f"stop_when {_name(condition)}", condition, steps)
        if is_unread(answer):
            raise StepError(
                f"stop_when {_name(condition)} returned {type(answer).__name__}, which is true whatever it would give",
                hint="return True or False: any(...) of it, or await it",
            )
        if answer:
            return True
    return False


async def after_iteration(callback: Callback, iteration: Iteration) -> tuple[bool, str | None]:
    """
    Call ``on_iteration_complete`` and return whether the run may go on, and the feedback for the next step.

    Raises ``StepError`` where it raises, or gives an answer that is none.
    """
    answer = await told("on_iteration_complete", callback, iteration)
    if answer is None:
        return True, None
    if not is_form(answer):
        raise StepError(f"on_iteration_complete returned {type(answer).__name__}", hint=_ANSWER)
    fields: Mapping[Any, Any] = answer
    unknown = [key for key in fields if key not in ("continue_", "feedback")]
    if unknown:
        raise StepError(f"on_iteration_complete returned a mapping with {unknown[0]!r} in it", hint=_ANSWER)
    going_on, feedback = fields.get("continue_", True), fields.get("feedback")
    if not isinstance(going_on, bool):
        raise StepError(f"on_iteration_complete returned continue_ as {type(going_on).__name__}", hint=_ANSWER)
    if feedback is not None and not isinstance(feedback, str):
        raise StepError(f"on_iteration_complete returned feedback as {type(feedback).__name__}", hint=_ANSWER)
    return going_on, feedback or None


def _name(condition: Any) -> str:
    return getattr(condition, "__name__", type(condition).__name__)


async def tell_callback(on_chunk: Callable[[Chunk], Any], chunk: Chunk, scope: RequestScope) -> None:
    """
    Call the caller's ``on_chunk``; what it raises must not be taken for the model's error.

    At a chunk that says how the run ended it is only logged: a callback cannot take that back.
    """
    try:
        waiting = on_chunk(chunk)
        if hasattr(waiting, "__await__"):
            await waiting
    except BaseException as error:
        if not is_failure(error):
            raise
        if not _stands(chunk):
            raise StepError(f"on_chunk raised {type(error).__name__}: {error}") from error
        _log_failed_callback(scope.run_id, chunk, error)


def _stands(chunk: Chunk) -> bool:
    """
    Whether *chunk* tells of an end that nothing can change any more.
    """
    if type(chunk) is StepFinish:
        return chunk.reason == "error"
    return isinstance(chunk, (TripwireChunk, ErrorChunk, AbortChunk, Finish))


def _log_failed_callback(run_id: str, chunk: Chunk, error: BaseException) -> None:
    """
    Say that ``on_chunk`` raised; the message of the error may hold private text and is left out.
    """
    import structlog

    structlog.get_logger("procession.agents").warning(
        "on_chunk failed", run_id=run_id, chunk=chunk.type, error=type(error).__name__
    )
