"""
How a server of tools is reached: as a process of ours, or over HTTP.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import httpx2
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

__all__ = ["Ended", "Opener", "Streams", "over_http", "over_stdio"]

Streams: TypeAlias = AbstractAsyncContextManager[Any]
Ended: TypeAlias = Callable[[], None]
"""Called once nothing more can come from the server."""
Opener: TypeAlias = Callable[[Ended], Streams]


def over_stdio(command: Sequence[str], env: Mapping[str, str] | None, cwd: str | Path | None, stderr: TextIO) -> Opener:
    """
    Return what starts *command* and speaks to it by its standard input and output.
    """
    server = StdioServerParameters(
        command=command[0], args=list(command[1:]), env=dict(env) if env is not None else None, cwd=cwd
    )

    return lambda ended: _Process(stdio_client(server, errlog=stderr), ended)


def over_http(url: str, headers: Mapping[str, str] | None, most: int, seconds: float) -> Opener:
    """
    Return what speaks to the server at *url*; a message of it has at most *most* bytes.
    """
    sent = {**(headers or {}), "Accept-Encoding": "identity"}  # what is packed could be unpacked to any length

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise httpx2.StreamError("the server packed its answer, which it was told not to")
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = _Bounded(response.stream, most)

    @asynccontextmanager
    async def opened(ended: Ended) -> AsyncGenerator[Any]:
        timeout = httpx2.Timeout(seconds, read=None)  # each call has a limit of its own
        async with (
            httpx2.AsyncClient(headers=sent, timeout=timeout, event_hooks={"response": [bound]}) as client,
            streamable_http_client(url, http_client=client, max_sse_event_size=most) as streams,
        ):
            yield streams

    return opened


class _Process:
    """
    The streams of a process.
    """

    def __init__(self, streams: Streams, ended: Ended) -> None:
        self._streams = streams
        self._ended = ended

    async def __aenter__(self) -> Any:
        read, write = await self._streams.__aenter__()
        return _Watched(read, self._ended), write

    async def __aexit__(self, *raised: Any) -> bool | None:
        return await self._streams.__aexit__(*raised)


class _Watched:
    """
    A stream of messages that tells when it has ended.
    """

    def __init__(self, stream: Any, ended: Ended) -> None:
        self._stream = stream
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._ended()
            raise

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        return await self._stream.__aexit__(*raised)


class _Bounded(httpx2.AsyncByteStream):
    """
    A body of at most so many bytes.
    """

    def __init__(self, stream: Any, most: int) -> None:
        self._stream = stream
        self._left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._left -= len(piece)
            if self._left < 0:
                raise httpx2.StreamError("the server's answer is longer than it may be")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
