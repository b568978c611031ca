"""What a request to Gemini says besides its contents."""

from __future__ import annotations

from typing import Any

import pytest

from procession.errors import InputError
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.models.formats.google.body import google_body
from procession.models.model import ModelRequest, ToolSpec

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpec("weather", "Tell the weather.", CITY)
SEARCH = ToolSpec("search", provider_tool={"google": {"googleSearch": {}}})
FOREIGN = ToolSpec("web_search", provider_tool={"openai": {"type": "web_search"}})
JSON = {"type": "json", "schema": CITY, "name": "place"}
TREE: dict[str, Any] = {"$ref": "#/$defs/Node", "$defs": {"Node": {"properties": {"next": {"$ref": "#/$defs/Node"}}}}}


def written(model: str = "gemini-3-pro-preview", **fields: Any) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """Return the body of a request, and what could not be sent."""
    options = {key: fields.pop(key) for key in ("schemas", "provider") if key in fields}
    fields.setdefault("messages", ())
    return google_body(ModelRequest(**fields), model=model, **options)


def body_of(model: str = "gemini-3-pro-preview", **fields: Any) -> dict[str, Any]:
    """Return the body of a request that can be sent as it is."""
    body, warnings = written(model, **fields)
    assert warnings == ()
    return body


def test_settings() -> None:
    """Settings have Google's names and are in the generation config; those about the call are not sent."""
    settings = {
        "temperature": 0, "top_p": 0.5, "top_k": 9, "max_tokens": 10, "stop": "END", "seed": 1,
        "presence_penalty": 0.1, "frequency_penalty": 0.2, "timeout": 3, "max_retries": 0,
        "thinkingConfig": {"thinkingLevel": "low"},
    }  # fmt: skip
    assert body_of(settings=settings)["generationConfig"] == {
        "temperature": 0, "topP": 0.5, "topK": 9, "maxOutputTokens": 10, "stopSequences": ["END"], "seed": 1,
        "presencePenalty": 0.1, "frequencyPenalty": 0.2, "thinkingConfig": {"thinkingLevel": "low"},
    }  # fmt: skip
    assert body_of(settings={"stop": ["a", "b"], "seed": None})["generationConfig"] == {"stopSequences": ["a", "b"]}
    assert "generationConfig" not in body_of()


def test_settings_that_gemini_does_not_know_are_told_of() -> None:
    """The server would refuse the whole request for a setting of another provider: it is left out, and hooks are told."""
    body, (warning,) = written(settings={"parallel_tool_calls": False})
    assert "generationConfig" not in body
    assert (warning["type"], warning["setting"]) == ("unsupported-setting", "parallel_tool_calls")


def test_tools() -> None:
    """All functions are declared in one place, one without arguments with no schema, and Google's own tools as they are."""
    assert body_of(tools=(WEATHER, ToolSpec("now", "The time.", {"type": "object", "properties": {}}), SEARCH))[
        "tools"
    ] == [
        {
            "functionDeclarations": [
                {"name": "weather", "description": "Tell the weather.", "parametersJsonSchema": CITY},
                {"name": "now", "description": "The time."},
            ]
        },
        {"googleSearch": {}},
    ]


def test_tools_of_another_provider_are_left_out() -> None:
    """A tool that another provider runs is not sent, and hooks are told."""
    body, (warning,) = written(tools=(FOREIGN,), tool_choice="required")
    assert body == {"contents": []}
    assert (warning["type"], warning["setting"]) == ("unsupported-setting", "tools.web_search")


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", None),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ({"type": "required"}, {"mode": "ANY"}),
        ({"type": "tool", "tool_name": "weather"}, {"mode": "ANY", "allowedFunctionNames": ["weather"]}),
        ({"type": "tool", "toolName": "weather"}, {"mode": "ANY", "allowedFunctionNames": ["weather"]}),
    ],
)
def test_tool_choice(choice: Any, config: Any) -> None:
    """The choice among tools has Google's words for it."""
    assert body_of(tools=(WEATHER,), tool_choice=choice).get("toolConfig", {}).get("functionCallingConfig") == config
    assert "toolConfig" not in body_of(tools=(SEARCH,), tool_choice="required")


def test_strict_tools_are_validated() -> None:
    """With a strict tool, arguments are held to their schema while the model may still answer in text."""
    body = body_of(tools=(WEATHER.replace(strict=True),))
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}


def test_a_tool_that_cannot_be_chosen() -> None:
    """Google's own tools cannot be forced: hooks are told, instead of the server refusing the call."""
    body, (warning,) = written(tools=(WEATHER, SEARCH), tool_choice={"type": "tool", "tool_name": "search"})
    assert "toolConfig" not in body
    assert warning["setting"] == "tool_choice"


def test_structured_output() -> None:
    """The schema of an answer goes along as JSON schema; without one, JSON alone is asked for."""
    mime = {"responseMimeType": "application/json"}
    assert body_of(response_format=JSON)["generationConfig"] == {**mime, "responseJsonSchema": CITY}
    assert body_of(response_format={"type": "json"})["generationConfig"] == mime
    tree = body_of(response_format={"type": "json", "schema": TREE})["generationConfig"]["responseJsonSchema"]
    assert tree == {**TREE["$defs"]["Node"], "$defs": TREE["$defs"]}


@pytest.mark.parametrize(
    "model", ["gemini-2.5-flash", "gemini-2.0-flash-001", "models/gemini-1.5-pro", "gemma-3-27b-it"]
)
def test_structured_output_beside_tools_of_older_models(model: str) -> None:
    """Models before Gemini 3 refuse both at once: they are asked for JSON in words, and hooks are told."""
    system = PromptMessage("system", (TextPart("Be brief."),))
    body, (warning,) = written(model, messages=(system,), tools=(WEATHER,), response_format=JSON)
    assert "generationConfig" not in body
    assert [part["text"] for part in body["systemInstruction"]["parts"]] == [
        "Be brief.",
        "Answer with one JSON object that fits this JSON schema: "
        '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}',
    ]
    assert (warning["type"], warning["setting"]) == ("unsupported-setting", "response_format")
    assert body_of(model, response_format=JSON)["generationConfig"]["responseJsonSchema"] == CITY


@pytest.mark.parametrize("model", ["gemini-3-flash", "gemini-3.5-flash", "gemini-flash-latest", "models/gemini-10-pro"])
def test_newer_models_take_both_and_sign(model: str) -> None:
    """Gemini 3 and later take structured output beside tools, and want the calls of other models with a placeholder."""
    said = PromptMessage("assistant", (PromptToolCall("c", "weather", {}),))
    asked = PromptMessage("user", (TextPart("And now?"),))
    body, (warning,) = written(model, messages=(said, asked), tools=(WEATHER,), response_format=JSON)
    assert body["generationConfig"]["responseJsonSchema"] == CITY
    assert "placeholder" in warning["message"]
    assert body["contents"][0]["parts"][0]["thoughtSignature"]


def test_a_prompt_that_ends_with_the_model_s_turn() -> None:
    """Gemini 3 and later refuse it: they are asked to go on, and hooks are told; older ones go on by themselves."""
    said = PromptMessage("assistant", (TextPart("Once upon"),))
    for wanted, wish in ((None, "Continue."), (JSON, "Generate the structured response.")):
        body, (warning,) = written(messages=(said,), response_format=wanted)
        assert body["contents"][1:] == [{"role": "user", "parts": [{"text": wish}]}]
        assert "go on" in warning["message"]
        assert len(body_of("gemini-2.5-flash", messages=(said,), response_format=wanted)["contents"]) == 1


def test_older_schemas() -> None:
    """A server that knows no JSON schema is sent the subset of OpenAPI, and hooks are told what is missing in it."""
    tool = WEATHER.replace(parameters={**CITY, "minProperties": 1, "unevaluatedProperties": False})
    body, warnings = written(tools=(tool,), response_format=JSON, schemas="openapi")
    schema = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}
    (declared,) = body["tools"][0]["functionDeclarations"]
    assert declared == {
        "name": "weather",
        "description": "Tell the weather.",
        "parameters": {**schema, "minProperties": 1},
    }
    assert body["generationConfig"] == {"responseMimeType": "application/json", "responseSchema": schema}
    assert [warning["setting"] for warning in warnings] == ["tools.weather"]
    assert "unevaluatedProperties" in warnings[0]["details"]


def test_a_tree_in_older_schemas_names_its_tool() -> None:
    """A schema that cannot be sent is an error that says whose it is."""
    with pytest.raises(InputError, match="tool 'grow'"):
        written(tools=(ToolSpec("grow", "", TREE),), schemas="openapi")


def test_provider_options_have_the_last_word() -> None:
    """Options of Google are put where they belong, replace what was there, and remove it with None."""
    body = body_of(
        tools=(WEATHER,),
        tool_choice="required",
        settings={"temperature": 1, "seed": 3},
        response_format=JSON,
        provider_options={
            "google": {
                "thinkingConfig": {"includeThoughts": True},
                "temperature": 0,
                "generationConfig": {"seed": None, "responseJsonSchema": {"type": "object"}},
                "toolConfig": {"includeServerSideToolInvocations": True},
                "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
                "cachedContent": "cachedContents/x",
                "tools": None,
            },
            "openai": {"user": "x"},
        },
    )
    assert body == {
        "contents": [],
        "generationConfig": {
            "temperature": 0,
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"},
            "thinkingConfig": {"includeThoughts": True},
        },
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}, "includeServerSideToolInvocations": True},
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "cachedContent": "cachedContents/x",
    }


def test_options_of_a_server_of_another_name() -> None:
    """A server under a name of its own takes Google's options, and then its own."""
    body = body_of(
        provider="proxy", provider_options={"proxy": {"temperature": 1}, "google": {"temperature": 0, "topK": 3}}
    )
    assert body["generationConfig"] == {"temperature": 1, "topK": 3}


def test_changes_of_the_prompt_are_told() -> None:
    """What could not be sent of the conversation is among the warnings, once for all of its messages."""
    thought = PromptMessage("assistant", (TextPart("a"), PromptToolCall("c", "web", {}, True)))
    result = PromptMessage("tool", (PromptToolResult("c", "web", {"type": "text", "value": "x"}),))
    _, warnings = written("gemini-2.5-flash", messages=(thought, result, thought))
    assert [warning["type"] for warning in warnings] == ["other"]
