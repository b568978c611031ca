"""
TokenCounter: the port behind which tokens are counted, and how a prompt is counted once texts are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.messages.prompt_parts import plain_file
from procession.messages.shapes import is_form, is_items
from procession.models.model import ToolSpec
from procession.models.tokens.files import file_tokens
from procession.models.tokens.images import OPENAI_TILES, ImageRule
from procession.models.tokens.pieces import first_that_fits

__all__ = ["TokenCounter", "as_json"]


class TokenCounter:
    """
    Counts tokens.  A subclass says in ``count`` what a text has; messages, tools and prompts follow from that.

    What a provider adds around messages is ``per_message`` and ``per_request``; the role counts as a text of its own.
    Reasoning counts with its text, a tool call with its name and its arguments as JSON, a result with what it says, an
    image by the rule ``images``, other files by their size.

    >>> class Words(TokenCounter):
    ...     name = "words"
    ...     def count(self, text: str) -> float:
    ...         return len(text.split())
    >>> Words().count_message(PromptMessage("user", (TextPart("Where is my parcel?"),)))
    8.0
    """

    name: str = "custom"
    """How the counter is called in metadata and reports."""
    estimated: bool = True
    """Whether its counts of texts are estimates, rather than what the model's own tokenizer gives."""
    per_message: float = 3.0
    """Tokens that a message has besides its role and its parts."""
    per_request: float = 3.0
    """Tokens that a request has besides its messages and tools."""
    images: ImageRule = staticmethod(OPENAI_TILES)
    """What an image costs."""

    def count(self, text: str) -> float:
        """
        Return how many tokens *text* has.  Markers such as ``<|endoftext|>`` are text like any other.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define count(text)")

    async def load(self) -> None:
        """
        Get ready to count, without holding up the event loop.  What has nothing to load does nothing; ``count`` works
        without it.
        """

    def prefix(self, text: str, budget: float) -> str:
        """
        Return the longest beginning of *text* that has at most *budget* tokens, as far as a search by halves finds it.
        """
        return first_that_fits(self.count, text, budget)

    def count_message(self, message: PromptMessage) -> float:
        """
        Return how many tokens an entry of a prompt has, with what a provider adds around it.
        """
        return self.per_message + self.count(message.role) + sum(map(self.count_part, message.content))

    def count_part(self, part: PromptPart) -> float:
        """
        Return how many tokens one part of an entry has.
        """
        if isinstance(part, (TextPart, ReasoningPart)):
            return self.count(part.text)
        if isinstance(part, PromptToolCall):
            return self.count(part.tool_name) + self.count(as_json(part.args))
        if isinstance(part, PromptToolResult):
            return self._count_output(part.output)
        return file_tokens(part, self.count, self.images)

    def count_tools(self, tools: Iterable[ToolSpec]) -> float:
        """
        Return how many tokens the definitions of *tools* have, written as JSON.

        An estimate with every counter: no provider says how its models are told of tools.
        """
        return sum(self.count(as_json(_definition(tool))) for tool in tools)

    def count_prompt(self, messages: Iterable[PromptMessage], tools: Iterable[ToolSpec] = ()) -> float:
        """
        Return how many tokens a whole request has.
        """
        return self.per_request + self.count_tools(tools) + sum(map(self.count_message, messages))

    def _count_output(self, output: Mapping[str, Any]) -> float:
        value = output.get("value")
        if isinstance(value, str):
            return self.count(value)
        if output.get("type") == "content" and is_items(value):
            return sum(map(self._count_item, value))
        return self.count(as_json(value))

    def _count_item(self, item: Any) -> float:
        """
        Count one item of a result that is a list of texts and files, in the spellings that models' clients take.
        """
        if isinstance(item, (TextPart, FilePart)):
            return self.count_part(item)
        if not is_form(item):
            return self.count(as_json(item))
        text, data = item.get("text"), item.get("data") or item.get("url") or item.get("image")
        kind = item.get("media_type") or item.get("mediaType") or item.get("mimeType")
        if not kind and str(item.get("type", "")).startswith("image"):
            kind = "image/*"
        if isinstance(text, str):
            return self.count(text)
        if isinstance(data, (str, bytes)) and isinstance(kind, str):
            return file_tokens(plain_file(FilePart(data, kind)), self.count, self.images)
        return self.count(as_json(item))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def as_json(value: Any) -> str:
    """
    Return *value* as JSON without blanks, which is how arguments and results are sent; what JSON cannot say, as text.

    >>> as_json({"city": "Zürich", "days": 3})
    '{"city":"Zürich","days":3}'
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _definition(tool: ToolSpec) -> Any:
    if tool.provider_tool is not None:
        return tool.provider_tool
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
