"""
Chunks: what a stream is made of, one immutable class per kind, with the documents' names in snake case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from procession.messages.parts import Metadata
from procession.messages.tripwire import TripwireInfo
from procession.messages.usage import NO_USAGE, Usage
from procession.messages.value import Value

__all__ = [
    "AbortChunk", "Chunk", "DataChunk", "ErrorChunk", "FileChunk", "Finish", "ObjectDelta", "ObjectResult", "RawChunk",
    "ReasoningDelta", "ReasoningEnd", "ReasoningStart", "ResponseMetadata", "SourceChunk", "Start", "StepFinish",
    "StepOutput", "StepStart", "TextDelta", "TextEnd", "TextStart", "ToolCall", "ToolCallApproval",
    "ToolCallSuspended", "ToolError", "ToolInputDelta", "ToolInputEnd", "ToolInputStart", "ToolOutput",
    "ToolOutputDenied", "ToolResult", "TripwireChunk", "TripwireInfo",
]  # fmt: skip


class Chunk(Value):
    """
    One piece of a stream.
    """

    type: ClassVar[str] = ""
    control: ClassVar[bool] = False
    """Whether it carries the stream's structure, so that no processor can drop it."""


class Start(Chunk):
    """
    The run has begun.
    """

    type: ClassVar[str] = "start"
    control: ClassVar[bool] = True
    run_id: str
    message_id: str
    agent_id: str | None = None


class StepStart(Chunk):
    """
    A model call begins.
    """

    type: ClassVar[str] = "step-start"
    control: ClassVar[bool] = True
    message_id: str | None = None


class ResponseMetadata(Chunk):
    """
    What a provider, or a model's client, says before the answer.  Processors see it, clients do not.

    ``warnings`` say what could not be done, each with a ``type``; ``request`` is the body that was sent, ``raw_response``
    what came back, where a client has them; ``asked`` which of several models were asked, and used what: the last answers.
    """

    type: ClassVar[str] = "response-metadata"
    id: str | None = None
    model_id: str | None = None
    timestamp: float | None = None
    headers: Mapping[str, str] | None = None
    warnings: Sequence[Any] = ()
    request: Any = None
    raw_response: Any = None
    asked: Sequence[tuple[str, Usage]] = ()


class TextStart(Chunk):
    """
    A text block begins.
    """

    type: ClassVar[str] = "text-start"
    id: str = "text"
    provider_metadata: Metadata = None


class TextDelta(Chunk):
    """
    More text of a block.
    """

    type: ClassVar[str] = "text-delta"
    text: str
    id: str = "text"
    provider_metadata: Metadata = None


class TextEnd(Chunk):
    """
    A text block is complete.
    """

    type: ClassVar[str] = "text-end"
    id: str = "text"
    provider_metadata: Metadata = None


class ReasoningStart(Chunk):
    """
    A block of reasoning begins.
    """

    type: ClassVar[str] = "reasoning-start"
    id: str = "reasoning"
    provider_metadata: Metadata = None


class ReasoningDelta(Chunk):
    """
    More reasoning of a block.
    """

    type: ClassVar[str] = "reasoning-delta"
    text: str
    id: str = "reasoning"
    signature: str | None = None
    redacted: str | None = None
    provider_metadata: Metadata = None


class ReasoningEnd(Chunk):
    """
    A block of reasoning is complete.
    """

    type: ClassVar[str] = "reasoning-end"
    id: str = "reasoning"
    signature: str | None = None
    provider_metadata: Metadata = None


class SourceChunk(Chunk):
    """
    A source that the model names.
    """

    type: ClassVar[str] = "source"
    id: str
    source_type: str = "url"
    url: str | None = None
    title: str | None = None
    media_type: str | None = None
    filename: str | None = None
    provider_metadata: Metadata = None


class FileChunk(Chunk):
    """
    A file that the model made.
    """

    type: ClassVar[str] = "file"
    data: str | bytes
    media_type: str
    filename: str | None = None
    provider_metadata: Metadata = None


class ToolInputStart(Chunk):
    """
    The arguments of a tool call begin to stream.
    """

    type: ClassVar[str] = "tool-call-input-streaming-start"
    tool_call_id: str
    tool_name: str
    provider_executed: bool = False


class ToolInputDelta(Chunk):
    """
    More text of a tool call's arguments.
    """

    type: ClassVar[str] = "tool-call-delta"
    tool_call_id: str
    args_text: str
    tool_name: str | None = None


class ToolInputEnd(Chunk):
    """
    The arguments of a tool call are complete.
    """

    type: ClassVar[str] = "tool-call-input-streaming-end"
    tool_call_id: str


class ToolCall(Chunk):
    """
    The model asks for a tool.  ``args`` is the parsed object, or the raw text where it is no JSON object.
    """

    type: ClassVar[str] = "tool-call"
    tool_call_id: str
    tool_name: str
    args: Any
    provider_executed: bool = False
    provider_metadata: Metadata = None


class ToolCallApproval(Chunk):
    """
    A tool call waits for a person's yes.
    """

    type: ClassVar[str] = "tool-call-approval"
    tool_call_id: str
    tool_name: str
    args: Any
    resume_schema: Any = None
    question_id: str | None = None
    """What the answer is given by, where that is not the id of the call."""


class ToolCallSuspended(Chunk):
    """
    A tool waits for an answer from outside.
    """

    type: ClassVar[str] = "tool-call-suspended"
    tool_call_id: str
    tool_name: str
    args: Any
    suspend_payload: Any = None
    resume_schema: Any = None
    question_id: str | None = None
    """What the answer is given by, where that is not the id of the call."""


class ToolResult(Chunk):
    """
    What a tool answered, after ``process_tool_result``.
    """

    type: ClassVar[str] = "tool-result"
    tool_call_id: str
    tool_name: str
    args: Any
    result: Any
    is_error: bool = False
    provider_executed: bool = False
    provider_metadata: Metadata = None


class ToolError(Chunk):
    """
    A tool raised or is unknown; ``error`` is the text that the model is told.
    """

    type: ClassVar[str] = "tool-error"
    tool_call_id: str
    tool_name: str
    args: Any
    error: str
    provider_executed: bool = False


class ToolOutputDenied(Chunk):
    """
    A person said no to a tool call.
    """

    type: ClassVar[str] = "tool-output-denied"
    tool_call_id: str
    tool_name: str
    args: Any
    reason: str | None = None


class ToolOutput(Chunk):
    """
    What a tool wrote while it ran: a value, or a chunk of a sub-agent.
    """

    type: ClassVar[str] = "tool-output"
    tool_call_id: str
    tool_name: str
    output: Any


class StepOutput(Chunk):
    """
    Something that a workflow step wrote while it ran.
    """

    type: ClassVar[str] = "workflow-step-output"
    step_id: str
    output: Any


class StepFinish(Chunk):
    """
    A step is over.  With reason ``retry`` it was rejected, or replaced: a client drops what it showed of it.
    """

    type: ClassVar[str] = "step-finish"
    control: ClassVar[bool] = True
    reason: str
    is_continued: bool = False
    text: str = ""
    usage: Usage = NO_USAGE
    message_id: str | None = None
    retry_reason: str | None = None
    retry_processor_id: str | None = None
    retry_metadata: Any = None


class Finish(Chunk):
    """
    A model's stream, or the run, is over.  The run's carries ``text``, the text of its last step.
    """

    type: ClassVar[str] = "finish"
    control: ClassVar[bool] = True
    reason: str
    usage: Usage = NO_USAGE
    text: str = ""
    run_id: str | None = None
    raw_reason: str | None = None
    provider_metadata: Metadata = None


class ErrorChunk(Chunk):
    """
    Something failed; ``error`` is the exception.
    """

    type: ClassVar[str] = "error"
    control: ClassVar[bool] = True
    error: BaseException


class AbortChunk(Chunk):
    """
    The caller ended the run.
    """

    type: ClassVar[str] = "abort"
    control: ClassVar[bool] = True


class TripwireChunk(Chunk):
    """
    A processor stopped the run: the last chunk of its stream.
    """

    type: ClassVar[str] = "tripwire"
    control: ClassVar[bool] = True
    tripwire: TripwireInfo
    run_id: str
    source: str = "AGENT"


class ObjectDelta(Chunk):
    """
    The structured output so far.
    """

    type: ClassVar[str] = "object"
    object: Any


class ObjectResult(Chunk):
    """
    The structured output, complete and valid.
    """

    type: ClassVar[str] = "object-result"
    object: Any
    fallback: bool = False


class RawChunk(Chunk):
    """
    A provider's own event, passed on when asked for.
    """

    type: ClassVar[str] = "raw"
    value: Any


class DataChunk(Chunk):
    """
    Data of the application: ``type`` starts with ``data-``.  ``transient`` data is shown and not stored.
    """

    type: str  # type: ignore[misc]  # the one kind whose name is chosen by the sender
    data: Any
    id: str | None = None
    transient: bool = False
