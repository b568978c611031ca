"""
AgentResult: what a run of an agent came to, and AgentStep, one model call of it with its tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal

from procession.agents.suspended_call import SuspendedCall
from procession.errors import ProcessionError, RunCancelled, RunSuspended, TripwireError
from procession.messages.chunks import ResponseMetadata, ToolCall, ToolError, ToolResult, TripwireInfo
from procession.messages.message import Message
from procession.messages.parts import FilePart, SourcePart
from procession.messages.usage import NO_USAGE, Usage
from procession.messages.value import Value
from procession.processors.memory.unsaved import Unsaved
from procession.processors.violation import GuardReport, Violation

__all__ = ["AgentResult", "AgentStatus", "AgentStep", "ModelResponse", "TurnResult"]

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Out = TypeVar("Out", default=Any)
    """What ``object`` is; where nothing is said, a type checker takes it for anything."""
else:  # at run time no default is needed, nor another import
    from typing import TypeVar

    Out = TypeVar("Out")

AgentStatus = Literal["completed", "blocked", "failed", "suspended", "aborted"]


class AgentStep:
    """
    One model call and what became of it: its text, its tool calls and their results.
    """

    __slots__ = (
        "files", "finish_reason", "from_cache", "message_id", "object", "provider_metadata", "reasoning", "response", "sources",
        "step_number", "taken", "text", "tool_calls", "tripwire", "usage", "warnings",
    )  # fmt: skip

    def __init__(self, step_number: int, message_id: str) -> None:
        self.step_number = step_number
        self.message_id = message_id
        self.text = ""
        """The text as delivered, after the processors."""
        self.reasoning = ""
        self.finish_reason = "unknown"
        self.usage: Usage = NO_USAGE
        self.tool_calls: Sequence[ToolCall] = ()
        self.taken: Sequence[ToolResult | ToolError] = ()
        """The results so far; while they are being taken it still grows."""
        self.files: tuple[FilePart, ...] = ()
        """The files that the model gave."""
        self.sources: tuple[SourcePart, ...] = ()
        """What the model named as its sources."""
        self.from_cache = False
        """Whether a processor, such as a cache, gave the answer in place of the model; ``usage`` is what it once cost."""
        self.tripwire: TripwireInfo | None = None
        """Of a rejected attempt: why it was rejected."""
        self.provider_metadata: Mapping[str, Any] | None = None
        self.warnings: Sequence[Any] = ()
        self.object: Any = None
        self.response: ResponseMetadata | None = None
        """What the provider said of its response: id, model, time (seconds since 1970) and HTTP headers."""

    @property
    def tool_results(self) -> tuple[ToolResult | ToolError, ...]:
        """
        What the tools answered, in the order of the calls.
        """
        return tuple(self.taken)

    def __repr__(self) -> str:
        return f"AgentStep({self.step_number}, {self.finish_reason!r}, text={self.text!r})"


class TurnResult(Value):
    """
    The turn as ``process_output_result`` is shown it.
    """

    text: str
    finish_reason: str
    steps: Sequence[AgentStep]
    usage: Usage


class ModelResponse(Value, kw_only=True):
    """
    What the provider said of the last step's response, as far as it did, and the answer as messages.
    """

    id: str | None = None
    model_id: str | None = None
    timestamp: float | None = None
    """Seconds since 1970."""
    headers: Mapping[str, str] | None = None
    messages: Sequence[Message] = ()
    """This turn's answer, as processors left it."""


class AgentResult(Value, Generic[Out], kw_only=True):
    """
    What a run of an agent came to.
    """

    run_id: str
    status: AgentStatus
    text: str
    """The accepted text of all steps, as delivered (D37)."""
    final_text: str
    """The text of the last step."""
    finish_reason: str
    usage: Usage
    """The tokens of every model call of the run: of rejected attempts and of agents inside, too; not of guards."""
    steps: Sequence[AgentStep]
    """The accepted steps."""
    rejected: Sequence[AgentStep] = ()
    """The attempts that were sent back, that failed, or that a processor's own answer took the place of."""
    guard_usage: Usage = NO_USAGE
    """The tokens of what processors asked a model, those of agents inside included."""
    tripwire: TripwireInfo | None = None
    object: Out = None  # type: ignore[assignment]
    """The structured output, of the type that was asked for."""
    used_fallback: bool = False
    """Whether ``object`` is the fallback of a structured output that was not given."""
    violations: Sequence[Violation] = ()
    """Everything that guards found, and what became of it (D36)."""
    outcomes: Sequence[GuardReport] = ()
    """What each guard came to at each hook, those that found nothing and those that were not asked included (D36)."""
    left_behind: Sequence[str] = ()
    """What ignored its cancellation and still went on when the run ended: ``processor 'x' in process_input``."""
    messages: Sequence[Message] = ()
    """This turn's response."""
    warnings: Sequence[Any] = ()
    error: ProcessionError | None = None
    abort_reason: str | None = None
    """Why the run was aborted, as far as it was said."""
    suspended: Sequence[SuspendedCall] = ()
    """The tool calls that a suspended run waits for."""
    unsaved: Unsaved | None = None
    """That memory could not save the turn, and whether it waits until the store is back; ``None`` where all is well."""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """
        The tool calls of all accepted steps.
        """
        return tuple(call for step in self.steps for call in step.tool_calls)

    @property
    def tool_results(self) -> tuple[ToolResult | ToolError, ...]:
        """
        The tool results of all accepted steps.
        """
        return tuple(result for step in self.steps for result in step.tool_results)

    @property
    def response(self) -> ModelResponse:
        """
        What the provider said of the last accepted step's response, and this turn's answer.
        """
        said = self.steps[-1].response if self.steps else None
        if said is None:
            return ModelResponse(messages=self.messages)
        return ModelResponse(
            id=said.id, model_id=said.model_id, timestamp=said.timestamp, headers=said.headers, messages=self.messages
        )

    def raise_for_status(self) -> AgentResult[Out]:
        """
        Return the result, or raise what stopped the run: ``TripwireError``, the run's error, ``RunCancelled`` where it
        was aborted, or ``RunSuspended`` where it waits for an answer.
        """
        if self.error is not None:
            raise self.error
        if self.tripwire is not None:
            raise TripwireError(self.tripwire)
        if self.suspended:
            calls = ", ".join(f"{call.tool_call_id!r} of tool {call.tool_name!r}" for call in self.suspended)
            raise RunSuspended(f"run {self.run_id} waits for an answer to call {calls}", hint="await agent.resume(...)")
        if self.status == "aborted":
            why = f": {self.abort_reason}" if self.abort_reason else ""
            raise RunCancelled(f"run {self.run_id} was aborted{why}")
        return self
