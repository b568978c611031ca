"""What a cached answer is found by: all that it depends on, in every process, and nothing that it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.errors import MessageError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.shapes import is_dict, is_items
from procession.messages.to_prompt import PromptBuilder
from procession.models.anthropic import AnthropicModel
from procession.models.fallback import FallbackModel
from procession.models.identity import identity_of
from procession.models.model import ToolSpec
from procession.models.openai_chat import OpenAIChatModel
from procession.processors.cache.key import ANONYMOUS, build_response_cache_key, scope_prefix
from procession.testing.fake_model import FakeModel
from procession.tools.tool import Tool

MODEL: Mapping[str, Any] = {"id": "local/m"}
TOOL = ToolSpec("look", "Look it up.", {"type": "object", "properties": {"q": {"type": "string"}}})
BASE: Mapping[str, Any] = {
    "agent_id": "parrot",
    "model": MODEL,
    "prompt": [PromptMessage("user", (TextPart("Hi"),))],
    "tools": [TOOL],
    "model_settings": {"temperature": 0, "max_tokens": 10},
}


def key(**changes: Any) -> str:
    """Return the key of the request with *changes*."""
    return build_response_cache_key(**{**BASE, **changes})


def user(*parts: Any) -> list[PromptMessage]:
    """Return a prompt of one message."""
    return [PromptMessage("user", parts)]


VARIED: Mapping[str, Any] = {
    "model": {"model": {"id": "local/other"}},
    "agent": {"agent_id": "owl"},
    "step": {"step_number": 1},
    "temperature": {"model_settings": {"temperature": 0.5, "max_tokens": 10}},
    "max_tokens": {"model_settings": {"temperature": 0, "max_tokens": 11}},
    "stop": {"model_settings": {**BASE["model_settings"], "stop": ["."]}},
    "seed": {"model_settings": {**BASE["model_settings"], "seed": 1}},
    "an unknown setting": {"model_settings": {**BASE["model_settings"], "verbosity": "low"}},
    "a tool's description": {"tools": [TOOL.replace(description="Look it up again.")]},
    "a tool's schema": {"tools": [TOOL.replace(parameters={"type": "object"})]},
    "a provider's tool": {"tools": [TOOL, ToolSpec("web", provider_tool={"openai": {"type": "web_search"}})]},
    "no tools": {"tools": []},
    "tool_choice": {"tool_choice": "required"},
    "another tool_choice": {"tool_choice": {"type": "tool", "tool_name": "look"}},
    "schema": {"response_format": {"type": "json", "schema": {"type": "object"}}},
    "another schema": {"response_format": {"type": "json", "schema": {"type": "object", "required": ["a"]}}},
    "provider_options": {"provider_options": {"openai": {"store": True}}},
    "the system prompt": {"prompt": [PromptMessage("system", (TextPart("Be brief."),)), *BASE["prompt"]]},
    "the text": {"prompt": user(TextPart("Ho"))},
    "two parts for one": {"prompt": user(TextPart("H"), TextPart("i"))},
    "the role": {"prompt": [PromptMessage("assistant", (TextPart("Hi"),))]},
    "a note for the provider": {"prompt": user(TextPart("Hi", {"anthropic": {"cacheControl": "ephemeral"}}))},
    "a key of one's own": {"key": "Hi"},
    "the shared scope": {"scope": None},
    "a resource's scope": {"scope": "t-a"},
    "another resource's scope": {"scope": "t-b"},
}


def test_each_variation_gives_another_key() -> None:
    """
    Model, agent, step, settings, tools, choice, schema, options, system prompt, texts and scopes are all in the key.

    CACHE-003: temperature, the tools' schemas, tool_choice, the response schema, seed, system prompt and unknown fields
    take part in it.
    """
    keys = {"base": key(), **{name: key(**changes) for name, changes in VARIED.items()}}
    assert len(set(keys.values())) == len(keys), [name for name in keys if list(keys.values()).count(keys[name]) > 1]


@pytest.mark.parametrize(
    "other",
    [
        OpenAIChatModel("m", provider="local", base_url="http://b/v1"),
        OpenAIChatModel("n", provider="local", base_url="http://a/v1"),
        OpenAIChatModel("m", provider="other", base_url="http://a/v1"),
        OpenAIChatModel("m", provider="local", base_url="http://a/v1", system_role="developer"),
        OpenAIChatModel("m", provider="local", base_url="http://a/v1", headers={"x-route": "eu"}),
        AnthropicModel("m", provider="local", base_url="http://a/v1"),
    ],
)
def test_each_model_has_a_key_of_its_own(other: Any) -> None:
    """
    Server, provider, name, format and options of a client tell models apart.

    CACHE-003: the base URL is part of the key.
    """
    model = OpenAIChatModel("m", provider="local", base_url="http://a/v1")
    assert key(model=model) == key(model=OpenAIChatModel("m", provider="local", base_url="http://a/v1/"))
    assert key(model=model) != key(model=other)


def test_what_concerns_the_call_alone_is_no_part_of_a_model() -> None:
    """Keys, timeouts and retries do not tell models apart, and no key is among what does."""
    one = OpenAIChatModel("m", base_url="http://a/v1", api_key="sk-1", headers={"authorization": "Bearer sk-3"})
    other = OpenAIChatModel("m", base_url="http://a/v1", api_key="sk-2", max_retries=0, read_timeout=1)
    assert key(model=one) == key(model=other)
    assert "sk-" not in str(identity_of(one))


def test_the_server_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the environment names the server it is part of the key as well."""
    model = OpenAIChatModel("m")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    before = key(model=model)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://proxy/v1")
    assert key(model=model) != before


def test_a_model_of_several_is_told_by_all_of_them() -> None:
    """The order of a ``FallbackModel`` is part of the key."""
    one, other = FakeModel("x", id="a"), FakeModel("x", id="b")
    assert key(model=FallbackModel([one, other], id="f")) != key(model=FallbackModel([other, one], id="f"))


def test_what_no_answer_depends_on_is_not_in_it() -> None:
    """
    Ids, times, the order of mappings and of tools, settings of the call and notes for libraries make no other key.

    CACHE-004: message ids, created_at and dict order are no part of it.
    """
    tools = [TOOL, ToolSpec("find", "Find it.")]
    assert key(tools=tools) == key(tools=[tools[1], tools[0]])
    assert key(model_settings={"max_tokens": 10, "temperature": 0.0}) == key()
    assert key(model_settings={**BASE["model_settings"], "timeout": 5, "max_retries": 1}) == key()
    assert key(provider_options={"a": {"b": 1, "c": 2}}) == key(provider_options={"a": {"c": 2, "b": 1}})
    assert key(prompt=user(TextPart("Hi", {"mastra": {"createdAt": 1}}))) == key()
    forms = [
        {"id": id, "created_at": f"2026-0{at}-01T00:00:00Z", "role": "user", "content": "hi"}
        for at, id in enumerate(("m1", "m2"), 1)
    ]
    prompts = [PromptBuilder().build(MessageList([form])) for form in forms]
    assert key(prompt=prompts[0]) == key(prompt=prompts[1])


def called(*ids: str) -> list[PromptMessage]:
    """Return a prompt with calls and their results under these ids."""
    return [
        PromptMessage("assistant", tuple(PromptToolCall(id, "look", {"q": at}) for at, id in enumerate(ids))),
        PromptMessage("tool", tuple(PromptToolResult(id, "look", {"type": "text", "value": "x"}) for id in ids)),
    ]


def test_ids_of_tool_calls_count_by_their_order() -> None:
    """Models make them up: what belongs together counts, and not what it is called."""
    assert key(prompt=called("c1", "c2")) == key(prompt=called("x-9", "x-1"))
    crossed = called("c1", "c2")
    crossed[1] = PromptMessage("tool", tuple(reversed(crossed[1].content)))
    assert key(prompt=crossed) != key(prompt=called("c1", "c2"))


def test_files_count_by_what_is_in_them() -> None:
    """
    Bytes and base64 count by their content and media type, what stands behind a URL by the URL.

    CACHE-002: the same question about another image is another key.
    """
    ask = TextPart("what is it?")
    keys = [
        key(prompt=user(ask, FilePart(data, kind)))
        for data, kind in (
            ("AAAA", "image/png"),
            ("AAAB", "image/png"),
            ("AAAA", "image/jpeg"),
            (b"\0\0\0", "image/png"),
            (b"\0\0\1", "image/png"),
            ("https://a/x.png", "image/png"),
            ("https://a/y.png", "image/png"),
        )
    ]
    assert len(set(keys)) == len(keys)
    assert keys[3] == key(prompt=user(ask, FilePart(bytearray(b"\0\0\0"), "image/png")))  # type: ignore[arg-type]


def test_a_scope_cannot_be_said() -> None:
    """
    The scope stands in front, apart: no text of a message, and no name of a tenant, comes out in another one.

    CACHE-001: the scope is a separate prefix, not joinable from message content.
    """
    scopes = [None, ANONYMOUS, "t-a", "t-b", "shared", "anonymous", "", "t-a:", ":t-a", "t\ud800"]
    prefixes = [scope_prefix(scope) for scope in scopes]
    assert len(set(prefixes)) == len(scopes)
    assert not any(one != other and one.startswith(other) for one in prefixes for other in prefixes)
    for scope in scopes:
        said = [key(scope=scope, prompt=user(TextPart(text))) for text in (scope_prefix("t-a"), "t-a", "\n", "':,}")]
        assert all(one.startswith(scope_prefix(scope)) for one in said)
        assert len({one.removeprefix(scope_prefix(scope)) for one in said}) == 4
        assert all(one.isascii() for one in said)


def test_a_key_of_one_s_own_stays_within_agent_step_and_model() -> None:
    """It stands in place of what was said: the next step, another agent and another model have another one all the same."""
    own = key(key="k", prompt=user(TextPart("Ho")))
    assert own == key(key="k")
    others = [key(key="k", **change) for change in ({"step_number": 1}, {"agent_id": "owl"}, {"model": {"id": "x"}})]
    assert len({own, *others}) == 4


def test_texts_that_are_no_unicode_have_keys() -> None:
    """A lone surrogate is part of the key like any other character."""
    assert key(prompt=user(TextPart("a\ud800"))) != key(prompt=user(TextPart("a\ud801")))


def test_values_of_other_types_are_not_mistaken() -> None:
    """A text that looks like a value, a list and a mapping of the same words are all different; an object is refused."""
    values: list[Any] = [
        "a", ["a"], {"a": "a"}, [["a", "a"]], None, "None", 1, "1", True, "true", 1.5, "1.5", float("inf"), "inf",
        b"a", ["bytes", 1, "x"], ["map"], {}, [], {"a": None}, {"a": []}, {1: "a"}, {"1": "a"},
    ]  # fmt: skip
    keys = [key(provider_options={"p": value}) for value in values]
    assert len(set(keys)) == len(keys)
    assert key(provider_options={"p": {"a", "b"}}) == key(provider_options={"p": {"b", "a"}})
    with pytest.raises(MessageError, match="object"):
        key(provider_options={"p": object()})


PROGRAM = """
from tests.processors.cache import test_key as t
from procession.messages.parts import TextPart
print(t.key(scope="t-a", provider_options={"x": {"c", "b", "a"}, "y": {"k": 1, "j": 2}}))
"""


def test_the_key_is_the_same_in_every_process() -> None:
    """CACHE-004: another process with another PYTHONHASHSEED makes the same key."""
    mine = key(scope="t-a", provider_options={"y": {"j": 2, "k": 1}, "x": {"a", "b", "c"}})
    for seed in ("0", "1", "4711"):
        environ = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=50, check=True, env=environ
        )
        assert done.stdout.strip() == mine


def test_a_key_can_be_made_by_hand() -> None:
    """Prompts in the documents' form, tools and models themselves make the keys of what they stand for."""
    form = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    made: Tool[Any] = Tool(
        name=TOOL.name, description=TOOL.description, parameters=TOOL.parameters or {}, execute=print
    )
    assert key(prompt=[form], tools=[made], model=FakeModel("x", id="local/m")) == key()
    with pytest.raises(MessageError, match="role"):
        key(prompt=[{"role": "robot", "content": "Hi"}])


def test_a_prompt_of_messages_is_what_it_says() -> None:
    """The thoughts of a model that go back to it are part of the key."""
    thought = PromptMessage("assistant", (ReasoningPart("hm", "signed-1"), TextPart("Hi")))
    assert key(prompt=[thought]) != key(
        prompt=[thought.replace(content=(ReasoningPart("hm", "signed-2"), TextPart("Hi")))]
    )
    assert Message.user("x").id not in key(prompt=PromptBuilder().build(MessageList("x")))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3),
    max_leaves=8,
)


def told_apart(value: Any) -> Any:
    """Return *value* so that what is equal to Python and no equal setting differs: ``1`` and ``True``."""
    if is_dict(value):
        return {"dict": {(isinstance(key, str), key): told_apart(one) for key, one in value.items()}}
    if is_items(value):
        return ("list", [told_apart(one) for one in value])
    return value if not isinstance(value, (bool, bytes)) else (type(value), value)


@given(PLAIN, PLAIN)
def test_two_values_have_one_key_only_where_they_are_equal(one: Any, other: Any) -> None:
    """Whatever is different makes another key, and a mapping in another order the same."""
    keys = [key(provider_options={"p": value}) for value in (one, other)]
    assert (keys[0] == keys[1]) == (told_apart(one) == told_apart(other))
    if is_dict(one):
        assert keys[0] == key(provider_options={"p": dict(reversed(one.items()))})
