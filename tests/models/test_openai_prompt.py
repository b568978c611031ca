"""What a request looks like on the wire."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel

from procession.errors import InputError
from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.usage import Usage
from procession.models.formats.openai.chat_body import chat_body
from procession.models.formats.openai.chat_dialects import dialect_of
from procession.models.formats.openai.chat_prompt import ChatPrompt
from procession.models.model import ModelRequest, ToolChoice, ToolSpec
from procession.models.providers import PROVIDERS

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def body_of(**fields: Any) -> dict[str, Any]:
    """Return the body of a request with these fields."""
    options = {key: fields.pop(key) for key in ("structured_output", "include_usage", "provider") if key in fields}
    return chat_body(ModelRequest(messages=(), **fields), model="m", **options)[0]


def chat_messages(messages: list[PromptMessage]) -> list[dict[str, Any]]:
    """Return a prompt as Chat Completions' messages."""
    return [entry for message in messages for entry in ChatPrompt().piece(message).entries]


def result(value: Any, kind: str = "json") -> PromptMessage:
    """Return the answer of a tool."""
    return PromptMessage("tool", (PromptToolResult("c", "weather", {"type": kind, "value": value}),))


def test_conversation() -> None:
    """Every role has its place, and a tool's answer follows the call it answers."""
    messages = chat_messages(
        [
            PromptMessage("system", (TextPart("Be brief."),)),
            PromptMessage("user", (TextPart("Weather?"),)),
            PromptMessage("assistant", (TextPart("Let me check."), PromptToolCall("c", "weather", {"city": "Zürich"}))),
            result({"temp": 21}),
            PromptMessage("assistant", (TextPart("It is "), TextPart("21."))),
        ]
    )
    assert messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "Let me check.",
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Zürich"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": '{"temp": 21}'},
        {"role": "assistant", "content": "It is 21."},
    ]


def test_two_results_are_two_messages() -> None:
    """The answers of parallel calls are one message each."""
    both = (
        PromptToolResult("a", "f", {"type": "text", "value": "one"}),
        PromptToolResult("b", "f", {"type": "error-text", "value": "no"}),
    )
    assert [(it["tool_call_id"], it["content"]) for it in chat_messages([PromptMessage("tool", both)])] == [
        ("a", "one"),
        ("b", "no"),
    ]


@pytest.mark.parametrize("key", ["data", "url", "image"])
def test_an_image_of_a_tool(key: str) -> None:
    """An image that a tool answers goes as one, whatever it is called there."""
    value = [{"type": "image", key: "iVBORw0KGgo="}]
    result = PromptToolResult("a", "f", {"type": "content", "value": value})
    *_, last = chat_messages([PromptMessage("tool", (result,))])
    assert last["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def test_call_without_text() -> None:
    """A turn that is only tool calls has no content."""
    (message,) = chat_messages([PromptMessage("assistant", (PromptToolCall("c", "f", {}),))])
    assert message["content"] is None


def test_arguments_that_a_model_wrote_wrongly() -> None:
    """Arguments that are no JSON object go to OpenAI as the model wrote them, and to servers that parse them as JSON."""
    wrong = PromptMessage("assistant", (PromptToolCall("c", "f", '{"a": tru'),))
    own = ChatPrompt(dialect=dialect_of("openai", PROVIDERS["openai"].base_url, "gpt-4.1")).piece(wrong).entries[0]
    (other,) = chat_messages([wrong])
    assert own["tool_calls"][0]["function"]["arguments"] == '{"a": tru'
    assert json.loads(other["tool_calls"][0]["function"]["arguments"]) == {"arguments": '{"a": tru'}


def test_what_has_no_place_is_left_out() -> None:
    """Reasoning and what a provider's own tools did are not sent; a turn of nothing else disappears."""
    theirs = PromptToolCall("c", "search", {}, provider_executed=True)
    assert chat_messages(
        [
            PromptMessage("assistant", (ReasoningPart("hm"), TextPart("Yes."))),
            PromptMessage("assistant", (ReasoningPart("hm"),)),
            PromptMessage("assistant", (theirs,)),
        ]
    ) == [{"role": "assistant", "content": "Yes."}]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            FilePart(b"\x89PNG", "image/png"),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        ),
        (
            FilePart("https://example.com/a.png", "image/png"),
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        ),
        (
            FilePart("iVBORw==", "image/png"),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        ),
        (FilePart(b"RIFF", "audio/wav"), {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}),
        (
            FilePart("data:audio/mpeg;base64,UklGRg==", "audio/mpeg"),
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "mp3"}},
        ),
        (
            FilePart(b"%PDF", "application/pdf", "a.pdf"),
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
        ),
        (FilePart("né".encode(), "text/plain"), {"type": "text", "text": "né"}),
    ],
)
def test_files(part: FilePart, expected: dict[str, Any]) -> None:
    """Files are sent in the form that their type has."""
    (message,) = chat_messages([PromptMessage("user", (TextPart("Look:"), part))])
    assert message["content"] == [{"type": "text", "text": "Look:"}, expected]


@pytest.mark.parametrize(
    "part", [FilePart(b"PK", "application/zip"), FilePart("https://example.com/a.mp3", "audio/mpeg")]
)
def test_files_that_cannot_be_sent(part: FilePart) -> None:
    """A file that the format has no place for is refused, naming its type."""
    with pytest.raises(InputError, match=part.media_type):
        chat_messages([PromptMessage("user", (part,))])


class Point(BaseModel):
    x: int


@dataclass
class Pair:
    a: int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Point(x=1), '{"x": 1}'),
        (Pair(1), '{"a": 1}'),
        (date(2026, 1, 2), '"2026-01-02"'),
        ({"b", "a"}, '["a", "b"]'),
        (MappingProxyType({"a": 1}), '{"a": 1}'),
        (Usage(1, 2), None),
        (None, "null"),
        ("text", '"text"'),
        ("\u2028", '"\u2028"'),
    ],
)
def test_results_of_any_type(value: Any, text: str | None) -> None:
    """Whatever a tool returned is written as JSON, as well as it goes."""
    (message,) = chat_messages([result(value)])
    content = message["content"]
    assert text is None or content == text
    json.loads(content)


def test_results_made_of_parts() -> None:
    """The text of a result in parts is sent, its pictures follow as a user's, and what cannot be sent is named."""
    parts = [
        {"type": "text", "text": "See:"},
        {"type": "media", "mediaType": "image/png", "data": "iVBORw=="},
        {"type": "image", "mimeType": "image/png", "data": "AAAA"},
        {"type": "media", "mediaType": "application/zip", "data": "UEs="},
        {"type": "new"},
    ]
    piece = ChatPrompt().piece(result(parts, "content"))
    message, pictures = piece.entries
    assert message["content"] == "See:\n[image/png]\n[image/png]\n[application/zip]\n[new]"
    assert pictures == {
        "role": "user",
        "content": [
            {"type": "text", "text": "From the tool weather:"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
            {"type": "text", "text": "From the tool weather:"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ],
    }
    assert piece.changes == ({"type": "other", "message": "files in what a tool answered are not sent"},)


def test_settings_and_options() -> None:
    """Settings go through, ours and empty ones do not, and provider options have the last word."""
    body = body_of(
        settings={"temperature": 0, "max_tokens": 5, "seed": None, "top_k": 3, "max_retries": 2, "timeout": 9},
        provider_options={"openai": {"temperature": 1, "reasoning_effort": "low"}, "other": {"x": 1}},
    )
    assert body == {
        "model": "m",
        "messages": [],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 1,
        "max_tokens": 5,
        "top_k": 3,
        "reasoning_effort": "low",
    }


def test_servers_without_stream_options() -> None:
    """Where a server does not know them, stream options are not sent."""
    assert "stream_options" not in body_of(include_usage=False)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ({"type": "tool", "tool_name": "weather"}, {"type": "function", "function": {"name": "weather"}}),
        ({"type": "tool", "toolName": "weather"}, {"type": "function", "function": {"name": "weather"}}),
        ({"type": "none"}, "none"),
    ],
)
def test_tools(choice: ToolChoice, expected: Any) -> None:
    """Tools are described by name, text and schema, and the choice between them has the server's form."""
    body = body_of(tools=(ToolSpec("weather", "Tells.", CITY), ToolSpec("now", strict=True)), tool_choice=choice)
    assert body["tools"] == [
        {"type": "function", "function": {"name": "weather", "description": "Tells.", "parameters": CITY}},
        {
            "type": "function",
            "function": {
                "name": "now",
                "description": "",
                "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
                "strict": True,
            },
        },
    ]
    assert body.get("tool_choice") == expected


def test_no_tools_no_choice() -> None:
    """Without tools nothing is said of a choice, which servers would refuse."""
    assert not {"tools", "tool_choice"} & set(body_of(tool_choice="required"))


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "tool", "tool_name": "web_search"}])
def test_tools_that_a_provider_runs_are_left_out(choice: ToolChoice) -> None:
    """Chat Completions has none: each is left out with a warning, nothing asks for it, and the others are sent."""
    search = ToolSpec("web_search", provider_tool={"openai": {"type": "web_search"}})
    request = ModelRequest(messages=(), tools=(search, ToolSpec("now")), tool_choice=choice)
    body, warnings = chat_body(request, model="m")
    assert [tool["function"]["name"] for tool in body["tools"]] == ["now"]
    assert body.get("tool_choice") == ("required" if choice == "required" else None)
    assert [(warning["type"], warning["setting"]) for warning in warnings] == [
        ("unsupported-setting", "tools.web_search")
    ]
    alone, _ = chat_body(request.replace(tools=(search,)), model="m")
    assert not {"tools", "tool_choice"} & set(alone)


def test_what_another_provider_signed_or_ran_is_reported() -> None:
    """It is left out, and a warning says so; what a server of the same format thought aloud never goes back, unreported."""
    piece = ChatPrompt().piece(
        PromptMessage(
            "assistant",
            (
                ReasoningPart("hm", signature="S"),
                PromptToolCall("w", "web_search", {}, True),
                PromptToolResult("w", "web_search", {"type": "json", "value": {}}),
                TextPart("So."),
            ),
        )
    )
    assert piece.entries == ({"role": "assistant", "content": "So."},)
    assert [change["message"] for change in piece.changes] == [
        "reasoning that another provider signed is not sent",
        "what tools of a provider did is not sent",
    ]
    assert ChatPrompt().piece(PromptMessage("assistant", (ReasoningPart("hm"), TextPart("So.")))).changes == ()


def test_structured_output() -> None:
    """A schema is held to strictly where its objects have no optional fields; they are closed, as the server wants it."""
    closed = {**CITY, "additionalProperties": False}
    optional = {**CITY, "required": []}
    loose = body_of(response_format={"type": "json", "schema": optional, "name": "city"})
    strict = body_of(response_format={"type": "json", "schema": {"$defs": {"c": CITY}, **CITY}, "name": "Box[int]"})
    assert loose["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "city", "schema": optional, "strict": False},
    }
    assert strict["response_format"]["json_schema"] == {
        "name": "Box_int_",
        "schema": {"$defs": {"c": closed}, **closed},
        "strict": True,
    }
    assert body_of(response_format={"type": "json"})["response_format"] == {"type": "json_object"}


def test_structured_output_for_servers_without_schemas() -> None:
    """A server that knows no schemas is told the schema in words."""
    body = body_of(response_format={"type": "json", "schema": CITY}, structured_output="json_object")
    assert body["response_format"] == {"type": "json_object"}
    assert json.dumps(CITY) in body["messages"][0]["content"]
