"""What a reader of a stream may rely on, whatever stands between two pieces of text and whatever fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import pytest
from tests.processors.kit import at
from tests.processors.stream_kit import arm_of, deltas, made, on_text, push, same, side_by_side, streamed, texts

from procession.agents.agent import Agent
from procession.errors import MergeConflict, ProcessorDefinitionError, ProcessorError
from procession.messages.chunks import (
    Chunk,
    DataChunk,
    FileChunk,
    Finish,
    RawChunk,
    ReasoningDelta,
    ResponseMetadata,
    SourceChunk,
    TextDelta,
    TextEnd,
    TextStart,
    ToolInputStart,
)
from procession.messages.text.spans import Span
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.processor import Processor
from procession.processors.text_guard import TextGuard
from procession.processors.utility.unicode import UnicodeNormalizer
from procession.steps.signals import Tripwire
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio


class Model:
    """A model whose chunks are written down, call by call."""

    id = "written"

    def __init__(self, *calls: Sequence[Chunk]) -> None:
        self.calls = list(calls)

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        """Send the chunks of the next call; the last one again where there is none."""
        chunks = self.calls.pop(0) if len(self.calls) > 1 else self.calls[0]
        for chunk in chunks:
            yield chunk


async def told(model: Model, *guards: Any, **options: Any) -> tuple[list[Chunk], Any]:
    """Return what the reader of a stream is told, and the result."""
    agent = Agent("agent", model=model, output_processors=list(guards), **options)
    out: list[Chunk] = []
    async with agent.stream("Hi") as stream:
        async for chunk in stream:
            out.append(chunk)
        return out, await stream.result()


def pii(**options: Any) -> PIIDetector:
    """Return a guard that hides."""
    return PIIDetector(redaction="placeholder", phase="output", **options)


def guards_of(*guards: Any, id: str) -> Any:
    """Return a workflow of guards one after the other."""
    workflow: Any = create_workflow(id, kind="processor")
    for guard in guards:
        workflow = workflow.then(guard)
    return workflow.commit()


BETWEEN = (
    SourceChunk(id="s", url="https://a.example"),
    FileChunk("AAAA", "image/png"),
    ReasoningDelta("hm", "r"),
    ToolInputStart("t", "look"),
    RawChunk({}),
    DataChunk("data-x", 1),
    ResponseMetadata(id="r"),
    TextStart("0"),
    TextDelta("other text. ", "9"),
)


# -- what may come between two pieces of a block


@pytest.mark.parametrize("between", BETWEEN, ids=lambda chunk: chunk.type)
async def test_nothing_between_two_pieces_lets_a_match_through(between: Chunk) -> None:
    """A chunk in the middle of a block passes held text, so that the match that it parts is hidden all the same."""
    chunks = [TextStart("0"), TextDelta("to eva@exam", "0"), between, TextDelta("ple.net now", "0"), TextEnd("0")]
    out, result = await told(Model([*chunks, Finish("stop")]), pii())
    shown = "".join(chunk.text for chunk in out if isinstance(chunk, TextDelta) and chunk.id == "0")
    assert shown == "to [EMAIL] now"
    assert "to [EMAIL] now" in result.text
    assert type(between) is ResponseMetadata or any(type(chunk) is type(between) for chunk in out)


@pytest.mark.parametrize("between", BETWEEN, ids=lambda chunk: chunk.type)
async def test_nothing_between_two_pieces_unblocks(between: Chunk) -> None:
    """A guard that blocks finds a match in whose middle another chunk comes, and the reader has nothing of it."""
    chunks = [TextStart("0"), TextDelta("to eva@exam", "0"), between, TextDelta("ple.net now", "0"), TextEnd("0")]
    out, result = await told(Model([*chunks, Finish("stop")]), PIIDetector(strategy="block", phase="output"))
    assert (result.status, result.text) == ("blocked", "")
    assert not any("eva" in chunk.text for chunk in out if isinstance(chunk, TextDelta))


@pytest.mark.parametrize("last", [ResponseMetadata(id="r"), RawChunk({}), TextStart("9")], ids=lambda chunk: chunk.type)
@pytest.mark.parametrize("end", [[], [Finish("tool-calls")], [Finish("stop")]], ids=["none", "tool-calls", "stop"])
async def test_no_end_of_a_stream_loses_its_tail(last: Chunk, end: list[Chunk]) -> None:
    """Held text is let go at the end of the answer, whatever came last and however it ended."""
    model = Model([TextStart("0"), TextDelta("see abc eva@exam", "0"), last, *end])
    out, result = await told(model, pii(), max_steps=1)
    assert "".join(texts(out)) == result.text == "see abc eva@exam"


def two_blocks(*between: Chunk, starts: bool = True) -> list[Chunk]:
    """Return two blocks of text with a match across their border."""
    begin: list[Chunk] = [TextStart("0")] if starts else []
    again: list[Chunk] = [TextStart("1")] if starts else []
    return [
        *begin, TextDelta("to eva@exam", "0"), TextEnd("0"), *between, *again, TextDelta("ple.net now", "1"), TextEnd("1"),
        Finish("stop"),
    ]  # fmt: skip


@pytest.mark.parametrize("starts", [True, False])
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("strategy", ["redact", "block", "filter"])
async def test_blocks_that_follow_each_other_are_one_text(strategy: str, beside: bool, starts: bool) -> None:
    """A match across the border of two blocks is neither shown nor kept: to guards, and behind them, they are one block."""
    guards: list[Any] = [pii(strategy=strategy)]
    if beside:
        guards = [guards_of(side_by_side(*guards, pii(id="two", detection_types=["iban"])).commit(), id="both")]
    out, result = await told(Model(two_blocks(starts=starts)), *guards)
    shown = "".join(texts(out))
    wanted = {"redact": "to [EMAIL] now", "block": "", "filter": ""}[strategy]
    assert (result.status, result.text) == ("blocked" if strategy == "block" else "completed", wanted)
    assert shown == wanted or (strategy == "block" and shown in "to ")
    if strategy == "redact":
        kinds = [chunk.type for chunk in out if chunk.type.startswith("text-") and chunk.type != "text-delta"]
        assert kinds == (["text-start", "text-end"] if starts else ["text-end"])
        assert [part.text for message in result.messages for part in message.parts] == [wanted]


@pytest.mark.parametrize("strategy", ["redact", "block"])
async def test_a_match_across_blocks_that_are_parted_is_found_in_the_answer(strategy: str) -> None:
    """What comes between two blocks parts them in the stream; the finished answer is looked at across their borders."""
    _, result = await told(Model(two_blocks(SourceChunk(id="s", url="https://a.example"))), pii(strategy=strategy))
    assert (result.status, result.text) == (
        ("completed", "to [EMAIL] now") if strategy == "redact" else ("blocked", "")
    )


@pytest.mark.parametrize("between", [ResponseMetadata(id="r"), None])
async def test_the_end_of_a_block_comes_before_what_follows(between: Chunk | None) -> None:
    """The end of a block waits for the next chunk only, and comes before it; at the end of a stream it comes last."""
    stream = made(pii())
    out: list[Chunk] = []
    for chunk in [TextStart("0"), TextDelta("mail me", "0"), TextEnd("0"), *([between] if between else [])]:
        out += await push(stream, chunk)
    assert "text-end" not in [chunk.type for chunk in out]
    out += await push(stream, SourceChunk(id="s", url="https://a.example"))
    assert [chunk.type for chunk in out if chunk is not between][-2:] == ["text-end", "source"]
    assert "".join(texts(out)) == "mail me"
    rest = [*(await push(stream, TextDelta("x", "1"))), *(await push(stream, TextEnd("1"))), *(await stream.flush())]
    assert [chunk.type for chunk in rest] == ["text-delta", "text-end"]


async def test_what_passed_in_pieces_is_not_reported_again() -> None:
    """A source in the middle of a block makes two parts of it, which are known to have passed."""
    chunks = [TextDelta("eva@example.net and", "0"), BETWEEN[0], TextDelta(" so on", "0"), TextEnd("0"), Finish("stop")]
    _, result = await told(Model(chunks), PIIDetector(strategy="warn", phase="output"))
    assert [one.outcome for one in result.violations] == ["warned"]


async def test_blocks_that_alternate_are_each_looked_at_whole() -> None:
    """Two blocks whose pieces alternate, with other chunks between, hide their own matches, in a group of guards too."""
    chunks = [
        TextDelta("a: eva@exam", "a"), TextDelta("b: zoe@exam", "b"), BETWEEN[0], TextDelta("ple.net.", "a"),
        BETWEEN[2], TextDelta("ple.org.", "b"), TextEnd("b"), TextEnd("a"),
    ]  # fmt: skip
    group = side_by_side(pii(detection_types=["email"]), pii(id="two", detection_types=["iban"]))
    for guard in (pii(), group):
        out = await streamed(chunks, guard)
        shown = {id: "".join(one.text for one in out if isinstance(one, TextDelta) and one.id == id) for id in "ab"}
        assert shown == {"a": "a: [EMAIL].", "b": "b: [EMAIL]."}


# -- failures


class Broken(TextGuard):
    """A guard whose search fails."""

    id = "broken"

    def find(self, text: str) -> list[Span]:
        """Fail."""
        raise RuntimeError("down")


class Down:
    """A detector that cannot be reached."""

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Fail."""
        raise RuntimeError("down")


async def test_a_skipped_guard_gives_back_what_it_held() -> None:
    """With ``on_error="skip"`` in so many words the answer comes through a guard that fails, whole and in order."""
    for guard in (Broken(strategy="redact", on_error="skip"), PIIDetector(detector=Down(), on_error="skip")):
        out, result = await told(Model([*deltas("hello ", "the", "re"), TextEnd(), Finish("stop")]), guard)
        assert (result.status, result.text, "".join(texts(out))) == ("completed", "hello there", "hello there")


async def test_a_skipped_guard_keeps_hidden_what_it_found() -> None:
    """What a guard's rules found before its detector failed stays hidden."""
    _, result = await told(
        Model([*deltas("to eva@exam", "ple.net"), Finish("stop")]), pii(detector=Down(), on_error="skip")
    )
    assert result.text == "to [EMAIL]"


async def test_a_guard_that_fails_in_the_middle_gives_back_each_character_once() -> None:
    """What was held goes on with the chunk at which the guard failed, and nothing comes twice."""

    class Sometimes(TextGuard):
        id = "sometimes"
        window = 8

        def find(self, text: str) -> list[Span]:
            if "X" in text:
                raise RuntimeError("down")
            return []

    pieces = ("hello there ", "world X", " and ", "more to come")
    out = await streamed([*deltas(*pieces), TextEnd()], Sometimes(strategy="redact", on_error="skip"))
    assert "".join(texts(out)) == "".join(pieces)


async def test_a_guard_fails_closed_unless_told_otherwise() -> None:
    """Without ``on_error`` a guard that cannot look stops the run, and what it held is not shown."""
    out, result = await told(Model([*deltas("hello"), TextEnd(), Finish("stop")]), Broken(strategy="redact"))
    assert (result.status, texts(out), result.tripwire.metadata) == ("blocked", [], {"kind": "guard_failed"})


async def test_a_holder_that_cannot_say_what_it_holds_is_not_skipped() -> None:
    """To skip a processor of your own that fails while it lets go would lose text, so it stops the run."""

    class Keeps(Processor):
        def process_output_stream(self, ctx: Any) -> Any:
            return None if isinstance(ctx.chunk, TextDelta) else ctx.chunk

        def flush_output_stream(self, ctx: Any) -> Any:
            raise RuntimeError("lost")

    keeps = Keeps(id="keeps")
    keeps.on_error = "skip"
    with pytest.raises(ProcessorError):
        await streamed([*deltas("hello"), TextEnd()], keeps)


# -- verdicts


@pytest.mark.parametrize("kind", ["plain", "async", "nested", "waiting"])
@pytest.mark.parametrize("blocker_first", [True, False])
async def test_a_block_beats_a_failure_beside_it(kind: str, blocker_first: bool) -> None:
    """An arm that fails does not hide the verdict of the one beside it."""

    def fail(text: str) -> str:
        raise RuntimeError("down")

    def block(ctx: Any) -> Any:
        if isinstance(ctx.chunk, TextDelta):
            ctx.abort("no")
        return ctx.chunk

    arms = [at("process_output_stream", block, id="blocks"), arm_of(kind, fail, "fails")]
    with pytest.raises(Tripwire):
        await streamed(deltas("a"), side_by_side(*(arms if blocker_first else arms[::-1])))


@pytest.mark.parametrize("retry", [True, False])
async def test_a_verdict_in_a_task_group_of_the_hook_counts(retry: bool) -> None:
    """What a task group wraps is the verdict all the same: a retry is a retry, a stop a stop."""

    async def act(ctx: Any) -> Any:
        async def stop() -> None:
            ctx.abort("odd", retry=retry)

        if isinstance(ctx.chunk, TextDelta) and "bad" in ctx.chunk.text:
            async with anyio.create_task_group() as group:
                group.start_soon(stop)
        return ctx.chunk

    guard = at("process_output_stream", act, id="guard")
    model = Model([*deltas("bad"), Finish("stop")], [*deltas("good"), Finish("stop")])
    _, result = await told(model, guard, max_processor_retries=1)
    assert (result.status, result.text) == (("completed", "good") if retry else ("blocked", ""))
    if not retry:
        assert result.tripwire.processor_id == "guard"
    side = side_by_side(guard, on_text(same, id="same"))
    with pytest.raises(Tripwire):
        await streamed(deltas("bad"), side)


async def test_an_error_in_a_task_group_is_a_failure() -> None:
    """A task group without a verdict fails like any other code of a processor."""

    async def fail() -> None:
        raise RuntimeError("down")

    async def act(ctx: Any) -> Any:
        async with anyio.create_task_group() as group:
            group.start_soon(fail)

    with pytest.raises(ProcessorError):
        await streamed(deltas("a"), at("process_output_stream", act))


# -- guards in nested workflows side by side


@pytest.mark.parametrize("guard_first", [True, False])
async def test_priority_does_not_undo_a_redaction(guard_first: bool) -> None:
    """What a redacting arm changed goes first, wherever it is declared."""
    guards = guards_of(pii(), on_text(same, id="same"), id="guards")
    arms = [guards, on_text(lambda text: text.replace("to", "To"), id="upper")]
    side = side_by_side(*(arms if guard_first else arms[::-1]), merge="priority")
    out = await streamed([*deltas("write to eva@exam", "ple.net now"), TextEnd()], side)
    assert "".join(texts(out)) == "write to [EMAIL] now"


async def test_guards_in_workflows_of_their_own_share_a_stream() -> None:
    """Text guards side by side are one guard, in however many workflows they stand."""
    one = guards_of(pii(detection_types=["email"]), id="one")
    two = guards_of(guards_of(pii(id="two", detection_types=["iban"]), id="inner"), id="outer")
    both = side_by_side(one, two)
    assert "".join(texts(await streamed([*deltas("hello wor", "ld nothing ", "here"), TextEnd()], both))) == (
        "hello world nothing here"
    )
    again = await streamed([*deltas("eva@exam", "ple.net, DE89 3704 0044", " 0532 0130 00."), TextEnd()], both)
    assert "".join(texts(again)) == "[EMAIL], [IBAN]."


async def test_holders_side_by_side_are_refused() -> None:
    """Arms that hold different stretches of text back cannot be put together: the list is refused at once."""
    arm = guards_of(pii(detection_types=["email"]), pii(id="two", detection_types=["iban"]), id="two-guards")
    with pytest.raises(ProcessorDefinitionError, match="two-guards"):
        Agent("agent", model=Model([]), output_processors=[side_by_side(arm, UnicodeNormalizer())])


async def test_an_arm_that_holds_is_refused_beside_one_that_redacts() -> None:
    """What one arm hid the other would let go of later, so that the two are refused side by side."""
    hides = on_text(lambda text: text.replace("secret", "***"), id="hides", redacts=True)
    with pytest.raises(ProcessorDefinitionError, match="redact"):
        Agent("agent", model=Model([]), output_processors=[side_by_side(hides, UnicodeNormalizer())])


@pytest.mark.parametrize("merge", ["strictest", "priority"])
async def test_filtered_text_stays_away_beside_another_change(merge: Any) -> None:
    """A block that is dropped by a guard in a workflow of its own is not shown as another arm changed it."""
    guards = guards_of(PIIDetector(strategy="filter", phase="output"), on_text(same, id="same"), id="guards")
    side = side_by_side(on_text(str.upper, id="upper"), guards, merge=merge)
    assert texts(await streamed([*deltas("to eva@exam", "ple.net"), TextEnd()], side)) == []


# -- a map beside a guard


async def test_a_map_may_pick_past_a_guard_that_finds_nothing() -> None:
    """Text that a guard only held back is shown as picked, once the guard has let it go."""
    workflow = side_by_side(pii(), on_text(str.upper, id="b")).map(lambda outputs: outputs["processor:b"])
    pieces = ("nothing private, ", "eva@", " is no address")
    assert "".join(texts(await streamed([*deltas(*pieces), TextEnd()], workflow))) == "".join(pieces).upper()
    assert "".join(texts(await streamed(deltas(*pieces), workflow))) == "".join(pieces).upper()


@pytest.mark.parametrize("picks", ["other", "nothing"])
async def test_a_map_may_not_show_what_a_guard_hides(picks: str) -> None:
    """A map that picks past a redaction stops the run before anything of what was redacted is shown."""
    side = side_by_side(pii(), on_text(same, id="b"))
    workflow = side.map(lambda outputs: outputs["processor:b"] if picks == "other" else None)
    stream = made(workflow)
    out: list[Chunk] = []
    with pytest.raises(MergeConflict, match="redacted"):
        for chunk in [*deltas("write to eva@exam", "ple.net now"), TextEnd()]:
            out += await push(stream, chunk)
    assert "eva" not in "".join(texts(out))
