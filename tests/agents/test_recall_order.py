"""However long a thread is, and whatever is found in it: what is sent is in its order, each message once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st
from tests.processors.recall_kit import IDS, LONG_AGO, START, WORDS, Words, friend, remembering, said, sent

from procession.messages.message import Message
from procession.processors.memory.memory import Memory
from procession.storage.memory import InMemoryStore

ASKED = "what of it?"


@given(
    st.lists(st.sampled_from([*WORDS, "nothing"]), min_size=1, max_size=15),
    st.sampled_from(WORDS),
    st.sampled_from([1, 2, 5, False]),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_what_is_sent_is_the_thread_with_gaps(
    words: list[str], word: str, last: Any, top_k: int, before: int, after: int
) -> None:
    """The newest messages, those that are found and those around them, in the order of the thread, and the question."""
    texts = [f"{word} {at}" for at, word in enumerate(words)]

    async def main() -> None:
        settings = {"top_k": top_k, "before": before, "after": after, "threshold": 0.5}
        memory = Memory(InMemoryStore(), last_messages=last, semantic_recall=settings, embedder=Words())
        await memory.storage.save("t", "ada", said(*texts))
        await memory.drain()
        agent = friend(memory)
        await agent.generate(f"{ASKED} {word}", **IDS)
        *recalled, asked = sent(agent)
        assert asked == f"{ASKED} {word}"
        places = [texts.index(text) for text in recalled]
        assert places == sorted(set(places))
        newest = set(range(len(texts))[-last:]) if last else set[int]()
        assert newest <= set(places)
        alike = [at for at, text in enumerate(texts) if text.startswith(word) and at not in newest]
        found = [at for at in alike if at in places]
        assert len(found) >= min(top_k, len(alike))
        for at in set(places) - newest:  # nothing comes that is not found, or near what is
            assert any(at - after <= hit <= at + before for hit in alike)

    anyio.run(main)


async def test_what_is_said_now_stands_behind_what_is_recalled() -> None:
    """A client whose clock is years late asks its question last, also where no history is recalled."""
    agent = friend(await remembering(InMemoryStore(), *LONG_AGO))
    late = Message("user", "dog now?", created_at=START - timedelta(days=1000))
    await agent.generate([late], **IDS)
    assert sent(agent)[-1] == "dog now?"
    assert "a dog" in sent(agent)
