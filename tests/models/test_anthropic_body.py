"""A request as the body of Anthropic's Messages, each one held against the types of Anthropic's own SDK."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest
from pydantic import ValidationError
from tests.models.sdk_types import RequestTypes

from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.models.formats.anthropic.body import ANSWER_TOOL, SAMPLING, messages_body
from procession.models.formats.anthropic.models import most_output_tokens
from procession.models.model import ModelRequest, ToolSpec

pytest.importorskip("anthropic", reason="pip install 'anthropic>=2,<3'")

from anthropic.types.message_create_params import MessageCreateParamsStreaming

TYPES = RequestTypes(MessageCreateParamsStreaming)
MODEL = "claude-sonnet-5-5"
MARK = {"type": "ephemeral"}
WEATHER = ToolSpec("weather", "Tells the weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
TRIP = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASK = (PromptMessage("user", (TextPart("Weather?"),)),)


def body_of(request: ModelRequest, *, model: str = MODEL, check: bool = True, **options: Any) -> dict[str, Any]:
    """Return the body of a request, which the SDK could have sent."""
    body, _ = messages_body(request, model=model, **options)
    if check:
        TYPES.check(body)
    return body


def warnings_of(request: ModelRequest, *, model: str = MODEL, **options: Any) -> list[str]:
    """Return what is told of the settings that were not sent, or of other changes."""
    warnings = messages_body(request, model=model, **options)[1]
    return [str(warning.get("setting") or warning["message"]) for warning in warnings]


def ask(**options: Any) -> ModelRequest:
    """Return a request."""
    given: dict[str, Any] = {"messages": ASK, **options}
    return ModelRequest(**given)


# --- the check itself ------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"bogus": 1},
        {"temperature": 1},
        {"max_tokens": "5"},
        {"stop_sequences": "END"},
        {"system": [{"type": "text"}]},
        {"messages": [{"role": "tool", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "bogus": 1}]}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": 1}]}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "no"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "x"}}]}]},
        {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": "{}"}]}]},
        {"messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "unsigned"}]}]},
        {"tools": [{"name": "f"}]},
        {"tools": [{"name": "f", "input_schema": {"type": "object"}, "bogus": 1}]},
        {"tool_choice": {"type": "required"}},
        {"output_config": {"format": {"type": "json_object"}}},
    ],
)
def test_the_check_can_fail(change: dict[str, Any]) -> None:
    """A key too many, a missing one or a wrong shape, at any depth, is found: the check is worth something."""
    body = body_of(ask(tools=(WEATHER,)))
    with pytest.raises(ValidationError):
        TYPES.check({**body, **change})


# --- a whole request -------------------------------------------------------------------


def test_whole_request() -> None:
    """Everything that can be said in a prompt is said in the words of the SDK."""
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_9"}
    found = [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "E=="}]
    marked = {"anthropic": {"cacheControl": {"type": "ephemeral", "ttl": "1h"}}}
    picture = [{"type": "text", "text": "a map"}, {"type": "media", "data": "aGk=", "mediaType": "image/png"}]
    prompt = (
        PromptMessage("system", (TextPart("You are a parrot.", marked),)),
        PromptMessage(
            "user",
            (
                TextPart("What is this?", marked),
                FilePart(b"x", "image/png"),
                FilePart("https://a.test/x.jpg", "image/jpeg"),
                FilePart(b"%PDF-", "application/pdf", "a.pdf"),
                FilePart("https://a.test/x.pdf", "application/pdf"),
                FilePart(b"text", "text/plain", provider_metadata={"anthropic": {"citations": {"enabled": True}}}),
                FilePart("", "image/png", provider_metadata={"anthropic": {"fileId": "file_1"}}),
            ),
        ),
        PromptMessage(
            "assistant",
            (
                ReasoningPart("hm ", "S"),
                ReasoningPart("", None, "E"),
                PromptToolCall("srvtoolu_1", "web_search", {"query": "x"}, True),
                PromptToolResult("srvtoolu_1", "web_search", {"type": "json", "value": found}),
                TextPart("I look."),
                PromptToolCall(
                    "call.1", "weather", {"city": "Oslo"}, provider_metadata={"anthropic": {"caller": caller}}
                ),
                PromptToolCall("c2", "weather", None),
                PromptToolCall("c3", "weather", "no object"),
            ),
        ),
        PromptMessage(
            "tool",
            (
                PromptToolResult("call.1", "weather", {"type": "json", "value": {"rain": True}}),
                PromptToolResult("c2", "weather", {"type": "error-text", "value": ""}),
                PromptToolResult("c3", "weather", {"type": "content", "value": picture}, marked),
            ),
        ),
        PromptMessage("user", (TextPart("So?"),)),
    )
    body = body_of(ModelRequest(messages=prompt, tools=(WEATHER,)))
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["stream"] is True
    assert body["tools"] == [
        {"name": "weather", "description": "Tells the weather.", "input_schema": WEATHER.parameters}
    ]
    assert "tool_choice" not in body


@pytest.mark.parametrize(
    ("model", "most"),
    [
        ("claude-opus-5-5", 128_000),
        ("claude-something-new", 128_000),
        ("claude-opus-4-8", 128_000),
        ("claude-sonnet-4-6", 128_000),
        ("claude-haiku-4-5-20251001", 64_000),
        ("anthropic/claude-sonnet-4-5", 64_000),
        ("claude-sonnet-4-20250514", 64_000),
        ("claude-3-7-sonnet-latest", 64_000),
        ("claude-opus-4-1-20250805", 32_000),
        ("claude-opus-4-20250514", 32_000),
        ("claude-3-5-haiku-latest", 8_192),
        ("claude-3-haiku-20240307", 4_096),
        ("qwen3", 4_096),
    ],
)
def test_answers_may_be_as_long_as_the_model_can(model: str, most: int) -> None:
    """Without ``max_tokens`` an answer may have as many tokens as its model can give."""
    assert most_output_tokens(model) == most
    assert body_of(ask(), model=model)["max_tokens"] == most
    assert body_of(ask(settings={"max_tokens": 5}), model=model)["max_tokens"] == 5


# --- settings and options ----------------------------------------------------------------


def test_settings() -> None:
    """Settings that Anthropic knows are sent in its words; those of the call itself are not sent."""
    settings = {"stop": "END", "metadata": {"user_id": "u"}, "timeout": 3, "max_retries": 1, "service_tier": None}
    body = body_of(ask(settings=settings))
    assert body["stop_sequences"] == ["END"]
    assert body["metadata"] == {"user_id": "u"}
    assert body_of(ask(settings={"stop": ("A", "B")}))["stop_sequences"] == ["A", "B"]
    assert warnings_of(ask(settings=settings)) == []


@pytest.mark.parametrize("setting", ["seed", "presence_penalty", "frequency_penalty", "logit_bias", *sorted(SAMPLING)])
def test_unknown_settings_are_reported(setting: str) -> None:
    """A setting that Anthropic does not know is left out, and that is told."""
    request = ask(settings={setting: 1})
    assert setting not in body_of(request)
    assert warnings_of(request) == [setting]


def test_settings_of_older_versions() -> None:
    """Older versions of the API take ``temperature`` and its like."""
    settings = {"temperature": 0, "top_p": 1, "top_k": 5}
    body = body_of(ask(settings=settings), check=False, takes_sampling=True)
    assert {key: body[key] for key in settings} == settings


def test_known_settings_are_those_of_the_sdk() -> None:
    """What is taken as a setting is a field of the SDK's request, and none that it has is refused."""
    fields = set(get_type_hints(MessageCreateParamsStreaming))
    made_otherwise = {"model", "messages", "stream", "system", "tools", "tool_choice", "max_tokens", "stop_sequences"}
    headers = {"workspace_id"}
    settings: dict[str, Any] = dict.fromkeys(fields - made_otherwise - headers, {})
    assert warnings_of(ask(settings=settings)) == []


def test_provider_options_have_the_last_word() -> None:
    """What ``provider_options`` say for the provider is sent as it is, over everything else."""
    options = {"anthropic": {"max_tokens": 7, "thinking": {"type": "adaptive"}, "effort": "low"}, "openai": {"x": 1}}
    body = body_of(ask(settings={"max_tokens": 5}, provider_options=options))
    assert (body["max_tokens"], body["thinking"]) == (7, {"type": "adaptive"})
    assert body["output_config"] == {"effort": "low"}
    both = {"anthropic": {"max_tokens": 7, "speed": "fast"}, "proxy": {"max_tokens": 8}}
    body = body_of(ask(provider_options=both), provider="proxy")
    assert (body["max_tokens"], body["speed"]) == (8, "fast")


def test_thinking_in_the_documents_words() -> None:
    """The documents' ``budgetTokens`` is Anthropic's ``budget_tokens``."""
    options = {"anthropic": {"thinking": {"type": "enabled", "budgetTokens": 2048}, "betas": ["b-1"]}}
    assert body_of(ask(provider_options=options))["thinking"] == {"type": "enabled", "budget_tokens": 2048}


# --- tools -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ({"type": "tool", "tool_name": "weather"}, {"type": "tool", "name": "weather"}),
        ({"type": "tool", "toolName": "weather"}, {"type": "tool", "name": "weather"}),
        ({"type": "auto"}, None),
        ("auto", None),
    ],
)
def test_tool_choice(choice: Any, sent: Any) -> None:
    """Whether and which tool is to be called is said in Anthropic's words, and only where there are tools."""
    assert body_of(ask(tools=(WEATHER,), tool_choice=choice)).get("tool_choice") == sent
    assert "tool_choice" not in body_of(ask(tool_choice=choice))


@pytest.mark.parametrize("key", ["disable_parallel_tool_use", "disableParallelToolUse"])
def test_one_tool_at_a_time(key: str) -> None:
    """``provider_options`` may ask for one call at a time."""
    options = {"anthropic": {key: True}}
    body = body_of(ask(tools=(WEATHER,), provider_options=options))
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert body_of(ask(tools=(WEATHER,), provider_options=options, tool_choice="none"))["tool_choice"] == {
        "type": "none"
    }


def test_tools_without_parameters() -> None:
    """A tool that says nothing of its arguments takes an object."""
    (tool,) = body_of(ask(tools=(ToolSpec("now"),)))["tools"]
    assert tool == {"name": "now", "input_schema": {"type": "object", "properties": {}}}


def test_strict_tools() -> None:
    """A model is held to the schema of a strict tool where it can be, and told otherwise."""
    (tool,) = body_of(ask(tools=(ToolSpec("trip", parameters=TRIP, strict=True),)))["tools"]
    assert (tool["strict"], tool["input_schema"]["additionalProperties"]) == (True, False)
    anything = ask(tools=(ToolSpec("trip", parameters={"type": "object"}, strict=True),))
    assert "strict" not in body_of(anything)["tools"][0]
    assert warnings_of(anything) == ["strict"]


def test_tools_of_the_provider() -> None:
    """A tool that Anthropic runs is sent as it is defined; another provider's is left out, and that is told."""
    search = ToolSpec("web_search", provider_tool={"anthropic": {"type": "web_search_20260318", "max_uses": 2}})
    assert body_of(ask(tools=(search,)))["tools"] == [
        {"name": "web_search", "type": "web_search_20260318", "max_uses": 2}
    ]
    foreign = ask(tools=(ToolSpec("file_search", provider_tool={"openai": {"type": "file_search"}}),))
    assert "tools" not in body_of(foreign)
    assert warnings_of(foreign) == ["Anthropic does not run the tool 'file_search': left out"]


# --- JSON --------------------------------------------------------------------------------


def test_answer_in_json() -> None:
    """A model that can be held to a schema is; other options of the output stay beside it."""
    request = ask(
        response_format={"type": "json", "schema": TRIP, "name": "Trip"},
        provider_options={"anthropic": {"effort": "high"}},
    )
    held = {**TRIP, "additionalProperties": False}
    expected = {"format": {"type": "json_schema", "schema": held}, "effort": "high"}
    assert body_of(request)["output_config"] == expected
    assert warnings_of(request) == []


def test_answer_in_json_by_a_tool() -> None:
    """A model from before schemas must call a tool whose arguments are the answer."""
    request = ask(response_format={"type": "json", "schema": TRIP}, tools=(WEATHER,))
    for body in (body_of(request, model="claude-3-7-sonnet-latest"), body_of(request, structured_output="tool")):
        assert [tool["name"] for tool in body["tools"]] == ["weather", ANSWER_TOOL]
        assert body["tools"][1]["input_schema"] == TRIP
        assert body["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
        assert "output_config" not in body


@pytest.mark.parametrize("thinking", [{"type": "enabled", "budget_tokens": 1024}, {"type": "adaptive"}])
def test_answer_in_json_of_a_model_that_thinks(thinking: dict[str, Any]) -> None:
    """Anthropic refuses a tool that must be called while a model thinks: it is asked in words, also where that is a setting."""
    asked: dict[str, Any] = {"response_format": {"type": "json", "schema": TRIP}, "tools": (WEATHER,)}
    for request in (
        ask(provider_options={"anthropic": {"thinking": thinking}}, **asked),
        ask(settings={"thinking": thinking}, **asked),
    ):
        body = body_of(request, model="claude-3-7-sonnet-latest")
        assert [tool["name"] for tool in body["tools"]] == ["weather"]
        assert "tool_choice" not in body
        assert "JSON" in body["system"][-1]["text"]
    off = ask(provider_options={"anthropic": {"thinking": {"type": "disabled"}}}, **asked)
    assert body_of(off, model="claude-3-7-sonnet-latest")["tool_choice"]["type"] == "any"


@pytest.mark.parametrize(
    ("schema", "setting", "options"),
    [
        (None, "response_format", {}),
        (TRIP, "response_format.schema", {"structured_output": "words"}),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "response_format.schema", {}),
        ({"type": "array"}, "response_format.schema", {"structured_output": "tool"}),
    ],
)
def test_answer_in_json_in_words(schema: Any, setting: str, options: dict[str, Any]) -> None:
    """Where a model cannot be held to the schema it is asked in a system message, and that is told."""
    request = ask(response_format={"type": "json", "schema": schema})
    body = body_of(request, **options)
    assert "JSON" in body["system"][-1]["text"]
    assert "output_config" not in body
    assert warnings_of(request, **options) == [setting]


# --- the cache -----------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["cache_control", "cacheControl"])
def test_marks_of_a_call(key: str) -> None:
    """``provider_options`` mark the end of the system messages, or of the tools where there is none."""
    options = {"anthropic": {key: MARK}}
    prompt = (PromptMessage("system", (TextPart("a"),)), PromptMessage("system", (TextPart("b"),)), *ASK)
    body = body_of(ask(messages=prompt, tools=(WEATHER,), provider_options=options))
    assert [block.get("cache_control") for block in (*body["system"], *body["tools"])] == [None, MARK, None]
    body = body_of(ask(tools=(ToolSpec("now"), WEATHER), provider_options=options))
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, MARK]
    assert "cache_control" not in body_of(ask(provider_options=options))


def test_surplus_marks() -> None:
    """Of more marks than Anthropic takes the last ones are sent, and that is told."""
    notes = {"anthropic": {"cache_control": MARK}}
    said = PromptMessage("user", tuple(TextPart(str(at), notes) for at in range(6)))
    request = ask(messages=(PromptMessage("system", (TextPart("s", notes),)), said))
    for _ in range(2):  # what was made of the prompt is as it was
        content = body_of(request)["messages"][0]["content"]
        assert ["cache_control" in block for block in content] == [False, False, False, True, True, True]
    assert warnings_of(request) == ["Anthropic takes 4 marks for the cache: the first are not sent"]
