"""
The nine contexts: what each hook is given besides what every hook is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from procession.errors import MessageError, ModelError
from procession.messages.chunks import Chunk
from procession.messages.usage import Usage
from procession.processors.context import HookContext, SignallingContext
from procession.processors.hooks import Hook
from procession.processors.llm_contexts import LLMRequestContext, LLMResponseContext, given_response
from procession.processors.payloads import (
    APIErrorPayload,
    InputPayload,
    InputStepPayload,
    OutputResultPayload,
    OutputStepPayload,
    OutputStreamPayload,
    ToolOrigin,
    ToolResultPayload,
)
from procession.processors.result_notes import ResultNotes
from procession.steps.scope import RequestScope

__all__ = [
    "CONTEXTS", "APIErrorContext", "InputContext", "InputStepContext", "LLMRequestContext", "LLMResponseContext",
    "OutputResultContext", "OutputStepContext", "OutputStreamContext", "ToolResultContext", "given_response", "notes_of",
]  # fmt: skip


class InputContext(SignallingContext[InputPayload]):
    """
    Of ``process_input``: once, before the first step.
    """

    hook = Hook.INPUT


class InputStepContext(SignallingContext[InputStepPayload]):
    """
    Of ``process_input_step``: before each model call.
    """

    hook = Hook.INPUT_STEP

    @property
    def model(self) -> Any:
        """
        The model that will be asked.
        """
        return self._payload.model

    @property
    def tools(self) -> Mapping[str, Any]:
        """
        The tools of this step, by name.
        """
        return self._payload.tools

    @property
    def tool_choice(self) -> Any:
        """
        Which tool the model must, may or may not call.
        """
        return self._payload.tool_choice

    @property
    def active_tools(self) -> Sequence[str] | None:
        """
        The tools that are sent and may run, or ``None`` for all.
        """
        return self._payload.active_tools

    @property
    def provider_options(self) -> Mapping[str, Any] | None:
        """
        What is passed on to the provider, by provider name.
        """
        return self._payload.provider_options

    @property
    def model_settings(self) -> Mapping[str, Any] | None:
        """
        Temperature and the like.
        """
        return self._payload.model_settings

    @property
    def structured_output(self) -> Any:
        """
        The schema that the answer must fit, or ``None``.
        """
        return self._payload.structured_output

    @property
    def message_id(self) -> str | None:
        """
        The id of the answer to come.
        """
        return self._payload.message_id


class OutputStreamContext(HookContext[OutputStreamPayload]):
    """
    Of ``process_output_stream``: each chunk.  One context serves a whole stream; ``chunk`` is the present one.
    """

    hook = Hook.OUTPUT_STREAM

    chunk: Chunk

    def __init__(self, payload: OutputStreamPayload, scope: RequestScope, owner: Any) -> None:
        super().__init__(payload, scope, owner)
        self._parts: list[Chunk] | None = None
        if getattr(owner, "uses_stream_parts", False):
            self._parts = scope.resources.setdefault(("stream_parts", owner.id), [])
        if payload.chunk is not None:
            self.note(payload.chunk)

    @property
    def part(self) -> Chunk:
        """
        The present chunk, under the documents' name.
        """
        return self.chunk

    @property
    def stream_parts(self) -> Sequence[Chunk]:
        """
        The chunks that this processor received in this run, the present one last (D37).

        Raises ``MessageError`` where the class does not set ``uses_stream_parts = True``: nobody else's are kept.
        """
        if self._parts is None:
            raise MessageError(
                f"processor {self.processor_id!r} reads stream_parts, which are not kept for it",
                hint="set uses_stream_parts = True on its class",
            )
        return self._parts

    def note(self, chunk: Chunk) -> None:
        """
        Make *chunk* the present one and keep it where the processor uses them.
        """
        self.chunk = chunk
        if self._parts is not None:
            self._parts.append(chunk)


class OutputStepContext(SignallingContext[OutputStepPayload]):
    """
    Of ``process_output_step``: after each model call, before its tools run.
    """

    hook = Hook.OUTPUT_STEP

    @property
    def text(self) -> str:
        """
        The text of this step, as the processors before this one left it (D37).
        """
        return self._payload.text

    @property
    def finish_reason(self) -> str:
        """
        Why the model stopped.
        """
        return self._payload.finish_reason

    @property
    def tool_calls(self) -> Sequence[Any]:
        """
        The tool calls of this step, as the processors before this one left them.
        """
        return self._payload.tool_calls

    @property
    def usage(self) -> Usage:
        """
        The tokens of this step.
        """
        return self._payload.usage

    @property
    def provider_metadata(self) -> Mapping[str, Any] | None:
        """
        What the provider said besides.
        """
        return self._payload.provider_metadata


class ToolResultContext(HookContext[ToolResultPayload]):
    """
    Of ``process_tool_result``: each result of a tool.
    """

    hook = Hook.TOOL_RESULT

    @property
    def tool_name(self) -> str:
        """
        The tool that answered.
        """
        return self._payload.tool_name

    @property
    def tool_call_id(self) -> str:
        """
        The call that it answers.
        """
        return self._payload.tool_call_id

    @property
    def origin(self) -> ToolOrigin | None:
        """
        Where the tool came from: ``agent``, ``call`` (its option ``tools``), ``step`` (``process_input_step`` or
        ``prepare_step`` brought it) or ``provider``; ``None`` for one that does not exist.
        """
        return self._payload.origin

    @property
    def args(self) -> Any:
        """
        What the tool was called with.
        """
        return self._payload.args

    @property
    def result(self) -> Any:
        """
        What it answered, as the processors before this one left it (D20).
        """
        return self._payload.result

    @property
    def is_error(self) -> bool:
        """
        Whether the tool raised; only processors with ``process_tool_errors`` are told.
        """
        return self._payload.is_error

    @property
    def provider_executed(self) -> bool:
        """
        Whether the provider ran the tool.
        """
        return self._payload.provider_executed


def notes_of(ctx: ToolResultContext) -> ResultNotes | None:
    """
    Return what the provider said beside the result, where it said something: guards may drop it.
    """
    return ctx._payload.notes  # pyright: ignore[reportPrivateUsage]


class APIErrorContext(SignallingContext[APIErrorPayload]):
    """
    Of ``process_api_error``: each failed model call.
    """

    hook = Hook.API_ERROR

    @property
    def error(self) -> ModelError:
        """
        What failed: ``kind``, ``status_code``, ``retryable``, ``body`` (D21).
        """
        return self._payload.error

    @property
    def text(self) -> str:
        """
        The text that had come, and was let by, before the call failed; mostly there is none.
        """
        return self._payload.text

    @property
    def can_retry(self) -> bool:
        """
        Whether the budget for another attempt is left.
        """
        return self._payload.can_retry

    @property
    def message_id(self) -> str | None:
        """
        The id of the answer that the failed call would have become part of.
        """
        return self._payload.message_id


class OutputResultContext(SignallingContext[OutputResultPayload]):
    """
    Of ``process_output_result``: once, after the last step.
    """

    hook = Hook.OUTPUT_RESULT

    @property
    def result(self) -> Any:
        """
        The turn: ``text``, ``finish_reason``, ``steps``, ``usage``; the text as the processors before this one left it.
        """
        result = self._payload.result
        text = "".join(message.text for message in self._payload.messages if message.role == "assistant")
        return result if result is None or result.text == text else result.replace(text=text)


CONTEXTS: Mapping[Hook, type[HookContext[Any]]] = {
    context.hook: context
    for context in (
        InputContext, InputStepContext, LLMRequestContext, OutputStreamContext, APIErrorContext, LLMResponseContext,
        OutputStepContext, ToolResultContext, OutputResultContext,
    )
}  # fmt: skip
"""The class of context that each hook is given."""
