"""Any bytes at all from a server, below HTTP and inside of it: an answer or a ``ModelError``, and nothing left open."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import anyio
import httpcore
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.wire import DONE, delta

from procession.errors import ModelError
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.testing.recorder import record

ASK = ModelRequest(messages=())
BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])

STATUSES = [
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.0 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\n",
    b"HTTP/1.1 500 Oh\r\n",
    b"HTTP/1.1 204 No\r\n",
    b"HTTP/1.1 302 \r\nlocation: http://[\r\n",
    b"HTTP/1.1 999 \r\n",
    b"HTTP/9 200\r\n",
    b"",
]
HEADERS = [
    b"content-type: text/event-stream\r\n",
    b"content-type: application/json; charset=utf-7\r\n",
    b"content-type: text/html\r\n",
    b"transfer-encoding: chunked\r\n",
    b"content-length: 7\r\n",
    b"content-length: 4000\r\n",
    b"content-encoding: gzip\r\n",
    b"content-encoding: deflate, br\r\n",
    b"set-cookie: a=b; expires=never; domain=.\r\n",
    b"retry-after: soon\r\n",
    b"x: \xff\xfe\r\n",
    b": none\r\n",
    b"connection: close\r\n",
]
BODIES = [
    b"5\r\ndata:\r\n",
    b"2\r\n\n\n\r\n",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
]
EVENTS = [
    delta(content="Hel"),
    delta("stop", content="lo"),
    delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a'}}]),
    delta("tool_calls", tool_calls=[{"index": 0, "function": {"arguments": '": 1}'}}]),
    DONE,
    b"data: ",
    b'{"error": {"message": "no", "code": "429"}}',
    b'{"error": []}',
    b'{"choices": [{"delta": null}]}',
    b'{"choices": {"0": 1}, "usage": [NaN, 1e999]}',
    b'{"choices": [{"delta": {"tool_calls": [{"index": "x", "function": 3}, null, []]}}]}',
    b'{"id": 3, "created": "now", "model": []}',
    b"[" * 2_000,
    b'"\\ud800',
    b"event: error\n",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n\n",
    b"\n\n",
]
H2 = [
    b"\x00\x00\x00\x04\x00\x00\x00\x00\x00",  # settings
    b"\x00\x00\x00\x04\x01\x00\x00\x00\x00",  # settings, acknowledged
    b"\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88",  # status 200
    b"\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88",  # status 200, and the end
    b"\x00\x00\x01\x01\x04\x00\x00\x00\x03\x88",  # of a stream that nobody opened
    b"\x00\x00\x05\x00\x00\x00\x00\x00\x01data:",  # data
    b"\x00\x00\x02\x00\x01\x00\x00\x00\x01\n\n",  # the last data
    b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08",  # reset
    b"\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00",  # go away
    b"\x00\x00\x08\x06\x00\x00\x00\x00\x00pingpong",  # ping
    b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xff\xff\xff",  # a window that is too large
    b"\x00\x00\x02\x01\x04\x00\x00\x00\x01\xff\xff",  # headers that are none
    b"\xff\xff\xff\x00\x00\x00\x00\x00\x01",  # a frame that is too long
]
PROTOCOL_ERRORS = [
    pytest.param(H2[2] + H2[11], id="headers that are none"),
    pytest.param(H2[2] + H2[10], id="a window that is too large"),
    pytest.param(H2[2] + H2[4], id="a stream that nobody opened"),
    pytest.param(H2[2] + H2[2], id="headers twice"),
    pytest.param(H2[2] + H2[7], id="reset"),
    pytest.param(H2[2] + H2[8], id="go away"),
    pytest.param(H2[2] + H2[12], id="a frame that is too long"),
    pytest.param(H2[2], id="hung up"),
    pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", id="another protocol"),
]


def streams(parts: list[bytes]) -> st.SearchStrategy[list[bytes]]:
    """Make packets of parts that mean something, in any order, and of bytes that mean nothing."""
    mixed = st.lists(st.sampled_from(parts) | st.binary(max_size=6), max_size=14)
    return st.tuples(mixed, st.integers(1, 40)).map(
        lambda made: [b"".join(made[0])[at : at + made[1]] for at in range(0, sum(map(len, made[0])), made[1])]
    )


def transport(packets: list[bytes], *, http2: bool) -> httpx.AsyncHTTPTransport:
    """Return a transport whose connections give these bytes, whatever they are asked, and then end."""
    nothing = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    carrier = httpx.AsyncHTTPTransport(http2=http2, verify=nothing)
    carrier._pool = httpcore.AsyncConnectionPool(  # pyright: ignore[reportPrivateUsage]
        nothing, http1=not http2, http2=http2, network_backend=httpcore.AsyncMockBackend(packets, http2=http2)
    )
    return carrier


def run(backend: str, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run *main* on an event loop of its own, which must end with it."""

    async def in_time() -> None:
        with anyio.fail_after(20):
            await main()

    anyio.run(in_time, backend=backend)


async def answer_or_error(carrier: Any, url: str = "http://test/v1", *, http2: bool = False) -> None:
    """Ask, and let nothing but an answer or a ``ModelError`` come of it."""
    model = OpenAIChatModel("m", base_url=url, provider="local", transport=carrier, max_retries=0, http2=http2)
    recording = await record(model.stream(ASK), catch=ModelError)
    if recording.error is not None:
        assert str(recording.error)


@BACKENDS
@given(
    status=st.sampled_from(STATUSES),
    headers=st.lists(st.sampled_from(HEADERS), max_size=4),
    body=streams(BODIES + EVENTS),
)
def test_any_bytes_on_a_connection(backend: str, status: bytes, headers: list[bytes], body: list[bytes]) -> None:
    """Bytes that may be no HTTP."""
    packets = [status, *headers, b"\r\n", *body]
    run(backend, lambda: answer_or_error(transport(packets, http2=False)))


@BACKENDS
@given(packets=streams(H2))
def test_any_frames_on_a_connection(backend: str, packets: list[bytes]) -> None:
    """Bytes that may be no HTTP/2."""
    run(backend, lambda: answer_or_error(transport(packets, http2=True), "https://test/v1", http2=True))


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize("frames", PROTOCOL_ERRORS)
async def test_protocol_errors_in_the_middle(frames: bytes, size: int) -> None:
    """What breaks HTTP/2 breaks the answer, also where httpx lets an error of h2 through."""
    carrier = transport([frames[at : at + size] for at in range(0, len(frames), size)], http2=True)
    model = OpenAIChatModel(
        "m", base_url="https://test/v1", provider="local", transport=carrier, max_retries=0, http2=True
    )
    with pytest.raises(ModelError, match="local/m") as caught:
        await record(model.stream(ASK))
    assert caught.value.kind in ("stream", "unavailable")


@BACKENDS
@given(
    packets=streams(EVENTS),
    status=st.sampled_from([200, 200, 200, 400, 429, 500]),
    kind=st.sampled_from(["text/event-stream", "application/json", "text/plain; charset=utf-16", "", ";;", "a/b/c"]),
)
def test_any_bytes_in_an_answer(backend: str, packets: list[bytes], status: int, kind: str) -> None:
    """Bytes that may be no events, and events that may be no answer."""

    async def pieces() -> AsyncIterator[bytes]:
        for packet in packets:
            yield packet

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers={"content-type": kind}, content=pieces())

    run(backend, lambda: answer_or_error(httpx.MockTransport(answer)))
