"""
The nine payloads: what each hook's processors are given and may change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from procession.errors import ModelError
from procession.messages.chunks import Chunk, ToolCall
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import StepStartPart, TextPart, ToolCallPart
from procession.messages.patch import Added, Patch
from procession.messages.step_calls import calls_of_step
from procession.messages.texts import map_texts
from procession.messages.usage import NO_USAGE, Usage
from procession.processors.hidden_texts import HiddenTexts
from procession.processors.hiding_payload import HidingPayload
from procession.processors.hooks import Hook
from procession.processors.llm_payloads import LLMRequestPayload, LLMResponsePayload
from procession.processors.payload import HookPayload
from procession.steps.forkable import MergePolicy

__all__ = [
    "APIErrorPayload", "HookPayload", "InputPayload", "InputStepPayload", "LLMRequestPayload", "LLMResponsePayload",
    "OutputResultPayload", "OutputStepPayload", "OutputStreamPayload", "ToolOrigin", "ToolResultPayload",
]  # fmt: skip

ToolOrigin: TypeAlias = Literal["agent", "call", "step", "provider"]
"""Where a tool came from: the agent, the call's options, a hook of the step, or the provider that ran it."""


class InputPayload(HookPayload):
    """
    Of ``process_input``: history and input, without context.
    """

    hook = Hook.INPUT
    __slots__ = ()

    @property
    def messages(self) -> Sequence[Message]:
        """
        The history and the new input.
        """
        return self.message_list.view("memory", "input")


class InputStepPayload(HookPayload):
    """
    Of ``process_input_step``: all messages, and what the coming model call is made with.
    """

    hook = Hook.INPUT_STEP
    changeable = (
        "model", "tools", "tool_choice", "active_tools", "provider_options", "model_settings", "structured_output",
    )  # fmt: skip
    by_key = ("tools", "provider_options", "model_settings")
    __slots__ = (
        "active_tools", "message_id", "model", "model_settings", "provider_options", "structured_output",
        "tool_choice", "tools",
    )  # fmt: skip

    def __init__(
        self,
        message_list: MessageList,
        *,
        model: Any = None,
        tools: Mapping[str, Any] | None = None,
        tool_choice: Any = "auto",
        active_tools: Sequence[str] | None = None,
        provider_options: Mapping[str, Any] | None = None,
        model_settings: Mapping[str, Any] | None = None,
        structured_output: Any = None,
        message_id: str | None = None,
        step_number: int = 0,
        steps: Sequence[Any] = (),
        retry_count: int = 0,
    ) -> None:
        self.message_list = message_list
        self.step_number = step_number
        self.steps = steps
        self.retry_count = retry_count
        self.model = model
        self.tools: Mapping[str, Any] = tools if tools is not None else {}
        self.tool_choice = tool_choice
        self.active_tools = active_tools
        self.provider_options = provider_options
        self.model_settings = model_settings
        self.structured_output = structured_output
        self.message_id = message_id

    @staticmethod
    def read_tools(given: Any) -> Mapping[str, Any] | None:
        """
        Return by name what a hook *gave* as tools, where it may be more than tools: agents, workflows.  ``None`` elsewhere.
        """
        return None

    @staticmethod
    def read_output(given: Any) -> Any:
        """
        Return what a hook *gave* as the structured output.

        Raises ``DefinitionError`` for what is none.
        """
        return given


class OutputStreamPayload(HookPayload):
    """
    Of ``process_output_stream``: one chunk, or ``None`` once a processor dropped it.
    """

    hook = Hook.OUTPUT_STREAM
    changeable = ("chunk",)
    __slots__ = ("chunk", "turn")

    def __init__(self, message_list: MessageList, *, chunk: Chunk | None = None, **where: Any) -> None:
        super().__init__(message_list, **where)
        self.chunk = chunk
        self.turn: int | None = None
        """Which turn of the agent's loop it is, from 0, those counted that were sent back; ``None`` outside of it."""

    def place_of(self, path: str) -> str:
        """
        Return where in the run the processor at *path* of its list stands, as an error says.
        """
        return f"{f'step[{self.turn}]/' if self.turn is not None else ''}{self.phase}/{path}"

    def _resolve(self, field: str, before: Any, changed: Mapping[str, Any], branches: Mapping[str, Any]) -> Any:
        if any(value is None for value in changed.values()):  # removing is stricter than changing
            return None
        return super()._resolve(field, before, changed, branches)


class OutputStepPayload(HookPayload):
    """
    Of ``process_output_step``: what one step said, before its tools run.
    """

    hook = Hook.OUTPUT_STEP
    __slots__ = ("_text", "_tool_calls", "_version", "finish_reason", "message_id", "provider_metadata", "usage")

    def __init__(
        self,
        message_list: MessageList,
        *,
        text: str = "",
        message_id: str | None = None,
        finish_reason: str = "unknown",
        tool_calls: Sequence[ToolCall] = (),
        usage: Usage = NO_USAGE,
        provider_metadata: Mapping[str, Any] | None = None,
        reread: bool = False,
        **where: Any,
    ) -> None:
        super().__init__(message_list, **where)
        self._text = text
        self._version = -1 if reread else message_list.version
        """The state of the messages in which *text* and *tool_calls* stand; where it has changed, they are read again."""
        self.message_id = message_id
        """The id of the message that the step is part of, unless it has said nothing."""
        self.finish_reason = finish_reason
        self._tool_calls = tool_calls
        self.usage = usage
        self.provider_metadata = provider_metadata

    @property
    def tool_calls(self) -> Sequence[ToolCall]:
        """The tool calls of the step; read from the messages again where a processor has changed them (D37)."""
        if self.message_list.version == self._version or self.message_id is None:
            return self._tool_calls
        return tuple(call for call, _ in calls_of_step(self.message_list, self.message_id, self._tool_calls))

    @property
    def text(self) -> str:
        """
        The text of the step; read from the messages again where a processor has changed them (D37).
        """
        if self.message_list.version == self._version or self.message_id is None:
            return self._text
        message = self.message_list.get_by_id(self.message_id)
        said: list[str] = []
        for part in reversed(message.parts) if message is not None else ():
            if isinstance(part, StepStartPart):
                break
            if isinstance(part, TextPart):
                said.append(part.text)
        return "".join(reversed(said))


class ToolResultPayload(HidingPayload):
    """
    Of ``process_tool_result``: what one tool answered, before anything is derived from it (D20).
    """

    hook = Hook.TOOL_RESULT
    changeable = ("result",)
    __slots__ = ("args", "is_error", "origin", "provider_executed", "result", "seen", "tool_call_id", "tool_name")

    def __init__(
        self,
        message_list: MessageList,
        *,
        tool_name: str = "",
        tool_call_id: str = "",
        args: Any = None,
        result: Any = None,
        is_error: bool = False,
        provider_executed: bool = False,
        origin: ToolOrigin | None = None,
        **where: Any,
    ) -> None:
        super().__init__(message_list, **where)
        self.tool_name = tool_name
        self.origin: ToolOrigin | None = origin
        self.tool_call_id = tool_call_id
        self.args = args
        self.result = result
        self.is_error = is_error
        self.provider_executed = provider_executed
        self.seen = message_list.tool_call(tool_call_id)
        """The call as it stood in the messages when a processor last looked: it may be replaced there as well."""

    def merge(self, outputs: Mapping[str, Any], policy: MergePolicy) -> HookPayload:
        """
        Put the branches' results together; what one of them hid is hidden in the messages that others added as well.
        """
        hidden = [HiddenTexts(self.result, branch.result) for branch in self._hiding(outputs).values()]
        super().merge(outputs, policy)
        if hidden and policy in ("strictest", "priority"):
            for branch in outputs.values():
                if isinstance(branch, ToolResultPayload) and branch is not self:
                    self._hide_in_added(branch.message_list.diff(), hidden)
        return self

    def _hide_in_added(self, patch: Patch, hidden: Sequence[HiddenTexts]) -> None:
        for change in patch.changes:
            message = self.message_list.get_by_id(change.id) if isinstance(change, Added) else None
            if message is not None:
                parts = message.parts
                for texts in hidden:
                    parts = map_texts(parts, texts.covered)
                if parts is not message.parts:
                    self.message_list.replace(message.with_parts(parts), redacted=True)

    def _settle(self, branches: Iterable[Any]) -> None:
        """
        Count the redactions, and let a call that a branch replaced in the messages say what the branches came to.
        """
        super()._settle(branches)
        part = self.message_list.tool_call(self.tool_call_id)
        if part is not None and part is not self.seen and part.state in ("result", "output-error"):
            field = "error_text" if part.state == "output-error" else "result"
            if getattr(part, field) != self.result:
                self.message_list.update_tool_call(part.replace(**{field: self.result}))
                part = self.message_list.tool_call(self.tool_call_id)
        self.seen = part

    def _drops(self, branch: Any, picked: Any) -> bool:
        return HiddenTexts(self.result, branch.result).shown_in(picked.result)

    def _kept_hidden(self, outputs: Mapping[str, Any]) -> dict[str, Any]:
        return {"result": self._together(self.result, outputs, "priority")}

    def _resolve(self, field: str, before: Any, changed: Mapping[str, Any], branches: Mapping[str, Any]) -> Any:
        return self._together(before, branches, "strictest")

    def _together(self, before: Any, outputs: Mapping[str, Any], policy: str) -> Any:
        """
        Put results together like messages, place by place, then hide what one branch hid and another one shows.
        """
        hiding = self._hiding(outputs)
        call = ToolCallPart(self.tool_call_id, self.tool_name, self.args, "result", before)
        base = MessageList([Message("assistant", (call,))], source="response")
        patches: dict[str, Patch] = {}
        for key, branch in outputs.items():
            if isinstance(branch, ToolResultPayload) and branch.result is not before:
                fork = base.fork()
                fork.update_tool_call(call.replace(result=branch.result), redacted=True if key in hiding else None)
                patches[key] = fork.diff()
        base.merge(patches, policy)
        merged = base.tool_call(self.tool_call_id)
        result = merged.result if merged is not None else before
        for branch in hiding.values():  # messages know neither numbers and keys, nor parts of what was hidden
            result = HiddenTexts(before, branch.result).covered(result)
        return result


class APIErrorPayload(HookPayload):
    """
    Of ``process_api_error``: a model call that failed, and whether it is to be tried again.
    """

    hook = Hook.API_ERROR
    changeable = ("own_retry", "retry")
    __slots__ = ("can_retry", "error", "message_id", "own_retry", "retry", "text")

    def __init__(
        self, message_list: MessageList, *, error: ModelError, text: str = "", can_retry: bool = False,
        message_id: str | None = None, **where: Any,
    ) -> None:  # fmt: skip
        super().__init__(message_list, **where)
        self.error = error
        self.text = text
        self.message_id = message_id
        self.can_retry = can_retry
        self.own_retry = False
        """Whether the processor that asked for the retry counts its retries itself."""
        self.retry = False


class OutputResultPayload(HookPayload):
    """
    Of ``process_output_result``: the whole turn; ``result`` has text, finish_reason, steps and usage.
    """

    hook = Hook.OUTPUT_RESULT
    __slots__ = ("result",)

    def __init__(self, message_list: MessageList, *, result: Any = None, **where: Any) -> None:
        super().__init__(message_list, **where)
        self.result = result

    @property
    def messages(self) -> Sequence[Message]:
        """
        This turn's response.
        """
        return self.message_list.view("response")
