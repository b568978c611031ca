"""What a memory promises of several processes and of several tenants, in Postgres, too: ``make services`` runs it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import anyio
import pytest
from tests.agents.test_recall_tenants import EVERYBODY, talk
from tests.agents.test_working_memory_processes import RUNS, all_write, begun
from tests.processors.recall_kit import INDEX, Words
from tests.storage import postgres_stores
from tests.storage.postgres_server import PostgresServer

from procession.processors.memory.memory import Memory

pytest.importorskip("sqlalchemy", reason="pip install 'procession[postgres]'")

from procession.storage.postgres.store import PostgresStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.service, pytest.mark.timeout(180)]


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio: the driver runs nowhere else."""
    return "asyncio"


@pytest.fixture
async def url(pgvector_server: PostgresServer) -> AsyncIterator[str]:
    """Yield the url of a database that has tables, and nothing in them."""
    made = postgres_stores.fresh_database(pgvector_server)
    async with PostgresStore(made) as store:
        await store.upgrade()
    yield made


async def test_two_processes_lose_nothing_of_a_working_memory(url: str) -> None:
    """Sixty runs in two processes have all read the same before the first one writes: each one's line is there, once."""
    await anyio.to_thread.run_sync(all_write, [begun(url, name, "asyncio") for name in ("one", "two")])
    async with Memory(url, working_memory=True) as memory:
        text = await memory.working_memory(resource="ada")
    assert text.split("\n")[0] == "# Facts"
    assert sorted(text.split("\n")[1:]) == sorted(
        f"- {name} {number}" for name in ("one", "two") for number in range(RUNS)
    )


@pytest.mark.parametrize("when", ["saved", "embedding"])
async def test_a_killed_process_loses_no_embedding(when: str, url: str) -> None:
    """A process that is killed between saving and embedding, or while it embeds, leaves it to the next one."""
    command = [sys.executable, "-m", "tests.agents.recall_program", when, url]
    killed = await anyio.to_thread.run_sync(lambda: subprocess.run(command, timeout=50, check=False))
    assert killed.returncode == -signal.SIGKILL
    later = 0 if when == "saved" else 3600  # what it has taken is its own for a while
    async with PostgresStore(url, clock=lambda: time.time() + later) as store:
        assert [message.text for message in await store.messages("t")] == ["my cat is Tom", "ok"]
        assert await store.waiting(INDEX) == 2
        memory = Memory(store, semantic_recall=True, embedder=Words())
        await memory.drain()
        assert await store.waiting(INDEX) == 0
        [hit] = await memory.search("cat", resource="ada", top_k=1)
        assert hit.message.text == "my cat is Tom"


@pytest.mark.parametrize("scope", ["thread", "resource"])
async def test_nobody_is_told_what_another_said(scope: str, url: str) -> None:
    """MEM-001: whoever asks is told what was said in the own thread, or by the own resource, and nothing of others."""
    async with PostgresStore(url) as store:
        await talk(store, EVERYBODY, {"scope": scope, "top_k": 9}, False)
