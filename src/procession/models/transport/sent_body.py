"""
SentBody: what is sent to a server, as one piece.  Loads httpx: it is imported with the first request.
"""

from __future__ import annotations

import httpx

__all__ = ["SentBody"]


class SentBody(httpx.AsyncByteStream):
    """
    Gives one piece, and is over.

    httpx's own is an asynchronous generator, which a request that is cancelled while it is sent leaves open: trio warns
    of that.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __aiter__(self) -> _Once:
        return _Once(self._content)


class _Once:
    __slots__ = ("_content",)

    def __init__(self, content: bytes | None) -> None:
        self._content = content

    def __aiter__(self) -> _Once:
        return self

    async def __anext__(self) -> bytes:
        content, self._content = self._content, None
        if content is None:
            raise StopAsyncIteration
        return content
