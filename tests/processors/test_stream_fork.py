"""Branches in a stream: one chunk at a time through several arms, and how it becomes one again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest
from tests.processors.kit import at
from tests.processors.stream_kit import Holder, deltas, made, on_text, push, streamed, texts

from procession.errors import ConditionError, MergeConflict, NoArmMatched, ProcessorError, StepError
from procession.messages.chunks import Chunk, DataChunk, Finish, TextDelta, TextEnd
from procession.messages.text.patterns import Rule
from procession.processors.text_guard import TextGuard
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire
from procession.workflows.nodes import Pick
from procession.workflows.workflow import Workflow, create_workflow

ARMS = ("plain", "async", "nested", "waiting")
each_kind = pytest.mark.parametrize("kind", ARMS)


def arm(kind: str, change: Callable[[str], str | None], id: str, **options: Any) -> Any:
    """Return an arm that changes text: a plain or async processor, a workflow, or one that waits for something."""
    if kind == "plain":
        return on_text(change, id=id, **options)
    if kind == "async":
        return on_text(change, id=id, later=True, **options)
    if kind == "nested":
        inner = on_text(change, id=id, **options)
        passing = on_text(lambda text: text, id=f"{id}-pass")
        return create_workflow(f"workflow-{id}", kind="processor").then(inner).then(passing).commit()

    async def wait(ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        if not isinstance(ctx.chunk, TextDelta):
            return ctx.chunk
        text = change(ctx.chunk.text)
        return ctx.chunk if text == ctx.chunk.text else None if text is None else TextDelta(text)

    return at("process_output_stream", wait, id=id, **options)


def same(text: str) -> str:
    """Leave text as it is."""
    return text


def side_by_side(*arms: Any, **options: Any) -> Workflow[Any, Any]:
    """Return a workflow of arms side by side."""
    return create_workflow("w", kind="processor").parallel(list(arms), **options)


@each_kind
async def test_an_arm_that_changes_beside_one_that_looks(kind: str) -> None:
    """What one arm changes holds, on whichever side the others only look."""
    for arms in (
        (arm(kind, str.upper, "a"), arm(kind, same, "b")),
        (arm(kind, same, "a"), arm(kind, str.upper, "b")),
    ):
        out = await streamed([*deltas("a", "b"), TextEnd()], side_by_side(*arms))
        assert out == [TextDelta("A"), TextDelta("B"), TextEnd()]


@each_kind
async def test_arms_see_the_same_chunk(kind: str) -> None:
    """Each arm is given the chunk as it came, not what another arm made of it."""
    seen: list[str] = []

    def note(text: str) -> str:
        seen.append(text)
        return text

    await streamed(deltas("a"), side_by_side(arm(kind, str.upper, "a"), arm(kind, note, "b")))
    assert seen == ["a"]


@each_kind
async def test_dropping_is_stricter_than_changing(kind: str) -> None:
    """A chunk that one arm drops is dropped, whatever the others make of it."""
    assert await streamed(deltas("a"), side_by_side(arm(kind, str.upper, "a"), arm(kind, lambda text: None, "b"))) == []


@each_kind
async def test_two_different_changes_are_a_conflict(kind: str) -> None:
    """Two arms that make different things of one chunk are told of, unless a policy decides."""
    arms = (arm(kind, lambda text: "one", "a"), arm(kind, lambda text: "two", "b"))
    with pytest.raises(MergeConflict, match="rewrote one chunk in different ways"):
        await streamed(deltas("x"), side_by_side(*arms))
    assert texts(await streamed(deltas("x"), side_by_side(*arms, merge="priority"))) == ["one"]


@each_kind
async def test_the_same_change_is_no_conflict(kind: str) -> None:
    """Arms that agree agree."""
    arms = (arm(kind, str.upper, "a"), arm(kind, str.upper, "b"))
    assert texts(await streamed(deltas("x"), side_by_side(*arms))) == ["X"]


async def test_chain_passes_from_arm_to_arm() -> None:
    """With ``merge="chain"`` the arms stand one after the other."""
    arms = (on_text(lambda text: text + "1", id="a"), on_text(lambda text: text + "2", id="b"))
    assert texts(await streamed(deltas("x"), side_by_side(*arms, merge="chain"))) == ["x12"]


@each_kind
async def test_a_function_may_merge(kind: str) -> None:
    """A function is given the arms' payloads by step id and returns the one that goes on."""

    def last(before: Any, outputs: Mapping[str, Any]) -> Any:
        return list(outputs.values())[-1]

    arms = (arm(kind, lambda text: "one", "a"), arm(kind, lambda text: "two", "b"))
    assert texts(await streamed(deltas("x"), side_by_side(*arms, merge=last))) == ["two"]


@each_kind
async def test_control_chunks_stay(kind: str) -> None:
    """No arm and no map can drop what carries the stream's structure."""
    drop = at("process_output_stream", lambda ctx: None, id="drop")
    assert await streamed([Finish("stop")], side_by_side(drop, arm(kind, same, "b"))) == [Finish("stop")]
    chosen = side_by_side(drop, arm(kind, same, "b")).map(Pick("processor:drop"))
    assert await streamed([Finish("stop")], chosen) == [Finish("stop")]


# -- maps


def key(kind: str, id: str) -> str:
    """Return the key under which an arm's payload is found."""
    return f"workflow-{id}" if kind == "nested" else f"processor:{id}"


@each_kind
@pytest.mark.parametrize("chosen", ["a", "b"])
@pytest.mark.parametrize("declared", [True, False])
async def test_what_a_map_picks_goes_on(kind: str, chosen: str, declared: bool) -> None:
    """The arm that a map picks, by name or by a function, is the one whose chunk goes on."""
    name = key(kind, chosen)
    workflow = side_by_side(arm(kind, lambda text: "one", "a"), arm(kind, lambda text: "two", "b"))
    workflow = workflow.map(Pick(name) if declared else lambda outputs: outputs[name])
    assert texts(await streamed(deltas("x"), workflow)) == [{"a": "one", "b": "two"}[chosen]]


@each_kind
async def test_a_map_that_picks_nothing_changes_nothing(kind: str) -> None:
    """``None`` from a map leaves the chunk as it came."""
    workflow = side_by_side(arm(kind, str.upper, "a"), arm(kind, str.upper, "b")).map(lambda outputs: None)
    assert texts(await streamed(deltas("x"), workflow)) == ["x"]


async def test_a_map_may_be_async() -> None:
    """A map may wait for something before it picks."""

    async def choose(outputs: Mapping[str, Any]) -> Any:
        await anyio.lowlevel.checkpoint()
        return outputs["processor:b"]

    workflow = side_by_side(on_text(same, id="a"), on_text(str.upper, id="b")).map(choose)
    assert texts(await streamed(deltas("x"), workflow)) == ["X"]


async def test_a_map_that_raises_or_returns_something_else() -> None:
    """A map that fails, or returns no payload, stops the run as the error that it is."""
    arms = (on_text(same, id="a"), on_text(same, id="b"))
    with pytest.raises(StepError, match="raised KeyError"):
        await streamed(deltas("x"), side_by_side(*arms).map(lambda outputs: outputs["processor:c"]))
    with pytest.raises(MergeConflict, match="returned str"):
        await streamed(deltas("x"), side_by_side(*arms).map(lambda outputs: "x"))


@each_kind
async def test_a_map_may_not_drop_a_redaction_unnoticed(kind: str) -> None:
    """A map that leaves out what a redacting arm hid is an error, unless it says ``allow_drop=True``."""

    def arms() -> Workflow[Any, Any]:
        hide = arm(kind, lambda text: text.replace("secret", "***"), "a", redacts=True)
        return side_by_side(hide, arm(kind, same, "b"))

    name = key(kind, "b")
    with pytest.raises(MergeConflict, match="redacted"):
        await streamed(deltas("a secret"), arms().map(lambda outputs: outputs[name]))
    assert texts(await streamed(deltas("fine"), arms().map(lambda outputs: outputs[name]))) == ["fine"]
    dropping = arms().map(lambda outputs: outputs[name], allow_drop=True)
    assert texts(await streamed(deltas("a secret"), dropping)) == ["a secret"]


# -- conditions


def text_is(wanted: str) -> Callable[[Any], bool]:
    """Return a condition on the chunk's text."""
    return lambda payload: isinstance(payload.chunk, TextDelta) and payload.chunk.text == wanted


async def test_arms_run_where_their_condition_holds() -> None:
    """Conditions are asked for each chunk; where none holds the chunk passes, if told so."""
    workflow = create_workflow("w", kind="processor").branch(
        [(text_is("a"), on_text(str.upper, id="up")), (text_is("b"), on_text(lambda text: None, id="drop"))],
        on_no_match="skip",
    )
    assert await streamed([*deltas("a", "b", "c"), TextEnd()], workflow) == [*deltas("A", "c"), TextEnd()]


async def test_where_no_condition_holds() -> None:
    """No true arm is an error, unless there is a default arm."""
    arms = [(text_is("a"), on_text(str.upper, id="up"))]
    with pytest.raises(NoArmMatched):
        await streamed(deltas("b"), create_workflow("w", kind="processor").branch(arms))
    otherwise = create_workflow("w", kind="processor").branch(
        arms, default=on_text(lambda text: text + "?", id="other")
    )
    assert texts(await streamed(deltas("a", "b"), otherwise)) == ["A", "b?"]


async def test_only_the_first_arm() -> None:
    """With ``mode="first"`` only the first arm whose condition holds runs."""
    arms = [
        (lambda payload: True, on_text(lambda text: text + "1", id="a")),
        (lambda payload: True, on_text(lambda text: text + "2", id="b")),
    ]
    first = create_workflow("w", kind="processor").branch(arms, mode="first")
    assert texts(await streamed(deltas("x"), first)) == ["x1"]


async def test_a_condition_may_be_async_and_may_fail() -> None:
    """A condition may wait; one that raises is an error that says which."""

    async def yes(payload: Any) -> bool:
        await anyio.lowlevel.checkpoint()
        return True

    def broken(payload: Any) -> bool:
        raise ValueError

    waiting = create_workflow("w", kind="processor").branch([(yes, on_text(str.upper))])
    assert texts(await streamed(deltas("x"), waiting)) == ["X"]
    with pytest.raises(ConditionError, match="'processor:guard'"):
        await streamed(deltas("x"), create_workflow("w", kind="processor").branch([(broken, on_text(str.upper))]))


async def test_a_map_behind_a_branch_sees_the_arms_that_ran() -> None:
    """Arms that did not run have no key."""
    seen: list[list[str]] = []

    def note(outputs: Mapping[str, Any]) -> Any:
        seen.append(list(outputs))
        return next(iter(outputs.values()))

    arms = [(text_is("a"), on_text(str.upper, id="a")), (text_is("b"), on_text(str.upper, id="b"))]
    workflow = create_workflow("w", kind="processor").branch(arms).map(note)
    assert texts(await streamed(deltas("a", "b"), workflow)) == ["A", "B"]
    assert seen == [["processor:a"], ["processor:b"]]


# -- verdicts and failures


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
        await (b_ran.wait() if ctx.chunk.text == "two" else anyio.lowlevel.checkpoint())
        return ctx.chunk

    async def second(ctx: Any) -> Any:
        if ctx.chunk.text == "two":
            b_ran.set()
        return ctx.chunk

    arms = (at("process_output_stream", first, id="a"), at("process_output_stream", second, id="b"))
    with anyio.fail_after(10):
        assert texts(await streamed(deltas("one", "two"), side_by_side(*arms))) == ["one", "two"]


async def test_the_first_block_cancels_the_others() -> None:
    """A block cancels arms that still wait, which are waited for."""
    ended: list[str] = []

    async def slow(ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        if ctx.chunk.text == "two":
            try:
                await anyio.sleep_forever()
            finally:
                ended.append("slow")
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
        await streamed(deltas("x", "y"), side_by_side(arm(kind, same, "a"), arm(kind, broken, "b")))
    assert caught.value.processor_id == "b"
    skipping = side_by_side(arm(kind, str.upper, "a"), arm(kind, broken, "b", on_error="skip"))
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
