"""Branches in a stream: one chunk at a time through several arms, and how it becomes one again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

import anyio
import pytest
from tests.processors.kit import at
from tests.processors.stream_kit import ARMS, arm_of, deltas, on_text, same, side_by_side, streamed, texts

from procession.errors import ConditionError, MergeConflict, NoArmMatched, StepError
from procession.messages.chunks import Finish, TextDelta, TextEnd
from procession.workflows.nodes import Pick
from procession.workflows.workflow import Workflow, create_workflow

each_kind = pytest.mark.parametrize("kind", ARMS)


@each_kind
async def test_an_arm_that_changes_beside_one_that_looks(kind: str) -> None:
    """What one arm changes holds, on whichever side the others only look."""
    for arms in (
        (arm_of(kind, str.upper, "a"), arm_of(kind, same, "b")),
        (arm_of(kind, same, "a"), arm_of(kind, str.upper, "b")),
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

    await streamed(deltas("a"), side_by_side(arm_of(kind, str.upper, "a"), arm_of(kind, note, "b")))
    assert seen == ["a"]


@each_kind
async def test_dropping_is_stricter_than_changing(kind: str) -> None:
    """A chunk that one arm drops is dropped, whatever the others make of it."""
    assert (
        await streamed(deltas("a"), side_by_side(arm_of(kind, str.upper, "a"), arm_of(kind, lambda text: None, "b")))
        == []
    )


@each_kind
async def test_two_different_changes_are_a_conflict(kind: str) -> None:
    """Two arms that make different things of one chunk are told of, unless a policy decides."""
    arms = (arm_of(kind, lambda text: "one", "a"), arm_of(kind, lambda text: "two", "b"))
    with pytest.raises(MergeConflict, match="rewrote one chunk in different ways"):
        await streamed(deltas("x"), side_by_side(*arms))
    assert texts(await streamed(deltas("x"), side_by_side(*arms, merge="priority"))) == ["one"]


@each_kind
async def test_the_same_change_is_no_conflict(kind: str) -> None:
    """Arms that agree agree."""
    arms = (arm_of(kind, str.upper, "a"), arm_of(kind, str.upper, "b"))
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

    arms = (arm_of(kind, lambda text: "one", "a"), arm_of(kind, lambda text: "two", "b"))
    assert texts(await streamed(deltas("x"), side_by_side(*arms, merge=last))) == ["two"]


@each_kind
async def test_control_chunks_stay(kind: str) -> None:
    """No arm and no map can drop what carries the stream's structure."""
    drop = at("process_output_stream", lambda ctx: None, id="drop")
    assert await streamed([Finish("stop")], side_by_side(drop, arm_of(kind, same, "b"))) == [Finish("stop")]
    chosen = side_by_side(drop, arm_of(kind, same, "b")).map(Pick("processor:drop"))
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
    workflow = side_by_side(arm_of(kind, lambda text: "one", "a"), arm_of(kind, lambda text: "two", "b"))
    workflow = workflow.map(Pick(name)) if declared else workflow.map(itemgetter(name))
    assert texts(await streamed(deltas("x"), workflow)) == [{"a": "one", "b": "two"}[chosen]]


@each_kind
async def test_a_map_that_picks_nothing_changes_nothing(kind: str) -> None:
    """``None`` from a map leaves the chunk as it came."""
    workflow = side_by_side(arm_of(kind, str.upper, "a"), arm_of(kind, str.upper, "b")).map(lambda outputs: None)
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
        hide = arm_of(kind, lambda text: text.replace("secret", "***"), "a", redacts=True)
        return side_by_side(hide, arm_of(kind, same, "b"))

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

    def always(payload: Any) -> bool:
        return True

    arms = [
        (always, on_text(lambda text: text + "1", id="a")),
        (always, on_text(lambda text: text + "2", id="b")),
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
