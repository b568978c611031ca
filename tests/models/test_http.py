"""Connections: what goes wrong on them, when they are closed and when they are used again."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import httpx
import pytest
import trio
from tests.models.wire import DONE, WireAnswer, delta, serving
from trio.testing import MockClock

from procession.errors import InputError, ModelError
from procession.messages.chunks import Finish, TextDelta
from procession.models.http import close_connections
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.testing.recorder import Recording, record

ASK = ModelRequest(messages=())
KEY = "sk-test-0123456789abcdef"


def model_at(base_url: str, **options: Any) -> OpenAIChatModel:
    """Return a model of the test's own server."""
    options.setdefault("max_retries", 0)
    return OpenAIChatModel("m", base_url=base_url, api_key=KEY, provider="local", **options)


def answered_by(answer: Callable[[httpx.Request], httpx.Response], **options: Any) -> OpenAIChatModel:
    """Return a model whose requests do not reach a network."""
    return model_at("http://test/v1", transport=httpx.MockTransport(answer), **options)


async def failure_of(model: OpenAIChatModel, request: ModelRequest = ASK) -> ModelError:
    """Return the error that asking a model ends in."""
    with pytest.raises(ModelError) as caught:
        await record(model.stream(request))
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "rejected", False),
        (401, "rejected", False),
        (404, "rejected", False),
        (408, "timeout", True),
        (429, "rate_limited", True),
        (500, "unavailable", True),
        (503, "unavailable", True),
        (529, "unavailable", True),
    ],
)
async def test_status_says_what_kind(status: int, kind: str, retryable: bool) -> None:
    """A status that is an error becomes the kind of error that it is, with what the server said."""
    body = json.dumps({"error": {"message": "so it is", "code": "why"}}).encode()
    headers = (("content-type", "application/json"), ("x-request-id", "req-7"), ("retry-after", "3"))
    async with serving(WireAnswer([body], status, headers)) as server:
        error = await failure_of(model_at(server.base_url))
    assert (error.kind, error.retryable, error.status_code) == (kind, retryable, status)
    assert (error.provider_code, error.request_id) == ("why", "req-7")
    assert (error.headers or {})["retry-after"] == "3"
    assert "local/m" in str(error)
    assert "so it is" in str(error)


@pytest.mark.parametrize("body", [b"", b"Bad gateway", b"<html>502</html>", b"\xff\xfe", b'{"detail": "no"}', b"[]"])
async def test_error_body_of_any_kind(body: bytes) -> None:
    """An error without a readable body is still the error that its status says."""
    error = await failure_of(answered_by(lambda request: httpx.Response(502, content=body)))
    assert (error.kind, error.status_code) == ("unavailable", 502)


async def test_error_body_without_end() -> None:
    """Of an error that goes on and on only the beginning is read."""
    async with serving(WireAnswer([b"x" * 50_000, b"x" * 50_000, anyio.Event()], 500)) as server:
        error = await failure_of(model_at(server.base_url))
    assert error.status_code == 500
    assert len(str(error)) < 1_000


async def test_keys_stay_secret() -> None:
    """Neither the key nor what looks like one is in the error, its body, its headers or what it was caused by."""
    body = {"error": {"message": f"Incorrect API key provided: {KEY}. Also AIzaSyA1234567890abcdef"}}
    told = {"x-echo": f"Bearer {KEY}", "set-cookie": "session=1"}
    error = await failure_of(answered_by(lambda request: httpx.Response(401, json=body, headers=told)))
    shown = f"{error!r} {error} {error.body} {error.headers} {error.__cause__!r}"
    assert KEY not in shown
    assert "AIza" not in shown
    assert "session=1" not in shown
    assert error.hint is not None


async def test_web_page_instead_of_an_answer() -> None:
    """A web page of status 200 is an error that says so."""
    page = httpx.Response(200, headers={"content-type": "text/html; charset=utf-8"}, content=b"<html>Log in</html>")
    assert "web page" in str(await failure_of(answered_by(lambda request: page)))


async def test_nobody_listens() -> None:
    """A server that is not there is unavailable, and may be later."""
    async with serving() as server:
        url = server.base_url
    error = await failure_of(model_at(url))
    assert (error.kind, error.retryable) == ("unavailable", True)


async def test_connection_that_breaks_before_the_answer() -> None:
    """A server that hangs up instead of answering is unavailable, and may be there later."""

    def hang_up(request: httpx.Request) -> httpx.Response:
        raise httpx.RemoteProtocolError("hung up")

    error = await failure_of(answered_by(hang_up))
    assert (error.kind, error.retryable) == ("unavailable", True)


async def test_timeout_before_the_answer() -> None:
    """The setting ``timeout`` also ends a call that is never answered."""

    class Silence(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await anyio.sleep_forever()
            raise AssertionError

    request = ModelRequest(messages=(), settings={"timeout": 0.05})
    error = await failure_of(model_at("http://test/v1", transport=Silence()), request)
    assert (error.kind, error.retryable) == ("timeout", True)


@pytest.mark.parametrize("url", ["localhost:1234", "ftp://host/v1", "/"])
async def test_base_urls_that_name_no_server(url: str) -> None:
    """A base URL without http:// is refused like a key that is missing, and says so."""
    with pytest.raises(InputError, match="begin it with https:// or http://"):
        await failure_of(model_at(url))


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:99999/v1"])
async def test_addresses_that_are_none(url: str) -> None:
    """A base URL that is none is refused, and trying again does not help."""
    error = await failure_of(model_at(url))
    assert (error.kind, error.retryable) == ("rejected", False)


async def test_key_that_cannot_be_sent() -> None:
    """A key with characters that no header can carry is refused without being shown."""
    error = await failure_of(OpenAIChatModel("m", base_url="http://test/v1", api_key="schlüssel-‼"))
    assert error.kind == "rejected"
    assert "schlüssel" not in f"{error} {error.__cause__!r}"


async def test_server_that_falls_silent() -> None:
    """A silence longer than the read timeout ends the call, also in the middle of an answer."""
    async with serving(WireAnswer([delta(content="Hel"), anyio.Event()])) as server:
        recording = await record(model_at(server.base_url, read_timeout=0.5).stream(ASK), catch=ModelError)
    assert recording.text == "Hel"
    assert isinstance(recording.error, ModelError)
    assert (recording.error.kind, recording.error.retryable) == ("timeout", True)


def test_timeout_of_the_whole_call() -> None:
    """The setting ``timeout`` ends a call that is never silent for long."""

    class Sipping(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield delta(content="Hel")
            while True:
                yield b": still thinking\n\n"
                await anyio.sleep(1)

    model = answered_by(
        lambda request: httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Sipping())
    )

    async def main() -> tuple[Recording[Any], float]:
        begun = trio.current_time()
        recording = await record(model.stream(ASK.replace(settings={"timeout": 7.5})), catch=ModelError)
        return recording, trio.current_time() - begun

    recording, seconds = trio.run(main, clock=MockClock(autojump_threshold=0))
    assert recording.text == "Hel"
    assert isinstance(recording.error, ModelError)
    assert (recording.error.kind, seconds) == ("timeout", 7.5)


async def test_cancelling_closes_the_connection() -> None:
    """The server sees the connection go when the reader is cancelled."""
    async with serving(WireAnswer([delta(content="a"), anyio.Event()])) as server:
        async with anyio.create_task_group() as group:

            async def read() -> None:
                async for chunk in model_at(server.base_url).stream(ASK):
                    if isinstance(chunk, TextDelta):
                        group.cancel_scope.cancel()

            group.start_soon(read)
        await server.gone.wait()


async def test_closing_closes_the_connection() -> None:
    """The server sees the connection go when the reader has heard enough."""
    async with serving(WireAnswer([delta(content="a"), delta(content="b"), anyio.Event()])) as server:
        stream = model_at(server.base_url).stream(ASK)
        async for chunk in stream:
            if isinstance(chunk, TextDelta):
                break
        await stream.aclose()
        await server.gone.wait()


async def test_connection_is_used_again() -> None:
    """Calls one after the other share a connection; calls at one time do not wait for each other."""
    packets = [delta("stop", content="x"), DONE]
    async with serving(*[WireAnswer(packets)] * 3) as server:
        for _ in range(3):
            await record(model_at(server.base_url).stream(ASK))
        assert server.connections == 1
        await close_connections()
        await server.gone.wait()


async def test_end_does_not_wait_for_the_connection() -> None:
    """The answer is complete with ``[DONE]``, though the server keeps the stream open."""
    async with serving(WireAnswer([delta("stop", content="x"), DONE, anyio.Event()])) as server:
        recording = await record(model_at(server.base_url).stream(ASK))
    assert recording.of(Finish)


async def test_settings_that_are_no_json() -> None:
    """A request that cannot be written down is refused before anything is sent."""
    request = ModelRequest(messages=(), settings={"seed": object()})
    with pytest.raises(InputError, match="JSON"):
        await record(answered_by(lambda request: httpx.Response(500)).stream(request))


def test_each_event_loop_has_its_own_connections(anyio_backend: str) -> None:
    """One model serves event loops one after the other, and connections end with the loop that made them."""
    left: list[bool] = []

    async def main() -> None:
        async with serving(WireAnswer([delta("stop", content="x"), DONE])) as server:
            model = OpenAIChatModel("m", base_url=server.base_url)
            recording = await record(model.stream(ASK))
            left.append(recording.text == "x")

    for _ in range(2):
        anyio.run(main, backend=anyio_backend)
    assert left == [True, True]


def test_httpx_waits_for_the_first_call() -> None:
    """Making and naming a model does not import httpx."""
    import subprocess

    program = (
        "import sys; from procession.models.router import resolve_model; "
        "resolve_model('ollama/m'); print('httpx' in sys.modules, 'pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=50)
    assert done.stdout.split() == ["False", "False"]
