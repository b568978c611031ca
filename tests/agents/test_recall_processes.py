"""What one process saved another one embeds: after a crash, and where several work at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest
from tests.processors.recall_kit import INDEX, LONG_AGO, Words, said

from procession.processors.memory.memory import Memory
from procession.processors.memory.recalled.indexer import Indexer
from procession.storage.sqlite.store import SQLiteStore


@pytest.mark.parametrize("when", ["saved", "embedding"])
async def test_a_killed_process_loses_no_embedding(when: str, tmp_path: Path) -> None:
    """A process that is killed between saving and embedding, or while it embeds, leaves it to the next one."""
    path = str(tmp_path / "memory.db")
    command = [sys.executable, "-m", "tests.agents.recall_program", when, path]
    killed = await anyio.to_thread.run_sync(lambda: subprocess.run(command, timeout=50, check=False))
    assert killed.returncode == -signal.SIGKILL
    later = 0 if when == "saved" else 3600  # what it has taken is its own for a while
    async with SQLiteStore(path, clock=lambda: time.time() + later) as store:
        assert [message.text for message in await store.messages("t")] == ["my cat is Tom", "ok"]
        assert await store.waiting(INDEX) == 2
        memory = Memory(store, semantic_recall=True, embedder=Words())
        await memory.drain()
        assert await store.waiting(INDEX) == 0
        [hit] = await memory.search("cat", resource="ada", top_k=1)
        assert hit.message.text == "my cat is Tom"


async def test_two_indexers_of_one_file_share_the_work(tmp_path: Path) -> None:
    """Two stores of one file, as of two processes, embed each message once, and wait for each other's end."""
    path = str(tmp_path / "memory.db")
    async with SQLiteStore(path) as one, SQLiteStore(path) as other:
        for number in range(20):
            await one.save(f"t{number}", "ada", said(*LONG_AGO), indexes=[INDEX])
        words = [Words(), Words()]
        async with anyio.create_task_group() as group:
            for store, embedder in zip((one, other), words, strict=True):
                group.start_soon(Indexer(store, store, embedder).drain, INDEX)
        assert len(words[0].texts) + len(words[1].texts) == 20 * len(LONG_AGO)
        assert await one.waiting(INDEX) == 0
        hits = await other.search(INDEX, (1, 0, 0, 0, 0), top_k=500, resource_id="ada")
        assert len(hits) == 20 * len(LONG_AGO)
