"""
LanguageModel: the port behind which every model stands, and what it is asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from procession.messages.chunks import Chunk
from procession.messages.prompt import PromptMessage
from procession.messages.value import Value

if TYPE_CHECKING:
    from procession.messages.prompt_memo import PromptMemo

__all__ = ["CALL_SETTINGS", "LanguageModel", "ModelRequest", "ModelSettings", "ToolChoice", "ToolSpec"]

ModelSettings: TypeAlias = Mapping[str, Any]
"""
Settings of one call, merged key by key (D7): ``temperature top_p max_tokens stop seed presence_penalty
frequency_penalty max_retries timeout`` and whatever a provider knows besides.
"""

CALL_SETTINGS = frozenset({"max_retries", "timeout"})
"""Settings that are about the call and not sent."""

ToolChoice: TypeAlias = Literal["auto", "none", "required"] | Mapping[str, Any]
"""``{"type": "tool", "tool_name": ...}`` asks for one tool."""


class ToolSpec(Value):
    """
    What a model is told of a tool: ``parameters`` is a JSON schema of the arguments.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    strict: bool | None = None
    provider_tool: Mapping[str, Any] | None = None
    """Of a tool that the provider runs itself: its definition, by the name of the provider's format.  A client sends its
    own as it is, and leaves the tool out, with a warning, where there is none."""


class ModelRequest(Value, kw_only=True):
    """
    One model call.
    """

    messages: Sequence[PromptMessage]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    settings: ModelSettings | None = None
    provider_options: Mapping[str, Any] | None = None
    response_format: Mapping[str, Any] | None = None
    """``{"type": "json", "schema": ..., "name": ...}`` asks for structured output."""
    streaming: bool = True
    """Whether the caller reads the answer as it comes; a model may answer in one piece otherwise."""
    memo: PromptMemo | None = None
    """What a model's client keeps from call to call of one run; without one, every call converts the whole prompt."""


@runtime_checkable
class LanguageModel(Protocol):
    """
    Something that answers a prompt in chunks.

    ``stream`` yields, in order: ``ResponseMetadata`` (if any), text, reasoning, source, file and tool chunks, and one
    ``Finish``.  It raises ``ModelError`` where the call or the stream fails.  It sends no ``StepStart``: the loop does.
    """

    @property
    def id(self) -> str:
        """The model's name, e.g. ``openai/gpt-5-mini``."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """
        Ask the model.
        """
        ...
