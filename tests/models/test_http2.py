"""HTTP/2, over TLS: calls that share a connection, and what becomes of those that are given up."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import anyio
import h2.config
import h2.connection
import pytest
from tests.models.h2_server import H2Server, H2Stream, h2_server
from tests.models.wire import DONE, delta

from procession.errors import InputError, ModelError
from procession.messages.chunks import Finish, TextDelta
from procession.models.http import close_connections
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.models.transport.http2 import reset_abandoned
from procession.testing.recorder import Recording, record

ASK = ModelRequest(messages=())
END = delta("stop") + DONE


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[H2Server]:
    """Run a server for one test, over connections that end with it."""
    await close_connections()
    async with h2_server(tmp_path, monkeypatch) as running:
        yield running
        await close_connections()


def model_at(server: H2Server, **options: Any) -> OpenAIChatModel:
    """Return a model of the server."""
    return OpenAIChatModel("m", base_url=server.base_url, provider="local", max_retries=0, http2=True, **options)


async def listen(model: OpenAIChatModel, heard: list[Recording[Any]], pieces: list[str] | None = None) -> None:
    """Ask, and note what is heard."""

    async def noting() -> AsyncIterator[Any]:
        async for chunk in model.stream(ASK):
            if isinstance(chunk, TextDelta) and pieces is not None:
                pieces.append(chunk.text)
            yield chunk

    heard.append(await record(noting(), catch=ModelError))


async def test_answer_is_streamed(server: H2Server) -> None:
    """A call goes out as one HTTP/2 stream, and its text is there before the answer is complete."""
    heard: list[Recording[Any]] = []
    pieces: list[str] = []
    async with anyio.create_task_group() as group:
        group.start_soon(listen, model_at(server), heard, pieces)
        request = await server.request()
        assert json.loads(request.body)["model"] == "m"
        await request.answer(delta(content="Hel"))
        while not pieces:
            await anyio.lowlevel.checkpoint()
        assert not heard
        await request.say(delta(content="lo") + END, end=True)
    assert (heard[0].text, pieces) == ("Hello", ["Hel", "lo"])
    assert heard[0].of(Finish)


async def test_calls_share_a_connection(server: H2Server) -> None:
    """Calls at one time are streams of one connection, in whatever order they are answered, and so is the next call."""
    heard: list[Recording[Any]] = []
    model = model_at(server)
    async with anyio.create_task_group() as group:
        group.start_soon(listen, model, heard)
        first = await server.request()
        await first.answer(delta(content="one"))
        group.start_soon(listen, model, heard)
        second = await server.request()
        await second.answer(delta(content="two") + END)
        await second.say(b"", end=True)
        await first.say(END, end=True)
    assert sorted(recording.text for recording in heard) == ["one", "two"]
    async with anyio.create_task_group() as group:
        group.start_soon(listen, model, heard)
        third = await server.request()
        await third.answer(delta(content="three") + END)
        await third.say(b"", end=True)
    assert heard[2].text == "three"
    assert server.connections == 1
    assert [request.id for request in server.seen] == [1, 3, 5]


@pytest.mark.parametrize("when", ["before the answer", "in the answer"])
async def test_cancelled_call_resets_its_stream(server: H2Server, when: str) -> None:
    """Who is cancelled tells the server at once, and the other calls of the connection go on."""
    heard: list[Recording[Any]] = []
    pieces: list[str] = []
    model = model_at(server)
    async with anyio.create_task_group() as group:
        group.start_soon(listen, model, heard)
        other = await server.request()
        await other.answer(delta(content="Hel"))
        async with anyio.create_task_group() as given_up:
            given_up.start_soon(listen, model, heard, pieces)
            request = await server.request()
            if when == "in the answer":
                await request.answer(delta(content="Nobody"))
                while not pieces:
                    await anyio.lowlevel.checkpoint()
            given_up.cancel_scope.cancel()
        await server.seen[1].reset.wait()
        await other.say(delta(content="lo") + END, end=True)
    assert [recording.text for recording in heard] == ["Hello"]
    assert [request.error_code for request in server.seen] == [None, 8]  # cancelled
    assert server.connections == 1


async def test_call_that_is_not_read_to_its_end(server: H2Server) -> None:
    """Who closes the stream tells the server, too."""
    seen: list[H2Stream] = []

    async def serve() -> None:
        request = await server.request()
        seen.append(request)
        await request.answer(delta(content="Hel"))

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        stream = model_at(server).stream(ASK)
        async for chunk in stream:
            if isinstance(chunk, TextDelta):
                break
        await stream.aclose()
        await seen[0].reset.wait()


async def test_many_calls_that_are_given_up(server: H2Server) -> None:
    """However many calls were given up, the connection takes another one."""
    calls = 110  # more than may be open at one time

    async def serve() -> None:
        for _ in range(calls):
            request = await server.request()
            await request.answer(delta(content="Hel"))
            await request.reset.wait()

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        for _ in range(calls):
            stream = model_at(server).stream(ASK)
            async for chunk in stream:
                if isinstance(chunk, TextDelta):
                    break
            await stream.aclose()
    assert server.connections == 1


async def test_what_nobody_read_is_given_back() -> None:
    """What had come of an answer that is given up does not count against the other calls of its connection."""
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    server = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))

    class Connection:
        _h2_state = client
        _events: ClassVar[dict[int, list[object]]] = {}

        async def _write_outgoing_data(self, request: object) -> None:
            server.receive_data(client.data_to_send())

    pool = SimpleNamespace(connections=[SimpleNamespace(_connection=Connection()), SimpleNamespace(_connection=None)])
    http = SimpleNamespace(_transport=SimpleNamespace(_pool=pool), _mounts={"all://": None})
    client.initiate_connection()
    question = [(":method", "POST"), (":path", "/"), (":scheme", "https"), (":authority", "test")]
    for stream_id in range(1, 201, 2):
        client.send_headers(stream_id, question, end_stream=True)
        server.receive_data(client.data_to_send())
        server.send_headers(stream_id, [(":status", "200")])
        server.send_data(stream_id, b"x" * 12_000)
        client.receive_data(server.data_to_send())
        await reset_abandoned(http)
    assert client.open_outbound_streams == server.open_inbound_streams == 0


async def test_server_that_resets_the_stream(server: H2Server) -> None:
    """A stream that the server resets in the middle of an answer is an error of the answer."""
    heard: list[Recording[Any]] = []
    async with anyio.create_task_group() as group:
        group.start_soon(listen, model_at(server), heard)
        request = await server.request()
        await request.answer(delta(content="Hel"))
        request.connection.state.reset_stream(request.id, error_code=2)
        await request.connection.flush()
    error = heard[0].error
    assert isinstance(error, ModelError)
    assert (error.kind, error.retryable) == ("stream", True)


async def test_certificate_that_is_not_trusted(server: H2Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server whose certificate nobody vouches for is asked nothing."""
    monkeypatch.delenv("SSL_CERT_FILE")
    recording = await record(model_at(server).stream(ASK), catch=ModelError)
    assert isinstance(recording.error, ModelError)
    assert (recording.error.kind, "CERTIFICATE_VERIFY_FAILED" in str(recording.error)) == ("unavailable", True)
    assert server.outgoing.statistics().current_buffer_used == 0


async def test_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, asking for HTTP/2 says what to install."""
    await close_connections()
    monkeypatch.setitem(sys.modules, "h2", None)
    model = OpenAIChatModel("m", base_url="https://127.0.0.1:1/v1", http2=True)
    with pytest.raises(InputError, match=r"procession\[http2\]"):
        await record(model.stream(ASK))
