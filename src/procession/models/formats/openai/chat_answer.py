"""
One Chat Completions answer, from events to chunks.  No network, so that every quirk of a server is one small test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from procession.messages.chunks import (
    Chunk,
    FileChunk,
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    ResponseMetadata,
    TextDelta,
    TextEnd,
    TextStart,
)
from procession.messages.usage import FinishReason, Usage
from procession.models.formats.openai.chat_calls import ToolCallParts
from procession.models.formats.openai.chat_usage import chat_usage
from procession.models.formats.openai.signed_reasoning import SignedReasoning
from procession.models.formats.openai.sources import CitedSources
from procession.models.formats.stream_failures import StreamFailures
from procession.models.loose import as_list, as_mapping, as_text, as_timestamp

__all__ = ["ChatAnswer"]

_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "tool_use": "tool-calls",
    "content_filter": "content-filter",
}
_GIVEN_UP = frozenset({"error", "abort", "insufficient_system_resource"})
"""Reasons that say that the server did not finish."""


class ChatAnswer:
    """
    Turns the events of one answer into chunks.

    ``read`` takes one event; once ``done`` is true, or the events are over, ``finish`` gives the end.

    >>> answer = ChatAnswer("openai/gpt-5-mini")
    >>> event = '{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}'
    >>> [chunk.type for chunk in [*answer.read(event), *answer.finish()]]
    ['text-start', 'text-delta', 'text-end', 'finish']
    """

    def __init__(
        self,
        model: str,
        *,
        provider: str = "openai",
        headers: Mapping[str, str] | None = None,
        secrets: tuple[str, ...] = (),
        request: Mapping[str, Any] | None = None,
        warnings: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """
        *provider* is the key under which what has to go back to the server is noted.  *request* is the body that was
        sent, and *warnings* what was not done as asked: hooks are told of both.
        """
        self.done = False
        """Whether the server said that this was all."""
        self._failures = StreamFailures(model, headers, secrets)
        self._provider = provider
        self._headers = headers
        self._request = request
        self._warnings = warnings
        self._has_metadata = False
        self._block: str | None = None
        self._blocks = 0
        self._calls = ToolCallParts(provider)
        self._signed = SignedReasoning()
        self._sources = CitedSources()
        self._choice: Any = None
        self._refused = False
        self._raw_reason: str | None = None
        self._usage: Usage | None = None

    def read(self, data: str, event: str = "message") -> Iterator[Chunk]:
        """
        Yield the chunks of one event.

        Raises ``ModelError`` of kind ``stream`` for an error in place of an answer, and for what is no JSON object.
        """
        data = data.strip()
        if not data or self.done:
            return
        if data.strip('"').upper() == "[DONE]":
            self.done = True
            return
        payload = self._failures.json_object(data)
        self._raise_if_error(payload, event)
        if not self._has_metadata and (
            payload.get("id") or payload.get("model") or (self._warnings and payload.get("choices"))
        ):
            self._has_metadata = True
            yield self._metadata(payload)
        self._usage = chat_usage(payload) or self._usage  # servers that send it with every chunk send the sum so far
        choice = self._first_choice(payload)
        delta = choice.get("delta")
        if delta is None and not (self._blocks or self._calls):  # a server that does not stream
            delta = choice.get("message")
        yield from self._read_delta(as_mapping(delta))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            if reason.lower() in _GIVEN_UP:
                raise self._failures.told(
                    choice.get("error") or {"message": f"the server gave up ({reason})", "type": "server_error"}
                )
            self._raw_reason = reason

    def finish(self) -> Iterator[Chunk]:
        """
        Yield the end of the answer: open blocks closed, the complete tool calls, and ``Finish``.

        Raises ``ModelError`` of kind ``stream`` where the answer is not complete.
        """
        said = bool(self._blocks or self._calls)
        if self._raw_reason is None and not (self.done and said):
            raise self._failures.unfinished(said)
        yield from self._close_block()
        yield from self._signed_block()
        reason = _REASONS.get(self._raw_reason.lower(), "other") if self._raw_reason is not None else "stop"
        calls, dropped = self._calls.finish(cut=reason in ("length", "content-filter") or self._raw_reason is None)
        if dropped and reason not in ("length", "content-filter"):
            raise self._failures.unfinished(True)
        yield from calls
        if self._refused and reason in ("stop", "other"):
            reason, self._raw_reason = "content-filter", "refusal"
        elif calls and reason in ("stop", "other"):  # servers that name no reason of its own for tool calls
            reason = "tool-calls"
        metadata = {"dropped_tool_calls": dropped} if dropped else None
        yield Finish(reason, self._usage or Usage(), raw_reason=self._raw_reason, provider_metadata=metadata)

    def _first_choice(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """
        Return the choice that the answer began with, of several that were asked for.
        """
        for entry in as_list(payload.get("choices")):
            choice = as_mapping(entry)
            index = choice.get("index")
            if self._choice is None:
                self._choice = index
            if index == self._choice or index is None:
                return choice
        return {}

    def _read_delta(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        content = delta.get("content")
        if len(delta) > 1 or not isinstance(content, str):  # most have a content and nothing else
            yield from self._read_reasoning(delta)
        if isinstance(content, str):
            if content:
                if self._block != "text":
                    yield from self._open_block("text")
                yield TextDelta(content, self._block_id)
        else:
            for part in as_list(content):
                yield from self._read_part(as_mapping(part))
        if len(delta) > 1 or content is None:
            yield from self._read_rest(delta)

    def _read_reasoning(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        signed = self._signed.add(delta)
        for field in ("reasoning_content", "reasoning"):
            text = as_text(delta.get(field))
            if text:
                return self._think(text, field)
        return self._think(signed, "reasoning")

    def _read_rest(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        refusal = as_text(delta.get("refusal"))
        self._refused = self._refused or bool(refusal)
        yield from self._say(refusal)
        for annotation in as_list(delta.get("annotations")):
            self._sources.add(as_mapping(annotation))
        for image in as_list(delta.get("images")):
            yield from self._read_image(as_text(as_mapping(as_mapping(image).get("image_url")).get("url")))
        fragments = as_list(delta.get("tool_calls"))
        function = as_mapping(delta.get("function_call"))  # the one call there was before there were several
        if function and not fragments:
            fragments = ({"index": 0, "function": function},)
        if fragments:
            yield from self._close_block()
        for fragment in fragments:
            yield from self._calls.add(as_mapping(fragment))

    def _read_part(self, part: Mapping[str, Any]) -> Iterator[Chunk]:
        kind = part.get("type")
        if kind == "thinking":  # Mistral
            for thought in as_list(part.get("thinking")):
                yield from self._think(as_text(as_mapping(thought).get("text")), "content")
        elif kind in ("text", "output_text", None):
            yield from self._say(as_text(part.get("text")))

    def _read_image(self, url: str) -> Iterator[Chunk]:
        kind, comma, data = url.removeprefix("data:").partition(",")
        if comma and url.startswith("data:"):
            yield from self._close_block()
            self._blocks += 1
            yield FileChunk(data, kind.partition(";")[0] or "image/png")

    def _think(self, text: str, field: str) -> Iterator[Chunk]:
        if text:
            if self._block != "reasoning":
                yield from self._open_block("reasoning", {self._provider: {"reasoningField": field}})
            yield ReasoningDelta(text, self._block_id)

    def _say(self, text: str) -> Iterator[Chunk]:
        if text:
            if self._block != "text":
                yield from self._open_block("text")
            yield TextDelta(text, self._block_id)

    def _signed_block(self) -> Iterator[Chunk]:
        """
        Yield what of the reasoning has to go back, in a block of its own: its pieces come when text has begun already.
        """
        signed = self._signed.whole()
        if signed:
            self._block, self._blocks = "reasoning", self._blocks + 1
            yield ReasoningStart(self._block_id)
            yield ReasoningDelta("", self._block_id)
            self._block, block_id = None, self._block_id
            yield ReasoningEnd(block_id, provider_metadata={self._provider: signed})

    @property
    def _block_id(self) -> str:
        return f"{self._block}-{self._blocks}"

    def _open_block(self, kind: str, metadata: Mapping[str, Any] | None = None) -> Iterator[Chunk]:
        yield from self._close_block()
        self._block = kind
        self._blocks += 1
        yield TextStart(self._block_id) if kind == "text" else ReasoningStart(self._block_id, metadata)

    def _close_block(self) -> Iterator[Chunk]:
        if self._block is not None:
            yield TextEnd(self._block_id) if self._block == "text" else ReasoningEnd(self._block_id)
            self._block = None
        yield from self._sources.take()

    def _metadata(self, payload: Mapping[str, Any]) -> ResponseMetadata:
        return ResponseMetadata(
            as_text(payload.get("id")) or None,
            as_text(payload.get("model")) or None,
            as_timestamp(payload.get("created")),
            self._headers,
            self._warnings,
            self._request,
            {"status": 200, "headers": self._headers} if self._headers is not None else None,
        )

    def _raise_if_error(self, payload: Mapping[str, Any], event: str) -> None:
        error = payload.get("error") or as_mapping(payload.get("x_groq")).get("error")
        if error or payload.get("object") == "error" or event == "error":
            raise self._failures.told({"error": error} if error else payload)
