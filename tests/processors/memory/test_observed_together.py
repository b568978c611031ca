"""Several memories on one file, several threads, turns at the same time: every message is observed or shown, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
from tests.processors.memory.observing_kit import COUNTER, RESOURCE, answer, observer, shown_to

from procession import Agent, Runtime
from procession.models.model import ModelRequest
from procession.processors.memory.memory import Memory
from procession.processors.memory.observed.observations import read_observations
from procession.processors.memory.observed.observing import thread_key
from procession.processors.memory.observed.unobserved import after
from procession.storage.sqlite.store import SQLiteStore
from procession.testing.fake_model import FakeModel

THREADS = ("one", "two", "three")
TURNS = 14


async def slowly(request: ModelRequest) -> str:
    """Observe which messages these were, and let others go on meanwhile."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
    return answer("saw " + " ".join(one["text"].split()[0] for one in shown_to(request)))


async def test_two_memories_and_three_threads_at_once(tmp_path: Path) -> None:
    """Two agents with a store each take turns in three threads at once: observed and raw messages make up each of them."""
    path = str(tmp_path / "memory.db")
    watcher = observer(slowly)
    settings: Any = {"observe_at": 1000, "counter": "estimate", "model": watcher}
    async with SQLiteStore(path) as first, SQLiteStore(path) as second, Runtime() as runtime:
        models = [FakeModel("Yes, " * 40, repeat_last=True) for _ in range(2)]
        agents = [
            Agent(f"a{at}", model=models[at], memory=Memory(store, observational=settings), runtime=runtime)
            for at, store in enumerate((first, second))
        ]

        async def talk(thread: str) -> None:
            for turn in range(TURNS):
                said = f"{thread}-{turn} " + "word " * 35
                await agents[turn % 2].generate(said, thread=thread, resource=RESOURCE)

        async with anyio.create_task_group() as group:
            for thread in THREADS:
                group.start_soon(talk, thread)
        for model in models:
            assert max(COUNTER.count_prompt(request.messages) for request in model.requests) < 1000 * 1.2 + 800
    async with SQLiteStore(path) as store:
        for thread in THREADS:
            note = await store.note(thread_key(thread, RESOURCE))
            assert note is not None
            noted = read_observations(note.text)
            messages = await store.messages(thread, resource_id=RESOURCE)
            raw = after(messages, noted.shown_to)
            assert len(messages) == 2 * TURNS
            assert sum(batch.messages for batch in noted.shown) + len(raw) == len(messages)
            seen = [word for batch in noted.batches for one in batch.observations for word in one.text.split()]
            asked = [word for word in seen if word.startswith(f"{thread}-")]
            assert asked == [f"{thread}-{turn}" for turn in range(len(asked))]
            assert noted.shown
    told = [one["text"].split()[0] for request in watcher.requests for one in shown_to(request)]
    users = [word for word in told if "-" in word]
    assert len(users) == len(set(users))  # nobody was asked about a message twice
