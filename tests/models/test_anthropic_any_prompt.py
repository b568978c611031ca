"""Whatever a prompt holds, the request is one that Anthropic takes, as far as its SDK's types and its rules can tell."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.sdk_types import RequestTypes

from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.models.formats.anthropic.body import messages_body
from procession.models.model import ModelRequest

pytest.importorskip("anthropic", reason="pip install 'anthropic>=2,<3'")

from anthropic.types.message_create_params import MessageCreateParamsStreaming

TYPES = RequestTypes(MessageCreateParamsStreaming)

_texts = st.text(max_size=4) | st.sampled_from(["", " ", "\n", "so ", "é"])
_ids = st.sampled_from(["c1", "call.2", "é", "", "call:2"])
_notes: st.SearchStrategy[dict[str, Any] | None] = st.sampled_from([
    None, {}, {"anthropic": {}}, {"openai": {"itemId": "x"}}, {"anthropic": {"cacheControl": {"type": "ephemeral"}}},
    {"anthropic": {"result": "web_search_tool_result"}}, {"anthropic": {"signature": "S"}},
])  # fmt: skip
_json = st.recursive(st.none() | st.booleans() | st.integers() | _texts, lambda inner: st.lists(inner, max_size=2))
_found = st.just([{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "E"}])
_outputs = st.fixed_dictionaries({
    "type": st.sampled_from(["text", "json", "error-text", "error-json", "content"]), "value": _json
})  # fmt: skip
_said = st.builds(TextPart, _texts, _notes)
_files = st.sampled_from(
    [FilePart(b"x", "image/png"), FilePart(b"%PDF-", "application/pdf"), FilePart(b"t", "text/plain")]
)
_thoughts = st.builds(ReasoningPart, _texts, st.none() | st.just("S"), st.none() | st.just("E"), _notes)
_args = st.none() | _texts | st.dictionaries(_texts, _json, max_size=2)
_calls = st.builds(PromptToolCall, _ids, st.just("f"), _args, st.just(False), _notes)
_server_calls = st.builds(PromptToolCall, _ids, st.just("web_search"), _args, st.just(True), _notes)
_results = st.builds(PromptToolResult, _ids, st.just("f"), _outputs, _notes)
_server_results = st.builds(
    PromptToolResult, _ids, st.just("web_search"), st.fixed_dictionaries({"type": st.just("json"), "value": _found})
)


def _messages(role: Any, *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[PromptMessage]:
    return st.builds(PromptMessage, st.just(role), st.lists(st.one_of(*parts), max_size=4).map(tuple))


_prompts = st.lists(
    _messages("system", st.builds(TextPart, _texts))
    | _messages("user", _said, _files)
    | _messages("assistant", _said, _files, _thoughts, _calls, _server_calls, _server_results)
    | _messages("tool", _results),
    max_size=6,
)


@given(_prompts)
def test_any_prompt_is_a_request(prompt: list[PromptMessage]) -> None:
    """Roles alternate, no text is blank, every id is legal, results come first and thoughts never last."""
    body, _ = messages_body(ModelRequest(messages=prompt), model="claude-sonnet-5-5")
    TYPES.check(body)
    messages = body["messages"]
    roles = [message["role"] for message in messages]
    assert all(before != after for before, after in zip(roles, roles[1:], strict=False))
    blocks = [*body.get("system", ()), *(block for message in messages for block in message["content"])]
    assert all(block["text"].strip() for block in blocks if block["type"] == "text")
    for block in blocks:
        for key in ("id", "tool_use_id"):
            assert re.fullmatch("[a-zA-Z0-9_-]+", block.get(key, "_"))
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert len(ids) == len(set(ids))
    for message in messages:
        kinds = [block["type"] for block in message["content"]]
        assert kinds
        if message["role"] == "assistant":
            assert kinds[-1] not in ("thinking", "redacted_thinking")
        else:
            assert kinds == sorted(kinds, key=lambda kind: kind != "tool_result")
    if messages and roles[-1] == "assistant" and messages[-1]["content"][-1]["type"] == "text":
        assert not messages[-1]["content"][-1]["text"][-1].isspace()
    assert sum("cache_control" in block for block in blocks) <= 4
