"""
The content blocks of an answer of Anthropic's, from their deltas to chunks.

A block begins, is added to and ends.  Calls of tools are kept until it is certain that they are whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from procession.ids import new_id
from procession.messages.chunks import (
    Chunk,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    SourceChunk,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputStart,
    ToolResult,
)
from procession.messages.shapes import is_dict
from procession.models.loose import as_list, as_mapping, as_text

__all__ = ["AnswerBlock", "Block", "CallBlock", "TextBlock", "ThoughtBlock", "result_of"]

_OURS: Mapping[str, Any] = {"anthropic": {}}


class Block(Protocol):
    """
    A content block.
    """

    def begin(self) -> Iterator[Chunk]:
        """
        Yield what its start says.
        """
        ...

    def add(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        """
        Yield what one delta says; one that is not for such a block says nothing.
        """
        ...

    def end(self) -> Iterator[Chunk]:
        """
        Yield what its end says.
        """
        ...


class TextBlock:
    """
    Text, and the sources that it names: they follow the text, since the parts of a message are in that order.
    """

    def __init__(self, block_id: str, given: Mapping[str, Any], *, answer_id: str) -> None:
        """
        *answer_id* begins the ids of the sources, which must differ from those of other answers.
        """
        self._id = block_id
        self._answer_id = answer_id
        self._given = given
        self._citations = list(as_list(given.get("citations")))

    def begin(self) -> Iterator[Chunk]:
        """
        Yield the start, and text that came with it.
        """
        yield TextStart(self._id)
        yield from self.add(self._given)

    def add(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        """
        Yield more text, or take a citation.
        """
        if text := as_text(delta.get("text")):
            yield TextDelta(text, self._id)
        elif delta.get("type") == "citations_delta":
            self._citations.append(delta.get("citation"))

    def end(self) -> Iterator[Chunk]:
        """
        Yield the end and the sources.
        """
        yield TextEnd(self._id)
        for number, citation in enumerate(self._citations):
            yield _source(f"{self._answer_id}-{self._id}-source-{number}", as_mapping(citation))


class ThoughtBlock:
    """
    Reasoning: text with a signature, or one that only Anthropic can read.
    """

    def __init__(self, block_id: str, given: Mapping[str, Any]) -> None:
        self._id = block_id
        self._given = given
        self._signature: str | None = None

    def begin(self) -> Iterator[Chunk]:
        """
        Yield the start, and what came with it.
        """
        yield ReasoningStart(self._id, _OURS)
        if data := as_text(self._given.get("data")):
            yield ReasoningDelta("", self._id, redacted=data, provider_metadata=_OURS)
        yield from self.add(self._given)

    def add(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        """
        Yield more text, or the signature.
        """
        if text := as_text(delta.get("thinking")):
            yield ReasoningDelta(text, self._id)
        if signature := as_text(delta.get("signature")):
            self._signature = signature
            yield ReasoningDelta("", self._id, signature=signature, provider_metadata=_OURS)

    def end(self) -> Iterator[Chunk]:
        """
        Yield the end.
        """
        yield ReasoningEnd(self._id, self._signature, _OURS)


class CallBlock:
    """
    A call of a tool: of ours, or of one that Anthropic ran itself.
    """

    def __init__(self, given: Mapping[str, Any], *, whole: bool = False) -> None:
        """
        *whole* tells that the arguments are already there, in an answer that is not a stream.
        """
        self.kind = as_text(given.get("type"))
        self.id = as_text(given.get("id")) or f"call-{new_id()}"
        self.name = as_text(given.get("name"))
        self.is_ours = self.kind != "tool_use"
        self.is_last = False
        """Whether nothing came after it, so that it may be where the answer was cut."""
        self.is_open = not whole
        """Whether its end has not been told."""
        self._given = given
        self._whole = whole
        self._pieces: list[str] = []

    def begin(self) -> Iterator[Chunk]:
        """
        Yield the start, and arguments that came with it.
        """
        if self.name:
            yield ToolInputStart(self.id, self.name, self.is_ours)
            if self._whole and self._given.get("input"):
                yield ToolInputDelta(self.id, json.dumps(self._given["input"], ensure_ascii=False), self.name)

    def add(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        """
        Yield more of the arguments.
        """
        text = as_text(delta.get("partial_json"))
        if text and self.name:
            self._pieces.append(text)
            yield ToolInputDelta(self.id, text, self.name)

    def end(self) -> Iterator[Chunk]:
        """
        Yield nothing: only what follows tells whether the call is whole.
        """
        self.is_open = False
        yield from ()

    def call(self, *, cut: bool) -> ToolCall | None:
        """
        Return the call, or ``None`` where it cannot be one.

        *cut* tells that the answer ended before its end.  Arguments that are incomplete, or may not have begun, make
        no call then.  Otherwise arguments that are no JSON object go on as text, for the tool to refuse.
        """
        text = "".join(self._pieces).strip()
        args: Any = self._args(text)
        if not self.name or (cut and (self.is_last or self.is_open) and not (text and isinstance(args, dict))):
            return None
        return ToolCall(self.id, self.name, args, self.is_ours, self._notes())

    def dropped(self) -> Mapping[str, str]:
        """
        Return what is told of a call that was cut.
        """
        return {"tool_call_id": self.id, "tool_name": self.name, "args_text": "".join(self._pieces)}

    def _args(self, text: str) -> Any:
        if not text:
            given = self._given.get("input")
            return {} if given is None else given if is_dict(given) or isinstance(given, str) else json.dumps(given)
        try:
            args: Any = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return args if is_dict(args) else text

    def _notes(self) -> Mapping[str, Any] | None:
        notes: dict[str, Any] = {}
        if self.is_ours:
            notes["type"] = self.kind
        if self.kind == "mcp_tool_use":
            notes["serverName"] = as_text(self._given.get("server_name"))
        caller = as_mapping(self._given.get("caller"))
        if caller and caller.get("type") != "direct":
            notes["caller"] = caller
        return {"anthropic": notes} if notes else None


class AnswerBlock:
    """
    The answer in JSON, where the model gives it as the arguments of a tool: text for whoever asked.
    """

    def __init__(self, block_id: str, given: Mapping[str, Any]) -> None:
        self._id = block_id
        self._given = given
        self._said = False

    def begin(self) -> Iterator[Chunk]:
        """
        Yield the start.
        """
        yield TextStart(self._id)

    def add(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        """
        Yield more of the JSON.
        """
        if text := as_text(delta.get("partial_json")):
            self._said = True
            yield TextDelta(text, self._id)

    def end(self) -> Iterator[Chunk]:
        """
        Yield what came with the start, if nothing else did, and the end.
        """
        if not self._said and self._given.get("input"):
            yield TextDelta(json.dumps(self._given["input"], ensure_ascii=False), self._id)
        yield TextEnd(self._id)


def result_of(given: Mapping[str, Any], calls: Mapping[str, ToolCall]) -> ToolResult:
    """
    Return what a tool of Anthropic's found, as it came; *calls* are those of the answer by their ids.

    Its metadata name the block: they stay with a result as long as nobody changes it, and only then may it go back.
    """
    tool_call_id = as_text(given.get("tool_use_id"))
    call = calls.get(tool_call_id)
    kind, content = as_text(given.get("type")), given.get("content")
    failed = given.get("is_error") is True or "error_code" in as_mapping(content)
    name = call.tool_name if call is not None else kind.removesuffix("_tool_result")
    notes = as_mapping(as_mapping(call.provider_metadata if call is not None else None).get("anthropic"))
    return ToolResult(
        tool_call_id,
        name,
        call.args if call is not None else {},
        content,
        failed,
        True,
        {"anthropic": {**notes, "result": kind}},
    )


def _source(source_id: str, citation: Mapping[str, Any]) -> SourceChunk:
    title = as_text(citation.get("title")) or as_text(citation.get("document_title")) or None
    url = as_text(citation.get("url")) or as_text(citation.get("source"))
    notes = {"anthropic": dict(citation)}
    if url.startswith(("http://", "https://")):
        return SourceChunk(source_id, "url", url, title, provider_metadata=notes)
    return SourceChunk(source_id, "document", None, title or "document", provider_metadata=notes)
