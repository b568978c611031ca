"""A server's body in pieces, without a network: what a client makes of it must not depend on where it is cut."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import httpx


class Pieces(httpx.AsyncByteStream):
    """A response body that is read in these pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


def sending(pieces: Iterable[bytes], content_type: str = "text/event-stream") -> httpx.MockTransport:
    """Return a transport that answers every request in these pieces."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": content_type}, stream=Pieces(pieces))

    return httpx.MockTransport(answer)
