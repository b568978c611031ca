"""
One answer of Anthropic's Messages, from events to chunks.  No network, so that every quirk of a server is one small test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from procession.errors import ModelError
from procession.messages.chunks import Chunk, Finish, ResponseMetadata, ToolCall, ToolInputEnd
from procession.messages.usage import FinishReason, Usage
from procession.models.formats.anthropic.blocks import AnswerBlock, Block, CallBlock, TextBlock, ThoughtBlock, result_of
from procession.models.formats.anthropic.body import ANSWER_TOOL
from procession.models.formats.stream_failures import StreamFailures
from procession.models.loose import as_count, as_list, as_mapping, as_text
from procession.models.wire_model import AnswerContext

__all__ = ["MessagesAnswer"]

_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool-calls",
    "refusal": "content-filter",
    "pause_turn": "other",
}
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that an error would have had, had it come before the stream began."""
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_OF_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking"}
"""The kind of a block that a server adds to without having begun it."""
_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
"""What Anthropic counts; the first is what the cache had no part in."""
_NOTES = {"stop_sequence": "stopSequence", "stop_details": "stopDetails", "container": "container"}


class MessagesAnswer:
    """
    Turns the events of one answer into chunks.

    ``read`` takes one event; once ``done`` is true, or the events are over, ``finish`` gives the end.  Events and
    content blocks of kinds that are unknown say nothing.

    >>> from procession.models.wire_model import AnswerContext
    >>> answer = MessagesAnswer(AnswerContext(model="anthropic/claude-haiku-5-5"))
    >>> whole = '{"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}'
    >>> [chunk.type for chunk in [*answer.read(whole), *answer.finish()]]
    ['response-metadata', 'text-start', 'text-delta', 'text-end', 'finish']
    """

    def __init__(self, context: AnswerContext) -> None:
        self.done = False
        """Whether the server said that this was all."""
        self._context = context
        self._failures = StreamFailures(context.model, context.headers, context.secrets)
        tools = as_list(as_mapping(context.request).get("tools"))
        self._in_json = any(as_mapping(tool).get("name") == ANSWER_TOOL for tool in tools)
        self._began = False
        self._id = ""
        self._open: dict[int, Block] = {}
        self._latest = 0
        self._blocks = 0
        self._pending: list[CallBlock] = []
        """Calls of which nothing that came later has told that they are whole."""
        self._calls: dict[str, ToolCall] = {}
        self._answered = False
        """Whether the tool that takes the answer was called."""
        self._raw_reason: str | None = None
        self._usage: dict[str, int] = {}
        self._thoughts = 0
        self._notes: dict[str, Any] = {}

    def read(self, data: str, event: str = "message") -> Iterator[Chunk]:
        """
        Yield the chunks of one event.

        Raises ``ModelError`` of kind ``stream`` for an error in place of an answer, and for what is no JSON object.
        """
        data = data.strip()
        if not data or self.done or event == "ping":
            return
        if data == "[DONE]":  # of servers that imitate several providers
            self.done = True
            return
        payload = self._failures.json_object(data)
        kind = as_text(payload.get("type")) or event
        if kind == "content_block_delta":
            yield from self._add(payload)
        elif kind == "error" or event == "error" or payload.get("error"):
            raise self._failure(payload)
        elif kind == "content_block_start":
            yield from self._begin_answer({})
            yield from self._start(_index(payload), as_mapping(payload.get("content_block")))
        elif kind == "content_block_stop":
            yield from self._stop(_index(payload))
        elif kind == "message_start":
            yield from self._begin_answer(as_mapping(payload.get("message")))
        elif kind == "message_delta":
            self._take(as_mapping(payload.get("delta")))
            self._take_usage(payload.get("usage"))
        elif kind == "message_stop":
            self.done = True
        elif payload.get("type") == "message":  # a server that does not stream
            yield from self._begin_answer(payload)
            self.done = True

    def finish(self) -> Iterator[Chunk]:
        """
        Yield the end of the answer: open blocks closed, the complete tool calls, and ``Finish``.

        Raises ``ModelError`` of kind ``stream`` where the answer is not complete.
        """
        if not self.done or (self._raw_reason is None and not self._blocks):
            raise self._failures.unfinished(self._blocks > 0)
        for index in tuple(self._open):
            yield from self._stop(index, told=False)
        raw = self._raw_reason
        reason = _REASONS.get(raw, "other") if raw is not None else "stop"
        cut = raw is None or reason in ("length", "content-filter")
        if self._pending:
            self._pending[-1].is_last = True
        dropped: list[Mapping[str, str]] = []
        yield from self._tell_calls(dropped if cut else None)
        if any(not call.provider_executed for call in self._calls.values()):
            reason = "tool-calls" if reason in ("stop", "other") else reason
        elif reason == "tool-calls" and self._answered:
            reason = "stop"
        notes: dict[str, Any] = {"anthropic": self._notes} if self._notes else {}
        if dropped:
            notes["dropped_tool_calls"] = dropped
        yield Finish(reason, self._whole_usage(), raw_reason=raw, provider_metadata=notes or None)

    # --- blocks --------------------------------------------------------------------

    def _start(self, index: int | None, given: Mapping[str, Any], *, whole: bool = False) -> Iterator[Chunk]:
        kind = as_text(given.get("type"))
        if kind not in _CALLS:
            yield from self._tell_calls(None)  # what was called before this is whole
        self._latest = index if index is not None else self._latest + 1
        self._open.pop(self._latest, None)
        self._blocks += 1
        block: Block
        if kind in _CALLS and self._in_json and given.get("name") == ANSWER_TOOL:
            self._answered = True
            block = AnswerBlock(f"text-{self._blocks}", given)
        elif kind in _CALLS:
            block = CallBlock(given, whole=whole)
            self._pending.append(block)
        elif kind == "text":
            block = TextBlock(f"text-{self._blocks}", given, answer_id=self._id or "answer")
        elif kind in ("thinking", "redacted_thinking"):
            block = ThoughtBlock(f"reasoning-{self._blocks}", given)
        else:
            if kind.endswith("_tool_result"):
                yield result_of(given, self._calls)
            return
        self._open[self._latest] = block
        yield from block.begin()

    def _add(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        index, delta = _index(payload), as_mapping(payload.get("delta"))
        block = self._open.get(self._latest if index is None else index)
        if block is None:
            kind = _OF_DELTAS.get(as_text(delta.get("type")))
            if kind is None:
                return
            yield from self._begin_answer({})
            yield from self._start(index, {"type": kind})
            block = self._open[self._latest]
        yield from block.add(delta)

    def _stop(self, index: int | None, *, told: bool = True) -> Iterator[Chunk]:
        block = self._open.pop(self._latest if index is None else index, None)
        if block is not None and (told or not isinstance(block, CallBlock)):
            yield from block.end()

    def _tell_calls(self, dropped: list[Mapping[str, str]] | None) -> Iterator[Chunk]:
        """
        Yield the calls so far.  Of an answer that was cut, those that are not whole go to *dropped*.
        """
        calls = [(block, block.call(cut=dropped is not None)) for block in self._pending]
        self._pending = []
        if dropped is None and any(call is None for _, call in calls):
            raise self._failures.unfinished(self._blocks > 0)
        for block, call in calls:
            if call is not None:
                self._calls[block.id] = call
                yield ToolInputEnd(block.id)
                yield call
            elif dropped is not None:
                dropped.append(block.dropped())

    # --- what stands around them -----------------------------------------------------

    def _begin_answer(self, message: Mapping[str, Any]) -> Iterator[Chunk]:
        self._take(message)
        self._take_usage(message.get("usage"))
        if self._began:  # some proxies begin twice
            return
        self._began = True
        self._id = as_text(message.get("id"))
        context = self._context
        yield ResponseMetadata(
            self._id or None,
            as_text(message.get("model")) or None,
            None,
            context.headers,
            context.warnings,
            context.request,
            {"status": 200, "headers": context.headers} if context.headers is not None else None,
        )
        for given in as_list(message.get("content")):
            yield from self._start(None, as_mapping(given), whole=True)
            yield from self._stop(None)

    def _take(self, fields: Mapping[str, Any]) -> None:
        reason = fields.get("stop_reason")
        if isinstance(reason, str) and reason:
            self._raw_reason = reason
        for name, note in _NOTES.items():
            if fields.get(name) is not None:
                self._notes[note] = fields[name]

    def _take_usage(self, usage: Any) -> None:
        """
        Take counts, which are the sums so far: what is not told again stays.
        """
        counts = as_mapping(usage)
        for name in _COUNTS:
            self._usage[name] = max(self._usage.get(name, 0), as_count(counts.get(name)))
        thoughts = as_mapping(counts.get("output_tokens_details")).get("thinking_tokens")
        self._thoughts = max(self._thoughts, as_count(thoughts))
        if as_mapping(counts.get("server_tool_use")):
            self._notes["serverToolUse"] = counts["server_tool_use"]

    def _whole_usage(self) -> Usage:
        fresh, read, written, output = (self._usage.get(name, 0) for name in _COUNTS)
        return Usage(fresh + read + written, output, self._thoughts, read, written)

    def _failure(self, body: Any) -> ModelError:
        status = _STATUS.get(as_text(as_mapping(as_mapping(body).get("error")).get("type")))
        return self._failures.told(body, status=status)


def _index(payload: Mapping[str, Any]) -> int | None:
    index = payload.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None
