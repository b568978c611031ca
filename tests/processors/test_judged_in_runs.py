"""Guards that judge by sentence in an agent's run: blocks, steps, guards in a row and side by side."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.processors.asking_kit import ANSWER, FIRST, SECOND, TEXTS, THIRD, Blocks, Finder, names
from tests.processors.stream_kit import made, push, texts

from procession.agents.agent import Agent
from procession.messages.chunks import (
    Chunk,
    Finish,
    SourceChunk,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolOutput,
    TripwireChunk,
)
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.memory.memory import Memory
from procession.processors.nested_path import opened
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import tool

pytestmark = pytest.mark.anyio

# -- in an agent's run


@pytest.mark.parametrize("stream_by", ["block", "sentence"])
async def test_a_blocked_answer_leaves_nothing_behind(stream_by: Any) -> None:
    """MOD-005: the reader receives nothing of a segment that was not judged, by default nothing of the block, the tripwire is
    the last chunk, and nothing of the answer is stored."""
    shown: list[str] = []
    during: list[str] = []
    finder = Finder("<bad>", meanwhile=lambda: during.append("".join(shown)))
    store = InMemoryStore()
    pieces = ["Sure, ", "here is ", "the <bad> part ", "and more"]
    agent = Agent(
        "a", model=Blocks(pieces), memory=Memory(store),
        output_processors=[names(finder, "block", stream_by=stream_by)],
    )  # fmt: skip
    chunks: list[Chunk] = []
    async with agent.stream("Hi", thread="t", resource="r") as stream:
        async for chunk in stream.full_stream:
            chunks.append(chunk)
            shown += [chunk.text] if isinstance(chunk, TextDelta) else []
        result = await stream.result()
    assert shown == []
    assert set(during) == {""}
    assert isinstance(chunks[-1], TripwireChunk)
    assert (result.status, result.text) == ("blocked", "")
    assert not [one for one in await store.messages("t") if one.role == "assistant"]


async def test_the_default_is_a_whole_block() -> None:
    """MOD-005: unless a guard is told otherwise nothing of a block is shown before all of it was judged."""
    finder = Finder()
    guard = PIIDetector(detector=finder, redaction="placeholder", phase="output")
    assert guard.stream_by == "block"
    stream = made(guard)
    for piece in (FIRST, SECOND, THIRD):
        assert texts(await push(stream, TextDelta(piece))) == []
    assert "".join(texts(await stream.flush())) == ANSWER.replace("Eva Holm", "[NAME]")


@pytest.mark.parametrize("way", ["generate", "stream"])
@pytest.mark.parametrize("between", [None, SourceChunk(id="s", url="https://a.example"), ToolCall("1", "look", {})])
async def test_the_finished_answer_is_not_asked_about_again(way: str, between: Chunk | None) -> None:
    """What was judged in the stream is not judged again in ``process_output_result``, also in several blocks, which are each
    judged with the end of the one before."""
    finder = Finder("not there")
    blocks = [list(ANSWER), *([between] if between else []), list(THIRD)]

    @tool
    def look() -> str:
        """Look."""
        return "1"

    agent = Agent("a", model=Blocks(*blocks), output_processors=[names(finder)], tools=[look], max_steps=1)
    if way == "generate":
        result = await agent.generate("Hi")
    else:
        async with agent.stream("Hi") as stream:
            result = await stream.result()
    assert result.text == ANSWER + THIRD
    assert len(finder.asked) == len(set(finder.asked))
    assert all(len(asked) < 300 for asked in finder.asked)
    assert finder.asked[-1].endswith(THIRD)


async def test_blocks_that_alternate_are_asked_about_joined() -> None:
    """Where no block was the context of the next, what lies across their border is looked for at the end."""
    finder = Finder("alpha beta")
    pieces: list[Chunk] = [TextStart("0"), TextStart("1"), TextDelta("alpha", "0"), TextDelta(" beta", "1")]

    class Alternating(Blocks):
        async def stream(self, request: Any) -> AsyncIterator[Chunk]:
            for chunk in (*pieces, TextEnd("0"), TextEnd("1"), Finish("stop")):
                yield chunk

    result = await Agent("a", model=Alternating(), output_processors=[names(finder)]).generate("Hi")
    assert result.text == "[NAME]"


async def test_blocks_of_other_steps_are_no_context() -> None:
    """The end of a step ends what is shown to the detector of it; what a retry dropped is no context either."""
    finder = Finder("not there")
    stream = made(names(finder))
    await push(stream, TextDelta(FIRST, "0"))
    await push(stream, TextEnd("0"))
    await push(stream, TextDelta(SECOND, "1"))
    await push(stream, Finish("stop"))
    stream.begin(step_number=1, steps=(), retry_count=0)
    await push(stream, TextDelta(THIRD, "2"))
    stream.discard()
    await push(stream, TextDelta("Anew.", "3"))
    await push(stream, Finish("stop"))
    assert finder.asked == [FIRST + SECOND, "Anew."] or finder.asked == [FIRST, FIRST[-200:] + SECOND, "Anew."]


def looks_for(word: str, strategy: Any) -> RegexFilter:
    """Return a guard of rules."""
    return RegexFilter(id=word, rules=[{"name": word, "pattern": word}], strategy=strategy, phase="output")


@pytest.mark.parametrize("strategies", [("block", "block"), ("block", "redact"), ("redact", "block")])
@settings(max_examples=40)
@given(text=TEXTS, cut=st.integers(1, 50), asking_first=st.booleans(), two=st.booleans())
def test_guards_in_a_row_agree(strategies: Any, text: str, cut: int, asking_first: bool, two: bool) -> None:
    """With guards in a row ``generate`` and ``stream`` come to the same verdict, text and steps, however the answer is cut; no
    word that is blocked or hidden is shown."""

    def row() -> list[Any]:
        asking = names(Finder(), strategies[0], id="asking")
        other = names(Finder("alpha"), strategies[1], id="second") if two else looks_for("alpha", strategies[1])
        return [asking, other] if asking_first else [other, asking]

    async def both() -> None:
        outcomes: list[Any] = []
        for pieces in ([text], [text[at : at + cut] for at in range(0, len(text), cut)]):
            agent = Agent("a", model=Blocks(pieces), output_processors=row())
            async with agent.stream("Hi") as stream:
                shown = "".join([chunk.text async for chunk in stream.full_stream if isinstance(chunk, TextDelta)])
                result = await stream.result()
            outcomes.append((result.status, result.text, [step.text for step in result.steps], result.tripwire))
            assert "Eva Holm" not in shown
            assert "alpha" not in shown
        result = await Agent("a", model=Blocks([text]), output_processors=row()).generate("Hi")
        outcomes.append((result.status, result.text, [step.text for step in result.steps], result.tripwire))
        assert outcomes[0] == outcomes[1] == outcomes[2]

    anyio.run(both)


@pytest.mark.parametrize("strategy", ["redact", "block"])
@pytest.mark.parametrize("way", ["generate", "stream"])
async def test_the_stream_of_an_inner_agent_is_judged_by_sentence(way: str, strategy: str) -> None:
    """What an agent that is a tool says is judged as the answer is, with a context of its own, and not shown before that."""
    finder = Finder()
    shown: list[str] = []
    finder.meanwhile = lambda: during.append("".join(shown))
    during: list[str] = []
    inner = Agent("inner", model=Blocks(list(ANSWER)), description="knows")
    call = call_tool("agent-inner", {"prompt": "Find it."}, id="c1")
    outer = Agent(
        "outer", model=FakeModel([call, "All is done, and there is nothing more to say."]), tools=[inner],
        output_processors=[names(finder, strategy)],
    )  # fmt: skip

    def note(chunk: Chunk) -> None:
        said = opened(chunk)[1] if isinstance(chunk, ToolOutput) else None
        shown.extend([said.text] if isinstance(said, TextDelta) else [])

    if way == "generate":
        result = await outer.generate("Hi", on_chunk=note)
    else:
        async with outer.stream("Hi") as stream:
            async for chunk in stream.full_stream:
                note(chunk)
            result = await stream.result()
    left = ANSWER.replace("Eva Holm", "[NAME]")
    assert "".join(shown) == (left if strategy == "redact" else FIRST if way == "stream" else "")
    assert result.status == ("completed" if strategy == "redact" else "blocked")
    assert during[0] == ""
    assert FIRST.startswith(during[1])  # how much of it has been read by then is the reader's business
    assert "Eva Holm" not in str(result.steps)
    assert not any(asked.startswith(THIRD) for asked in finder.asked)
