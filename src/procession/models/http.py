"""
HTTP: the module that talks to servers, on httpx.

Each event loop has one pool of connections, which is closed with the loop.  Whatever goes wrong between us and a
server leaves as a ``ModelError``.  httpx takes a tenth of a second to import and is loaded with the first request.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Protocol

from anyio import CancelScope, current_time, move_on_after
from anyio.lowlevel import RunVar

from procession.errors import InputError, ModelError
from procession.messages.value import Value
from procession.models.failures import failure_of, scrub
from procession.models.transport.body import AnswerBody
from procession.models.transport.compression import ACCEPTED, Unpacker
from procession.models.transport.headers import check_headers
from procession.models.transport.http2 import reset_abandoned
from procession.models.transport.http_failures import as_model_errors
from procession.models.transport.retries import with_retries
from procession.models.transport.sse import Event

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ["Answer", "Timeouts", "Transport", "close_connections", "post", "replaying"]

_LARGEST_ERROR = 65_536
_PATIENCE = 1_000
_DRAIN = 0.1
"""Seconds that a server has to end a stream that is over, so that its connection can be used again."""
_SURROUNDINGS = "check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR in the environment"


class Transport(Protocol):
    """
    What carries requests: ``httpx.MockTransport`` in tests, or a transport of one's own.
    """

    async def handle_async_request(self, request: Any) -> Any:
        """
        Answer an ``httpx.Request`` with an ``httpx.Response``.
        """
        ...


class Timeouts(Value, kw_only=True):
    """
    How long a call may take, in seconds; ``None`` is for ever.
    """

    connect: float | None = 10.0
    """Until the connection stands."""
    read: float | None = 120.0
    """The longest silence of the server; a comment in the stream breaks it."""
    total: float | None = None
    """The whole call."""


class Answer:
    """
    A server's answer: its headers, and the events of its stream, as they come.

    A body of plain JSON is one event.  Iterating raises ``ModelError`` of kind ``stream`` where the connection
    breaks or an event does not end, ``timeout`` where nothing comes in time.
    """

    def __init__(self, response: httpx.Response, *, model: str, secrets: tuple[str, ...], deadline: float | None):
        self.headers: Mapping[str, str] = scrub(dict(response.headers), secrets=secrets)
        """The answer's headers, without keys."""
        self._response = response
        self._model = model
        self._secrets = secrets
        self._deadline = deadline
        # Not httpx's own unpacking, which knows no bounds; what a mock transport made has been unpacked already.
        self._is_read = response.is_stream_consumed
        self._pieces = response.aiter_bytes() if self._is_read else response.aiter_raw()
        self._source = self._read()

    def __aiter__(self) -> Answer:
        return self

    async def __anext__(self) -> Event:
        if self._deadline is None:
            return await anext(self._source)
        with move_on_after(self._deadline - current_time()):
            return await anext(self._source)
        raise _late(self._model)

    async def drain(self) -> None:
        """
        Read what is left, if it comes at once, so that the connection can be used again.
        """
        # The answer is complete: how its connection ends does not matter.
        with suppress(ModelError), move_on_after(_DRAIN):
            async for _ in self._source:
                pass

    async def close(self) -> None:
        """
        Close the connection, or give it back where everything was read.
        """
        with CancelScope(shield=True):
            await self._response.aclose()
        # httpx reads through a chain of generators, of which closing the first leaves the others open, to be
        # complained about on trio.  A read that fails ends them all, and so does the end of a stream from memory.
        for generator in (self._source, self._pieces):
            with suppress(Exception), CancelScope(shield=True) as scope:
                scope.cancel()
                for _ in range(_PATIENCE):
                    await anext(generator)

    async def refusal(self) -> ModelError:
        """
        Read the body of an answer whose status is an error, as that error.
        """
        self._source = self._read_error()
        body: Any = ""
        with suppress(ModelError, StopAsyncIteration), move_on_after(5):  # without a body the status says enough
            body = (await anext(self._source)).data
        with suppress(ValueError, RecursionError):
            body = json.loads(body)
        status = self._response.status_code
        return failure_of(body, model=self._model, status=status, headers=self.headers, secrets=self._secrets)

    async def _read_error(self) -> AsyncGenerator[Event, None]:
        text = bytearray()
        with as_model_errors(self._model, reading=True):
            unpacker = self._unpacker()
            async for piece in self._pieces:
                text += unpacker.feed(piece)[:_LARGEST_ERROR]
                if len(text) > _LARGEST_ERROR:
                    yield Event(text.decode("utf-8", "replace"))
            yield Event(text.decode("utf-8", "replace"))

    async def _read(self) -> AsyncGenerator[Event, None]:
        unpacker = self._unpacker()
        body = AnswerBody(self._response.headers.get("content-type", ""), model=self._model)
        with as_model_errors(self._model, reading=True):
            async for piece in self._pieces:
                for event in body.feed(unpacker.feed(piece)):
                    yield event
        for event in body.end():
            yield event

    def _unpacker(self) -> Unpacker:
        told = self._response.headers.get_list("content-encoding", split_commas=True)
        return Unpacker([] if self._is_read else told, model=self._model)


@asynccontextmanager
async def post(
    url: str,
    body: Mapping[str, Any],
    *,
    model: str,
    headers: Mapping[str, str],
    timeouts: Timeouts,
    max_retries: int = 0,
    http2: bool = False,
    transport: Transport | None = None,
    secrets: tuple[str, ...] = (),
) -> AsyncGenerator[Answer, None]:
    """
    Post *body* as JSON and give the answer once its headers are there; leaving the block closes the connection.

    What fails before that, and may pass, is tried again up to *max_retries* times.  Raises ``ModelError`` where there
    is no answer or its status is an error; *secrets* never appear in it.
    """
    import httpx

    from procession.models.transport.sent_body import SentBody

    check_headers(headers, model)
    content = _encoded(body, model)
    deadline = current_time() + timeouts.total if timeouts.total is not None else None
    client = await _client(transport, http2)
    timeout = httpx.Timeout(timeouts.read, connect=timeouts.connect, pool=None)

    async def sent() -> httpx.Response:
        with as_model_errors(model, reading=False), CancelScope() as patience:

            async def watch(event: str, _: Mapping[str, Any]) -> None:
                # A server that sends its headers byte by byte is never silent; they count as one thing to wait for.
                if timeouts.read is not None and event.endswith("receive_response_headers.started"):
                    patience.deadline = current_time() + timeouts.read

            request = client.build_request(
                "POST", url, content=content, headers=dict(headers), timeout=timeout, extensions={"trace": watch}
            )
            request.stream = SentBody(content)
            try:
                if (request.url.port or 0) > 65_535:  # which asyncio and trio tell in ways of their own
                    raise httpx.InvalidURL(f"there is no port {request.url.port}")
                return await client.send(request, stream=True)
            except BaseException:
                if http2:
                    await reset_abandoned(client)
                raise
        raise _silent(model)

    async def opened() -> Answer:
        response = await sent()
        answer = Answer(response, model=model, secrets=secrets, deadline=deadline)
        if response.status_code == 200:
            return answer
        try:
            raise await answer.refusal()
        finally:
            await answer.close()

    answer: Answer | None = None
    with move_on_after(None if deadline is None else deadline - current_time()):
        answer = await with_retries(opened, max_retries=max_retries)
    if answer is None:
        raise _late(model)
    try:
        yield answer
    finally:
        await answer.close()
        if http2:
            await reset_abandoned(client)


def _encoded(body: Mapping[str, Any], model: str) -> bytes:
    try:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"the request to {model} cannot be written as JSON: {error}",
            hint="settings, provider options and schemas must be made of text, numbers, lists and mappings",
        ) from error
    return text.encode("utf-8", "replace")  # half a surrogate pair is no text: servers refuse the whole request


def _silent(model: str) -> ModelError:
    return ModelError(f"{model}: the server fell silent", kind="timeout", retryable=True)


def _late(model: str) -> ModelError:
    return ModelError(f"{model}: the call took longer than its timeout", kind="timeout", retryable=True)


class _Pool:
    """
    The clients of one event loop, by transport.
    """

    __slots__ = ("clients", "keeper")

    def __init__(self) -> None:
        self.clients: dict[tuple[int, bool], tuple[Transport | None, httpx.AsyncClient]] = {}
        self.keeper = self._keep()

    async def _keep(self) -> AsyncGenerator[None, None]:
        # Event loops close the generators that are still open when they end: asyncio.run and trio.run both do.
        try:
            yield
        finally:
            with CancelScope(shield=True):
                await self.close()

    async def close(self) -> None:
        while self.clients:
            _, (_, client) = self.clients.popitem()
            await client.aclose()


_pool: RunVar[_Pool] = RunVar("procession.models.http")


async def _client(transport: Transport | None, http2: bool) -> httpx.AsyncClient:
    import httpx

    pool = _pool.get(None)
    if pool is None:
        pool = _Pool()
        _pool.set(pool)
        await anext(pool.keeper)
    found = pool.clients.get((id(transport), http2))
    if found is None:
        port: Any = transport
        try:
            client = httpx.AsyncClient(
                transport=port,
                verify=_trusted(http2, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
                http2=http2,
                headers={"user-agent": "procession", "accept-encoding": ACCEPTED},
                # Calls share connections, and nothing else: a cookie set for one key is not sent with another.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                limits=httpx.Limits(max_connections=1_000, max_keepalive_connections=100),
            )
        except ImportError as error:
            if "socks" in str(error).lower():
                raise InputError(f"the proxy cannot be used: {error}", hint=_SURROUNDINGS) from error
            raise InputError("HTTP/2 needs a package", hint="pip install 'procession[http2]'") from error
        except (OSError, ValueError, httpx.InvalidURL) as error:
            raise InputError(f"no connection can be made: {error}", hint=_SURROUNDINGS) from error
        found = pool.clients[id(transport), http2] = (transport, client)  # holding the transport keeps its id its own
    return found[1]


@lru_cache(maxsize=8)
def _trusted(http2: bool, file: str | None, folder: str | None) -> ssl.SSLContext:
    """
    Read whom to trust: httpx looks at the two variables.

    That takes as long as some calls do, and is done once, not for each event loop.  What a connection offers is written
    into what it is given, so that those with and without HTTP/2 have one each.
    """
    import httpx

    return httpx.create_ssl_context()


async def close_connections() -> None:
    """
    Close the connections of this event loop now, instead of with the loop.
    """
    pool = _pool.get(None)
    if pool is not None:
        await pool.close()


def replaying(body: bytes) -> Transport:
    """
    Return a transport that sends nothing and answers every request with *body*, as an event stream.
    """
    import httpx

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    return httpx.MockTransport(answer)
