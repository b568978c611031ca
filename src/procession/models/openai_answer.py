"""
One Chat Completions answer, from events to chunks.  No network, so that every quirk of a server is one small test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
from procession.models.failures import failure_of
from procession.models.loose import as_count, as_list, as_mapping, as_text
from procession.models.openai_tool_calls import ToolCallParts

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
        self._model = model
        self._headers = headers
        self._secrets = secrets
        self._request = request
        self._warnings = warnings
        self._has_metadata = False
        self._block: str | None = None
        self._blocks = 0
        self._calls = ToolCallParts()
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
        payload = self._object(data)
        self._raise_if_error(payload, event)
        if not self._has_metadata and (payload.get("id") or payload.get("model")):
            self._has_metadata = True
            yield self._metadata(payload)
        self._read_usage(payload.get("usage"))
        choices = as_list(payload.get("choices"))
        if not choices:
            return
        choice = as_mapping(choices[0])
        # A server that does not stream sends ``message`` where others send ``delta``.
        yield from self._read_delta(as_mapping(choice.get("delta")) or as_mapping(choice.get("message")))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            if reason == "error":
                raise self._failure(choice.get("error") or "the server gave up")
            self._raw_reason = reason

    def finish(self) -> Iterator[Chunk]:
        """
        Yield the end of the answer: open blocks closed, the complete tool calls, and ``Finish``.

        Raises ``ModelError`` of kind ``stream`` where the answer is not complete.
        """
        said = self._blocks or self._calls
        if not self.done and self._raw_reason is None:
            raise self._unfinished(bool(said))
        if self._raw_reason is None and not said:
            raise self._unfinished(False)
        yield from self._close_block()
        reason = _REASONS.get(self._raw_reason, "other") if self._raw_reason is not None else "stop"
        calls, dropped = self._calls.finish(cut=reason in ("length", "content-filter") or self._raw_reason is None)
        if dropped and reason not in ("length", "content-filter"):
            raise self._unfinished(True)
        yield from calls
        if calls and reason in ("stop", "other"):  # servers that name no reason of its own for tool calls
            reason = "tool-calls"
        metadata = {"dropped_tool_calls": dropped} if dropped else None
        yield Finish(reason, self._usage or Usage(), raw_reason=self._raw_reason, provider_metadata=metadata)

    def _read_delta(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str) and thought:
            yield from self._open_block("reasoning")
            yield ReasoningDelta(thought, self._block_id)
        for text in (*_texts(delta.get("content")), *_texts(delta.get("refusal"))):
            yield from self._open_block("text")
            yield TextDelta(text, self._block_id)
        fragments = as_list(delta.get("tool_calls"))
        if fragments:
            yield from self._close_block()
        for fragment in fragments:
            yield from self._calls.add(as_mapping(fragment))

    @property
    def _block_id(self) -> str:
        return f"{self._block}-{self._blocks}"

    def _open_block(self, kind: str) -> Iterator[Chunk]:
        if self._block != kind:
            yield from self._close_block()
            self._block = kind
            self._blocks += 1
            yield TextStart(self._block_id) if kind == "text" else ReasoningStart(self._block_id)

    def _close_block(self) -> Iterator[Chunk]:
        if self._block is not None:
            yield TextEnd(self._block_id) if self._block == "text" else ReasoningEnd(self._block_id)
            self._block = None

    def _metadata(self, payload: Mapping[str, Any]) -> ResponseMetadata:
        created = payload.get("created")
        return ResponseMetadata(
            as_text(payload.get("id")) or None,
            as_text(payload.get("model")) or None,
            float(created) if isinstance(created, (int, float)) and created else None,
            self._headers,
            self._warnings,
            self._request,
            {"status": 200, "headers": self._headers} if self._headers is not None else None,
        )

    def _read_usage(self, usage: Any) -> None:
        counts = as_mapping(usage)
        made = Usage(
            as_count(counts.get("prompt_tokens")),
            as_count(counts.get("completion_tokens")),
            as_count(as_mapping(counts.get("completion_tokens_details")).get("reasoning_tokens")),
            as_count(as_mapping(counts.get("prompt_tokens_details")).get("cached_tokens")),
        )
        if made.total_tokens:
            self._usage = made  # servers that send it with every chunk send the sum so far

    def _object(self, data: str) -> Mapping[str, Any]:
        try:
            payload: Any = json.loads(data)
        except (ValueError, RecursionError):
            payload = None
        if not isinstance(payload, dict):
            if any(as_mapping(entry).get("error") for entry in as_list(payload)):  # Google's, at its OpenAI door
                raise self._failure(payload)
            raise self._failure(f"the stream has an event that is no JSON object: {data[:200]}")
        return as_mapping(payload)

    def _raise_if_error(self, payload: Mapping[str, Any], event: str) -> None:
        if payload.get("error") or payload.get("object") == "error" or event == "error":
            raise self._failure(payload)

    def _failure(self, body: Any) -> ModelError:
        return failure_of(body, model=self._model, kind="stream", headers=self._headers, secrets=self._secrets)

    def _unfinished(self, said_something: bool) -> ModelError:
        return ModelError(
            f"{self._model}: the answer ended before it was complete"
            if said_something
            else f"{self._model}: the stream ended without an answer",
            kind="stream",
            retryable=True,
            provider_code="incomplete_stream" if said_something else "empty_stream",
            headers=self._headers,
        )


def _texts(content: Any) -> list[str]:
    """
    Return the texts of a delta's content: text, or a list of typed parts.
    """
    if isinstance(content, str):
        return [content] if content else []
    parts = [as_mapping(part) for part in as_list(content)]
    texts = [as_text(part.get("text")) for part in parts if part.get("type") in ("text", "output_text", None)]
    return [text for text in texts if text]
