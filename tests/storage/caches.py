"""What the tests of caches share: the stores, made anew for each test."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.storage.redis_server import RedisServer

from procession.storage.cache import CacheStore
from procession.storage.memory import InMemoryCacheStore
from procession.storage.redis.cache import RedisCacheStore
from procession.storage.sqlite.cache import SQLiteCacheStore

HERE = ("memory", "sqlite")
"""The kinds that need nothing but this machine."""


def started(folder: Path) -> Iterator[RedisServer]:
    """Yield a server, or skip where there is none to start."""
    command = shutil.which("redis-server")
    if command is None:
        pytest.skip("there is no redis-server: apt-get install redis-server, then make services")
    server = RedisServer(command, folder)
    try:
        yield server
    finally:
        server.stop()


@asynccontextmanager
async def made(kind: str, folder: Path, url: str = "") -> AsyncGenerator[CacheStore]:
    """Yield an empty store of *kind*."""
    if kind == "memory":
        yield InMemoryCacheStore()
    elif kind == "sqlite":
        async with SQLiteCacheStore(folder / "cache.db") as store:
            yield store
    else:
        async with RedisCacheStore(url) as store:
            await store.clear()
            yield store
