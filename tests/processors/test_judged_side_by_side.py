"""Guards side by side in a ``.parallel()`` that judge a streamed answer by sentence: one window, each its own findings."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.processors.asking_kit import ANSWER, FIRST, SECOND, TEXTS, THIRD, Blocks, Finder, names
from tests.processors.stream_kit import deltas, made, push, streamed, texts

from procession.agents.agent import Agent
from procession.messages.chunks import SourceChunk, TextDelta
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio


def group(*guards: Any) -> Any:
    """Return guards side by side."""
    return create_workflow("beside", kind="processor").parallel(list(guards)).commit()


def looks_for(word: str, strategy: Any, **options: Any) -> RegexFilter:
    """Return a guard of rules."""
    rule = {"name": word, "pattern": word, "replacement": "<word>"}
    return RegexFilter(id=word, rules=[rule], strategy=strategy, phase="output", stream_carryover_size=1, **options)


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_each_is_asked_by_sentence_and_their_findings_are_united(size: int) -> None:
    """Each detector is asked about each sentence, what either finds is hidden, and what rules find is, too."""
    finder, places = Finder(), Finder("river")
    beside = group(names(finder, id="a"), names(places, id="b"), looks_for("afternoon", "redact"))
    pieces = [ANSWER[at : at + size] for at in range(0, len(ANSWER), size)]
    out = "".join(texts(await streamed(deltas(*pieces), beside)))
    left = ANSWER.replace("Eva Holm", "[NAME]").replace("river", "[NAME]").replace("afternoon", "<word>")
    assert out == left
    assert finder.asked == places.asked
    assert [asked[-9:] for asked in finder.asked] == [FIRST[-9:], SECOND[-9:], THIRD[-9:]]


async def test_a_sentence_is_let_go_once_all_have_judged_it() -> None:
    """The reader has a sentence when the slowest detector has answered; nothing of it before that (D18)."""
    shown: list[str] = []
    during: list[str] = []
    slow = Finder("not there", meanwhile=lambda: during.append("".join(shown)))
    stream = made(group(names(Finder("nor this"), id="a"), names(slow, id="b")))
    for character in ANSWER:
        shown += texts(await push(stream, TextDelta(character)))
    assert "".join(shown) == FIRST + SECOND
    shown += texts(await stream.flush())
    assert "".join(shown) == ANSWER
    assert during == ["", FIRST, FIRST + SECOND]


@pytest.mark.parametrize(
    "strategies", [("redact", "redact"), ("block", "redact"), ("redact", "block"), ("warn", "block")]
)
@settings(max_examples=40)
@given(text=TEXTS, cut=st.integers(1, 50), parted=st.booleans())
def test_no_cut_changes_what_a_group_does(strategies: Any, text: str, cut: int, parted: bool) -> None:
    """However an answer is cut, in ``generate`` and ``stream``, a group comes to the same verdict and text, is asked the same,
    and shows no word that is blocked or hidden."""
    blocks = [text, "and then alpha. "] if parted else [text]
    source = SourceChunk(id="s", url="https://a.example")

    async def outcome(size: int, way: str) -> Any:
        finder = Finder()
        beside = group(names(finder, strategies[0], id="asking"), looks_for("alpha", strategies[1]))
        pieces: list[Any] = [[each[at : at + size] for at in range(0, len(each), size)] for each in blocks]
        agent = Agent(
            "a", model=Blocks(pieces[0], *([source, pieces[1]] if parted else [])), output_processors=[beside]
        )
        shown = ""
        if way == "generate":
            result = await agent.generate("Hi")
        else:
            async with agent.stream("Hi") as stream:
                shown = "".join([chunk.text async for chunk in stream.full_stream if isinstance(chunk, TextDelta)])
                result = await stream.result()
        for word, strategy in zip(("Eva Holm", "alpha"), strategies, strict=True):
            assert strategy == "warn" or word not in shown
        trip = result.tripwire and (result.tripwire.processor_id, result.tripwire.reason)
        return result.status, result.text, trip, finder.asked

    async def main() -> None:
        whole = await outcome(10_000, "generate")
        for size, way in ((10_000, "stream"), (cut, "stream"), (1, "stream")):
            assert await outcome(size, way) == whole

    anyio.run(main)


@pytest.mark.parametrize("order", [0, 1])
async def test_the_first_match_in_the_text_stops_the_run(order: int) -> None:
    """Of a rule's and a detector's match the one that comes first counts, sentence by sentence, wherever the guards stand: a
    sentence that a rule's match has cut short is not asked about."""
    guards = [names(Finder(), "block", id="asking"), looks_for("afternoon", "block")]
    earlier = FIRST + SECOND.replace("in the afternoon", "at four") + " That is the afternoon."
    for text, first in (
        (earlier, "asking"),
        (ANSWER, "afternoon"),
        (FIRST + " In the afternoon it was." + SECOND, "afternoon"),
    ):
        for size in (1, 1000):
            pieces = [text[at : at + size] for at in range(0, len(text), size)]
            with pytest.raises(Tripwire) as tripwire:
                await streamed(deltas(*pieces), group(*(guards if order else guards[::-1])))
            assert tripwire.value.info.processor_id == first


async def test_one_that_fails_is_left_out_and_the_others_count() -> None:
    """With ``on_error="skip"`` a detector that is down is left out; with ``stop`` nothing unjudged is shown (D17)."""

    class Down(Finder):
        async def detect(self, text: str, *, scope: Any = None) -> Any:
            raise RuntimeError("down")

    scope = RequestScope()
    lenient = group(names(Down(), id="down", on_error="skip"), names(Finder(), id="up"))
    assert "".join(texts(await streamed(deltas(*ANSWER), lenient, scope=scope))) == ANSWER.replace("Eva Holm", "[NAME]")
    assert {(one.processor_id, one.outcome) for one in scope.violations} == {("down", "error"), ("up", "modified")}
    stream = made(group(names(Down(), id="down"), names(Finder(), id="up")))
    with pytest.raises(Tripwire) as tripwire:
        for character in ANSWER:
            assert texts(await push(stream, TextDelta(character))) == []
    assert tripwire.value.info.metadata == {"kind": "guard_failed"}


async def test_those_that_only_report_are_asked_about_the_block() -> None:
    """A guard that warns, and a monitor, hold nothing back and are asked once, about all of the block."""
    scope = RequestScope()
    warning, watching, hiding = Finder("river"), Finder("river"), Finder()
    beside = group(
        names(warning, "warn", id="warning"), names(watching, id="monitor", mode="monitor"), names(hiding, id="hiding"),
    )  # fmt: skip
    out = "".join(texts(await streamed(deltas(*ANSWER), beside, scope=scope)))
    for waiting in scope.pending:
        await waiting
    assert out == ANSWER.replace("Eva Holm", "[NAME]")
    assert warning.asked == watching.asked == [ANSWER]
    assert len(hiding.asked) == 3
    assert {(one.processor_id, one.outcome) for one in scope.violations} == {
        ("warning", "warned"), ("monitor", "would_block"), ("hiding", "modified"),
    }  # fmt: skip


@pytest.mark.parametrize("other", ["block", "filter"])
async def test_one_that_needs_the_whole_block_holds_it_for_all(other: str) -> None:
    """Where one of those that ask judges whole blocks, or drops them, the others do so with it."""
    finder, second = Finder(), Finder("not there")
    options: dict[str, Any] = {"stream_by": "block"} if other == "block" else {"strategy": "filter"}
    stream = made(group(names(finder, id="a"), names(second, id="b", **options)))
    for character in ANSWER:
        assert texts(await push(stream, TextDelta(character))) == []
    assert "".join(texts(await stream.flush())) == ANSWER.replace("Eva Holm", "[NAME]")
    assert finder.asked == second.asked == [ANSWER]


async def test_what_lies_across_two_blocks_is_looked_for_at_the_end() -> None:
    """A group judges each block by itself, so that the finished answer is looked at across them."""
    blocks: list[Any] = [["Ask Eva"], SourceChunk(id="s", url="https://a.example"), [" Holm now."]]
    agent = Agent(
        "a", model=Blocks(*blocks), output_processors=[group(names(Finder(), id="a"), names(Finder("x"), id="b"))]
    )
    assert (await agent.generate("Hi")).text == "Ask [NAME] now."
