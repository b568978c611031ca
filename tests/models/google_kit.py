"""
Gemini's events, as tests write them, and what is read of them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from procession.errors import ModelError
from procession.messages.chunks import Chunk, Finish
from procession.models.formats.google.answer import GoogleAnswer
from procession.models.wire_model import AnswerContext

SIGNATURE = "Cs4BAXLI2nwf+/8AAQ=="
CONTEXT = AnswerContext(model="google/m")


def candidate(*parts: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return one event with these parts."""
    said: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish is not None:
        said["finishReason"] = finish
    return {"candidates": [{**said, **more}]}


def call(name: str, args: Any = None, **more: Any) -> dict[str, Any]:
    """Return a part that calls a function."""
    function = {"name": name, "args": args, **more}
    return {"functionCall": {key: value for key, value in function.items() if value is not None}}


def read(*events: Any, context: AnswerContext = CONTEXT) -> list[Chunk]:
    """Return the chunks of an answer."""
    answer = GoogleAnswer(context)
    chunks: list[Chunk] = []
    for event in events:
        chunks += answer.read(event if isinstance(event, str) else json.dumps(event))
    return [*chunks, *answer.finish()]


def finish_of(*events: Any) -> Finish:
    """Return the end of an answer."""
    end = read(*events)[-1]
    assert isinstance(end, Finish)
    return end


def failure(*events: Any, context: AnswerContext = CONTEXT) -> ModelError:
    """Return the error that reading an answer raises."""
    with pytest.raises(ModelError) as caught:
        read(*events, context=context)
    assert caught.value.kind == "stream"
    assert "google/m" in str(caught.value)
    return caught.value
