"""D18: which of several text guards stops an answer does not depend on how it is cut, nor on the way to call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procession.agents.agent import Agent
from procession.messages.chunks import Chunk, Finish, SourceChunk, TextDelta, TextEnd, TextStart
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.memory.memory import Memory
from procession.processors.processor import processor
from procession.storage.memory import InMemoryStore
from procession.testing.recorder import record
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

WORDS = ("alpha", "beta", "gamma", "alphabet", "al", "pha", " ", ". ", "and so on ", "betagamma")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map("".join)


class Blocks:
    """A model that answers in several blocks of text, in pieces where it streams, with a source between some."""

    id = "blocks"

    def __init__(self, blocks: Sequence[Sequence[str]], parted: bool = False) -> None:
        self.blocks = blocks
        self.parted = parted

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        """Send the blocks."""
        for number, pieces in enumerate(self.blocks):
            if self.parted and number:
                yield SourceChunk(id=str(number), url="https://a.example")
            yield TextStart(str(number))
            for piece in pieces if request.streaming else ["".join(pieces)]:
                yield TextDelta(piece, str(number))
            yield TextEnd(str(number))
        yield Finish("stop")


def looks_for(word: str, strategy: Any, id: str | None = None) -> RegexFilter:
    """Return a guard that looks for a word."""
    return RegexFilter(id=id or word, rules=[{"name": word, "pattern": word}], strategy=strategy, phase="output")


def side_by_side(*guards: Any) -> Any:
    """Return guards side by side."""
    return create_workflow("beside", kind="processor").parallel(list(guards)).commit()


def pieces(text: str, places: Sequence[int]) -> list[str]:
    """Cut *text*."""
    edges = [0, *sorted(places), len(text)]
    return [text[start:end] for start, end in zip(edges, edges[1:], strict=False)]


@st.composite
def answers(draw: st.DrawFn) -> list[list[str]]:
    """Draw up to three blocks, each cut somewhere."""
    return [
        pieces(text, draw(st.lists(st.integers(0, len(text)), max_size=6)))
        for text in draw(st.lists(TEXTS, min_size=1, max_size=3))
    ]


@st.composite
def rows(draw: st.DrawFn) -> list[tuple[bool, list[tuple[str, str]]]]:
    """Draw two or three entries of a list: a guard, or two side by side, each with a word and a strategy."""
    strategies = st.sampled_from(["block", "block", "redact", "warn"])
    words = list(draw(st.permutations(["alpha", "beta", "gamma"])))
    guards = [(word, draw(strategies)) for word in words]
    if draw(st.booleans()):
        return [(False, [each]) for each in guards]
    return (
        [(True, guards[:2]), (False, guards[2:])] if draw(st.booleans()) else [(False, guards[:1]), (True, guards[1:])]
    )


def made(row: list[tuple[bool, list[tuple[str, str]]]]) -> list[Any]:
    """Return the processors of a row."""
    return [
        side_by_side(*(looks_for(*each) for each in guards)) if beside else looks_for(*guards[0])
        for beside, guards in row
    ]


async def outcome(agent: Agent, store: InMemoryStore, way: str) -> tuple[Any, list[str]]:
    """Return what a call came to, what is stored, and the texts that a reader was shown."""
    shown: list[str] = []
    if way == "generate":
        result = await agent.generate("Hi", thread=way, resource="r")
    else:
        async with agent.stream("Hi", thread=way, resource="r") as stream:
            shown = [chunk.text for chunk in await record(stream.full_stream) if isinstance(chunk, TextDelta)]
            result = await stream.result()
    stored = [message.text for message in await store.messages(way)]
    return (result.status, result.text, [step.text for step in result.steps], result.tripwire, stored), shown


@settings(max_examples=80)
@given(blocks=answers(), row=rows(), parted=st.booleans())
def test_guards_in_a_row_agree(blocks: list[list[str]], row: Any, parted: bool) -> None:
    """The verdict (whose, and why), texts, steps and what is stored are the same; no word that is hidden or blocked is shown,
    also across blocks between which nothing comes."""

    async def both() -> None:
        store = InMemoryStore()
        agent = Agent("a", model=Blocks(blocks, parted), memory=Memory(store), output_processors=made(row))
        whole, _ = await outcome(agent, store, "generate")
        streamed, shown = await outcome(agent, store, "stream")
        assert streamed == whole
        if not any(strategy == "warn" for _, guards in row for _, strategy in guards):
            texts = shown if parted else ["".join(shown)]
            assert not any(word in text for text in texts for word in ("alpha", "beta", "gamma"))

    anyio.run(both)


@pytest.mark.parametrize("cut", [["one gamma then ", "alpha"], ["one gamma then alpha"], list("one gamma then alpha")])
@pytest.mark.parametrize("between", [False, True])
async def test_the_first_match_in_the_text_counts(cut: list[str], between: bool) -> None:
    """The second guard's match comes first, so that it is the second guard that blocks, past what stands between."""
    seen: list[str] = []

    @processor(hook="process_output_stream", id="between")
    def look(ctx: Any) -> Any:
        seen.extend([ctx.chunk.text] if isinstance(ctx.chunk, TextDelta) else [])
        return ctx.chunk

    guards = [looks_for("alpha", "block"), *([look] if between else []), looks_for("gamma", "block")]
    store = InMemoryStore()
    agent = Agent("a", model=Blocks([cut]), memory=Memory(store), output_processors=guards)
    for way in ("generate", "stream"):
        (status, text, _, tripwire, stored), shown = await outcome(agent, store, way)
        assert (status, text, stored) == ("blocked", "", [])
        assert (tripwire.processor_id, tripwire.reason) == ("gamma", tripwire.reason)
        assert "gamma" not in "".join(shown)
    assert "alpha" not in "".join(seen)


async def test_only_one_guard_is_told_of_the_verdict() -> None:
    """A verdict that another one's earlier match makes void is no violation, and its callback hears nothing."""
    told: list[str] = []
    first, second = looks_for("alpha", "block"), looks_for("gamma", "block")
    first.on_violation = second.on_violation = lambda violation: told.append(violation.processor_id)
    result = await Agent("a", model=Blocks([["gamma, alpha"]]), output_processors=[first, second]).generate("Hi")
    assert told == ["gamma"]
    assert [one.processor_id for one in result.violations] == ["gamma"]


class Counting:
    """A detector that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Find nothing."""
        self.asked.append(text)
        return Verdict({}, ())


@pytest.mark.parametrize("way", ["generate", "stream"])
async def test_a_guard_that_asks_is_not_asked_about_half_a_text(way: str) -> None:
    """Where a guard before it blocks, a guard that asks a model has no part in it, either way."""
    detector = Counting()
    asking = PIIDetector(detector=detector, phase="output")
    store = InMemoryStore()
    agent = Agent(
        "a", model=Blocks([list("so many words, then alpha")]), memory=Memory(store),
        output_processors=[looks_for("alpha", "block"), asking],
    )  # fmt: skip
    (_, _, _, tripwire, _), _ = await outcome(agent, store, way)
    assert tripwire.processor_id == "alpha"
    assert detector.asked == []
