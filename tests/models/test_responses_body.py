"""What a request looks like to OpenAI Responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from procession.messages.parts import ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.prompt_memo import PromptMemo
from procession.models.formats.openai.chat_dialects import dialect_of
from procession.models.formats.openai.responses_body import responses_body
from procession.models.model import ModelRequest, ToolChoice, ToolSpec

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLOSED = {**CITY, "additionalProperties": False}


def body_of(model: str = "gpt-5-mini", provider: str = "openai", **fields: Any) -> dict[str, Any]:
    """Return the body of a request with these fields."""
    return responses_body(ModelRequest(messages=(), **fields), model=model, provider=provider)[0]


def warned_of(model: str = "gpt-5-mini", **fields: Any) -> list[str]:
    """Return the settings that could not be sent."""
    _, warnings = responses_body(ModelRequest(messages=(), **fields), model=model)
    assert all(warning["type"] == "unsupported-setting" for warning in warnings)
    return [warning["setting"] for warning in warnings]


def test_nothing_is_kept() -> None:
    """The server is asked to keep nothing, and for reasoning in a form that can go back."""
    assert body_of() == {
        "model": "gpt-5-mini",
        "input": [],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


@pytest.mark.parametrize("model", ["gpt-4.1", "gpt-4o-mini", "gpt-5-chat-latest", "chatgpt-4o-latest"])
def test_models_that_do_not_think(model: str) -> None:
    """A model that does not think is not asked for encrypted reasoning, which it would refuse."""
    assert "include" not in body_of(model)


def test_reasoning_is_not_for_models_that_do_not_think() -> None:
    """What another model thought is left out, and reported, where the model would refuse it."""
    own = {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "gAAA"}}
    entry = PromptMessage("assistant", (ReasoningPart("", provider_metadata=own), TextPart("a")))
    body, warnings = responses_body(ModelRequest(messages=[entry]), model="gpt-4.1", item_ids=True)
    assert body["input"] == [{"type": "message", "role": "assistant", "content": "a"}]
    assert warnings == ({"type": "other", "message": "reasoning is not sent to a model that does not think"},)


def test_server_that_keeps_items() -> None:
    """Where the server keeps items, they are not asked for in encrypted form, and go back under their ids."""
    own = {"openai": {"itemId": "rs_1"}}
    entry = PromptMessage("assistant", (ReasoningPart("", provider_metadata=own), TextPart("a")))
    request = ModelRequest(messages=[entry], provider_options={"openai": {"store": True}})
    body, _ = responses_body(request, model="gpt-5-mini")
    assert (body["store"], "include" in body) == (True, False)
    assert body["input"][0] == {"type": "reasoning", "id": "rs_1", "summary": []}
    always, _ = responses_body(request.replace(provider_options=None), model="gpt-5-mini", item_ids=True)
    assert (always["store"], always["input"][0]["id"]) == (False, "rs_1")


def test_settings() -> None:
    """Settings go through under the format's own names; those it does not have are left out and reported."""
    settings = {
        "temperature": 0,
        "top_p": 1,
        "max_tokens": 5,
        "parallel_tool_calls": False,
        "stop": ["x"],
        "seed": 1,
        "presence_penalty": 0.5,
        "frequency_penalty": 0.5,
        "top_k": 3,
        "timeout": 9,
        "max_retries": 1,
        "user": None,
    }
    body = body_of("gpt-4.1", settings=settings)
    assert body == {
        "model": "gpt-4.1",
        "input": [],
        "stream": True,
        "store": False,
        "temperature": 0,
        "top_p": 1,
        "max_output_tokens": 5,
        "parallel_tool_calls": False,
    }
    assert warned_of("gpt-4.1", settings=settings) == [
        "stop",
        "seed",
        "presence_penalty",
        "frequency_penalty",
        "top_k",
    ]


def test_models_that_refuse_a_temperature() -> None:
    """A model that thinks is not sent the settings that it refuses; one that was told not to think is."""
    settings = {"temperature": 0, "top_p": 0.5, "max_tokens": 5}
    assert not {"temperature", "top_p"} & set(body_of("o4-mini", settings=settings))
    assert warned_of("o4-mini", settings=settings) == ["temperature", "top_p"]
    unthinking = {"openai": {"reasoning": {"effort": "none"}}}
    assert body_of("gpt-5.2", settings=settings, provider_options=unthinking)["temperature"] == 0
    assert warned_of("gpt-5.2", settings=settings, provider_options=unthinking) == []
    assert body_of("my-deployment", settings=settings)["temperature"] == 0


def test_options_have_the_last_word() -> None:
    """Options replace what they name, in ``reasoning`` and ``text`` too, and add to what is to be included."""
    options = {
        "openai": {
            "store": True,
            "temperature": 1,
            "text": {"verbosity": "low"},
            "reasoning": {"summary": "auto"},
            "include": ["web_search_call.action.sources"],
        },
        "other": {"x": 1},
    }
    wanted = {"type": "json", "schema": CITY, "name": "city"}
    settings = {"temperature": 0, "reasoning_effort": "low"}
    body = body_of(settings=settings, provider_options=options, response_format=wanted)
    assert body == {
        "model": "gpt-5-mini",
        "input": [],
        "stream": True,
        "store": True,
        "temperature": 1,
        "text": {
            "format": {"type": "json_schema", "name": "city", "schema": CLOSED, "strict": True},
            "verbosity": "low",
        },
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["web_search_call.action.sources"],
    }
    added = body_of(provider_options={"openai": {"include": ["web_search_call.action.sources"]}})["include"]
    assert added == ["reasoning.encrypted_content", "web_search_call.action.sources"]
    assert body_of(provider_options={"openai": {"include": None}})["include"] is None


def test_options_of_chat_completions() -> None:
    """Options that Chat Completions have at the top are put where this format has them."""
    options = {"openai": {"reasoning_effort": "high", "verbosity": "low"}}
    body = body_of(provider_options=options)
    assert (body["reasoning"], body["text"]) == ({"effort": "high"}, {"verbosity": "low"})
    assert not {"reasoning_effort", "verbosity"} & set(body)


def test_options_of_another_server() -> None:
    """Options of the server that is asked go before those of the format."""
    options = {"azure": {"truncation": "auto"}, "openai": {"truncation": "disabled", "user": "u"}}
    body = body_of(provider="azure", provider_options=options)
    assert (body["truncation"], body["user"]) == ("auto", "u")


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ({"type": "tool", "tool_name": "weather"}, {"type": "function", "name": "weather"}),
        ({"type": "tool", "toolName": "weather"}, {"type": "function", "name": "weather"}),
        ({"type": "tool", "tool_name": "search"}, {"type": "web_search"}),
        ({"type": "tool", "tool_name": "grounding"}, None),
        ({"type": "none"}, "none"),
    ],
)
def test_tools(choice: ToolChoice, expected: Any) -> None:
    """Functions say whether they are strict, OpenAI's own tools go through, and those of others are left out."""
    tools = (
        ToolSpec("weather", "Tells.", CITY),
        ToolSpec("now", strict=True),
        ToolSpec("search", provider_tool={"openai": {"type": "web_search", "search_context_size": "low"}}),
        ToolSpec("grounding", provider_tool={"google": {"googleSearch": {}}}),
    )
    body = body_of(tools=tools, tool_choice=choice)
    nothing: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    assert body["tools"] == [
        {"type": "function", "name": "weather", "description": "Tells.", "parameters": CITY, "strict": False},
        {"type": "function", "name": "now", "description": "", "parameters": nothing, "strict": True},
        {"type": "web_search", "search_context_size": "low"},
    ]
    assert body.get("tool_choice") == expected
    assert warned_of(tools=tools) == ["tools.grounding"]


def test_schemas_that_cannot_be_held() -> None:
    """A strict tool is closed as the server wants it; one whose schema cannot be is not strict, and that is reported."""
    optional = {**CITY, "required": []}
    tools = (ToolSpec("a", "", CITY, True), ToolSpec("b", "", optional, True))
    first, second = body_of(tools=tools)["tools"]
    assert (first["parameters"], first["strict"]) == (CLOSED, True)
    assert (second["parameters"], second["strict"]) == (optional, False)
    assert warned_of(tools=tools) == ["tools.b.strict"]


def test_no_tools_no_choice() -> None:
    """Without tools nothing is said of a choice, which the server would refuse."""
    assert not {"tools", "tool_choice"} & set(body_of(tool_choice="required"))


def test_structured_output() -> None:
    """A schema is a format of the text: strict where it can be, else a wish; without one any JSON is."""
    assert body_of(response_format={"type": "json"})["text"] == {"format": {"type": "json_object"}}
    optional = {**CITY, "required": []}
    assert body_of(response_format={"type": "json", "schema": optional, "name": "Box[int]"})["text"] == {
        "format": {"type": "json_schema", "name": "Box_int_", "schema": optional, "strict": False}
    }


def test_prompt_is_converted_once() -> None:
    """What the last call of a run began with is not converted again."""
    memo, first = PromptMemo(), PromptMessage("user", (TextPart("a"),))
    one, _ = responses_body(ModelRequest(messages=[first], memo=memo), model="m")
    two, _ = responses_body(ModelRequest(messages=[first, first], memo=memo), model="m")
    assert two["input"][0] is one["input"][0]
    json.dumps(two)


def test_servers_of_open_models() -> None:
    """A server that nobody knows gets one system message, and arguments that are JSON: it would refuse others for good."""
    system = [PromptMessage("system", (TextPart(text),)) for text in ("Be brief.", "Be kind.")]
    wrong = PromptMessage("assistant", (PromptToolCall("c", "f", '{"a": tru'),))
    request = ModelRequest(messages=[*system, wrong])
    body, _ = responses_body(request, model="m", dialect=dialect_of("local", "http://localhost:8000/v1", "m"))
    first, call = body["input"]
    assert first["content"] == "Be brief.\n\nBe kind."
    assert json.loads(call["arguments"]) == {"arguments": '{"a": tru'}
    own, _ = responses_body(request, model="m")
    assert (len(own["input"]), own["input"][2]["arguments"]) == (3, '{"a": tru')


def test_ids_of_calls_that_come_again() -> None:
    """Calls of a server that counts from nought in every answer are told apart, each with its own answer."""
    same = "f:0", "x" * 64
    prompt = [
        entry
        for turn in range(3)
        for entry in (
            PromptMessage("assistant", tuple(PromptToolCall(id, "f", {"turn": turn}) for id in (*same, f"own-{turn}"))),
            PromptMessage(
                "tool",
                tuple(
                    PromptToolResult(id, "f", {"type": "text", "value": f"{id} {turn}"})
                    for id in (*same, f"own-{turn}")
                ),
            ),
        )
    ]
    body, _ = responses_body(ModelRequest(messages=prompt, memo=(memo := PromptMemo())), model="gpt-5-mini")
    calls = {item["call_id"]: item["arguments"] for item in body["input"] if item["type"] == "function_call"}
    outputs = {item["call_id"]: item["output"] for item in body["input"] if item["type"] == "function_call_output"}
    assert [*calls] == [*outputs]
    assert len(calls) == 9
    assert {"f:0", "f:0-2", "f:0-3", "own-2"} < {*calls}
    assert all(len(id) <= 64 for id in calls)
    assert [output[-1] for output in outputs.values()] == [args[-2] for args in calls.values()]
    assert responses_body(ModelRequest(messages=prompt, memo=memo), model="gpt-5-mini")[0] == body
