"""D18 for the text of sub-agents: in whatever calls it stands, each guard does to it what it does to an answer's own text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.processors.stream_kit import push
from tests.processors.test_every_guard_streams import ARRANGEMENTS, EVERY, SHORT, TEXTS, Shown, plan_of, streams, whole

from procession.messages.chunks import Chunk, StepFinish, TextDelta, TextEnd, TextStart, ToolResult
from procession.messages.message_list import MessageList
from procession.processors.nested_path import Calls, opened, wrapped
from procession.processors.stream import StreamChain
from procession.processors.stream_plan import StreamPlan
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire

ONE: Calls = (("c1", "agent-one"),)
TWO: Calls = (("c2", "agent-two"),)
DEEP: Calls = (("c3", "agent-three"), ("p1", "agent-inner"))
FINISHED = "the text of a step as the agent itself tells it"


async def _sent(plan: StreamPlan, sent: Sequence[tuple[Calls, Chunk]]) -> dict[Calls, Shown]:
    """Send chunks of several nested streams and return what a reader has of each; their calls end after them."""
    stream = StreamChain(plan, RequestScope(run_id="r"), MessageList())
    stream.begin(step_number=0, steps=(), retry_count=0)
    found = {calls: Shown() for calls in (ONE, TWO, DEEP)}

    def take(out: list[Chunk]) -> None:
        for one in out:
            calls, inner = opened(one)
            if isinstance(inner, TextDelta):
                texts = found[calls].texts
                texts[inner.id] = texts.get(inner.id, "") + inner.text
            elif calls:
                found[calls].others.append(inner)

    try:
        for calls, chunk in sent:
            take(await push(stream, wrapped(calls, chunk)))
        for id, name in (calls[0] for calls in (ONE, TWO, DEEP)):
            take(await push(stream, ToolResult(id, name, {}, "done")))
        take(await stream.flush())
    except Tripwire:
        for shown in found.values():
            shown.tripped = True
    return found


def holds(name: str, arrangement: str, drawn: dict[Calls, dict[str, str]], sent: Sequence[tuple[Calls, Chunk]]) -> None:
    """Check D18 for each block of each nested stream."""
    guard = EVERY[name]
    found = anyio.run(_sent, plan_of(name, arrangement), sent)
    wanted = {calls: {id: whole(guard, text) for id, text in texts.items()} for calls, texts in drawn.items()}
    stops = any(each.stops for blocks in wanted.values() for each in blocks.values())
    for calls, blocks in wanted.items():
        shown = found[calls]
        assert shown.tripped == stops
        for id, want in blocks.items():
            got = shown.texts.get(id, "")
            if stops:
                assert drawn[calls][id].startswith(got)
                assert not want.stops or len(got) <= want.safe, "part of what is blocked comes out"
            else:
                assert got == want.text
        if not stops:
            given = [chunk for where, chunk in sent if where == calls and not isinstance(chunk, TextDelta)]
            *others, finish = given if given and isinstance(given[-1], StepFinish) else [*given, None]
            assert shown.others[: len(others)] == others
            if finish is not None:  # it tells the text as it was shown, whoever wrote it
                (told,) = shown.others[len(others) :]
                assert isinstance(told, StepFinish)
                assert sorted(told.text) == sorted("".join(shown.texts.values()))


@st.composite
def nested_streams(draw: st.DrawFn) -> tuple[dict[Calls, dict[str, str]], list[tuple[Calls, Chunk]]]:
    """Draw up to three streams that alternate, some of which end with a step and some with their call alone."""
    texts: dict[Calls, dict[str, str]] = {}
    left: dict[Calls, list[Chunk]] = {}
    for calls in draw(st.lists(st.sampled_from([ONE, TWO, DEEP]), min_size=1, max_size=3, unique=True)):
        texts[calls], chunks = draw(streams())
        left[calls] = [*chunks, StepFinish("stop", text=FINISHED)] if draw(st.booleans()) else chunks
    sent: list[tuple[Calls, Chunk]] = []
    while left:
        calls = draw(st.sampled_from(sorted(left)))
        sent.append((calls, left[calls].pop(0)))
        if not left[calls]:
            del left[calls]
    return texts, sent


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=4)
@given(drawn=nested_streams())
def test_no_cut_changes_what_a_guard_does_to_nested_text(
    name: str, arrangement: str, drawn: tuple[dict[Calls, dict[str, str]], list[tuple[Calls, Chunk]]]
) -> None:
    """The joined output of each nested block is the guard of the whole block, with streams that alternate."""
    holds(name, arrangement, *drawn)


@pytest.mark.parametrize("name", EVERY)
def test_every_cut_of_short_nested_texts(name: str) -> None:
    """All ways of cutting a nested text of a few characters give the same."""
    for text in SHORT[:3]:
        places = range(1, len(text))
        for choice in range(2 ** len(places)):
            cut = [0, *(place for bit, place in enumerate(places) if choice >> bit & 1), len(text)]
            pieces = [TextDelta(text[start:end]) for start, end in itertools.pairwise(cut)]
            holds(name, "alone", {ONE: {"text": text}}, [(ONE, each) for each in (TextStart(), *pieces, TextEnd())])


@settings(max_examples=30)
@given(text=TEXTS, places=st.lists(st.integers(0, 60), max_size=6))
@pytest.mark.parametrize("name", ["pii redact", "regex redact", "codes redact", "regex filter", "unicode"])
def test_a_block_that_nobody_ends_is_let_go_with_its_call(name: str, text: str, places: list[int]) -> None:
    """A tool that passes on text alone loses none of it: what is held goes before the result of the call."""
    edges = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    pieces = [TextDelta(text[start:end]) for start, end in itertools.pairwise(edges)]
    holds(name, "alone", {ONE: {"text": text}}, [(ONE, piece) for piece in pieces])
