"""The Responses client as a whole: what it sends, over a real connection, however the answer is cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anyio
import httpx
import pytest
from tests.models import responses_events as events
from tests.models.pieces_kit import Pieces
from tests.models.wire import WireAnswer, event, serving

from procession.agents.agent import Agent
from procession.errors import InputError, ModelError
from procession.messages.chunks import Finish, ReasoningEnd, TextDelta, ToolCall
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.models.model import LanguageModel, ModelRequest
from procession.models.openai_responses import OpenAIResponsesModel
from procession.testing.recorder import Recording, record
from procession.tools.provider_tool import ProviderTool
from procession.tools.tool import tool

ASK = ModelRequest(messages=[PromptMessage("user", (TextPart("Weather?"),))])
ITEMS = [
    events.reasoning("Hmm", encrypted="gAA+/="),
    events.message("Née 🙂"),
    events.function_call('{"city": "Oslo"}'),
]
FEW: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"id": "resp_1", "model": "m"}},
    {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": "né 你🙂"},
    {"type": "response.output_item.done", "output_index": 1, "item": events.function_call('{"a": "é"}')},
    {"type": "response.completed", "response": {"status": "completed", "usage": {"input_tokens": 3}}},
]
TYPE = (("content-type", "text/event-stream"),)


def body_of(stream: Iterable[dict[str, Any]], end: str = "\n") -> bytes:
    """Return events as a server sends them."""
    whole = b"".join(b"event: " + one["type"].encode() + b"\n" + event(one) for one in stream)
    return whole.replace(b"\n", end.encode())


def check(recording: Recording[Any]) -> None:
    """Check what ``FEW`` says."""
    assert recording.error is None
    assert recording.text == "né 你🙂"
    assert [(call.tool_call_id, call.args) for call in recording.of(ToolCall)] == [("call_1", {"a": "é"})]
    assert [(finish.reason, finish.usage.input_tokens) for finish in recording.of(Finish)] == [("tool-calls", 3)]


async def test_stream_cut_anywhere_over_a_socket() -> None:
    """The same chunks come out wherever the bytes of the stream are cut in two packets (STR-001)."""
    body = body_of(FEW)
    answers = [WireAnswer((body[:cut], body[cut:])) for cut in range(1, len(body))]
    async with serving(WireAnswer((body,)), *answers) as server:
        model = OpenAIResponsesModel("m", base_url=server.base_url)
        whole = await record(model.stream(ASK))
        check(whole)
        for cut in range(1, len(body)):
            assert await record(model.stream(ASK)) == whole, cut


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_stream_in_single_bytes(end: str) -> None:
    """A stream that comes byte by byte gives the same chunks, with any of the three line ends."""
    pieces = [bytes([byte]) for byte in body_of(FEW, end)]

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers=dict(TYPE), stream=Pieces(pieces))

    check(
        await record(
            OpenAIResponsesModel("m", base_url="http://test/v1", transport=httpx.MockTransport(answer)).stream(ASK)
        )
    )


async def test_what_is_sent() -> None:
    """A question reaches ``/responses`` with its key."""
    async with serving(WireAnswer([body_of(events.streamed(ITEMS))])) as server:
        model = OpenAIResponsesModel("m", base_url=server.base_url + "/", api_key="k-1", system_role="developer")
        recording = await record(model.stream(ASK.replace(messages=[PromptMessage("system", (TextPart("Hi"),))])))
    head = server.heads[0].lower().splitlines()
    assert head[0] == "post /v1/responses http/1.1"
    assert "authorization: bearer k-1" in head
    assert server.bodies[0]["input"] == [{"type": "message", "role": "developer", "content": "Hi"}]
    assert recording.text == "Née 🙂"


async def test_connection_that_breaks() -> None:
    """A connection that breaks is an error after what was said, and no call comes out (STR-018, TOOL-006)."""
    stream = events.streamed(ITEMS)
    for kept in (5, len(stream) - 1):
        async with serving(WireAnswer([body_of(stream[:kept]), "close"])) as server:
            recording = await record(OpenAIResponsesModel("m", base_url=server.base_url).stream(ASK), catch=ModelError)
        assert isinstance(recording.error, ModelError)
        assert (recording.error.kind, recording.error.retryable) == ("stream", True)
        assert recording.of(ToolCall) == recording.of(Finish) == []


async def test_answer_in_one_piece() -> None:
    """A server that answers with one JSON body gives the same answer."""
    whole = events.response("completed", ITEMS, usage=events.USAGE)
    async with serving(
        WireAnswer([event(whole)[len("data: ") :]], headers=(("content-type", "application/json"),))
    ) as server:
        recording = await record(OpenAIResponsesModel("m", base_url=server.base_url).stream(ASK))
    assert recording.text == "Née 🙂"
    assert recording.of(Finish)[0].usage.total_tokens == 29


async def test_missing_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI without a key is refused before anything is sent, naming the variable."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        await record(OpenAIResponsesModel("m").stream(ASK))


def test_model_is_a_language_model() -> None:
    """The client is a ``LanguageModel``, and can be printed without giving its key away."""
    model = OpenAIResponsesModel("m", api_key="k-secret")
    assert isinstance(model, LanguageModel)
    assert repr(model) == "OpenAIResponsesModel('openai/m')"


async def test_agent_that_thinks_between_calls() -> None:
    """An agent's second call takes what the model thought back, byte for byte, in front of the call it led to."""

    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        return f"Sunny in {city}"

    first = events.streamed(ITEMS)
    second = events.streamed([events.reasoning(item_id="rs_2", encrypted="gAAA-2"), events.message("Sunny.")])
    async with serving(WireAnswer([body_of(first)]), WireAnswer([body_of(second)])) as server:
        agent = Agent("a", model=OpenAIResponsesModel("gpt-5-mini", base_url=server.base_url), tools=[weather])
        result = await agent.generate("Weather in Oslo?")
    assert result.text == "Née 🙂Sunny."
    assert server.bodies[1]["input"][1:] == [
        events.reasoning("Hmm", item_id="rs_1", encrypted="gAA+/="),
        {"type": "message", "role": "assistant", "content": "Née 🙂"},
        {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Oslo"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "Sunny in Oslo"},
    ]
    assert result.usage.total_tokens == 58


async def test_agent_whose_provider_searches() -> None:
    """What OpenAI's own tools did within an agent's step goes back with it, where the model made it."""

    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        return f"Sunny in {city}"

    search = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    }
    first = events.streamed([events.reasoning(), search, ITEMS[2]])
    second = events.streamed([events.message("Sunny.")])
    tools = [weather, ProviderTool("web_search", openai={"type": "web_search"})]
    async with serving(WireAnswer([body_of(first)]), WireAnswer([body_of(second)])) as server:
        agent = Agent("a", model=OpenAIResponsesModel("gpt-5-mini", base_url=server.base_url), tools=tools)
        result = await agent.generate("Weather in Oslo?")
    assert server.bodies[0]["tools"][1] == {"type": "web_search"}
    assert [item["type"] for item in server.bodies[1]["input"][1:]] == [
        "reasoning",
        "web_search_call",
        "function_call",
        "function_call_output",
    ]
    assert server.bodies[1]["input"][2] == search
    assert [(call.tool_name, call.provider_executed) for call in result.tool_calls] == [
        ("web_search", True),
        ("weather", False),
    ]


async def test_reasoning_is_told() -> None:
    """Reasoning comes out with what has to go back, over the wire too."""
    async with serving(WireAnswer([body_of(events.streamed(ITEMS))])) as server:
        recording = await record(OpenAIResponsesModel("m", base_url=server.base_url).stream(ASK))
    assert [chunk.provider_metadata for chunk in recording.of(ReasoningEnd)] == [
        {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "gAA+/="}}
    ]


async def test_reader_that_leaves() -> None:
    """Leaving the stream closes the connection at once, in the middle of an answer."""
    never = anyio.Event()
    async with serving(WireAnswer([body_of(FEW[:2]), never])) as server:
        stream = OpenAIResponsesModel("m", base_url=server.base_url).stream(ASK)
        async for chunk in stream:
            if isinstance(chunk, TextDelta):
                break
        await stream.aclose()
        with anyio.fail_after(10):
            await server.gone.wait()
