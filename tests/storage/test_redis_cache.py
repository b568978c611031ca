"""A cache in a real Redis: ``make services`` runs what needs the server."""

from __future__ import annotations

import builtins
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.storage.caches import made, started
from tests.storage.redis_server import RedisServer
from tests.storage.test_cache import clears, keeps, many

from procession.agents.agent import Agent
from procession.errors import DefinitionError, StoreError
from procession.processors.cache.response_cache import ResponseCache
from procession.steps.event_loop import asyncio_loop
from procession.storage.cache import CacheStore
from procession.storage.redis.cache import RedisCacheStore
from procession.testing.fake_model import FakeModel

pytest.importorskip("redis", reason="pip install 'procession[redis]'")


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio: the client runs nowhere else."""
    return "asyncio"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """Yield a running server."""
    yield from started(tmp_path_factory.mktemp("redis"))


@pytest.fixture
async def store(server: RedisServer, tmp_path: Path) -> AsyncIterator[CacheStore]:
    """Yield an empty store."""
    async with made("redis", tmp_path, server.url) as each:
        yield each


@pytest.mark.service
async def test_what_is_kept_is_there(store: CacheStore) -> None:
    """What is kept is there until another takes its place or it is deleted."""
    await keeps(store)


@pytest.mark.service
async def test_a_prefix_is_cleared(store: CacheStore) -> None:
    """``clear`` takes the prefix by the letter."""
    await clears(store)


@pytest.mark.service
async def test_many_at_a_time(store: CacheStore) -> None:
    """Sixty writers and readers at a time each find their own."""
    await many(store)


@pytest.mark.service
async def test_an_entry_lasts_for_its_time(store: CacheStore) -> None:
    """Redis lets go of an entry when its time is over."""
    await store.set("k", "v", ttl=0.001)
    with anyio.fail_after(10):
        while await store.get("k") is not None:
            await anyio.lowlevel.checkpoint()


@pytest.mark.service
async def test_applications_with_other_prefixes_do_not_see_each_other(server: RedisServer) -> None:
    """A prefix keeps applications apart that share a Redis."""
    async with RedisCacheStore(server.url, prefix="a:") as one, RedisCacheStore(server.url, prefix="b:") as other:
        await one.set("k", "of one", ttl=60)
        await other.set("k", "of the other", ttl=60)
        assert (await one.get("k"), await other.get("k")) == ("of one", "of the other")
        assert await one.clear() == 1
        assert await other.get("k") == "of the other"


@pytest.mark.service
def test_each_event_loop_has_connections_of_its_own(server: RedisServer) -> None:
    """One store serves several event loops, one after the other."""
    store = RedisCacheStore(server.url)

    async def use(number: int) -> str | None:
        async with store:
            await store.set(f"loop{number}", "v", ttl=60)
            return await store.get(f"loop{number}")

    assert [anyio.run(use, number) for number in range(2)] == ["v", "v"]


@pytest.mark.service
async def test_a_reader_that_is_cancelled_leaves_no_answer_to_the_next(store: CacheStore) -> None:
    """Cancelled reads never hand their answer to somebody else."""
    for number in range(20):
        await store.set(f"k{number}", f"v{number}", ttl=60)
    for number in range(20):
        async with anyio.create_task_group() as group:
            group.start_soon(store.get, f"k{number}")
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert await store.get(f"k{(number + 1) % 20}") == f"v{(number + 1) % 20}"


@pytest.mark.service
async def test_a_server_that_comes_back_is_used_again(tmp_path: Path) -> None:
    """While it is away the methods raise; once it is back they work."""
    command = shutil.which("redis-server")
    if command is None:
        pytest.skip("apt-get install redis-server, then make services")
    server = RedisServer(command, tmp_path)
    try:
        async with RedisCacheStore(server.url) as store:
            await store.set("k", "v", ttl=60)
            server.stop()
            with pytest.raises(StoreError):
                await store.get("k")
            server.start()
            assert await store.get("k") is None
    finally:
        server.stop()


async def test_nobody_there_is_an_error_without_the_password() -> None:
    """A Redis that does not answer is a ``StoreError`` that does not quote the url."""
    async with RedisCacheStore("redis://:swordfish@127.0.0.1:1/0") as store:
        with pytest.raises(StoreError) as raised:
            await store.get("k")
    assert "swordfish" not in str(raised.value)


def test_on_trio_it_says_that_it_needs_asyncio() -> None:
    """Its client runs on asyncio only, which is said where it is used."""

    async def use() -> None:
        assert asyncio_loop() is None
        await RedisCacheStore("redis://127.0.0.1:1/0").get("k")

    with pytest.raises(DefinitionError, match="asyncio only"):
        anyio.run(use, backend="trio")


@pytest.mark.parametrize("url", ["http://localhost", "localhost:6379", ""])
def test_an_url_that_is_none_is_refused(url: str) -> None:
    """It is refused where the store is made, without being quoted."""
    with pytest.raises(DefinitionError, match="none of Redis"):
        RedisCacheStore(url)


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without redis-py the error says what to install."""
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "redis":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DefinitionError, match=r"procession\[redis\]"):
        RedisCacheStore("redis://localhost")


@pytest.mark.service
async def test_answers_are_shared_and_outlive_the_server(tmp_path: Path) -> None:
    """An agent elsewhere finds the answer; once the server is gone the model is asked, and the run goes well."""
    command = shutil.which("redis-server")
    if command is None:
        pytest.skip("apt-get install redis-server, then make services")
    server = RedisServer(command, tmp_path)
    try:
        async with RedisCacheStore(server.url) as one, RedisCacheStore(server.url) as other:
            texts: list[str] = []
            for store, script in ((one, ["Hello."]), (other, ["Else."])):
                agent = Agent("parrot", model=FakeModel(script), input_processors=[ResponseCache(store)])
                texts.append((await agent.generate("Hi", resource="t-a")).text)
            server.stop()
            texts.append((await agent.generate("Hi", resource="t-a")).text)
            assert texts == ["Hello.", "Hello.", "Else."]
    finally:
        server.stop()
