"""Whatever is said by whom and sought by whom: nobody is told what another one said."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.processors.recall_kit import WORDS, Words, friend, sent, told

from procession.processors.memory.memory import Memory
from procession.storage.memory import InMemoryStore
from procession.storage.sqlite.store import SQLiteStore

RESOURCES = ("ada", "bob", "eve")
EVERYBODY = [(owner, thread, word) for word in WORDS for thread in range(2) for owner in RESOURCES]
"""Turns in which each says everything in two threads."""
TURN = st.tuples(st.sampled_from(RESOURCES), st.integers(0, 2), st.sampled_from(WORDS))
SETTINGS = st.fixed_dictionaries(
    {"scope": st.sampled_from(["thread", "resource"]), "top_k": st.integers(1, 9)},
    optional={"message_range": st.integers(0, 3), "threshold": st.sampled_from([0.0, 0.5])},
)


async def talk(store: Any, turns: list[tuple[str, int, str]], settings: dict[str, Any], last: Any) -> None:
    """Have them all talk, each turn told whose it is, and look at what the model is sent in each."""
    memory = Memory(store, last_messages=last, semantic_recall=settings, embedder=Words())
    agent = friend(memory, *[f"answer to <{owner}-{thread}>" for owner, thread, _ in turns])
    for owner, thread, word in turns:
        await agent.generate(f"{word} of <{owner}-{thread}>", thread=f"{owner}-{thread}", resource=owner)
        here, elsewhere = " ".join(sent(agent)), told(agent).replace("\\u003c", "<")
        for other in RESOURCES:
            for number in range(3):
                mark = f"<{other}-{number}>"
                assert (other, number) == (owner, thread) or mark not in here
                assert (other == owner and settings["scope"] == "resource") or mark not in elsewhere
    for owner in RESOURCES:
        for hit in await memory.search(WORDS[0], resource=owner, top_k=50):
            assert hit.thread.resource_id == owner
            assert f"<{owner}-" in hit.message.text


@given(st.lists(TURN, min_size=1, max_size=12), SETTINGS, st.sampled_from([1, False]))
def test_nobody_is_told_what_another_said(
    turns: list[tuple[str, int, str]], settings: dict[str, Any], last: Any
) -> None:
    """Texts of a thread stand in the list of that thread alone, those of others of its resource in the quotation alone."""
    anyio.run(talk, InMemoryStore(), turns, settings, last)


@pytest.mark.parametrize("scope", ["thread", "resource"])
def test_the_same_in_a_file(scope: str) -> None:
    """The file that conversations are in by default holds them apart in the same way."""
    with tempfile.TemporaryDirectory() as folder:

        async def main() -> None:
            async with SQLiteStore(Path(folder) / "memory.db") as store:
                await talk(store, EVERYBODY, {"scope": scope, "top_k": 4}, 2)

        anyio.run(main)
