"""What servers that imitate Chat Completions want to be sent, each in its own way."""

from __future__ import annotations

from typing import Any

import pytest

from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.models.formats.openai.chat_body import chat_body
from procession.models.formats.openai.chat_dialects import ChatDialect, dialect_of
from procession.models.formats.openai.chat_prompt import ChatPrompt
from procession.models.model import ModelRequest, ToolSpec

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
PICTURE = {"type": "content", "value": [{"type": "media", "mediaType": "image/png", "data": "iVBORw=="}]}


def sent(provider: str, *entries: PromptMessage, url: str = "http://test/v1", model: str = "m") -> list[dict[str, Any]]:
    """Return what a server is sent of these entries."""
    prompt = ChatPrompt(provider, dialect=dialect_of(provider, url, model))
    return [made for entry in entries for made in prompt.piece(entry).entries]


def body_of(provider: str, url: str = "http://test/v1", model: str = "m", **fields: Any) -> dict[str, Any]:
    """Return the body that a server is sent."""
    dialect = dialect_of(provider, url, model)
    return chat_body(ModelRequest(messages=(), **fields), model=model, provider=provider, dialect=dialect)[0]


def said(*parts: PromptPart) -> PromptMessage:
    """What a model said."""
    return PromptMessage("assistant", parts)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://my-name.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://my-name.services.ai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://api.openai.com.example.com/v1", "max_tokens"),
        ("http://localhost:8080/v1", "max_tokens"),
        ("https://openrouter.ai/api/v1", "max_tokens"),
    ],
)
def test_name_of_the_limit(url: str, key: str) -> None:
    """OpenAI and Azure, whose models that think refuse the old name of the limit, are told the new one."""
    assert body_of("mine", url, settings={"max_tokens": 7})[key] == 7


@pytest.mark.parametrize("provider", ["openai", "openrouter", "azure"])
def test_models_that_refuse_a_temperature(provider: str) -> None:
    """A model of OpenAI's that thinks is not sent what it refuses, wherever it is, and that is reported."""
    request = ModelRequest(messages=(), settings={"temperature": 0, "presence_penalty": 1, "seed": 3})
    body, warnings = chat_body(request, model="openai/gpt-5-mini", provider=provider)
    assert (body["seed"], {"temperature", "presence_penalty"} & set(body)) == (3, set())
    assert [warning["setting"] for warning in warnings] == ["temperature", "presence_penalty"]
    insisted = request.replace(provider_options={provider: {"temperature": 1}})
    assert chat_body(insisted, model="gpt-5-mini", provider=provider)[0]["temperature"] == 1
    unthinking = request.replace(provider_options={provider: {"reasoning_effort": "none"}})
    assert chat_body(unthinking, model="gpt-5.2", provider=provider)[0]["temperature"] == 0
    assert chat_body(request, model="gpt-4.1", provider=provider)[1] == ()


@pytest.mark.parametrize(("call_id", "kept"), [("abcDEF123", True), ("call_1", False), ("call_" + "x" * 60, False)])
def test_ids_of_mistral(call_id: str, kept: bool) -> None:
    """Mistral takes ids of nine letters and digits alone: others are replaced, the same for a call and its result."""
    call, result = PromptToolCall(call_id, "f", {}), PromptToolResult(call_id, "f", {"type": "text", "value": "1"})
    asked, answered = sent("mistral", said(call), PromptMessage("tool", (result,)))
    made = asked["tool_calls"][0]["id"]
    assert made == answered["tool_call_id"]
    assert (len(made), made.isalnum(), made == call_id) == (9, True, kept)


def test_long_ids() -> None:
    """An id that is longer than OpenAI takes is replaced by the same one for the call and for its result."""
    long = "call_" + "x" * 60
    call, result = PromptToolCall(long, "f", {}), PromptToolResult(long, "f", {"type": "text", "value": "1"})
    asked, answered = sent("openai", said(call), PromptMessage("tool", (result,)))
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert len(answered["tool_call_id"]) == 40


def test_pictures_from_tools_for_mistral() -> None:
    """Where no user's message may follow a tool's, pictures from tools are left out and reported."""
    prompt = ChatPrompt("mistral", dialect=dialect_of("mistral", "", "m"))
    piece = prompt.piece(PromptMessage("tool", (PromptToolResult("abcDEF123", "f", PICTURE),)))
    assert piece.entries == ({"role": "tool", "tool_call_id": "abcDEF123", "content": "[image/png]"},)
    assert len(piece.changes) == 1


def test_texts_alone_are_one_text() -> None:
    """A message of several texts is one text: servers such as DeepSeek refuse a list."""
    texts = PromptMessage("user", (TextPart("Look"), TextPart("here")))
    assert sent("deepseek", texts) == [{"role": "user", "content": "Look\nhere"}]


@pytest.mark.parametrize("url", ["https://api.deepseek.com/v1", "https://api.moonshot.ai/v1"])
def test_reasoning_goes_back_to_servers_that_want_it(url: str) -> None:
    """DeepSeek and Moonshot refuse calls without what the model thought before them; others are not sent it."""
    own = ReasoningPart("Hmm", provider_metadata={"mine": {"reasoningField": "reasoning_content"}})
    foreign = ReasoningPart("Psst", provider_metadata={"anthropic": {}})
    call = PromptToolCall("c", "f", {})
    assert [entry["reasoning_content"] for entry in sent("mine", said(own, foreign, call), said(call), url=url)] == [
        "Hmm",
        "",
    ]
    assert "reasoning_content" not in sent("mine", said(TextPart("a")), url=url)[0]
    assert "reasoning_content" not in sent("mine", said(own, call))[0]


@pytest.mark.parametrize("key", ["reasoning_details", "thinking_blocks"])
def test_signed_reasoning_goes_back(key: str) -> None:
    """Signed reasoning goes back as it came, to the server that it came from."""
    entries = [{"type": "reasoning.text", "text": "Hmm", "signature": "s+/=", "index": 0}]
    signed = ReasoningPart("", provider_metadata={"openrouter": {key: entries}})
    (own,) = sent("openrouter", said(signed, PromptToolCall("c", "f", {})))
    assert own[key] == entries
    other = ChatPrompt("local").piece(said(signed, TextPart("a")))
    assert other.entries == ({"role": "assistant", "content": "a"},)
    assert other.changes == ({"type": "other", "message": "reasoning that another provider signed is not sent"},)


def test_own_reasoning_is_left_out_without_a_word() -> None:
    """Reasoning that the server itself told and does not want back is no loss, and nothing is reported."""
    own = ReasoningPart("Hmm", provider_metadata={"local": {"reasoningField": "reasoning_content"}})
    assert ChatPrompt("local").piece(said(own, TextPart("a"))).changes == ()


def test_signature_of_a_call_goes_back() -> None:
    """What Gemini's imitation of this format says beside a call goes back with it."""
    extra = {"google": {"thought_signature": "s"}}
    call = PromptToolCall("c", "f", {}, provider_metadata={"gemini": {"extra_content": extra}})
    assert sent("gemini", said(call))[0]["tool_calls"][0]["extra_content"] == extra
    assert "extra_content" not in sent("other", said(call))[0]["tool_calls"][0]


@pytest.mark.parametrize(
    ("provider", "model", "marked"),
    [("openrouter", "anthropic/claude-sonnet-4.5", True), ("litellm", "claude-x", True), ("local", "qwen3", False)],
)
@pytest.mark.parametrize("spelling", ["cacheControl", "cache_control"])
def test_end_of_what_is_cached(provider: str, model: str, marked: bool, spelling: str) -> None:
    """A part that marks the end of what is to be cached does so where Anthropic's models are behind the server."""
    part = TextPart("Long", {"anthropic": {spelling: {"type": "ephemeral"}}})
    (system,) = sent(provider, PromptMessage("system", (part,)), model=model)
    block = {"type": "text", "text": "Long", "cache_control": {"type": "ephemeral"}}
    assert system["content"] == ([block] if marked else "Long")
    picture = FilePart(b"\x89PNG", "image/png", None, {provider: {spelling: {"type": "ephemeral"}}})
    (user,) = sent(provider, PromptMessage("user", (picture,)), model=model)
    assert ("cache_control" in user["content"][0]) is marked


def test_json_of_deepseek() -> None:
    """DeepSeek knows no schemas: the model is told in words, unless the user says otherwise."""
    wanted = {"type": "json", "schema": CITY}
    assert body_of("deepseek", response_format=wanted)["response_format"] == {"type": "json_object"}
    request = ModelRequest(messages=(), response_format=wanted)
    dialect = dialect_of("deepseek", "", "m")
    body, _ = chat_body(request, model="m", dialect=dialect, structured_output="json_schema")
    assert body["response_format"]["type"] == "json_schema"


def test_tools_that_the_server_runs() -> None:
    """A tool that the server itself runs goes through as it is; OpenAI's own are for Responses."""
    definition = {"type": "openrouter:web_search"}
    spec = ToolSpec("web_search", provider_tool={"openrouter": definition, "openai": {"type": "web_search"}})
    assert body_of("openrouter", tools=(spec,))["tools"] == [definition]
    assert "tools" not in body_of("openai", tools=(spec,))


def test_strict_tools() -> None:
    """A strict tool is closed as OpenAI wants it; one whose schema cannot be is not strict, and that is reported."""
    optional = {**CITY, "required": []}
    request = ModelRequest(messages=(), tools=(ToolSpec("a", "", CITY, True), ToolSpec("b", "", optional, True)))
    body, warnings = chat_body(request, model="m")
    first, second = (tool["function"] for tool in body["tools"])
    assert (first["parameters"], first["strict"]) == ({**CITY, "additionalProperties": False}, True)
    assert (second["parameters"], second["strict"]) == (optional, False)
    assert [warning["setting"] for warning in warnings] == ["tools.b.strict"]


def test_unknown_servers() -> None:
    """Little is assumed of a server that nobody knows, and of one whose address is none."""
    assert dialect_of("local", "http://localhost:11434/v1", "qwen3") == ChatDialect(one_system=True)
    assert dialect_of("custom", "not a url", "m") == ChatDialect(one_system=True)


@pytest.mark.parametrize(("provider", "count"), [("local", 1), ("openai", 2)])
def test_system_messages(provider: str, count: int) -> None:
    """The templates of many open models refuse a second system message: where they may be behind, there is one."""
    entries = [PromptMessage("system", (TextPart(text),)) for text in ("Be brief.", "Be kind.")]
    url = "https://api.openai.com/v1" if provider == "openai" else "http://localhost:8000/v1"
    request = ModelRequest(messages=[*entries, PromptMessage("user", (TextPart("Hi"),))])
    body, _ = chat_body(request, model="m", provider=provider, dialect=dialect_of(provider, url, "m"))
    *system, user = body["messages"]
    assert user["role"] == "user"
    assert "\n\n".join(entry["content"] for entry in system) == "Be brief.\n\nBe kind."
    assert len(system) == count


def test_marked_system_messages_as_one() -> None:
    """System messages that become one keep their marks for the cache."""
    marked = TextPart("Long", {"anthropic": {"cacheControl": {"type": "ephemeral"}}})
    request = ModelRequest(messages=[PromptMessage("system", (marked,)), PromptMessage("system", (TextPart("Short"),))])
    body, _ = chat_body(request, model="claude-x", dialect=dialect_of("local", "", "claude-x"))
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "Long", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Short"},
    ]
