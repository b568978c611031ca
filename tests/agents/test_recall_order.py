"""However long a thread is, and whatever is found in it: what is sent is in its order, each message once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st
from tests.processors.recall_kit import IDS, LONG_AGO, START, WORDS, Words, friend, remembering, said, sent

from procession.messages.message import Message
from procession.messages.parts import ReasoningPart, StepStartPart, TextPart, ToolCallPart
from procession.messages.prompt import PromptToolCall, PromptToolResult
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


@given(st.sampled_from(WORDS[:2]), st.integers(0, 3), st.integers(0, 3), st.sampled_from([1, 3, False]))
def test_calls_of_tools_come_with_their_results(word: str, before: int, after: int, last: Any) -> None:
    """Whatever is cut out of a thread, each call is followed by its result, and one that has none is left out."""
    done = ToolCallPart("c1", "look", {"q": 1}, "result", {"r": 1})
    signed = ReasoningPart("hm", provider_metadata={"anthropic": {"signature": "S"}})
    thread = [*said("my cat", "", "a dog", "", "the sun", "The sun.", "a car", "A car.")]
    thread[1] = thread[1].with_parts([signed, done, StepStartPart(), TextPart("cat is Tom")])
    thread[3] = thread[3].with_parts([TextPart("dog?"), ToolCallPart("c2", "look", {"q": 2}, "call")])

    async def main() -> None:
        memory = await remembering(InMemoryStore(), semantic_recall={"top_k": 1, "before": before, "after": after})
        await memory.storage.save("t", "ada", thread)
        await memory.reindex()
        await memory.drain()
        agent = friend(memory)
        await agent.generate(f"{word}?", **IDS, memory_options={"last_messages": last})
        models: Any = agent.models
        prompt = models[0].requests[-1].messages
        calls = [
            (at, part.tool_call_id)
            for at, one in enumerate(prompt)
            for part in one.content
            if isinstance(part, PromptToolCall)
        ]
        for at, id in calls:
            assert id == "c1"
            assert prompt[at].content[0].provider_metadata == signed.provider_metadata
            assert [part.tool_call_id for part in prompt[at + 1].content] == [id]
        results = [part for one in prompt for part in one.content if isinstance(part, PromptToolResult)]
        assert len(results) == len(calls)
        assert prompt[0].role == "user"

    anyio.run(main)
