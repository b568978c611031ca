"""The client as a whole: what it sends and what it needs to be called."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from pydantic import BaseModel
from tests.models.wire import DONE, WireAnswer, delta, event, serving

from procession.agents.agent import Agent
from procession.errors import InputError
from procession.messages.chunks import Finish, ToolCall
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.models.model import LanguageModel, ModelRequest, ToolSpec
from procession.models.openai_chat import OpenAIChatModel
from procession.processors.processor import processor
from procession.testing.recorder import record

ASK = ModelRequest(messages=(PromptMessage("user", (TextPart("Weather?"),)),), tools=(ToolSpec("weather"),))


async def sent_by(model_options: dict[str, Any], request: ModelRequest = ASK) -> httpx.Request:
    """Return the request that a model sends."""
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})

    await record(OpenAIChatModel("m", transport=httpx.MockTransport(answer), **model_options).stream(request))
    return requests[0]


async def test_question_and_answer() -> None:
    """A question reaches the server with its key, and the answer comes back as text, tool call and usage."""
    call = {"index": 0, "id": "c", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
    packets = [
        delta(role="assistant", content="One moment."),
        delta(tool_calls=[call]),
        delta("tool_calls"),
        event({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}),
        DONE,
    ]
    async with serving(WireAnswer(packets)) as server:
        model = OpenAIChatModel("m", base_url=server.base_url + "/", api_key="k-1")
        recording = await record(model.stream(ASK))
    head = server.heads[0].lower().splitlines()
    assert head[0] == "post /v1/chat/completions http/1.1"
    assert "authorization: bearer k-1" in head
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "Weather?"}]
    assert recording.text == "One moment."
    assert recording.of(ToolCall) == [ToolCall("c", "weather", {"city": "Paris"})]
    assert recording.of(Finish)[0].usage.total_tokens == 13


async def test_asked_not_to_stream() -> None:
    """A caller that does not stream gets the same chunks."""
    async with serving(WireAnswer([delta(content="a"), delta("stop", content="b"), DONE])) as server:
        model = OpenAIChatModel("m", base_url=server.base_url)
        recording = await record(model.stream(ASK.replace(streaming=False)))
    assert recording.text == "ab"


async def test_surrogates_do_not_spoil_the_request() -> None:
    """Half a surrogate pair, which is no text, is replaced rather than sent."""
    request = ModelRequest(messages=(PromptMessage("user", (TextPart("a\ud83db"),)),))
    assert b"a?b" in (await sent_by({"base_url": "http://test/v1"}, request)).content


async def test_environment_names_server_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a base URL and a key the environment is asked, when the call is made."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://test/elsewhere")
    monkeypatch.setenv("OPENAI_API_KEY", " k-2\n")
    request = await sent_by({})
    assert str(request.url) == "http://test/elsewhere/chat/completions"
    assert request.headers["authorization"] == "Bearer k-2"


async def test_openai_key_is_for_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is named in code is not given OpenAI's key."""
    monkeypatch.setenv("OPENAI_API_KEY", "k-3")
    assert "authorization" not in (await sent_by({"base_url": "http://test/v1"})).headers


async def test_missing_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI without a key is refused before anything is sent, naming the variable."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        await sent_by({})


async def test_limit_has_the_name_that_the_server_knows() -> None:
    """OpenAI is told ``max_completion_tokens``, others ``max_tokens``."""
    request = ASK.replace(settings={"max_tokens": 7})
    openai = await sent_by({"base_url": "https://api.openai.com/v1", "api_key": "k"}, request)
    other = await sent_by({"base_url": "http://test/v1"}, request)
    assert b'"max_completion_tokens":7' in openai.content
    assert b'"max_tokens":7' in other.content


async def test_headers_of_the_user() -> None:
    """Headers that the user gives are sent, and win."""
    request = await sent_by({"base_url": "http://test/v1", "headers": {"x-title": "t", "accept": "text/plain"}})
    assert (request.headers["x-title"], request.headers["accept"]) == ("t", "text/plain")


def test_model_shows_no_key() -> None:
    """A model can be printed without giving its key away."""
    assert repr(OpenAIChatModel("m", api_key="k-secret")) == "OpenAIChatModel('openai/m')"


def test_model_is_a_language_model() -> None:
    """The client is a ``LanguageModel``."""
    assert isinstance(OpenAIChatModel("m"), LanguageModel)


async def test_structured_output_of_an_agent() -> None:
    """An agent's structured output reaches the server as a strict schema, with the tools, and comes back as a value."""

    class City(BaseModel):
        name: str

    async with serving(WireAnswer([delta(content='{"na'), delta("stop", content='me": "Paris"}'), DONE])) as server:
        agent = Agent("a", model=OpenAIChatModel("m", base_url=server.base_url))
        async with agent.stream("Capital of France?", structured_output=City) as stream:
            assert [value async for value in stream.object_stream] == [{}, {"name": "Paris"}, {"name": "Paris"}]
            assert (await stream.result()).object == City(name="Paris")
    told = server.bodies[0]["response_format"]
    assert told == {
        "type": "json_schema",
        "json_schema": {
            "name": "City",
            "schema": {**City.model_json_schema(), "additionalProperties": False},
            "strict": True,
        },
    }


async def test_what_hooks_are_told_of_a_call() -> None:
    """The body that was sent, the status and headers of the answer, and what could not be asked for reach the hook."""
    seen: list[Any] = []

    @processor(hook="process_llm_response")
    def look(ctx: Any) -> None:
        seen.append((ctx.request["model"], ctx.raw_response["status"], ctx.raw_response["headers"], ctx.warnings))

    wanted = {"type": "object", "properties": {"city": {"type": "string"}}}
    headers = (("content-type", "text/event-stream"), ("x-request-id", "r-7"))
    packets = [delta("stop", content='{"city": "Rome"}'), DONE]
    async with serving(WireAnswer(packets, headers=headers)) as server:
        model = OpenAIChatModel("m", base_url=server.base_url, api_key="k-1", structured_output="json_object")
        agent = Agent("bot", model=model, input_processors=[look])
        result = await agent.generate("Where?", structured_output=wanted)
    sent, status, got, warnings = seen[0]
    assert (sent, status, got["x-request-id"]) == ("m", 200, "r-7")
    assert [one["setting"] for one in warnings] == ["response_format.schema"]
    assert result.warnings == tuple(warnings)
    assert "k-1" not in repr(seen)
    assert result.steps[0].response is not None
    assert result.steps[0].response.request is None  # a step does not hold whole requests


async def test_stream_cut_anywhere_over_a_socket() -> None:
    """The same chunks come out wherever the bytes of the stream are cut in two packets (STR-001)."""
    call = {"index": 0, "id": "c", "function": {"name": "weather", "arguments": '{"city": "Zürich"}'}}
    body = b"".join([delta(content="né 🙂"), delta(tool_calls=[call]), delta("tool_calls"), DONE])
    answers = [WireAnswer((body[:cut], body[cut:])) for cut in range(1, len(body))]
    async with serving(WireAnswer((body,)), *answers) as server:
        model = OpenAIChatModel("m", base_url=server.base_url)
        whole = await record(model.stream(ASK))
        assert (whole.text, whole.of(ToolCall)) == ("né 🙂", [ToolCall("c", "weather", {"city": "Zürich"})])
        for cut in range(1, len(body)):
            assert await record(model.stream(ASK)) == whole, cut
