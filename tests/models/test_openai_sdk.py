"""Requests and answers of both of OpenAI's formats, held against OpenAI's own SDK."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from tests.models import responses_events as events
from tests.models.sdk_types import RequestTypes
from tests.models.test_responses_own_tools import OWN_TOOLS
from tests.models.test_responses_prompt import OWN, call, text, thought
from tests.models.wire import DONE, WireAnswer, serving
from tests.models.wire import event as sse

from procession.messages.chunks import (
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    ResponseMetadata,
    SourceChunk,
    TextDelta,
    ToolCall,
    ToolResult,
)
from procession.messages.parts import FilePart, TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.models.formats.openai.chat_body import chat_body
from procession.models.formats.openai.chat_dialects import dialect_of
from procession.models.formats.openai.responses_body import responses_body
from procession.models.formats.openai.responses_provider_tools import provider_chunks
from procession.models.model import ModelRequest, ToolSpec
from procession.models.openai_chat import OpenAIChatModel
from procession.models.openai_responses import OpenAIResponsesModel
from procession.models.providers import PROVIDERS
from procession.testing.recorder import Recording, record

openai = pytest.importorskip("openai", reason="pip install 'openai>=3,<4'")

from openai.types.chat import ChatCompletionChunk  # noqa: E402
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming  # noqa: E402
from openai.types.responses import Response, ResponseOutputItem, ResponseStreamEvent  # noqa: E402
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming  # noqa: E402

RESPONSES = RequestTypes(ResponseCreateParamsStreaming)
CHAT = RequestTypes(CompletionCreateParamsStreaming)
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASK = ModelRequest(
    messages=[PromptMessage("user", (TextPart("Weather?"),))], tools=(ToolSpec("weather", "Tells.", CITY),)
)
PICTURE = FilePart(b"\x89PNG\r\n", "image/png")


def provider_call(item: dict[str, Any]) -> tuple[PromptToolCall, PromptToolResult]:
    """Return a call of one of OpenAI's own tools, as it is kept."""
    told, answer = provider_chunks(item, item["id"])
    assert isinstance(told, ToolCall)
    assert isinstance(answer, ToolResult)
    kind = f"{'error-' if answer.is_error else ''}{'text' if isinstance(answer.result, str) else 'json'}"
    asked = PromptToolCall(told.tool_call_id, told.tool_name, told.args, True, told.provider_metadata)
    return asked, PromptToolResult(told.tool_call_id, told.tool_name, {"type": kind, "value": answer.result})


def conversation(*said: Any) -> ModelRequest:
    """A request with everything in it that either format takes."""
    parts = [{"type": "text", "text": "See:"}, {"type": "media", "mediaType": "image/png", "data": "iVBORw=="}]
    answered = PromptToolResult("call_1", "weather", {"type": "content", "value": parts})
    return ModelRequest(
        messages=[
            PromptMessage("system", (TextPart("Be brief."),)),
            PromptMessage("user", (TextPart("Look:"), PICTURE, FilePart(b"%PDF", "application/pdf", "a.pdf"))),
            PromptMessage("assistant", (*said, text("Wait."), call())),
            PromptMessage("tool", (answered,)),
        ],
        tools=(
            ToolSpec("weather", "Tells.", CITY, True),
            ToolSpec("search", provider_tool={"openai": {"type": "web_search"}}),
        ),
        tool_choice={"type": "tool", "tool_name": "weather"},
        settings={"temperature": 0, "max_tokens": 7},
        response_format={"type": "json", "schema": CITY, "name": "city"},
    )


@pytest.mark.parametrize("item_ids", [None, True])
def test_responses_request(item_ids: bool | None) -> None:
    """A request with all that there is in it is one that the SDK would send."""
    own = [part for item in OWN[:-1] for part in provider_call(item)]
    request = conversation(thought("Hmm"), *own, thought("", "rs_2"))
    body, _ = responses_body(request, model="gpt-5-mini", item_ids=item_ids)
    RESPONSES.check(body)
    assert [item["type"] for item in body["input"]].count("reasoning") == 2


def test_chat_request() -> None:
    """A request with all that there is in it is one that the SDK would send."""
    CHAT.check(
        chat_body(
            conversation(), model="gpt-4.1", dialect=dialect_of("openai", PROVIDERS["openai"].base_url, "gpt-4.1")
        )[0]
    )


@pytest.mark.parametrize(
    "change",
    [
        {"temprature": 0},
        {"input": [{"type": "message", "role": "user", "content": [{"type": "text", "text": "Hi"}]}]},
        {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi", "x": 1}]}]},
        {"input": [{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text"}]}]},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"text": {"format": {"type": "json_schema", "json_schema": {}}}},
        {"max_output_tokens": "7"},
        {"stream": False},
    ],
)
def test_responses_check_finds_what_is_wrong(change: dict[str, Any]) -> None:
    """The check of a request fails for keys too many and for wrong shapes, however deep."""
    body, _ = responses_body(ASK, model="gpt-4.1")
    RESPONSES.check(body)
    with pytest.raises(ValidationError):
        RESPONSES.check({**body, **change})


WRONG_CHAT: list[dict[str, Any]] = [
    {"input": []},
    {"messages": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]},
    {"messages": [{"role": "tool", "tool_call_id": "c", "content": "1", "x": 1}]},
    {"messages": [{"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {}}]}]},
    {"tools": [{"type": "function", "name": "f"}]},
    {"response_format": {"type": "json_schema", "schema": {}}},
]


@pytest.mark.parametrize("change", WRONG_CHAT)
def test_chat_check_finds_what_is_wrong(change: dict[str, Any]) -> None:
    """The check of a request fails for keys too many and for wrong shapes, however deep."""
    body, _ = chat_body(ASK, model="gpt-4.1", dialect=dialect_of("openai", PROVIDERS["openai"].base_url, "gpt-4.1"))
    CHAT.check(body)
    with pytest.raises(ValidationError):
        CHAT.check({**body, **change})


PAGE = {"type": "url_citation", "url": "https://example.com/a", "title": "A", "start_index": 0, "end_index": 2}
ITEMS = [
    events.reasoning("One", "Two", encrypted="gAA+/="),
    events.message("Let me see. né 🙂", annotations=[PAGE]),
    events.function_call('{"city": "Oslo"}', call_id="a", item_id="fc_1"),
    events.function_call("{}", name="now", call_id="b", item_id="fc_2"),
]
STREAM = events.streamed(ITEMS)


def packets_of(stream: list[dict[str, Any]]) -> list[bytes]:
    """Return events as OpenAI sends them."""
    return [b"event: " + one["type"].encode() + b"\n" + sse(one) for one in stream]


def test_the_events_of_these_tests() -> None:
    """The events that these tests replay are ones that the SDK knows, every field of them."""
    known: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    for one in STREAM:
        known.validate_python(one)
    Response.model_validate(events.response("completed", ITEMS, usage=events.USAGE))


def test_items_of_tools_that_openai_runs() -> None:
    """The items of OpenAI's own tools that these tests replay are ones that the SDK knows."""
    known: TypeAdapter[Any] = TypeAdapter(ResponseOutputItem)
    for item in (*OWN, *(one[0] for one in OWN_TOOLS)):
        assert known.validate_python(item).type == item["type"]


def told(recording: Recording[Any]) -> dict[str, Any]:
    """Return what our client understood."""
    (finish,) = recording.of(Finish)
    usage = finish.usage
    return {
        "id": recording.of(ResponseMetadata)[0].id,
        "text": recording.text,
        "deltas": [chunk.text for chunk in recording.of(TextDelta)],
        "reasoning": "".join(chunk.text for chunk in recording.of(ReasoningDelta)),
        "calls": [(chunk.tool_call_id, chunk.tool_name, chunk.args) for chunk in recording.of(ToolCall)],
        "usage": (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.reasoning_tokens),
    }


async def sdk_client(base_url: str) -> Any:
    """Return the SDK's client for a server."""
    return openai.AsyncOpenAI(base_url=base_url, api_key="k-1", max_retries=0)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_responses_like_the_sdk(anyio_backend: str) -> None:
    """The SDK reads the same bytes from the same server as we do, and understands the same."""
    async with serving(WireAnswer(packets_of(STREAM)), WireAnswer(packets_of(STREAM))) as server:
        ours = await record(OpenAIResponsesModel("m", base_url=server.base_url, api_key="k-1").stream(ASK))
        theirs: dict[str, Any] = {"deltas": [], "reasoning": ""}
        async with await sdk_client(server.base_url) as client:
            body = {key: value for key, value in server.bodies[0].items() if key != "stream"}
            async with client.responses.stream(**body) as stream:
                async for one in stream:
                    if one.type == "response.output_text.delta":
                        theirs["deltas"].append(one.delta)
                    elif one.type == "response.reasoning_summary_text.delta":
                        theirs["reasoning"] += one.delta
                final = await stream.get_final_response()
    assert {key: value for key, value in server.bodies[1].items()} == server.bodies[0]
    calls = [item for item in final.output if item.type == "function_call"]
    usage = final.usage
    assert told(ours) == theirs | {
        "id": final.id,
        "text": final.output_text,
        "calls": [(one.call_id, one.name, json.loads(one.arguments)) for one in calls],
        "usage": (
            usage.input_tokens,
            usage.output_tokens,
            usage.input_tokens_details.cached_tokens,
            usage.output_tokens_details.reasoning_tokens,
        ),
    }
    thoughts = [item.encrypted_content for item in final.output if item.type == "reasoning"]
    kept = [(chunk.provider_metadata or {})["openai"] for chunk in ours.of(ReasoningEnd)]
    assert [noted["reasoningEncryptedContent"] for noted in kept if "reasoningEncryptedContent" in noted] == thoughts
    cited = [
        (mark.url, mark.title)
        for item in final.output
        if item.type == "message"
        for mark in item.content[0].annotations
    ]
    assert [(source.url, source.title) for source in ours.of(SourceChunk)] == cited


def chat_event(finish: str | None = None, **fields: Any) -> bytes:
    """One chunk of Chat Completions with everything that OpenAI says in it."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish, "logprobs": None}
    whole = {
        "id": "r-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": None,
    }
    ChatCompletionChunk.model_validate(whole, strict=True)
    return sse(whole)


def fragment(index: int, arguments: str, **fields: Any) -> dict[str, Any]:
    """A piece of a tool call."""
    name = fields.pop("name", None)
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {"index": index, "function": function, **({} if name is None else {"type": "function"}), **fields}


CHAT_USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 9,
    "total_tokens": 29,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
CHAT_STREAM = [
    chat_event(role="assistant", content="", refusal=None),
    chat_event(content="Let me "),
    chat_event(content="see. né 🙂"),
    chat_event(tool_calls=[fragment(0, "", id="a", name="weather")]),
    chat_event(tool_calls=[fragment(0, '{"city":')]),
    chat_event(tool_calls=[fragment(0, ' "Oslo"}')]),
    chat_event(tool_calls=[fragment(1, "{}", id="b", name="now")]),
    chat_event("tool_calls"),
    sse(
        {"id": "r-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": CHAT_USAGE}
    ),
    DONE,
]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_chat_like_the_sdk(anyio_backend: str) -> None:
    """The SDK reads the same bytes from the same server as we do, and understands the same."""
    async with serving(WireAnswer(CHAT_STREAM), WireAnswer(CHAT_STREAM)) as server:
        ours = await record(OpenAIChatModel("m", base_url=server.base_url, api_key="k-1").stream(ASK))
        deltas: list[str] = []
        async with await sdk_client(server.base_url) as client:
            body = {key: value for key, value in server.bodies[0].items() if key != "stream"}
            async with client.chat.completions.stream(**body) as stream:
                async for one in stream:
                    if one.type == "content.delta" and one.delta:
                        deltas.append(one.delta)
                final = await stream.get_final_completion()
    said = final.choices[0].message
    assert told(ours) == {
        "id": final.id,
        "text": said.content,
        "deltas": deltas,
        "reasoning": "",
        "calls": [(one.id, one.function.name, json.loads(one.function.arguments)) for one in said.tool_calls],
        "usage": (
            final.usage.prompt_tokens,
            final.usage.completion_tokens,
            final.usage.prompt_tokens_details.cached_tokens,
            final.usage.completion_tokens_details.reasoning_tokens,
        ),
    }


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_answers_in_one_piece_like_the_sdk(anyio_backend: str) -> None:
    """An answer that is one JSON body says the same to the SDK and to us, in either format."""
    call = {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    message = {"role": "assistant", "content": "Let me see.", "refusal": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": None}
    whole = {"id": "r-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    bodies = [{**whole, "usage": CHAT_USAGE}, events.response("completed", ITEMS, usage=events.USAGE)]
    answers = [
        WireAnswer([json.dumps(body).encode()], headers=(("content-type", "application/json"),)) for body in bodies
    ]
    async with serving(*answers, *answers) as server:
        chat = told(await record(OpenAIChatModel("m", base_url=server.base_url).stream(ASK)))
        responses = told(await record(OpenAIResponsesModel("m", base_url=server.base_url).stream(ASK)))
        async with await sdk_client(server.base_url) as client:
            completion = await client.chat.completions.create(model="m", messages=[])
            response = await client.responses.create(model="m", input=[])
    said = completion.choices[0].message
    assert (chat["id"], chat["text"]) == (completion.id, said.content)
    assert chat["calls"] == [(one.id, one.function.name, json.loads(one.function.arguments)) for one in said.tool_calls]
    assert chat["usage"][:2] == (completion.usage.prompt_tokens, completion.usage.completion_tokens)
    assert (responses["id"], responses["text"]) == (response.id, response.output_text)
    assert responses["calls"] == [
        (one.call_id, one.name, json.loads(one.arguments)) for one in response.output if one.type == "function_call"
    ]
    assert responses["usage"][:2] == (response.usage.input_tokens, response.usage.output_tokens)
