"""
Prompt: what a model is sent.  Made from a message list, changed by ``process_llm_request``, converted per provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.value import Value

__all__ = ["PromptMessage", "PromptPart", "PromptRole", "PromptToolCall", "PromptToolResult"]

PromptRole = Literal["system", "user", "assistant", "tool"]


class PromptToolCall(Value):
    """
    A tool call that the model made earlier.
    """

    type: ClassVar[str] = "tool-call"
    tool_call_id: str
    tool_name: str
    args: Any
    provider_executed: bool = False
    provider_metadata: Mapping[str, Any] | None = None


class PromptToolResult(Value):
    """
    What a tool answered.  ``output`` is ``{"type": "text" | "json" | "error-text" | "error-json" | "content", "value": ...}``.
    """

    type: ClassVar[str] = "tool-result"
    tool_call_id: str
    tool_name: str
    output: Mapping[str, Any]
    provider_metadata: Mapping[str, Any] | None = None


PromptPart: TypeAlias = TextPart | FilePart | ReasoningPart | PromptToolCall | PromptToolResult


class PromptMessage(Value):
    """
    One entry of a prompt.  A system entry has one text part.
    """

    role: PromptRole
    content: tuple[PromptPart, ...]

    @property
    def text(self) -> str:
        """
        The text parts, joined without anything between them.
        """
        return "".join(part.text for part in self.content if isinstance(part, TextPart))
