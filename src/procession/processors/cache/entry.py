"""
An entry of the cache: the model's own chunks, and what its tools answered, as JSON text.

It is read as an answer that no one need trust: only chunks of a model's answer are made of it, and nothing is unpickled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from procession.errors import MessageError
from procession.messages.chunk_reading import read_answer
from procession.messages.chunks import Chunk, Finish, ResponseMetadata, StepStart, ToolCall, ToolError, ToolResult
from procession.messages.serial import to_data
from procession.messages.shapes import is_dict, is_items
from procession.messages.usage import Usage

__all__ = ["read_entry", "write_entry"]

_FORMAT = 1


def write_entry(key: str, chunks: Iterable[Chunk], results: Sequence[ToolResult]) -> str | None:
    """
    Return the answer as the text that is kept under *key*, its tools' *results* before its end.

    What was sent and which headers came are left out: they are of a call that is over.  ``None`` where a result would not
    find its call again.  Raises ``MessageError`` for a value that JSON has no word for.
    """
    kept: list[Chunk] = []
    calls: set[str] = set()
    answered: set[str] = set()
    for chunk in chunks:
        if isinstance(chunk, StepStart):
            chunk = StepStart()
        elif isinstance(chunk, ResponseMetadata):
            chunk = chunk.replace(headers=None, request=None, raw_response=None, asked=())
        elif isinstance(chunk, ToolCall):
            calls.add(chunk.tool_call_id)
        elif isinstance(chunk, (ToolResult, ToolError)):
            if chunk.tool_call_id in answered:
                return None
            answered.add(chunk.tool_call_id)
        kept.append(chunk)
    at = next((at for at, chunk in enumerate(kept) if isinstance(chunk, Finish)), len(kept))
    kept[at:at] = [result for result in results if result.tool_call_id in calls - answered]
    entry = {"format": _FORMAT, "key": key, "chunks": [to_data(chunk) for chunk in kept]}
    return json.dumps(entry, separators=(",", ":"), allow_nan=False)


def read_entry(key: str, text: Any) -> tuple[Chunk, ...]:
    """
    Return the chunks of what was kept under *key*.

    Raises ``MessageError`` for anything else: another key's, a later format, or what is no answer of a model.
    """
    if not isinstance(text, str):
        raise MessageError("the entry is no text")
    try:
        entry: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MessageError("the entry is no JSON") from error
    if not is_dict(entry) or entry.get("format") != _FORMAT:
        raise MessageError("the entry is of another format")
    if entry.get("key") != key:
        raise MessageError("the entry was kept under another key")
    chunks = entry.get("chunks")
    if not is_items(chunks):
        raise MessageError("the entry has no chunks")
    try:
        answer = read_answer(chunks, "the entry")
    except MessageError:
        raise
    except Exception as error:  # whatever is in there, it is no answer
        raise MessageError("the entry is no answer of a model") from error
    for end in answer:
        if isinstance(end, Finish) and not all(_is_count(getattr(end.usage, name)) for name in Usage.__fields__):
            raise MessageError("the entry has a usage that is none")
    return answer


def _is_count(value: Any) -> bool:
    return isinstance(value, (int, float)) and 0 <= value < math.inf
