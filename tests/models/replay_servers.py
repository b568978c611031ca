"""Bodies as servers look at them: what each would refuse, and what in them is of its own making."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["OWN", "REFUSES"]

Body = Mapping[str, Any]


# -- what a server refuses


def _chat(body: Body) -> None:
    """Every call is answered before anything else is said, and nothing else is."""
    open_calls: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            assert isinstance(message["content"], str)
            continue
        assert not open_calls, "calls without an answer"
        calls = message.get("tool_calls", [])
        open_calls = {call["id"] for call in calls}
        assert len(open_calls) == len(calls), "one id for two calls"
        assert message["content"] or calls
    assert not open_calls


def _anthropic(body: Body) -> None:
    """Roles alternate, blocks are not empty, every call is answered at the beginning of the next message."""
    messages = body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"]
    known: set[str] = set()
    owed: list[str] = []
    for message in messages:
        content = message["content"]
        assert content
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        assert sorted(results) == sorted(owed), "calls and answers"
        assert all(block["type"] == "tool_result" for block in content[: len(results)]), "answers come first"
        owed = [block["id"] for block in content if block["type"] == "tool_use"]
        for block in content:
            _check_block(block)
        assert content[-1]["type"] not in ("thinking", "redacted_thinking")
        _check_server_tools(content)
        ids = [block["id"] for block in content if "id" in block]
        assert known.isdisjoint(ids), "ids of calls must be unique"
        assert len(set(ids)) == len(ids), "ids of calls must be unique"
        known.update(ids)
    assert not owed


def _check_block(block: Mapping[str, Any]) -> None:
    if block["type"] == "text":
        assert block["text"].strip()
    elif block["type"] == "thinking":
        assert block["signature"]
    elif block["type"] == "tool_use":
        assert re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"])
        assert isinstance(block["input"], dict)
    elif block["type"] == "tool_result":
        assert block["content"] or not block.get("is_error")


def _check_server_tools(content: Sequence[Mapping[str, Any]]) -> None:
    ran = [block["id"] for block in content if block["type"] == "server_tool_use"]
    found = [block["tool_use_id"] for block in content if block["type"] == "web_search_tool_result"]
    assert ran == found
    assert all(re.fullmatch(r"srvtoolu_[a-zA-Z0-9_]+", id) for id in ran)


def _openai(body: Body) -> None:
    """Every call is answered, and reasoning is followed by what it led to."""
    items = body["input"]
    owed: set[str] = set()
    for at, item in enumerate(items):
        kind = item["type"]
        if kind == "function_call":
            assert item["call_id"] not in owed, "one id for two calls"
            assert 0 < len(item["call_id"]) <= 64
            owed.add(item["call_id"])
        elif kind == "function_call_output":
            owed.remove(item["call_id"])
        elif kind == "reasoning":
            after = next((one for one in items[at + 1 :] if one["type"] != "reasoning"), {"type": None})
            assert after["type"] not in (None, "function_call_output"), "reasoning without what it led to"
            assert after.get("role") in (None, "assistant"), "reasoning without what it led to"
            assert item["id"], "some servers want to know what it is that they decrypt"
            assert item.get("encrypted_content")
        elif kind == "message" and item["role"] == "user":
            assert not owed, "calls without an answer"
            assert item["content"]
        if kind in ("message", "function_call"):
            assert "id" not in item, "a server that keeps nothing knows no ids"
    assert not owed


def _google(body: Body) -> None:
    """Roles alternate, as many answers as calls follow, in their order, and a step's first call is signed."""
    contents = body["contents"]
    assert [content["role"] for content in contents] == ["user", "model"] * (len(contents) // 2) + ["user"]
    owed: list[tuple[str, str]] = []
    for content in contents:
        parts = content["parts"]
        assert parts
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        assert [(answer["id"], answer["name"]) for answer in answers] == owed
        calls = [part for part in parts if "functionCall" in part]
        assert not calls or calls[0].get("thoughtSignature")
        owed = [(part["functionCall"]["id"], part["functionCall"]["name"]) for part in calls]
        assert len({id for id, _ in owed}) == len(owed)
    assert not owed


REFUSES: Mapping[str, Callable[[Body], None]] = {
    "chat": _chat,
    "anthropic": _anthropic,
    "openai": _openai,
    "google": _google,
}
"""By format: raises ``AssertionError`` for a body that its server would refuse."""


# -- what of a body is the server's own

Own = Iterator[tuple[str, str, str]]


def _own_of_chat(body: Body) -> Own:
    for message in body["messages"]:
        for entry in message.get("reasoning_details", ()):
            if entry["type"] == "reasoning.text":
                yield "thought", entry["text"], entry["signature"]
            else:
                yield "hidden", "", entry["data"]


def _own_of_anthropic(body: Body) -> Own:
    for message in body["messages"]:
        for block in message["content"]:
            if block["type"] == "thinking":
                yield "thought", block["thinking"], block["signature"]
            elif block["type"] == "redacted_thinking":
                yield "hidden", "", block["data"]
            elif block["type"] == "web_search_tool_result":
                yield "run", "", block["content"][0]["encrypted_content"]


def _own_of_openai(body: Body) -> Own:
    for item in body["input"]:
        if item["type"] == "reasoning":
            text = "".join(part["text"] for part in item["summary"])
            yield "thought" if text else "hidden", text, item["encrypted_content"]
        elif item["type"] == "web_search_call":
            yield "run", "", item["id"].removeprefix("ws_")
        elif item["type"] == "image_generation_call":
            yield "picture", "", item["id"].removeprefix("ig_")


def _own_of_google(body: Body) -> Own:
    for content in body["contents"]:
        for part in content["parts"]:
            signature = part.get("thoughtSignature")
            if signature is None or signature == "skip_thought_signature_validator":
                continue
            if part.get("thought"):
                yield "thought", part["text"], signature
            elif "text" in part:
                yield ("text", part["text"], signature) if part["text"] else ("hidden", "", signature)
            elif "executableCode" in part:
                yield "run", "", signature
            elif "inlineData" in part:
                yield "picture", "", signature
            else:
                yield "call", "", signature


OWN: Mapping[str, Callable[[Body], Own]] = {
    "chat": _own_of_chat,
    "anthropic": _own_of_anthropic,
    "openai": _own_of_openai,
    "google": _own_of_google,
}
"""By format: what in a body only its provider can have made, as kind, words and signature, in order."""
