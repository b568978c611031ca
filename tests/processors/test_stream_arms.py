"""Branches in a stream: whose verdict counts, what becomes of data and of held text, and text guards side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from tests.processors.kit import at
from tests.processors.stream_kit import (
    ARMS,
    Holder,
    arm_of,
    deltas,
    made,
    on_text,
    push,
    same,
    side_by_side,
    streamed,
    texts,
)

from procession.errors import ProcessorError
from procession.messages.chunks import Chunk, DataChunk, TextEnd
from procession.messages.text.patterns import Rule
from procession.messages.text.spans import Span
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.text_guard import TextGuard
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire
from procession.workflows.nodes import Pick

each_kind = pytest.mark.parametrize("kind", ARMS)


def stop(reason: str, *, retry: bool = False) -> Callable[[Any], Any]:
    """Return an act that stops the run."""

    async def act(ctx: Any) -> Any:
        ctx.abort(reason, retry=retry)

    return act


@pytest.mark.parametrize("hard_first", [True, False])
async def test_a_hard_block_beats_a_retry(hard_first: bool) -> None:
    """Of two verdicts on one chunk the one that stops the run counts, in whichever order they were declared."""
    hard = at("process_output_stream", stop("never"), id="hard")
    soft = at("process_output_stream", stop("again", retry=True), id="soft")
    with pytest.raises(Tripwire) as caught:
        await streamed(deltas("x"), side_by_side(*([hard, soft] if hard_first else [soft, hard])))
    assert caught.value.info.processor_id == "hard"


async def test_declaration_decides_among_equals() -> None:
    """Of two blocks the first declared counts."""
    arms = [at("process_output_stream", stop("no"), id=id) for id in "ab"]
    with pytest.raises(Tripwire) as caught:
        await streamed(deltas("x"), side_by_side(*arms))
    assert caught.value.info.processor_id == "a"


async def test_arms_that_wait_run_at_the_same_time() -> None:
    """Once an arm was seen to wait, arms run at the same time: one may wait for another."""
    b_ran = anyio.Event()

    async def first(ctx: Any) -> Any:
        await (b_ran.wait() if ctx.chunk.text == "two" else anyio.sleep(0.005))
        return ctx.chunk

    async def second(ctx: Any) -> Any:
        if ctx.chunk.text == "two":
            b_ran.set()
        return ctx.chunk

    arms = (at("process_output_stream", first, id="a"), at("process_output_stream", second, id="b"))
    with anyio.fail_after(10):
        assert texts(await streamed(deltas("one", "two"), side_by_side(*arms))) == ["one", "two"]


async def test_arms_that_only_took_long_go_on_in_place() -> None:
    """A busy machine makes every chunk take long now and then: arms that wait for nothing get no tasks for that."""
    tasks: dict[str, int] = {}

    async def slow(ctx: Any) -> Any:
        tasks[ctx.chunk.text] = anyio.get_current_task().id
        if ctx.chunk.text == "one":
            time.sleep(0.002)  # noqa: ASYNC251  (busy, not waiting)
        return ctx.chunk

    arms = (at("process_output_stream", slow, id="a"), at("process_output_stream", lambda ctx: ctx.chunk, id="b"))
    assert texts(await streamed(deltas("one", "two", "three"), side_by_side(*arms))) == ["one", "two", "three"]
    host = anyio.get_current_task().id
    assert tasks["one"] == tasks["three"] == host != tasks["two"]


async def test_the_first_block_cancels_the_others() -> None:
    """A block cancels arms that still wait, which are waited for."""
    ended: list[str] = []

    async def slow(ctx: Any) -> Any:
        try:
            await anyio.sleep(0.005 if ctx.chunk.text == "one" else 1000)
        except anyio.get_cancelled_exc_class():
            ended.append("slow")
            raise
        return ctx.chunk

    async def strict(ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        if ctx.chunk.text == "two":
            ctx.abort("no")
        return ctx.chunk

    arms = (at("process_output_stream", slow, id="a"), at("process_output_stream", strict, id="b"))
    with anyio.fail_after(10), pytest.raises(Tripwire) as caught:
        await streamed(deltas("one", "two"), side_by_side(*arms))
    assert (caught.value.info.processor_id, ended) == ("b", ["slow"])


@each_kind
async def test_an_arm_that_fails_stops_the_run(kind: str) -> None:
    """An exception in an arm is the processor's error; one that skips leaves the chunk to the others."""

    def broken(text: str) -> str:
        raise ValueError

    with pytest.raises(ProcessorError) as caught:
        await streamed(deltas("x", "y"), side_by_side(arm_of(kind, same, "a"), arm_of(kind, broken, "b")))
    assert caught.value.processor_id == "b"
    skipping = side_by_side(arm_of(kind, str.upper, "a"), arm_of(kind, broken, "b", on_error="skip"))
    assert texts(await streamed(deltas("x", "y"), skipping)) == ["X", "Y"]


# -- data and held text


@pytest.mark.parametrize("later", [False, True])
async def test_data_in_arms(later: bool) -> None:
    """``data-*`` chunks are given to those arms that opted in."""
    seen: list[str] = []

    def note(ctx: Any) -> Any:
        seen.append(ctx.processor_id)
        return ctx.chunk

    async def note_later(ctx: Any) -> Any:
        return note(ctx)

    act = note_later if later else note
    arms = (
        at("process_output_stream", act, id="a", process_data_parts=True), at("process_output_stream", act, id="b"),
    )  # fmt: skip
    data = DataChunk("data-x", 1)
    assert await streamed([data], side_by_side(*arms)) == [data]
    assert seen == ["a"]


async def test_data_does_not_come_back_to_its_sender_in_an_arm() -> None:
    """A processor in an arm that wrote data does not receive it; the other arms do."""
    seen: list[str] = []

    def note(ctx: Any) -> Any:
        seen.append(ctx.processor_id)
        return ctx.chunk

    arms = [at("process_output_stream", note, id=id, process_data_parts=True) for id in "ab"]
    await push(made(side_by_side(*arms)), DataChunk("data-x", 1), sender="a")
    assert seen == ["b"]


async def test_held_text_of_an_arm_goes_through_those_behind() -> None:
    """What an arm holds is let go before the chunk that ends its block, and passes what stands behind the branches."""
    workflow = side_by_side(Holder(id="held"), on_text(same, id="b"), merge="priority").then(on_text(str.upper, id="c"))
    out = await streamed([*deltas("a", "b"), TextEnd()], workflow)
    assert out[-1] == TextEnd()
    assert "[AB]" in texts(out)


class Rules(TextGuard):
    """A guard of one word."""

    def __init__(self, id: str, word: str, strategy: str = "redact") -> None:
        super().__init__(id=id, strategy=strategy)
        self.rules = (Rule(id, word),)


async def test_text_guards_side_by_side_are_one_guard() -> None:
    """Text guards that no map chooses between hide what any of them finds, however the text is cut."""
    out = await streamed(
        deltas("the sec", "ret of", " the par", "rot"), side_by_side(Rules("a", "secret"), Rules("b", "parrot"))
    )
    assert "".join(texts(out)) == "the [A] of the [B]"


async def test_each_guard_of_a_group_speaks_for_itself() -> None:
    """What guards side by side find is reported under their own ids, and a block is its own guard's."""
    scope = RequestScope()
    await streamed(deltas("secret parrot"), side_by_side(Rules("a", "secret"), Rules("b", "parrot")), scope=scope)
    assert [(one.processor_id, one.outcome) for one in scope.violations] == [("a", "modified"), ("b", "modified")]
    with pytest.raises(Tripwire) as caught:
        await streamed(deltas("secret parrot"), side_by_side(Rules("a", "secret"), Rules("b", "parrot", "block")))
    assert caught.value.info.processor_id == "b"


async def test_a_map_between_text_guards_chooses() -> None:
    """With a map text guards stay arms of their own, and what is picked goes on."""
    workflow = side_by_side(Rules("a", "secret"), on_text(same, id="b")).map(Pick("processor:a"))
    out: list[Chunk] = await streamed([*deltas("the secret is out"), TextEnd()], workflow)
    assert "".join(texts(out)) == "the [A] is out"


class Gated:
    """A detector that finds something in every text, or nothing, and answers once *gate* is set; sets *done* then."""

    def __init__(self, finds: bool, gate: anyio.Event | None = None, done: anyio.Event | None = None) -> None:
        self.finds, self.gate, self.done = finds, gate, done
        self.ended: list[str] = []

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Wait, and judge the text."""
        try:
            await (self.gate.wait() if self.gate is not None else anyio.lowlevel.checkpoint())
        except anyio.get_cancelled_exc_class():
            self.ended.append("cancelled")
            raise
        self.ended.append("judged")
        if self.done is not None:
            self.done.set()
        return Verdict(spans=(Span(0, len(text), "name", "name", 1.0),) if self.finds else ())


def asking(id: str, detector: Gated, strategy: Any = "block") -> PIIDetector:
    """Return a guard that asks *detector*."""
    return PIIDetector(id=id, detector=detector, strategy=strategy)


async def test_a_block_cancels_arms_that_ask_about_a_whole_block() -> None:
    """A guard that blocks at the end of a text block cancels one that still asks somebody, in the arm before it."""
    never, at_once = Gated(False, gate=anyio.Event()), Gated(True)
    arms = side_by_side(asking("a", never), asking("b", at_once)).map(Pick("processor:a"))
    with anyio.fail_after(10), pytest.raises(Tripwire) as caught:
        await streamed([*deltas("one"), TextEnd()], arms)
    assert (caught.value.info.processor_id, never.ended, at_once.ended) == ("b", ["cancelled"], ["judged"])


@pytest.mark.parametrize("mapped", [True, False])
async def test_arms_that_ask_do_so_at_the_same_time(mapped: bool) -> None:
    """Guards side by side that ask somebody about a block do not wait for each other, with or without a map."""
    answered = anyio.Event()
    first, second = Gated(False, gate=answered), Gated(False, done=answered)
    arms = side_by_side(asking("a", first), asking("b", second, "redact"))
    with anyio.fail_after(10):
        out = await streamed([*deltas("o", "ne"), TextEnd()], arms.map(Pick("processor:b")) if mapped else arms)
    assert "".join(texts(out)) == "one"
    assert (first.ended, second.ended) == (["judged"], ["judged"])


@pytest.mark.parametrize("lenient", [True, False])
async def test_a_guard_that_fails_beside_others_that_ask(lenient: bool) -> None:
    """A failed guard of a group cancels the others, unless it may be left out: then theirs count."""

    class Broken(Gated):
        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            raise ValueError("down")

    other = Gated(True, gate=None if lenient else anyio.Event())
    broken = PIIDetector(id="b", detector=Broken(False), strategy="block", on_error="skip" if lenient else "stop")
    with anyio.fail_after(10), pytest.raises(Tripwire) as caught:
        await streamed([*deltas("one"), TextEnd()], side_by_side(asking("a", other), broken))
    told = caught.value.info
    if lenient:
        assert (told.processor_id, other.ended) == ("a", ["judged"])
    else:
        assert (told.processor_id, told.metadata, other.ended) == ("b", {"kind": "guard_failed"}, ["cancelled"])
