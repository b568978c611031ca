"""What comes back from a store is read as an answer of a model, or not at all."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs
from tests.processors.cache.kit import Broken, Store, parrot, said

from procession.errors import MessageError
from procession.ids import new_id
from procession.messages.chunks import (
    Finish,
    ResponseMetadata,
    StepStart,
    TextDelta,
    ToolCall,
    ToolResult,
)
from procession.messages.usage import Usage
from procession.processors.cache.entry import read_entry, write_entry
from procession.processors.cache.key import CacheKeyParts
from procession.processors.cache.response_cache import ResponseCache
from procession.testing.fake_model import Reply
from procession.testing.script import say

CHUNKS = (
    StepStart("message-1"),
    ResponseMetadata("r1", "m", 5.0, {"set-cookie": "SECRET"}, ({"type": "w"},), {"messages": "SECRET"}, "SECRET"),
    TextDelta("Look. \ud800 \u00e9", "t"),
    ToolCall("c1", "look", {"q": 1, "$type": "Message"}, provider_metadata={"google": {"thoughtSignature": b"\0\1"}}),
    Finish("tool-calls", Usage(7, 2), provider_metadata={"a": (1, 2)}),
)
RESULT = ToolResult("c1", "look", {"q": 1}, {"$bytes": "no mark", "list": [1, 2.5, None]})


def test_an_answer_comes_back_as_it_was() -> None:
    """Chunks, results, usage, metadata, bytes and odd keys are equal again; what was of the call alone is left out."""
    text = write_entry("k", CHUNKS, [RESULT])
    assert text is not None
    assert text.isascii()
    for gone in ("SECRET", "message-1"):
        assert gone not in text
    start, metadata, *rest = read_entry("k", text)
    assert start == StepStart()
    assert metadata == ResponseMetadata("r1", "m", 5.0, warnings=({"type": "w"},))
    assert rest == [*CHUNKS[2:4], RESULT, CHUNKS[4]]


def test_a_result_without_its_call_is_left_out() -> None:
    """A call that a processor made up is not in the model's answer; and an answer with two results for one id is not kept."""
    text = write_entry("k", CHUNKS, [ToolResult("made-up", "look", {}, "x")])
    assert text is not None
    assert not any(isinstance(chunk, ToolResult) for chunk in read_entry("k", text))
    provider = ToolResult("c1", "look", {}, "x", provider_executed=True)
    text = write_entry("k", (*CHUNKS[:4], provider, CHUNKS[4]), [RESULT])
    assert text is not None
    assert [chunk for chunk in read_entry("k", text) if isinstance(chunk, ToolResult)] == [provider]
    assert write_entry("k", (*CHUNKS[:4], provider, provider, CHUNKS[4]), []) is None


class Evil:
    """What runs a command when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        """Say what is to be called."""
        return os.mkdir, (self.marker,)


def entry(**changes: Any) -> str:
    """Return an entry with *changes*."""
    chunks = [{"$type": "TextDelta", "text": "x"}, {"$type": "Finish", "reason": "stop"}]
    return json.dumps({"format": 1, "key": "k", "chunks": chunks, **changes})


def warnings(logs: Any) -> list[Any]:
    """Return what the cache has to say of itself."""
    return [log for log in logs if log["log_level"] == "warning"]


CORRUPT: list[Any] = [
    "", "null", "[]", "{}", '"text"', "no JSON", "[" * 100_000, entry(format=2), entry(format=None), entry(key="other"),
    entry(chunks=None), entry(chunks=[]), entry(chunks="x"), entry(chunks=[None]), entry(chunks=[[]]),
    entry(chunks=[{"__class__": "os.system", "args": ["touch MARKER"]}]),
    entry(chunks=[{"$type": "os.system", "args": ["touch MARKER"]}]),
    entry(chunks=[{"$type": "TextDelta", "text": {"__class__": "os.system", "args": ["id"]}}]),
    entry(chunks=[{"$type": "Message", "role": "user", "parts": []}]), entry(chunks=[{"$type": "TextDelta"}]),
    entry(chunks=[{"$type": "MessageList"}]), entry(chunks=[{"$error": {}}]), entry(chunks=[{"$bytes": "="}]),
    entry(chunks=[{"$type": "Finish", "reason": "error"}]), entry(chunks=[{"$type": "Start", "run_id": "r", "message_id": "m"}]),
    entry(chunks=[{"$type": "ErrorChunk", "error": {"$error": {"name": "X", "message": "x", "code": None}}}]),
    entry(chunks=[{"$type": "Finish", "reason": "stop", "usage": {"$type": "Usage", "input_tokens": -5}}]),
    entry(chunks=[{"$type": "Finish", "reason": "stop", "usage": {"$type": "Usage", "output_tokens": float("inf")}}]),
    entry(chunks=[{"$type": "ToolCall", "tool_call_id": "c", "tool_name": 5, "args": {}}]), 5, b"\x80\x04.", None,
]  # fmt: skip


@pytest.mark.parametrize("text", CORRUPT, ids=range(len(CORRUPT)))
async def test_what_is_no_answer_is_none(text: Any) -> None:
    """
    An entry that is corrupt, of another key, or that names types of its own is a miss that is logged.

    SEC-007: rejected as corrupt, only registered types are revived.
    """

    class Tampered(Store):
        async def get(self, key: str) -> str | None:
            found = await super().get(key)
            return (
                found
                if found is None
                else text.replace('"key": "k"', f'"key": "{key}"')
                if isinstance(text, str)
                else text
            )

    if text is not None:
        with pytest.raises(MessageError):
            read_entry("k", text)
    store = Tampered()
    agent, model = parrot(["one", "two"], ResponseCache(store, id=new_id()))
    assert await said(agent) == "one"
    with capture_logs() as logs:
        assert await said(agent) == "two"
    assert (len(model.requests), len(warnings(logs))) == (2, 0 if text is None else 1)
    assert "os.system" not in str(logs)


async def test_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SEC-007: a pickle that would run a command, and JSON that names one, run nothing: the marker does not exist."""
    marker = tmp_path / "MARKER"
    monkeypatch.chdir(tmp_path)
    payloads: list[Any] = [
        pickle.dumps(Evil(marker)), pickle.dumps(Evil(marker), protocol=0).decode("latin-1"),
        json.dumps({"__class__": "os.system", "args": [f"touch {marker}"]}),
        json.dumps({"format": 1, "key": "k", "chunks": [{"$type": "os.system", "args": [f"touch {marker}"]}]}),
        json.dumps({"py/reduce": [{"py/function": "os.system"}, {"py/tuple": [f"touch {marker}"]}]}),
    ]  # fmt: skip
    for payload in payloads:
        with pytest.raises(MessageError):
            read_entry("k", payload)
    assert os.listdir(tmp_path) == []


async def test_a_store_that_fails_is_said_once() -> None:
    """Each request asks the model; the log says so once, and nothing of what was asked or of the server's words."""
    store, id = Broken(), new_id()
    agent, model = parrot(["SECRET"] * 3, ResponseCache(store, id=id))
    with capture_logs() as logs:
        assert [await said(agent, messages="private") for _ in range(3)] == ["SECRET"] * 3
    assert (len(model.requests), store.calls) == (3, 6)
    assert [(log["processor_id"], log["error"]) for log in warnings(logs)] == [(id, "OSError")]
    assert not any(word in str(logs) for word in ("private", "SECRET", "internal"))


async def test_a_store_that_hangs_is_done_without() -> None:
    """After ``store_timeout`` seconds the model is asked; the answer is not held up longer than that."""

    class Hanging(Store):
        async def get(self, key: str) -> str | None:
            await anyio.sleep_forever()
            return None

        async def set(self, key: str, value: str, *, ttl: float) -> None:
            await anyio.sleep_forever()

    agent, model = parrot(["x"] * 2, ResponseCache(Hanging(), id=new_id(), store_timeout=0.01))
    with capture_logs() as logs, anyio.fail_after(20):
        assert [await said(agent), await said(agent)] == ["x", "x"]
    assert (len(model.requests), [log["error"] for log in warnings(logs)]) == (2, ["TimeoutError"])


async def test_an_answer_that_json_has_no_word_for_is_not_kept() -> None:
    """It is given, and the next request asks; that is said once."""
    store = Store()
    odd = say("x") + Reply(provider_metadata={"fake": object()})
    agent, model = parrot([odd, odd], ResponseCache(store, id=new_id()))
    with capture_logs() as logs:
        assert [await said(agent), await said(agent)] == ["x", "x"]
    assert (store.kept, len(model.requests), len(warnings(logs))) == ({}, 2, 1)


def _raises(parts: CacheKeyParts) -> str:
    raise ValueError(parts.last_user_text)


def _empty(parts: CacheKeyParts) -> str:
    return ""


def _number(parts: CacheKeyParts) -> int:
    return 5


@pytest.mark.parametrize("key", [_number, _empty, _raises])
async def test_a_key_that_fails_keeps_nothing(key: Any) -> None:
    """A function that raises, or returns no text, leaves the model to answer."""
    store = Store()
    agent, model = parrot(["a", "b"], ResponseCache(store, key=key))
    assert [await said(agent), await said(agent)] == ["a", "b"]
    assert (store.kept, len(model.requests)) == ({}, 2)


async def test_settings_without_words_keep_nothing() -> None:
    """A setting that is an object has no key that would be the same next time."""
    store = Store()
    agent, _ = parrot(["a", "b"], ResponseCache(store), model_settings={"timeout_policy": object()})
    assert [await said(agent), await said(agent)] == ["a", "b"]
    assert store.kept == {}
