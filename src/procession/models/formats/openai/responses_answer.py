"""
One answer of OpenAI Responses, from events to chunks.  No network, so that every quirk of a server is one small test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from procession.errors import ModelError
from procession.messages.chunks import (
    Chunk,
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
from procession.models.formats.openai.responses_calls import ResponsesCalls
from procession.models.formats.openai.responses_items import Block, Item, ItemTable
from procession.models.formats.openai.responses_provider_tools import CLIENT_ITEMS, PROVIDER_ITEMS, provider_chunks
from procession.models.formats.openai.sources import CitedSources
from procession.models.formats.stream_failures import StreamFailures
from procession.models.loose import as_count, as_list, as_mapping, as_text, as_timestamp

__all__ = ["ResponsesAnswer"]

_INCOMPLETE: dict[str, FinishReason] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content-filter",
}
_ENDS = frozenset({"completed", "incomplete", "failed", "cancelled"})


class ResponsesAnswer:
    """
    Turns the events of one answer into chunks.

    ``read`` takes one event; once ``done`` is true, or the events are over, ``finish`` gives the end.  A call of a
    function comes out with the end, or once the answer goes on with something else.

    >>> answer = ResponsesAnswer("openai/gpt-5-mini")
    >>> events = ['{"type": "response.output_text.delta", "delta": "Hi"}', '{"type": "response.completed"}']
    >>> [chunk.type for event in events for chunk in answer.read(event)]
    ['response-metadata', 'text-start', 'text-delta']
    >>> [chunk.type for chunk in answer.finish()]
    ['text-end', 'finish']
    """

    def __init__(
        self,
        model: str,
        *,
        headers: Mapping[str, str] | None = None,
        secrets: tuple[str, ...] = (),
        request: Mapping[str, Any] | None = None,
        warnings: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """
        *request* is the body that was sent, and *warnings* what was not done as asked: hooks are told of both.
        """
        self.done = False
        """Whether the server said that this was all."""
        self._failures = StreamFailures(model, headers, secrets)
        self._headers = headers
        self._request = request
        self._warnings = warnings
        self._has_metadata = False
        self._items = ItemTable()
        self._open: Block | None = None
        self._blocks = 0
        self._sources = CitedSources()
        self._calls = ResponsesCalls(self._items)
        self._refused = False
        self._status: str | None = None
        self._reason: str | None = None
        self._usage = Usage()

    def read(self, data: str, event: str = "message") -> Iterator[Chunk]:
        """
        Yield the chunks of one event.

        Raises ``ModelError`` of kind ``stream`` for an error in place of an answer, and for what is no JSON object; of
        kind ``rejected`` where the model waits for an answer that this client cannot give.
        """
        data = data.strip()
        if not data or self.done:
            return
        if data.strip('"').upper() == "[DONE]":
            self.done = True
            return
        payload = self._failures.json_object(data)
        if payload.get("object") == "response":  # a server that does not stream
            event, payload = "response.done", {"error": payload.get("error"), "response": payload}
        kind = as_text(payload.get("type")) or event
        if kind == "error" or payload.get("error"):
            raise self._failures.told(payload)
        handle = self._handlers.get(kind)
        if not self._has_metadata:
            response = as_mapping(payload.get("response"))
            if handle is not None or response.get("id") or response.get("model"):
                self._has_metadata = True
                yield self._metadata(response)
        if handle is not None:
            yield from handle(self, payload)

    def finish(self) -> Iterator[Chunk]:
        """
        Yield the end of the answer: open blocks closed, the complete tool calls, and ``Finish``.

        Raises ``ModelError`` of kind ``stream`` where the answer is not complete.
        """
        if self._status is None:
            raise self._failures.unfinished(len(self._items) > 0)
        yield from self._close()
        yield from self._sources.take()
        calls, dropped = self._calls.finish(cut=self._status == "incomplete")
        if dropped and self._status == "completed":
            raise self._failures.unfinished(True)
        yield from calls
        reason: FinishReason = "stop"
        if self._status == "incomplete":
            reason = _INCOMPLETE.get(self._reason, "other") if self._reason else "length"  # cut, and nobody says why
        elif self._refused:
            reason, self._reason = "content-filter", "refusal"
        elif self._calls:
            reason = "tool-calls"
        metadata = {"dropped_tool_calls": dropped} if dropped else None
        yield Finish(reason, self._usage, raw_reason=self._reason or self._status, provider_metadata=metadata)

    # Items

    def _begin_item(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        fields = as_mapping(payload.get("item"))
        item = self._items.begin(as_text(fields.get("type")), as_text(fields.get("id")), payload.get("output_index"))
        item.update(fields)
        if item.kind == "function_call":
            yield from self._close()
            yield from self._calls.announce(item)

    def _end_item(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        fields = as_mapping(payload.get("item"))
        kind, item_id, index = as_text(fields.get("type")), as_text(fields.get("id")), payload.get("output_index")
        item = self._items.find(kind, item_id, index)
        call_id = as_text(fields.get("call_id"))
        if item.done and not (item_id and item.id == item_id) and not (call_id and item.call_id == call_id):
            item = self._items.begin(kind, item_id, index)  # a place, or nothing at all, is all that they share
        yield from self._complete(item, fields)

    def _complete(self, item: Item, fields: Mapping[str, Any]) -> Iterator[Chunk]:
        """
        Yield what a complete item says and was not told yet.
        """
        if item.done:
            return
        item.done = True
        item.update(fields)
        item.cut = fields.get("status") == "incomplete"
        if item.kind == "message":
            yield from self._end_message(item, fields)
        elif item.kind == "reasoning":
            yield from self._end_reasoning(item, fields)
        elif item.kind == "function_call":
            yield from self._close()
            yield from self._calls.end(item, fields)
        elif item.kind in PROVIDER_ITEMS:
            yield from self._leave()
            yield from provider_chunks(fields, item.id or f"item-{len(self._items)}")
        elif item.kind in CLIENT_ITEMS:
            raise ModelError(
                f"{self._failures.model}: the answer waits for the outcome of {item.kind!r}, which this client cannot give",
                kind="rejected",
                headers=self._headers,
                hint="leave the tool that it is of out of the request",
            )

    def _end_message(self, item: Item, fields: Mapping[str, Any]) -> Iterator[Chunk]:
        content = [as_mapping(entry) for entry in as_list(fields.get("content"))]
        for index, (block, part) in enumerate(zip(item.parts("text", len(content)), content, strict=True)):
            refusal = as_text(part.get("refusal"))
            self._refused = self._refused or bool(refusal)
            yield from self._say(block, block.streamed.rest(as_text(part.get("text")) or refusal))
            for annotation in as_list(part.get("annotations")):
                self._cite(item, index, annotation)
        yield from self._close()
        yield from self._sources.take()

    def _end_reasoning(self, item: Item, fields: Mapping[str, Any]) -> Iterator[Chunk]:
        for kind, key in (("summary", "summary"), ("thought", "content")):
            entries = as_list(fields.get(key))
            for block, entry in zip(item.parts(kind, len(entries)), entries, strict=True):
                yield from self._say(block, block.streamed.rest(as_text(as_mapping(entry).get("text"))))
        item.encrypted = as_text(fields.get("encrypted_content"))
        stored = bool(item.id) and as_mapping(self._request).get("store") is True
        if self._open is not None and self._open.item is item:
            yield from self._close()
        elif item.encrypted or (stored and not any(item.blocks.values())):  # nothing to show, and yet it has to go back
            block = Block(item, "summary", 0)
            yield from self._enter(block)
            yield ReasoningDelta("", block.id)
            yield from self._close()

    def _end_answer(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        response = as_mapping(payload.get("response"))
        status = as_text(response.get("status"))
        if status not in _ENDS:
            status = as_text(payload.get("type")).removeprefix("response.")
        if status not in _ENDS:  # it is still being made
            return
        if status in ("failed", "cancelled"):
            error = response.get("error")
            raise self._failures.told({"error": error} if error else f"the response was {status}")
        output = [as_mapping(entry) for entry in as_list(response.get("output"))]
        for item, fields in zip(self._items.matched(output), output, strict=True):
            yield from self._complete(item, fields)
        self._usage = _usage(response.get("usage"))
        self._reason = as_text(as_mapping(response.get("incomplete_details")).get("reason")) or None
        self._status = "incomplete" if self._reason else status
        self.done = True

    # Text and reasoning

    def _begin_part(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        item_kind, kind, index_key = ("message", "text", "content_index")
        if "summary_index" in payload:
            item_kind, kind, index_key = ("reasoning", "summary", "summary_index")
        elif as_mapping(payload.get("part")).get("type") == "reasoning_text":
            item_kind, kind = ("reasoning", "thought")
        item = self._items.find(item_kind, as_text(payload.get("item_id")), payload.get("output_index"))
        item.begin_block(kind, payload.get(index_key))
        yield from ()

    def _text(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        return self._more(payload, self._block(payload, "message", "text", "content_index"))

    def _refusal(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        self._refused = True
        return self._text(payload)

    def _summary(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        return self._more(payload, self._block(payload, "reasoning", "summary", "summary_index"))

    def _thought(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        return self._more(payload, self._block(payload, "reasoning", "thought", "content_index"))

    def _more(self, payload: Mapping[str, Any], block: Block) -> Iterator[Chunk]:
        piece = payload.get("delta")
        if piece is None:  # the end, which repeats the whole
            piece = block.streamed.rest(as_text(payload.get("text")) or as_text(payload.get("refusal")))
        return self._say(block, as_text(piece))

    def _annotation(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        item = self._items.find("message", as_text(payload.get("item_id")), payload.get("output_index"))
        self._cite(item, payload.get("content_index"), payload.get("annotation"))
        yield from ()

    def _cite(self, item: Item, index: Any, annotation: Any) -> None:
        self._sources.add(as_mapping(annotation), f"{id(item)}:{index}")

    def _block(self, payload: Mapping[str, Any], item_kind: str, kind: str, index_key: str) -> Block:
        item = self._items.find(item_kind, as_text(payload.get("item_id")), payload.get("output_index"))
        return item.block(kind, payload.get(index_key))

    def _say(self, block: Block, text: str) -> Iterator[Chunk]:
        if text:
            if block is not self._open:
                yield from self._enter(block)
            block.streamed.add(text)
            yield TextDelta(text, block.id) if block.kind == "text" else ReasoningDelta(text, block.id)

    def _enter(self, block: Block) -> Iterator[Chunk]:
        yield from self._leave()
        self._open = block
        self._blocks += 1
        if block.kind == "text":
            block.id = f"text-{self._blocks}"
            yield TextStart(block.id, block.metadata)
        else:
            block.id = f"reasoning-{self._blocks}"
            yield ReasoningStart(block.id, block.metadata)

    def _leave(self) -> Iterator[Chunk]:
        """
        Yield the end of what was said so far, since the answer goes on with something else.
        """
        yield from self._close()
        yield from self._calls.settled()

    def _close(self) -> Iterator[Chunk]:
        block, self._open = self._open, None
        if block is None:
            return
        if block.kind == "text":
            yield TextEnd(block.id, block.metadata)
            yield from self._sources.take()  # between deltas they would part a text in two
        else:
            yield ReasoningEnd(block.id, provider_metadata=block.metadata)

    # Calls of functions

    def _arguments_delta(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        return self._calls.add(payload)

    def _arguments_end(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        return self._calls.end_arguments(payload)

    # What is said of the whole

    def _metadata(self, response: Mapping[str, Any]) -> ResponseMetadata:
        return ResponseMetadata(
            as_text(response.get("id")) or None,
            as_text(response.get("model")) or None,
            as_timestamp(response.get("created_at")),
            self._headers,
            self._warnings,
            self._request,
            {"status": 200, "headers": self._headers} if self._headers is not None else None,
        )

    _handlers: ClassVar[Mapping[str, Callable[[Any, Mapping[str, Any]], Iterator[Chunk]]]] = {
        "response.output_item.added": _begin_item,
        "response.output_item.done": _end_item,
        "response.content_part.added": _begin_part,
        "response.reasoning_part.added": _begin_part,
        "response.reasoning_summary_part.added": _begin_part,
        "response.output_text.delta": _text,
        "response.output_text.done": _text,
        "response.output_text.annotation.added": _annotation,
        "response.refusal.delta": _refusal,
        "response.refusal.done": _refusal,
        "response.reasoning_summary_text.delta": _summary,
        "response.reasoning_summary_text.done": _summary,
        "response.reasoning_text.delta": _thought,
        "response.reasoning_text.done": _thought,
        "response.function_call_arguments.delta": _arguments_delta,
        "response.function_call_arguments.done": _arguments_end,
        "response.completed": _end_answer,
        "response.incomplete": _end_answer,
        "response.failed": _end_answer,
        "response.cancelled": _end_answer,
        "response.done": _end_answer,
    }
    """What is done with which event; others are left alone."""


def _usage(usage: Any) -> Usage:
    counts = as_mapping(usage)
    read = as_mapping(counts.get("input_tokens_details"))
    return Usage(
        as_count(counts.get("input_tokens")),
        as_count(counts.get("output_tokens")),
        as_count(as_mapping(counts.get("output_tokens_details")).get("reasoning_tokens")),
        as_count(read.get("cached_tokens")),
        as_count(read.get("cache_write_tokens")),
    )
