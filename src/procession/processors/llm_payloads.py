"""
The payloads around a model call: what it is asked with, and what it answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from procession.messages.chunks import Chunk
from procession.messages.message_list import MessageList
from procession.messages.prompt import PromptMessage
from procession.processors.hiding_payload import HidingPayload
from procession.processors.hooks import Hook
from procession.processors.payload import HookPayload
from procession.processors.request_change import GivenResponse

__all__ = ["LLMRequestPayload", "LLMResponsePayload"]

_NO_TOOLS: Mapping[str, Any] = {}


class LLMRequestPayload(HidingPayload):
    """
    Of ``process_llm_request``: the prompt as it will be sent, and a response that replaces the call.
    """

    hook = Hook.LLM_REQUEST
    changeable = ("prompt", "response")
    __slots__ = (
        "active_tools", "model", "model_settings", "prompt", "provider_options", "response", "response_format",
        "tool_choice", "tools",
    )  # fmt: skip

    def __init__(
        self,
        message_list: MessageList,
        *,
        prompt: Sequence[PromptMessage] = (),
        model: Any = None,
        tools: Mapping[str, Any] = _NO_TOOLS,
        tool_choice: Any = "auto",
        active_tools: Sequence[str] | None = None,
        model_settings: Mapping[str, Any] | None = None,
        provider_options: Mapping[str, Any] | None = None,
        response_format: Mapping[str, Any] | None = None,
        **where: Any,
    ) -> None:
        super().__init__(message_list, **where)
        self.prompt = prompt
        self.model = model
        self.tools = tools
        self.tool_choice = tool_choice
        self.active_tools = active_tools
        self.model_settings = model_settings
        self.provider_options = provider_options
        self.response_format = response_format
        self.response: GivenResponse | None = None

    def _resolve(self, field: str, before: Any, changed: Mapping[str, Any], branches: Mapping[str, Any]) -> Any:
        if field == "response":  # the first processor that gives a response wins
            return next(iter(changed.values()))
        return super()._resolve(field, before, changed, branches)

    def _drops(self, branch: Any, picked: Any) -> bool:
        return branch.prompt is not self.prompt and picked.prompt != branch.prompt

    def _kept_hidden(self, outputs: Mapping[str, Any]) -> dict[str, Any]:
        prompts = {key: branch.prompt for key, branch in self._hiding(outputs).items()}
        first = next(iter(prompts.values()))
        if any(prompt != first for prompt in prompts.values()):
            super()._resolve("prompt", self.prompt, prompts, outputs)
        return {"prompt": first}


class LLMResponsePayload(HookPayload):
    """
    Of ``process_llm_response``: the model's own chunks of this call.
    """

    hook = Hook.LLM_RESPONSE
    __slots__ = ("chunks", "from_cache", "model", "raw_response", "request", "warnings")

    def __init__(
        self,
        message_list: MessageList,
        *,
        chunks: Sequence[Chunk] = (),
        from_cache: bool = False,
        model: Any = None,
        request: Any = None,
        raw_response: Any = None,
        warnings: Sequence[Any] = (),
        **where: Any,
    ) -> None:
        super().__init__(message_list, **where)
        self.chunks = chunks
        self.from_cache = from_cache
        self.model = model
        self.request = request
        self.raw_response = raw_response
        self.warnings = warnings
