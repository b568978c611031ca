"""The client for Anthropic as a whole: what it sends and what it needs to be called."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx
import pytest
from tests.models.anthropic_kit import STOP, call, end, start, stream_of, text
from tests.models.wire import WireAnswer, serving

from procession.errors import InputError, ModelError
from procession.messages.chunks import Finish, ResponseMetadata, TextDelta, ToolCall
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.models.anthropic import AnthropicModel
from procession.models.model import LanguageModel, ModelRequest, ToolSpec
from procession.testing.recorder import record

ASK = ModelRequest(messages=(PromptMessage("user", (TextPart("Weather?"),)),), tools=(ToolSpec("weather"),))
SAID = stream_of(start(), *text(0, "Rain."), end("end_turn"), STOP)


async def sent_by(options: dict[str, Any], request: ModelRequest = ASK) -> httpx.Request:
    """Return the request that a model sends."""
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=SAID)

    await record(AnthropicModel("m", transport=httpx.MockTransport(answer), **options).stream(request))
    return requests[0]


async def test_question_and_answer() -> None:
    """A question reaches the server with key and version, and the answer comes back with call and usage."""
    events = [start(), *text(0, "One moment."), *call(1, "weather", '{"city": "Paris"}'), end("tool_use"), STOP]
    headers = (("content-type", "text/event-stream; charset=utf-8"), ("request-id", "req_1"))
    async with serving(WireAnswer([stream_of(*events)], headers=headers)) as server:
        model = AnthropicModel("claude-haiku-5-5", base_url=server.base_url, api_key=" k-1 ")
        recording = await record(model.stream(ASK))
    head = server.heads[0].lower().splitlines()
    assert head[0] == "post /v1/messages http/1.1"
    assert {"x-api-key: k-1", "anthropic-version: 2026-10-21", "accept: text/event-stream"} <= set(head)
    assert not any(line.startswith(("authorization:", "anthropic-beta:")) for line in head)
    assert server.bodies[0]["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Weather?"}]}]
    assert recording.text == "One moment."
    assert recording.of(ToolCall) == [ToolCall("toolu_1", "weather", {"city": "Paris"})]
    assert recording.of(Finish)[0].usage.total_tokens == 18
    (metadata,) = recording.of(ResponseMetadata)
    assert (metadata.id, metadata.model_id, metadata.request) == ("msg_1", "m", server.bodies[0])
    assert (metadata.headers or {})["request-id"] == "req_1"


async def test_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is Anthropic's, that of the environment, or the one given; with the version in its path or without."""
    assert str((await sent_by({"api_key": "k"})).url) == "https://api.anthropic.com/v1/messages"
    for given in ("http://a.test", "http://a.test/v1", "http://a.test/"):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", given)
        assert str((await sent_by({})).url) == "http://a.test/v1/messages"
    assert str((await sent_by({"base_url": "http://b.test/v1/"})).url) == "http://b.test/v1/messages"


async def test_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is that of the environment, goes to Anthropic alone unless it is given, and must be there."""
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-env")
    assert (await sent_by({})).headers["x-api-key"] == "k-env"
    assert "x-api-key" not in (await sent_by({"base_url": "http://b.test"})).headers
    assert (await sent_by({"base_url": "http://b.test", "api_key": "k"})).headers["x-api-key"] == "k"
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(InputError, match="ANTHROPIC_API_KEY"):
        await sent_by({})


async def test_versions_and_betas() -> None:
    """The version of the API and what is switched on besides are headers; a call's own betas come on top."""
    given = {"api_key": "k", "version": "2023-06-01", "betas": ["b-1", "b-2"]}
    options = {"anthropic": {"betas": ["b-2", "b-3"]}}
    request = ASK.replace(settings={"temperature": 0.5}, provider_options=options)
    sent = await sent_by(given, request)
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert sent.headers["anthropic-beta"] == "b-1,b-2,b-3"
    body = json.loads(sent.content)
    assert body["temperature"] == 0.5
    assert "betas" not in body
    sent = await sent_by({"api_key": "k"}, ASK.replace(provider_options={"anthropic": {"betas": "b-4"}}))
    assert sent.headers["anthropic-beta"] == "b-4"


async def test_own_headers() -> None:
    """Headers that were given are sent, over ours."""
    sent = await sent_by({"api_key": "k", "headers": {"x-team": "t", "anthropic-version": "v"}})
    assert (sent.headers["x-team"], sent.headers["anthropic-version"]) == ("t", "v")


async def test_warnings_reach_the_hooks() -> None:
    """What was not sent as asked is told before the answer."""
    async with serving(WireAnswer([SAID])) as server:
        model = AnthropicModel("m", base_url=server.base_url)
        recording = await record(model.stream(ASK.replace(settings={"seed": 1})))
    assert [warning["setting"] for warning in recording.of(ResponseMetadata)[0].warnings] == ["seed"]


@pytest.mark.parametrize(
    ("status", "kind", "code", "retryable"),
    [
        (400, "rejected", "invalid_request_error", False),
        (401, "rejected", "authentication_error", False),
        (429, "rate_limited", "rate_limit_error", True),
        (500, "unavailable", "api_error", True),
        (529, "unavailable", "overloaded_error", True),
    ],
)
async def test_refusals(status: int, kind: str, code: str, retryable: bool) -> None:
    """An answer that is an error is told with its kind, Anthropic's code and its request, and without the key."""
    error = {"type": "error", "error": {"type": code, "message": "key sk-ant-api03-abcdefgh is bad"}}
    headers = (("content-type", "application/json"), ("request-id", "req_2"))
    async with serving(WireAnswer([json.dumps(error).encode()], status, headers)) as server:
        model = AnthropicModel("m", base_url=server.base_url, api_key="sk-ant-api03-abcdefgh", max_retries=0)
        recording = await record(model.stream(ASK), catch=ModelError)
    told = recording.error
    assert isinstance(told, ModelError)
    assert (told.status_code, told.kind, told.provider_code, told.retryable) == (status, kind, code, retryable)
    assert told.request_id == "req_2"
    assert "abcdefgh" not in f"{told}{told.body}{told.headers}"


async def test_overloaded_server_is_asked_again() -> None:
    """A server that is too busy is asked again before anything is told."""
    busy = WireAnswer([b"{}"], 529, (("content-type", "application/json"), ("retry-after", "0")))
    async with serving(busy, WireAnswer([SAID])) as server:
        recording = await record(AnthropicModel("m", base_url=server.base_url).stream(ASK))
    assert recording.text == "Rain."
    assert len(server.bodies) == 2


async def test_leaving_closes_the_connection() -> None:
    """A reader that leaves in the middle of the answer closes the connection."""
    never = anyio.Event()
    async with serving(WireAnswer([stream_of(start(), *text(0, "Rain.")), never])) as server:
        stream = AnthropicModel("m", base_url=server.base_url).stream(ASK)
        async for chunk in stream:
            if isinstance(chunk, TextDelta):
                break
        await stream.aclose()
        await server.gone.wait()


def test_it_is_a_model() -> None:
    """The client is a language model, and shows its name and nothing of its key."""
    model = AnthropicModel("claude-haiku-5-5", api_key="k-secret")
    assert isinstance(model, LanguageModel)
    assert repr(model) == "AnthropicModel('anthropic/claude-haiku-5-5')"
