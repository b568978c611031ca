"""Servers that lie, flood, dawdle or break the protocol: each is one clear error, and none is waited for, for ever."""

from __future__ import annotations

import gc
import gzip
import json
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from tests.models.raw_server import JSON, STREAM, Script, for_ever, raw_server
from tests.models.wire import DONE, delta, event

from procession.errors import ModelError
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.models.failures import failure_of
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.models.transport.body import AnswerBody
from procession.models.transport.sse import LARGEST_EVENT
from procession.testing.recorder import Recording, record

ASK = ModelRequest(messages=())
HELLO = delta("stop", content="Hello") + DONE
WHOLE = json.dumps({"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}).encode()


async def asked(script: Script) -> Recording[Any]:
    """Return what comes of asking a server that answers with these bytes."""
    async with raw_server(script) as server:
        model = OpenAIChatModel("m", base_url=server.base_url, provider="local", max_retries=0)
        return await record(model.stream(ASK), catch=ModelError)


def failure(recording: Recording[Any]) -> ModelError:
    """Return the error that a recording ends in."""
    assert isinstance(recording.error, ModelError)
    assert "local/m" in str(recording.error)
    return recording.error


def body(content: bytes, head: bytes = STREAM) -> bytes:
    """Return an answer with a length."""
    return head + b"content-length: %d\r\n\r\n%b" % (len(content), content)


def chunk(content: bytes) -> bytes:
    """Return one piece of an answer in chunked encoding."""
    return b"%x\r\n%b\r\n" % (len(content), content)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(body(HELLO), id="with a length"),
        pytest.param(STREAM + b"\r\n" + HELLO, id="ended by hanging up"),
        pytest.param(b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + HELLO, id="HTTP/1.0"),
        pytest.param(body(HELLO, b"HTTP/1.1 100 Continue\r\n\r\n" + STREAM), id="a status before the status"),
        pytest.param(body(HELLO, b"HTTP/1.1 200\r\n"), id="neither reason nor type"),
        pytest.param(
            body(HELLO, b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=latin1\r\n"), id="another type"
        ),
        pytest.param(body(HELLO, STREAM + b"x: " + b"x" * 60_000 + b"\r\n"), id="a long header"),
        pytest.param(body(HELLO, STREAM + b"content-encoding: identity\r\n"), id="not compressed"),
        pytest.param(body(gzip.compress(HELLO), STREAM + b"content-encoding: gzip\r\n"), id="gzip"),
        pytest.param(body(WHOLE, JSON), id="one JSON object"),
        pytest.param(body(b" \r\n" + WHOLE, STREAM), id="one JSON object, called a stream"),
        pytest.param(body(b"\xef\xbb\xbf" + WHOLE, b"HTTP/1.1 200 OK\r\n"), id="one JSON object, called nothing"),
        pytest.param(body(b"\xef\xbb\xbf" + HELLO), id="a byte order mark"),
        pytest.param(body(b"event: ping\nid: 7\nretry: 1\n\n: hello\n\n" + HELLO), id="events without data"),
    ],
)
async def test_unusual_answers(answer: bytes) -> None:
    """What is unusual and can be understood is understood."""
    recording = await asked(answer)
    assert recording.error is None
    assert recording.text == "Hello"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        pytest.param(b"", "unavailable", id="nothing"),
        pytest.param(b"SSH-2.0-OpenSSH_9.7\r\n", "unavailable", id="another protocol"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01" * 40, "unavailable", id="TLS"),
        pytest.param(b"HTTP/1.1 200 OK\r\nbroken header\r\n\r\n", "unavailable", id="a broken header"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n", "unavailable", id="a length that is none"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-type: te", "unavailable", id="half a header"),
        pytest.param(body(HELLO, STREAM + b"x: " + b"x" * 200_000 + b"\r\n"), "unavailable", id="a huge header"),
        pytest.param(body(HELLO, STREAM + b"x: y\r\n" * 50_000), "unavailable", id="too many headers"),
        pytest.param(
            STREAM + b"content-length: 9999\r\n\r\n" + delta(content="Hel"), "stream", id="shorter than it says"
        ),
        pytest.param(STREAM + b"content-length: 20\r\n\r\n" + HELLO, "stream", id="longer than it says"),
        pytest.param(STREAM + b"transfer-encoding: chunked\r\n\r\nzz\r\n" + HELLO, "stream", id="no size of a chunk"),
        pytest.param(
            STREAM + b"transfer-encoding: chunked\r\n\r\n%x\r\n" % 10**30 + HELLO, "stream", id="a chunk of any size"
        ),
        pytest.param(
            STREAM + b"transfer-encoding: chunked\r\n\r\n" + chunk(delta(content="Hel")), "stream", id="no last chunk"
        ),
        pytest.param(body(b"", STREAM), "stream", id="an empty stream"),
        pytest.param(body(b"", JSON), "stream", id="an empty body"),
        pytest.param(body(b"{}", JSON), "stream", id="an empty object"),
        pytest.param(body(b"[" * 100_000, JSON), "stream", id="nothing but brackets"),
        pytest.param(body(b"9" * 10_000, JSON), "stream", id="a number without end"),
        pytest.param(body(b"\xff\xfe\x00" * 99), "stream", id="no text"),
        pytest.param(
            body(b"<html>Log in</html>", b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"), "rejected", id="a page"
        ),
        pytest.param(body(event({"error": {"message": "so it is"}})), "stream", id="an error in a stream"),
        pytest.param(
            body(b'{"error": {"message": "so it is", "code": 429}}', JSON), "stream", id="an error of status 200"
        ),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", "other", id="no content"),
        pytest.param(b"HTTP/1.1 304 Not Modified\r\n\r\n", "rejected", id="not modified"),
        pytest.param(
            b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
            "unavailable",
            id="an upgrade",
        ),
        pytest.param(body(b"x", STREAM + b"content-encoding: gzip\r\n"), "stream", id="compressed, but not"),
        pytest.param(body(b"x", STREAM + b"content-encoding: br\r\n"), "stream", id="compressed otherwise"),
        pytest.param(
            body(gzip.compress(HELLO)[:-30], STREAM + b"content-encoding: gzip\r\n"),
            "stream",
            id="half of what was packed",
        ),
    ],
)
async def test_broken_answers(answer: bytes, kind: str) -> None:
    """What cannot be understood is an error of the kind that tells what to do."""
    recording = await asked(answer)
    assert failure(recording).kind == kind
    assert recording.text in ("", "Hel")


async def test_error_of_status_200_says_what_the_server_said() -> None:
    """An error object that comes with status 200 keeps its words and its code."""
    error = failure(await asked(body(b'{"error": {"message": "so it is", "code": 429}}', JSON)))
    assert (error.status_code, error.retryable) == (429, True)
    assert "so it is" in str(error)


@pytest.mark.parametrize("depth", [30, 300, 900, 5_000])
@pytest.mark.parametrize("status", [200, 500])
async def test_error_that_is_nested_deeply(depth: int, status: int) -> None:
    """An error body of any depth is an error like others."""
    nested = b'{"error": {"message": "so it is", "more": ' + b'{"a":[' * depth + b"1" + b"]}" * depth + b"}}"
    head = b"HTTP/1.1 %d Status\r\ncontent-type: application/json\r\n" % status
    error = failure(await asked(body(nested, head)))
    assert error.kind == ("stream" if status == 200 else "unavailable")
    assert len(str(error.body)) < 5_000


@pytest.mark.parametrize("code", ["1" * 5_000, "٤٢٩", 10**40, -1, 0, True, [], {"a": 1}, 4.5])
def test_codes_that_are_no_status(code: Any) -> None:
    """What a provider calls its code is a status only where it can be one."""
    error = failure_of({"error": {"message": "so", "code": code}}, model="m", kind="stream")
    assert error.status_code in (None, 429)
    assert str(error)


# -- floods


FLOODS = [
    pytest.param(for_ever(STREAM + b"\r\n", b": still here\n\n" * 50_000), id="comments"),
    pytest.param(for_ever(STREAM + b"\r\ndata: ", b"x" * 600_000), id="one line"),
    pytest.param(for_ever(STREAM + b"\r\n", b"data: x\n" * 80_000), id="one event"),
    pytest.param(for_ever(STREAM + b"\r\n", b"id: 1\r\n\r\n" * 60_000), id="events without data"),
    pytest.param(for_ever(JSON + b"\r\n", b"[" * 600_000), id="JSON"),
]


@pytest.mark.parametrize("script", FLOODS)
async def test_floods(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer in which nothing is ever complete ends at a limit, and with it the connection."""
    monkeypatch.setattr(AnswerBody.__init__, "__kwdefaults__", {"largest": 4_000_000})
    async with raw_server(script) as server:
        model = OpenAIChatModel("m", base_url=server.base_url, provider="local", max_retries=0)
        error = failure(await record(model.stream(ASK), catch=ModelError))
        await server.gone.wait()
    assert (error.kind, error.retryable) == ("stream", False)
    assert "4,000,000 bytes" in str(error)


async def test_bomb() -> None:
    """A few kilobytes that unpack to more than an answer may have end as any flood does."""
    packed = gzip.compress(b"data: " + b"\0" * (LARGEST_EVENT + 1_000_000))
    assert len(packed) < 100_000
    error = failure(await asked(body(packed, STREAM + b"content-encoding: gzip\r\n")))
    assert error.kind == "stream"
    assert "67,108,864 bytes" in str(error)


@pytest.mark.parametrize("status", [200, 500])
async def test_bomb_in_a_bomb(status: int) -> None:
    """What is compressed twice is not unpacked at all, since a kilobyte may then be a gigabyte."""
    packed = gzip.compress(gzip.compress(b"\0" * 1_000_000))
    head = b"HTTP/1.1 %d Status\r\ncontent-encoding: gzip\r\ncontent-encoding: gzip\r\n" % status
    error = failure(await asked(body(packed, head)))
    assert error.kind == ("stream" if status == 200 else "unavailable")


# -- dawdlers


async def dawdling(begin: bytes, sip: bytes, **settings: Any) -> ModelError:
    """Return how a call ends whose server sends something again and again, well before its time is over."""
    over = anyio.Event()
    recordings: list[Recording[Any]] = []

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(begin)
            try:
                while True:
                    await anyio.sleep(0.02)
                    await stream.send(sip)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                over.set()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, serve)
            read_timeout = settings.pop("read_timeout", 120)
            model = OpenAIChatModel(
                "m", base_url=f"http://127.0.0.1:{port}", provider="local", max_retries=0, read_timeout=read_timeout
            )
            recordings.append(await record(model.stream(ASK.replace(settings=settings)), catch=ModelError))
            await over.wait()
            group.cancel_scope.cancel()
    return failure(recordings[0])


async def test_headers_byte_by_byte() -> None:
    """Headers that trickle in are one thing to wait for: the read timeout is for all of them, and the server is left."""
    error = await dawdling(b"HTTP/1.1 200 OK\r\nx: ", b"x", read_timeout=0.3)
    assert (error.kind, error.retryable) == ("timeout", True)


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nx: ", id="in its headers"),
        pytest.param(STREAM + b"\r\ndata: ", id="in an event"),
        pytest.param(STREAM + b"\r\n:", id="in a comment"),
        pytest.param(JSON + b"\r\n", id="in its body"),
    ],
)
async def test_call_that_is_never_over(begin: bytes) -> None:
    """The setting ``timeout`` ends a call whose server is never silent for long, wherever it is."""
    error = await dawdling(begin, b"x", timeout=0.3)
    assert (error.kind, error.retryable) == ("timeout", True)


async def test_what_is_left_after_the_end_is_not_waited_for() -> None:
    """After ``[DONE]`` nothing that a server still sends keeps the answer from ending."""
    recording = await asked(for_ever(STREAM + b"\r\n" + HELLO, b": still here\n\n" * 5_000))
    assert recording.error is None
    assert recording.text == "Hello"


async def test_a_request_that_is_given_up_while_it_is_sent() -> None:
    """CAN-001: a server that does not read the request is left when the call is cancelled, and nothing is left open."""
    reached = anyio.Event()

    async def deaf(connection: SocketStream) -> None:
        async with connection:
            await connection.receive()
            reached.set()
            await anyio.sleep_forever()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    base_url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/v1"
    asking = ModelRequest(messages=(PromptMessage("user", (TextPart("x" * 16_000_000),)),))
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, deaf)
        group.start_soon(record, OpenAIChatModel("m", base_url=base_url).stream(asking))
        with anyio.fail_after(20):
            await reached.wait()
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    gc.collect()  # whatever is left open warns
