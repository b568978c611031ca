"""
One answer of Gemini, from events to chunks.  No network, so that every quirk is one small test.
"""

from __future__ import annotations

import json
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
from procession.models.formats.google.calls import PARTS, GoogleCalls
from procession.models.formats.google.sources import GoogleSources
from procession.models.formats.stream_failures import StreamFailures
from procession.models.loose import as_count, as_list, as_mapping, as_text
from procession.models.wire_model import AnswerContext

__all__ = ["GoogleAnswer"]

_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "BLOCKLIST": "content-filter",
    "ESCALATION": "content-filter",
    "IMAGE_PROHIBITED_CONTENT": "content-filter",
    "IMAGE_RECITATION": "content-filter",
    "IMAGE_SAFETY": "content-filter",
    "MODEL_ARMOR": "content-filter",
    "PROHIBITED_CONTENT": "content-filter",
    "RECITATION": "content-filter",
    "SAFETY": "content-filter",
    "SPII": "content-filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
}
_TOLD = ("finishMessage", "safetyRatings", "citationMetadata", "groundingMetadata", "urlContextMetadata")
"""What the end of the answer says besides, as it came."""


class GoogleAnswer:
    """
    Turns the events of one answer into chunks.

    ``read`` takes one event, or a whole answer that was not streamed; ``finish`` gives the end, once there are no more.
    Gemini sends nothing that says it was the last.

    >>> answer = GoogleAnswer(AnswerContext(model="google/gemini-2.5-flash"))
    >>> event = '{"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}'
    >>> [chunk.type for chunk in [*answer.read(event), *answer.finish()]]
    ['text-start', 'text-delta', 'text-end', 'finish']
    """

    def __init__(self, context: AnswerContext) -> None:
        self.done = False
        """Whether the server said that this was all, as only servers do that translate from another language."""
        self._context = context
        self._failures = StreamFailures(context.model, context.headers, context.secrets)
        self._has_metadata = False
        self._block: str | None = None
        self._blocks = 0
        self._block_id = ""
        self._said = False
        self._calls = GoogleCalls(context.request, self._failures.told)
        self._sources = GoogleSources()
        self._held: list[Chunk] = []
        self._raw_reason: str | None = None
        self._blocked: str | None = None
        self._counts: dict[str, Any] = {}
        self._told: dict[str, Any] = {}

    def read(self, data: str, event: str = "message") -> Iterator[Chunk]:
        """
        Yield the chunks of one event.

        Raises ``ModelError`` of kind ``stream`` for an error in place of an answer, and for what is no JSON object.
        """
        data = data.strip()
        if not data or self.done:
            return
        if data == "[DONE]":
            self.done = True
            return
        for payload in self._payloads(data):
            yield from self._read_payload(payload, event)

    def finish(self) -> Iterator[Chunk]:
        """
        Yield the end of the answer: what was held back, and ``Finish``.

        Raises ``ModelError`` of kind ``stream`` where the answer is not complete.
        """
        raw = self._raw_reason or self._blocked
        if raw is None:
            raise self._failures.unfinished(self._said)
        yield from self._held_back(self._close_block())
        reason = _REASONS.get(raw, "other") if self._raw_reason is not None else "content-filter"
        yield from self._held
        if self._calls and reason in ("stop", "other"):
            reason = "tool-calls"
        notes = {"google": self._told} if self._told else None
        yield Finish(reason, self._usage(), raw_reason=raw, provider_metadata=notes)

    def _read_payload(self, payload: Mapping[str, Any], event: str) -> Iterator[Chunk]:
        if payload.get("error") or event == "error":
            raise self._failures.told(payload)
        if not self._has_metadata and (
            payload.get("responseId") or payload.get("modelVersion") or self._context.warnings
        ):
            self._has_metadata = True
            self._calls.response_id = as_text(payload.get("responseId"))
            yield self._metadata(payload)
        # Every count is the sum so far, and an event may leave out those that it does not change.
        self._counts.update(as_mapping(payload.get("usageMetadata")))
        feedback = as_mapping(payload.get("promptFeedback"))
        if as_text(feedback.get("blockReason")):
            self._blocked = as_text(feedback.get("blockReason"))
            self._told["promptFeedback"] = feedback
        candidate = _first(payload.get("candidates"))
        for entry in as_list(as_mapping(candidate.get("content")).get("parts")):
            part = as_mapping(entry)
            if self._calls or not PARTS.isdisjoint(part):
                yield from self._held_back(self._part(part))
            else:
                yield from self._part(part)
        for key in _TOLD:
            if candidate.get(key):
                self._told[key] = candidate[key]
        grounding = as_mapping(candidate.get("groundingMetadata"))
        if grounding:
            yield from self._held_back(self._sources.new(grounding))
        self._raw_reason = as_text(candidate.get("finishReason")) or self._raw_reason

    def _held_back(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """
        Yield *chunks*, or hold them back once there is a tool call, which is for whoever knows the answer to be complete.
        """
        for chunk in chunks:
            if self._calls and not self._calls.shows(chunk):
                self._held.append(chunk)
            else:
                yield chunk

    def _part(self, part: Mapping[str, Any]) -> Iterator[Chunk]:
        text = part.get("text")
        signature = as_text(part.get("thoughtSignature"))
        if isinstance(text, str):
            kind = "reasoning" if part.get("thought") is True else "text"
            if signature:
                yield from self._signed(text, kind, signature)
            elif text:
                if self._block != kind:
                    yield from self._open_block(kind, {})
                yield self._delta(text)
            return
        notes = {"thoughtSignature": signature} if signature else {}
        file = as_mapping(part.get("inlineData")) or as_mapping(part.get("fileData"))
        data = as_text(file.get("data")) or as_text(file.get("fileUri"))
        if data and part.get("thought") is not True:  # a draft is not the answer
            yield from self._close_block()
            self._said = True
            kind = as_text(file.get("mimeType")) or "application/octet-stream"
            yield FileChunk(data, kind, provider_metadata={"google": notes})
        elif not PARTS.isdisjoint(part):
            yield from self._close_block()
            self._said = True
            yield from self._calls.read(part, notes)

    def _signed(self, text: str, kind: str, signature: str) -> Iterator[Chunk]:
        """
        Yield a block of what is signed: so it goes back as it came.
        """
        notes: dict[str, Any] = {"thoughtSignature": signature}
        if not text and kind == "text":
            # A signature by itself: nothing that anyone says, but it wants to go back.
            notes["thought"] = False
            kind = "reasoning"
        yield from self._close_block()
        yield from self._open_block(kind, notes)
        yield self._delta(text)
        yield from self._close_block(notes)

    def _delta(self, text: str) -> Chunk:
        return ReasoningDelta(text, self._block_id) if self._block == "reasoning" else TextDelta(text, self._block_id)

    def _open_block(self, kind: str, notes: Mapping[str, Any]) -> Iterator[Chunk]:
        yield from self._close_block()
        self._said = True
        self._blocks += 1
        self._block = kind
        self._block_id = f"{kind}-{self._blocks}"
        if kind == "text":
            yield TextStart(self._block_id, {"google": notes} if notes else None)
        else:
            yield ReasoningStart(self._block_id, {"google": notes})

    def _close_block(self, notes: Mapping[str, Any] | None = None) -> Iterator[Chunk]:
        if self._block is not None:
            own = {"google": notes} if notes else None
            end: Chunk = TextEnd(self._block_id, own)
            if self._block == "reasoning":
                end = ReasoningEnd(self._block_id, provider_metadata=own)
            yield end
            self._block = None

    def _metadata(self, payload: Mapping[str, Any]) -> ResponseMetadata:
        headers = self._context.headers
        return ResponseMetadata(
            as_text(payload.get("responseId")) or None,
            as_text(payload.get("modelVersion")) or None,
            None,
            headers,
            self._context.warnings,
            self._context.request,
            {"status": 200, "headers": headers} if headers is not None else None,
        )

    def _usage(self) -> Usage:
        count = self._counts.get
        thoughts = as_count(count("thoughtsTokenCount"))
        return Usage(
            as_count(count("promptTokenCount")) + as_count(count("toolUsePromptTokenCount")),
            as_count(count("candidatesTokenCount")) + thoughts,
            thoughts,
            as_count(count("cachedContentTokenCount")),
        )

    def _payloads(self, data: str) -> Sequence[Mapping[str, Any]]:
        try:
            payload: Any = json.loads(data, parse_constant=_refuse)
        except (ValueError, RecursionError):
            payload = None
        payloads = as_list(payload) or [payload]  # without server-sent events an answer is a list of them
        if not all(isinstance(one, dict) for one in payloads):
            raise self._failures.no_object(data)
        return [as_mapping(one) for one in payloads]


def _first(candidates: Any) -> Mapping[str, Any]:
    """
    Return the first of the candidates: where several were asked for, events have some of each.
    """
    for candidate in as_list(candidates):
        found = as_mapping(candidate)
        if not found.get("index"):
            return found
    return {}


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
