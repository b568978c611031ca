"""
Semantic recall: what a turn costs that finds and is embedded, beside the same turn with its history alone.

The embedder is one of words, which takes some microseconds a text: what is told is the library's own part.  ``finds`` is of
a call that keeps nothing, ``turn`` of one that is saved and embedded before it returns, ``file`` of the same in a SQLite file.
"""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bench.harness import Case
from bench.models import Calling
from procession.agents.agent import Agent
from procession.messages.message import Message
from procession.processors.memory.memory import Memory
from procession.storage.memory import InMemoryStore
from procession.storage.sqlite.store import SQLiteStore
from procession.testing.hash_embedder import HashEmbedder

if TYPE_CHECKING:
    from bench.harness import Bench, Effort, Row, Work

__all__ = ["Recalling", "benches"]

WORDS = ("whale", "tax", "garden", "train", "winter", "piano", "bread", "river")

_numbers = count()


@dataclass(frozen=True)
class Recalling:
    """
    A turn with recall among so many messages of a resource, beside one with the history alone.
    """

    variant: str
    messages: int
    keeps: bool
    store: Literal["memory", "file"] = "memory"
    bench: str = "recall"

    async def run(self, effort: Effort) -> Row:
        """
        Measure by the wall: a file is waited for.
        """
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            stores: list[Any] = []
            for name in ("floor.db", "ours.db"):
                in_file = self.store == "file"
                made: Any = (
                    await stack.enter_async_context(SQLiteStore(Path(folder) / name)) if in_file else InMemoryStore()
                )
                for thread in range(self.messages // 10):
                    said = [Message.user(f"{WORDS[at % 8]} {WORDS[thread % 8]} {thread}") for at in range(10)]
                    await made.save(f"old-{thread}", "ada", said)
                stores.append(made)
            floor, ours = stores
            recalling = Memory(
                ours, semantic_recall={"scope": "resource"}, embedder=HashEmbedder(), read_only=not self.keeps
            )  # fmt: skip
            if self.messages:
                await recalling.drain()
            case = Case(
                bench=self.bench,
                variant=self.variant,
                n=1,
                ours=turn(recalling),
                floor=turn(Memory(floor, read_only=not self.keeps)),
                clock="wall",
                against="history",
            )
            return await case.run(effort)


def turn(memory: Memory) -> Work:
    """
    Return work that is one turn in a thread of its own.
    """
    agent = Agent("remembering", model=Calling(0), memory=memory)

    async def work() -> None:
        number = next(_numbers)
        said = f"{WORDS[number % 8]} and {WORDS[number // 8 % 8]}"
        result = await agent.generate(said, thread=f"t-{number}", resource="ada")
        assert result.text == "done", result

    return work


def benches() -> list[Bench]:
    """
    Return the benchmarks of this file.
    """
    return [
        Recalling("finds_1000", 1000, keeps=False),
        Recalling("turn_1000", 1000, keeps=True),
        Recalling("file_1000", 1000, keeps=True, store="file"),
    ]
