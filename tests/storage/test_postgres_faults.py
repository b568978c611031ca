"""What becomes of a store in Postgres when something dies, breaks, hangs or is cancelled: ``make services`` runs it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import pytest
from tests.storage import postgres_stores
from tests.storage.conversations import said, texts
from tests.storage.postgres_program import LONG, THREADS, TURNS, turn
from tests.storage.postgres_server import PostgresServer
from tests.storage.postgres_stores import Other, schema_of

from procession.errors import StoreError

psycopg = pytest.importorskip("psycopg", reason="pip install 'procession[postgres]'")

if TYPE_CHECKING:
    from procession.storage.postgres.store import PostgresStore

pytestmark = [pytest.mark.service, pytest.mark.timeout(180)]


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio: the driver runs nowhere else."""
    return "asyncio"


@pytest.fixture
async def store(postgres_server: PostgresServer) -> AsyncIterator[PostgresStore]:
    """Yield an empty store with one connection."""
    async with postgres_stores.made(postgres_server, pool_size=1) as made:
        yield made


@pytest.fixture
def other(postgres_server: PostgresServer, store: PostgresStore) -> Iterator[Other]:
    """Yield another client."""
    made = Other(postgres_server, store)
    yield made
    made.end()


def in_use(store: PostgresStore) -> int:
    """Return how many connections are lent to somebody."""
    engine = store._connection._engines[asyncio.get_running_loop()]  # pyright: ignore[reportPrivateUsage]
    pool: Any = engine.pool
    number: int = pool.checkedout()
    return number


@contextmanager
def program(server: PostgresServer, store: PostgresStore, what: str, name: str) -> Generator[subprocess.Popen[str]]:
    """Yield a process that is ready; it is over afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "tests.storage.postgres_program", what, server.url, schema_of(store), name],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        try:
            assert _pipe(process.stdout).readline() == "ready\n"
            yield process
        finally:
            process.kill()


def _pipe(found: IO[str] | None) -> IO[str]:
    assert found is not None
    return found


def begin(process: subprocess.Popen[str]) -> None:
    """Let a program begin."""
    _pipe(process.stdin).write("\n")
    _pipe(process.stdin).flush()


@pytest.mark.timeout(300)
async def test_threads_of_four_processes_lose_and_double_nothing(
    postgres_server: PostgresServer, store: PostgresStore
) -> None:
    """Two hundred threads, written at once by four processes: each turn is there once, and whole, as it was said."""
    names = ["a", "b", "c", "d"]
    with (
        program(postgres_server, store, "threads", "a") as a,
        program(postgres_server, store, "threads", "b") as b,
        program(postgres_server, store, "threads", "c") as c,
        program(postgres_server, store, "threads", "d") as d,
    ):
        for process in (a, b, c, d):
            begin(process)
        for process in (a, b, c, d):
            lines = await anyio.to_thread.run_sync(_pipe(process.stdout).readlines)
            assert len(lines) == THREADS * TURNS
            assert process.wait() == 0
    for number in range(THREADS):
        ids = [message.id for message in await store.messages(f"t{number}", resource_id="ada")]
        turns = [ids[at : at + 2] for at in range(0, len(ids), 2)]
        expected = [
            [message.id for message in turn(f"{name} t{number}", each, 2)] for name in names for each in range(TURNS)
        ]
        assert sorted(turns) == sorted(expected)
    assert await store.waiting("i") == 4 * THREADS * TURNS * 2


async def test_a_process_that_is_killed_in_the_middle_of_a_save_leaves_nothing_of_it(
    postgres_server: PostgresServer, store: PostgresStore, other: Other
) -> None:
    """Its messages were written already, and the rest was not: there is neither thread nor message."""
    with program(postgres_server, store, "once", "a") as process:
        with other.holding():
            begin(process)
            await other.has_come()
            process.send_signal(signal.SIGKILL)
            process.wait()
        while await store.thread("t") is None:  # the server has yet to notice; the lock that it has left is waited for
            await store.save("t", "ada", turn("b", 0, 1))
    assert [message.id for message in await store.messages("t")] == ["b 0 0"]
    assert await store.waiting("i") == 0


async def test_a_process_that_is_killed_at_any_time_leaves_whole_turns(
    postgres_server: PostgresServer, store: PostgresStore
) -> None:
    """What it has said that it saved is there, and of what it was doing all or nothing."""
    for number in range(4):
        name = f"p{number}"
        with program(postgres_server, store, "forever", name) as process:
            begin(process)
            lines = [_pipe(process.stdout).readline() for _ in range(5 + 7 * number)]
            process.send_signal(signal.SIGKILL)
            process.wait()
            lines += _pipe(process.stdout).readlines()
        await store.save("t", "ada", turn(f"after {name}", 0, 1))  # waits for what the server may still be doing
        own = [message.id for message in await store.messages("t") if message.id.startswith(f"{name} ")]
        assert len(own) in (len(lines) * LONG, (len(lines) + 1) * LONG)
        assert own == [message.id for each in range(len(own) // LONG) for message in turn(name, each, LONG)]


async def test_a_server_that_comes_back_is_used_again(own_server: PostgresServer) -> None:
    """While it is away the methods raise, and what they were doing is not there; once it is back they work."""
    async with postgres_stores.made(own_server) as store:
        other = Other(own_server, store)
        await store.save("t", "ada", [said("before")])
        failures: list[StoreError] = []

        async def save() -> None:
            with pytest.raises(StoreError, match="cannot be used") as raised:
                await store.save("t", "ada", [said("during")], indexes=["i"])
            failures.append(raised.value)

        with pytest.raises(psycopg.OperationalError), other.holding(), anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(save)
                await other.has_come()
                own_server.stop()
            for ask in (store.thread("t"), store.save("t", "ada", [said("away")]), store.take("i", limit=1, seconds=9)):
                with pytest.raises(StoreError, match="does not answer"):
                    await ask
        other.end()
        assert len(failures) == 4
        own_server.start()
        await store.save("t", "ada", [said("after", 1)])
        assert texts(await store.messages("t")) == ["before", "after"]
        assert in_use(store) == 0


@pytest.mark.parametrize("how", ["scope", "task"])
async def test_a_save_that_is_cancelled_gives_its_connection_back(store: PostgresStore, other: Other, how: str) -> None:
    """It leaves nothing of the turn, and the next one has the connection, while the other one is still in the way."""
    with other.holding():
        if how == "scope":
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: store.save("t", "ada", turn("a", 0, 3), indexes=["i"]))
                await other.has_come()
                group.cancel_scope.cancel()
        else:
            task = asyncio.create_task(store.save("t", "ada", turn("a", 0, 3), indexes=["i"]))
            await other.has_come()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert in_use(store) == 0
        assert await store.thread("t") is None
        await store.save("t", "ada", turn("b", 0, 2))
    assert [message.id for message in await store.messages("t")] == ["b 0 0", "b 0 1"]


async def test_a_call_that_takes_too_long_is_stopped(postgres_server: PostgresServer, store: PostgresStore) -> None:
    """It is a ``StoreError``, for whoever waits for a connection too, and leaves nothing."""
    from procession.storage.postgres.store import PostgresStore

    other = Other(postgres_server, store)
    failures: list[str] = []
    async with PostgresStore(postgres_server.url, schema=schema_of(store), pool_size=1, timeout=0.5) as hasty:

        async def save() -> None:
            with pytest.raises(StoreError) as raised:
                await hasty.save("t", "ada", turn("a", 0, 3), indexes=["i"])
            failures.append(raised.value.message)

        with other.holding():
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(save)
        assert len(failures) == 3
        assert all("did not answer" in each or "too long" in each for each in failures)
        assert await hasty.thread("t") is None
        await hasty.save("t", "ada", [said("Hi")])
        assert in_use(hasty) == 0
    other.end()


async def test_a_server_that_hangs_is_not_waited_for(postgres_server: PostgresServer, store: PostgresStore) -> None:
    """What stops no statement either has its connection closed, and the next call has another one."""
    from procession.storage.postgres.store import PostgresStore

    other = Other(postgres_server, store)
    async with PostgresStore(postgres_server.url, schema=schema_of(store), pool_size=1, timeout=2) as hasty:
        number = 0
        with other.holding():
            async with anyio.create_task_group() as group:

                async def save() -> None:
                    with pytest.raises(StoreError):
                        await hasty.save("t", "ada", turn("a", 0, 3), indexes=["i"])
                    assert await hasty.thread("t") is None

                group.start_soon(save)
                number = await other.has_come()
                os.kill(number, signal.SIGSTOP)  # a process of the tests' own server
        os.kill(number, signal.SIGCONT)
        assert in_use(hasty) == 0
    other.end()
