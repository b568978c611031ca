"""The client beside Google's own: bodies fit its types, and it hears the same in the same bytes."""

from __future__ import annotations

import base64
import json
from typing import Any

import pydantic
import pytest
from tests.models.google_kit import SIGNATURE
from tests.models.google_streams import STREAMS, body_of
from tests.models.test_google_body import CITY, JSON, TREE, WEATHER
from tests.models.wire import WireAnswer, serving

from procession.messages.chunks import Chunk, FileChunk, Finish, ReasoningDelta, TextDelta, ToolCall
from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.models.formats.google.body import google_body
from procession.models.google import GoogleModel
from procession.models.loose import as_list, as_mapping
from procession.models.model import ModelRequest, ToolSpec
from procession.testing.recorder import record

_HOW = "Google's own client is not installed: pip install 'google-genai>=3'"
genai: Any = pytest.importorskip("google.genai", reason=_HOW)
types: Any = pytest.importorskip("google.genai.types", reason=_HOW)

SIGNED: Any = {"google": {"thoughtSignature": SIGNATURE}}
CALL = PromptToolCall("c", "weather", {"city": "Zürich"}, False, SIGNED)
CONVERSATION = (
    PromptMessage("system", (TextPart("Be brief."),)),
    PromptMessage("user", (TextPart("Where is this?"), FilePart(b"\x00\xff", "image/png"))),
    PromptMessage("user", (FilePart("https://example.org/a.pdf", "application/pdf"),)),
    PromptMessage("assistant", (ReasoningPart("hm", provider_metadata=SIGNED), TextPart("Let me see."), CALL)),
    PromptMessage("tool", (PromptToolResult("c", "weather", {"type": "json", "value": {"sky": ["rain", None, 1.5]}}),)),
    PromptMessage("assistant", (PromptToolCall("d", "weather", {}),)),
    PromptMessage(
        "tool",
        (
            PromptToolResult(
                "d",
                "weather",
                {"type": "content", "value": [{"text": "a"}, {"data": "AP8=", "mediaType": "image/png"}]},
            ),
        ),
    ),
    PromptMessage(
        "assistant", (PromptToolCall("e", "code_execution", {"code": "1", "language": "PYTHON"}, True, SIGNED),)
    ),
)
REQUESTS = {
    "a conversation": ModelRequest(messages=CONVERSATION, tools=(WEATHER,)),
    "settings": ModelRequest(
        messages=CONVERSATION,
        settings={"temperature": 0.5, "top_p": 0.5, "top_k": 9, "max_tokens": 10, "stop": "END", "seed": 1,
                  "presence_penalty": 0.5, "frequency_penalty": 0.25},
    ),
    "tools": ModelRequest(
        messages=CONVERSATION,
        tools=(WEATHER.replace(strict=True), ToolSpec("tree", "", {"type": "object", "properties": {"t": TREE}}),
               ToolSpec("search", provider_tool={"google": {"googleSearch": {}}})),
        tool_choice={"type": "tool", "tool_name": "weather"},
    ),
    "structured output": ModelRequest(messages=CONVERSATION, response_format=JSON, tool_choice="none"),
    "options": ModelRequest(
        messages=CONVERSATION,
        provider_options={"google": {
            "thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True},
            "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
            "cachedContent": "cachedContents/x",
        }},
    ),
}  # fmt: skip
each_request = pytest.mark.parametrize("request_name", REQUESTS)
each_model = pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-pro-preview"])
each_form = pytest.mark.parametrize("schemas", ["json_schema", "openapi"])


def body_type() -> Any:
    """Return the type of a whole body, of Google's own types; like those it takes no field that it does not know."""
    config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    fields: dict[str, Any] = {
        "contents": list[types.Content],
        "systemInstruction": types.Content | None,
        "tools": list[types.Tool] | None,
        "toolConfig": types.ToolConfig | None,
        "generationConfig": types.GenerationConfig | None,
        "safetySettings": list[types.SafetySetting] | None,
        "cachedContent": str | None,
    }
    given: Any = {name: (kind, ... if name == "contents" else None) for name, kind in fields.items()}
    return pydantic.create_model("Body", __config__=config, **given)


BODY = body_type()


def url_safe(text: str) -> str:
    """Return base64 in the alphabet in which Google's types write it."""
    return text.replace("+", "-").replace("/", "_")


def checked(body: Any) -> Any:
    """Return a body as Google's types understood it; they refuse what they do not know."""
    return BODY.model_validate_json(json.dumps(body)).model_dump(mode="json", by_alias=True, exclude_none=True)


def in_google_s_words(value: Any, key: str = "") -> Any:
    """Return a body as Google's types write it: without nulls, and bytes in another alphabet."""
    if isinstance(value, dict):
        return {name: in_google_s_words(inner, name) for name, inner in as_mapping(value).items() if inner is not None}
    if isinstance(value, list):
        return [in_google_s_words(inner, key) for inner in as_list(value)]
    return url_safe(value) if key in ("thoughtSignature", "data") else value


@each_request
@each_model
@each_form
def test_bodies_fit_google_s_types(request_name: str, model: str, schemas: Any) -> None:
    """Google's own types take every body, field by field, and lose nothing of it."""
    request = REQUESTS[request_name]
    if schemas == "openapi":  # which cannot say a tree
        request = request.replace(tools=tuple(spec for spec in request.tools if spec.name != "tree"))
    body, _ = google_body(request, model=model, schemas=schemas)
    without_nulls = in_google_s_words(body)
    assert checked(body) == without_nulls


@pytest.mark.parametrize(
    "spoilt",
    [
        {"contents": [{"role": "user", "parts": [{"txt": "a"}]}]},
        {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": "{}"}}]}]},
        {"contents": [{"role": "model", "parts": [{"text": "a", "thoughtSignature": "not base64!"}]}]},
        {"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": "text"}}]}]},
        {"contents": [], "generationConfig": {"max_tokens": 3}},
        {"contents": [], "generationConfig": {"responseSchema": {"type": "OBJECT", "patternProperties": {}}}},
        {"contents": [], "tools": [{"functionDeclarations": [{"title": "f"}]}]},
        {"contents": [], "toolConfig": {"mode": "ANY"}},
        {"contents": [], "temperature": 1},
        {},
    ],
)
def test_google_s_types_can_refuse(spoilt: Any) -> None:
    """The types with which bodies are checked do find mistakes."""
    with pytest.raises(pydantic.ValidationError):
        checked(spoilt)


@each_request
@each_model
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_google_s_client_sends_the_same(request_name: str, model: str) -> None:
    """Google's own client, told the same, sends the same body to the same address."""
    request = REQUESTS[request_name]
    answers = [WireAnswer([body_of(STREAMS["cut at the limit"])]) for _ in range(2)]
    async with serving(*answers) as server:
        await record(GoogleModel(model, base_url=server.base_url, api_key="k").stream(request))
        (ours,) = server.bodies
        told = {key: value for key, value in ours.items() if key not in ("contents", "generationConfig")}
        config = types.GenerateContentConfig.model_validate_json(
            json.dumps({**told, **ours.get("generationConfig", {}), "automaticFunctionCalling": {"disable": True}})
        )
        contents = [types.Content.model_validate_json(json.dumps(entry)) for entry in ours["contents"]]
        client = client_of(server.base_url)
        async for _ in await client.models.generate_content_stream(model=model, contents=contents, config=config):
            pass
        await client.aclose()
    theirs = checked(server.bodies[1])
    for body in (theirs, understood := checked(ours)):
        body["tools"] = sorted(body.get("tools", []), key=str)  # Google's client declares functions last
        body.setdefault("generationConfig", {})
    assert theirs == understood
    lines = [head.splitlines()[0] for head in server.heads]
    assert lines[0] == lines[1]


def client_of(base_url: str) -> Any:
    """Return Google's own client for a server; ours is told the version of the API with the address."""
    address, _, version = base_url.rpartition("/")
    return genai.Client(api_key="k", http_options={"base_url": address, "api_version": version}).aio


def each(value: Any) -> list[Any]:
    """Return what a field of Google's types has in it, which may be nothing."""
    return list(value or ())


def heard_by_google(responses: list[Any]) -> dict[str, Any]:
    """Return what is in the answers that Google's own client gave."""
    candidates = [candidate for response in responses for candidate in each(response.candidates)]
    parts = [part for candidate in candidates if candidate.content for part in each(candidate.content.parts)]
    reasons = [candidate.finish_reason for candidate in candidates if candidate.finish_reason]
    usage: Any = responses[-1].usage_metadata or types.GenerateContentResponseUsageMetadata()
    return {
        "text": "".join(part.text or "" for part in parts if not part.thought),
        "thoughts": "".join(part.text or "" for part in parts if part.thought),
        "calls": [(part.function_call.name, part.function_call.args) for part in parts if part.function_call],
        "files": [(part.inline_data.data, part.inline_data.mime_type) for part in parts if part.inline_data],
        "signatures": [part.thought_signature for part in parts if part.thought_signature],
        "reason": (reasons[-1] if reasons else responses[-1].prompt_feedback.block_reason).value,
        "input": (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0),
        "output": (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
        "cached": usage.cached_content_token_count or 0,
    }


def heard_by_us(chunks: list[Chunk]) -> dict[str, Any]:
    """Return the same of our chunks."""
    end = chunks[-1]
    assert isinstance(end, Finish)
    calls = [chunk for chunk in chunks if isinstance(chunk, ToolCall) and not chunk.provider_executed]
    signatures: list[bytes] = []
    for chunk in chunks:
        if chunk.type in ("text-end", "reasoning-end", "tool-call", "file"):
            metadata: Any = getattr(chunk, "provider_metadata", None) or {"google": {}}
            signature: Any = metadata["google"].get("thoughtSignature")
            if signature is not None:
                signatures.append(base64.b64decode(signature))
    return {
        "text": "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta)),
        "thoughts": "".join(chunk.text for chunk in chunks if isinstance(chunk, ReasoningDelta)),
        "calls": [(call.tool_name, call.args) for call in calls],
        "files": [(base64.b64decode(it.data), it.media_type) for it in chunks if isinstance(it, FileChunk)],
        "signatures": signatures,
        "reason": end.raw_reason,
        "input": end.usage.input_tokens,
        "output": end.usage.output_tokens,
        "cached": end.usage.cached_input_tokens,
    }


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_google_s_client_hears_the_same(name: str) -> None:
    """Google's own client, sent the same bytes, hears the same texts, calls, files, signatures and counts."""
    answer = WireAnswer([body_of(STREAMS[name])])
    async with serving(answer, answer) as server:
        ours = await record(GoogleModel("m", base_url=server.base_url).stream(REQUESTS["a conversation"]))
        client = client_of(server.base_url)
        theirs = [it async for it in await client.models.generate_content_stream(model="m", contents="Hello")]
        await client.aclose()
    assert heard_by_us(ours) == heard_by_google(theirs)


@pytest.mark.parametrize("name", STREAMS)
def test_streams_are_google_s(name: str) -> None:
    """The streams that tests play are answers in Google's own types, without a field that those do not know."""
    for event in STREAMS[name]:
        types.GenerateContentResponse.model_validate_json(json.dumps(event))
    with pytest.raises(pydantic.ValidationError):
        types.GenerateContentResponse.model_validate_json(json.dumps({**STREAMS[name][0], "unknown": 1}))


def test_schemas_are_google_s() -> None:
    """The subset of OpenAPI that is sent is what Google's types know."""
    body, _ = google_body(ModelRequest(messages=(), response_format=JSON), model="m", schemas="openapi")
    schema = types.Schema.model_validate_json(json.dumps(body["generationConfig"]["responseSchema"]))
    assert list(schema.properties) == list(CITY["properties"])
