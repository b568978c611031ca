"""
A program that remembers a turn in a store, and is killed before the turn is embedded.

``python -m tests.agents.recall_program saved|embedding STORE``.  For tests only.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import anyio
from tests.processors.recall_kit import IDS, Words, friend

from procession.processors.memory.memory import Memory
from procession.processors.memory.semantic_recall import SemanticRecall
from procession.runtime.runtime import Runtime
from procession.storage.open_store import open_store


def die() -> None:
    """End at once, with nothing written or tidied up."""
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly(Words):
    """An embedder that kills the process when it is to embed what was saved."""

    async def embed(self, texts: Any) -> Any:
        """Return the vector of the question, and die of any other."""
        if self.texts:
            die()
        return await super().embed(texts)


class DeadlyRecall(SemanticRecall):
    """Recall that kills the process once the turn is saved."""

    def _wake(self, scope: Any) -> None:
        die()


async def main(when: str, url: str) -> None:
    """Remember a turn."""
    store = open_store(url)
    recall = (DeadlyRecall if when == "saved" else SemanticRecall)(store, embedder=Deadly())
    async with Runtime() as runtime:
        agent = friend(Memory(store), input_processors=[recall], output_processors=[recall], runtime=runtime)
        await agent.generate("my cat is Tom", **IDS)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
