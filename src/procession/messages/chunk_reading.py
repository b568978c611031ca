"""
Chunk reading: the chunks of a model's answer, in the documents' form ``{type, payload}`` and in our own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from procession.errors import MessageError
from procession.messages.chunks import (
    Chunk,
    DataChunk,
    FileChunk,
    Finish,
    RawChunk,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    ResponseMetadata,
    SourceChunk,
    StepStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolError,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from procession.messages.serial import from_data
from procession.messages.shapes import is_form, is_sequence
from procession.messages.usage import NO_USAGE, Usage

__all__ = ["CHUNK_FORM", "read_answer", "read_chunk"]

Fields: TypeAlias = dict[str, Any]
CHUNK_FORM = 'TextDelta("Hi."), or {"type": "text-delta", "payload": {"text": "Hi."}}'
"""How a chunk may be given, for hints."""

_KINDS: Mapping[str, type[Chunk]] = {
    kind.type: kind
    for kind in (
        StepStart, ResponseMetadata, TextStart, TextDelta, TextEnd, ReasoningStart, ReasoningDelta, ReasoningEnd,
        SourceChunk, FileChunk, ToolInputStart, ToolInputDelta, ToolInputEnd, ToolCall, ToolResult, ToolError,
        RawChunk, Finish,
    )
}  # fmt: skip
"""What a model's answer consists of, beside ``data-*``."""
_REASONS = frozenset({"stop", "length", "content-filter", "tool-calls", "other", "unknown"})
_NAMES = {"args_text_delta": "args_text", "mime_type": "media_type"}
_TEXTS = frozenset({"text", "id", "tool_call_id", "tool_name", "args_text", "media_type", "reason", "error"})
_capital = re.compile("[A-Z]")


def read_answer(given: Any, where: str) -> tuple[Chunk, ...]:
    """
    Return the chunks of a whole answer, with an end where it has none: ``tool-calls`` where it calls tools, else ``stop``.

    >>> read_answer([{"type": "text-delta", "payload": {"id": "t1", "text": "Hi."}}], "the answer")
    (TextDelta(text='Hi.', id='t1'), Finish(reason='stop'))

    Raises ``MessageError``, naming *where* and the number of the chunk, for what no model answers: no chunk at all, a
    failed call, and what belongs to a whole run.
    """
    if not is_sequence(given):
        raise MessageError(f"{where} has chunks={type(given).__name__}", hint=f"give a list of chunks: {CHUNK_FORM}")
    if not given:
        raise MessageError(f"{where} has no chunks", hint=f"give what a model would answer: {CHUNK_FORM}")
    chunks = [read_chunk(one, f"{where}, chunk {at}") for at, one in enumerate(given)]
    ends = [chunk for chunk in chunks if isinstance(chunk, Finish)]
    for end in ends:
        if end.reason not in _REASONS:
            raise MessageError(
                f"{where} has a finish with another reason than a model's",
                hint=f"an answer ends with one of {', '.join(sorted(_REASONS))}; a call that failed is no answer",
            )
    if not ends:
        calls = any(isinstance(chunk, ToolCall) and not chunk.provider_executed for chunk in chunks)
        chunks.append(Finish("tool-calls" if calls else "stop"))
    return tuple(chunks)


def read_chunk(form: Any, where: str = "the chunk") -> Chunk:
    """
    Return the chunk that *form* describes: a chunk, the documents' ``{type, payload}``, or its fields beside the type.

    Names may be in camel or snake case; what our chunk of this type does not hold is left out.

    Raises ``MessageError``, naming *where*, for a type that no model answers and a field that is missing or misfits.
    """
    given: Any = form
    if is_form(form):
        given = from_data(dict(form)) if "$type" in form else _read(form, where)
    if not isinstance(given, Chunk):
        raise MessageError(f"{where} is {type(given).__name__}, which is no chunk", hint=f"a chunk is {CHUNK_FORM}")
    kind = type(given)
    if kind is not DataChunk and _KINDS.get(given.type) is not kind:
        raise _foreign(where, given.type)
    for field in kind.__fields__:
        value = getattr(given, field)
        if not _fits(kind, field, value):
            raise MessageError(
                f"{where} of type {given.type!r} has {field}={type(value).__name__}", hint=f"a chunk is {CHUNK_FORM}"
            )
    return given


def _foreign(where: str, kind: str) -> MessageError:
    return MessageError(
        f"{where} is a chunk of type {kind!r}, which no model answers",
        hint=f"give those of the answer alone, and of no call that failed: {', '.join(_KINDS)}, data-*",
    )


def _read(form: Mapping[Any, Any], where: str) -> Chunk:
    kind, payload = form.get("type"), form.get("payload")
    if not isinstance(kind, str):
        raise MessageError(f"{where} has no type", hint=f"a chunk is {CHUNK_FORM}")
    if payload is not None and not is_form(payload):
        raise MessageError(
            f"{where} of type {kind!r} has payload={type(payload).__name__}", hint=f"a chunk is {CHUNK_FORM}"
        )
    given = {_ours(str(name)): value for name, value in (form if payload is None else payload).items()}
    if kind.startswith("data-"):
        return DataChunk(kind, given.get("data"), given.get("id"), bool(given.get("transient")))
    made = _KINDS.get(kind)
    if made is None:
        raise _foreign(where, kind)
    fill = _FILL.get(made)
    if fill is not None:
        fill(given)
    defaults = made.__field_defaults__
    for name in made.__fields__:
        if name not in given and name not in defaults:
            raise MessageError(f"{where} of type {kind!r} has no {name!r}", hint=f"a chunk is {CHUNK_FORM}")
    named = {name: given[name] for name in made.__fields__ if name in given}
    return made(**{name: value for name, value in named.items() if value is not None or name not in defaults})


def _ours(name: str) -> str:
    snake = _capital.sub(lambda found: f"_{found[0].lower()}", name)
    return _NAMES.get(snake, snake)


def _fits(kind: type[Chunk], field: str, value: Any) -> bool:
    if value is None and field in kind.__field_defaults__:
        return kind.__field_defaults__[field] is None
    if field in _TEXTS:
        return isinstance(value, str)
    if field == "usage":
        return isinstance(value, Usage)
    if field == "data" and kind is FileChunk:
        return isinstance(value, (str, bytes))
    if field == "warnings":
        return is_sequence(value)
    if field == "timestamp":
        return isinstance(value, (int, float))
    return is_form(value) if field in ("provider_metadata", "headers") else True


# --- where the documents' payload is of another shape -----------------------------


def _fill_finish(given: Fields) -> None:
    result, output = given.get("step_result"), given.get("output")
    for name in ("reason", "finish_reason"):
        if is_form(result) and result.get(name) is not None:
            given["reason"] = result[name]
    if given.get("reason") is None:
        given["reason"] = given.get("finish_reason") or "stop"
    usage = output.get("usage") if is_form(output) else given.get("usage")
    if is_form(usage):
        counts = {_ours(str(name)): count for name, count in usage.items()}
        found = {name: counts[name] for name in Usage.__fields__ if isinstance(counts.get(name), int)}
        given["usage"] = Usage(**found) if found else NO_USAGE
    else:
        given["usage"] = usage


def _fill_call(given: Fields) -> None:
    if given.get("args") is None:
        given["args"] = {}


def _fill_error(given: Fields) -> None:
    _fill_call(given)
    error = given.get("error")
    if is_form(error):
        given["error"] = error.get("message")
    elif isinstance(error, BaseException):
        given["error"] = str(error)


def _fill_file(given: Fields) -> None:
    if given.get("data") is None:
        given["data"] = given.get("base64")


def _fill_metadata(given: Fields) -> None:
    moment = given.get("timestamp")
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            return  # refused as what it is
    given["timestamp"] = moment.timestamp() if isinstance(moment, datetime) else moment


_FILL: Mapping[type[Chunk], Any] = {
    Finish: _fill_finish,
    ToolCall: _fill_call,
    ToolResult: _fill_call,
    ToolError: _fill_error,
    FileChunk: _fill_file,
    ResponseMetadata: _fill_metadata,
}
