"""
RedisCacheStore: a cache in Redis, for any number of machines.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from procession.errors import DefinitionError, StoreError
from procession.steps.event_loop import asyncio_loop

if TYPE_CHECKING:
    import asyncio

    from redis.asyncio import Redis

__all__ = ["RedisCacheStore"]

_SOME = 500
"""Keys that are removed at a time."""
_special = re.compile(r"([*?\[\]\\^-])")


class RedisCacheStore:
    r"""
    A ``CacheStore`` in the Redis at *url*, which lets entries go when their time is over.

    It needs ``pip install 'procession[redis]'`` and asyncio: the client that it stands on does not run on trio.  Each event
    loop has connections of its own, made at the first use.  Leave them with ``aclose``, or with the end of ``async with``.

        async with RedisCacheStore("redis://localhost:6379/0") as store:
            cache = ResponseCache(store)

    Every method raises ``StoreError`` where Redis cannot be used, without quoting the url, and ``DefinitionError`` on trio.
    """

    def __init__(self, url: str, *, prefix: str = "procession:", timeout: float = 2.0) -> None:
        """
        *prefix* stands before every key, so that several applications may share a Redis; *timeout* is how many seconds
        connecting, and then an answer, may take.

        Raises ``DefinitionError`` where redis-py is not installed, and for an url that is none.
        """
        try:
            from redis.asyncio.connection import parse_url
        except ImportError:
            raise DefinitionError(
                "RedisCacheStore needs the package redis", hint="pip install 'procession[redis]'"
            ) from None
        try:
            parse_url(url)
        except (ValueError, AttributeError):
            raise DefinitionError(
                "the url of a RedisCacheStore is none of Redis",
                hint="write redis://host:6379/0, rediss://... with TLS, or unix://path",
            ) from None
        if not timeout > 0:
            raise DefinitionError(f"timeout is {timeout!r}", hint="give seconds, more than 0")
        self._url = url
        self._prefix = prefix
        self._timeout = timeout
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Redis] = WeakKeyDictionary()

    async def get(self, key: str) -> str | None:
        """
        Return what is kept under *key*, or ``None``.
        """
        async with self._client() as client:
            found: Any = await client.get(self._prefix + key)
        return found.decode("ascii", "replace") if isinstance(found, bytes) else found

    async def set(self, key: str, value: str, *, ttl: float) -> None:
        """
        Keep *value* under *key* for *ttl* seconds, in whole milliseconds.
        """
        async with self._client() as client:
            await client.set(self._prefix + key, value, px=max(1, math.ceil(ttl * 1000)))

    async def delete(self, key: str) -> bool:
        """
        Forget what is kept under *key*; ``False`` where nothing was.
        """
        async with self._client() as client:
            return bool(await client.delete(self._prefix + key))

    async def clear(self, prefix: str = "") -> int:
        """
        Forget everything whose key begins with *prefix*, and return how much that was.

        All keys of the Redis are looked at, some at a time: other clients are served meanwhile.
        """
        gone = 0
        pattern = _special.sub(r"\\\1", self._prefix + prefix) + "*"
        async with self._client() as client:
            some: list[bytes] = []
            async for key in cast("Any", client).scan_iter(match=pattern, count=_SOME):  # its types say nothing of keys
                some.append(key)
                if len(some) == _SOME:
                    gone += await client.unlink(*some)
                    some = []
            if some:
                gone += await client.unlink(*some)
        return gone

    async def aclose(self) -> None:
        """
        Close the connections of the present event loop; the next use makes others.
        """
        loop = asyncio_loop()
        client = self._clients.pop(loop, None) if loop is not None else None
        if client is not None:
            await cast("Awaitable[None]", client.aclose())

    async def __aenter__(self) -> RedisCacheStore:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[Redis]:
        """
        Yield the client of the present event loop; what goes wrong with it is a ``StoreError``.
        """
        from redis.exceptions import RedisError

        loop = asyncio_loop()
        if loop is None:
            raise DefinitionError(
                "a RedisCacheStore was used on trio, and its client runs on asyncio only",
                hint="run on asyncio, or use SQLiteCacheStore",
            )
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._made()
        try:
            yield client
        except (RedisError, OSError) as error:
            raise StoreError(f"Redis cannot be used: {type(error).__name__}") from error

    def _made(self) -> Redis:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        made: Redis = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]
            self._url,
            socket_timeout=self._timeout,
            socket_connect_timeout=self._timeout,
            retry=Retry(NoBackoff(), 1),  # a connection that has gone meanwhile; nobody waits long for a cache
        )
        return made
