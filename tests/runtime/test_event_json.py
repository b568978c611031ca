"""Events as JSON: what is in it, and that it is the same for the same run."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.runtime.kit import Arms, Doc, Function, blocks, events_of, fails, make, plus
from tests.runtime.test_properties import BACKENDS, after, on

from procession.messages.chunks import DataChunk, TextDelta
from procession.messages.tripwire import TripwireInfo
from procession.runtime.event_json import plain
from procession.runtime.runtime import Runtime
from procession.steps.signals import Tripwire
from procession.storage.sqlite.journal import SQLiteJournal
from procession.workflows.workflow import Workflow, create_workflow

SECRET = "4111 1111 1111 1111"


def talkative() -> list[Workflow[Any, Any]]:
    """Return workflows that let the secret go wherever a step can put it."""

    async def emit(ctx: Any) -> Any:
        await ctx.emit(TextDelta(SECRET))
        return ctx.input

    def block(ctx: Any) -> Any:
        raise Tripwire(TripwireInfo(SECRET, metadata={"text": SECRET}, processor_id="guard", message=SECRET))

    steps: list[Function] = [
        emit,
        block,
        fails(ValueError(SECRET)),
        lambda ctx: ctx.suspend(SECRET),
        lambda ctx: ctx.bail(SECRET),
    ]
    return [create_workflow("w").then(make("s", function)).commit() for function in steps]


async def test_what_was_said_is_written_on_request_alone() -> None:
    """Neither input nor output nor the text of an error or verdict is in the JSON form, unless it was asked for."""
    for workflow in talkative():
        made = Runtime().create_run(workflow)
        await made.start(SECRET)
        events = await events_of(made)
        assert SECRET not in json.dumps([event.as_dict() for event in events])
        assert SECRET in json.dumps([event.as_dict(with_values=True) for event in events[2:]])


async def test_the_json_form_keeps_what_identifies() -> None:
    """Without values an error keeps its class and code, a verdict its processor, and everything its place."""
    made = Runtime().create_run(create_workflow("w").then(make("s", fails(ValueError("no")))).commit(), run_id="r")
    await made.start(0)
    events = await events_of(made)
    assert events[2].as_dict() == {
        "seq": 2, "ts": events[2].ts, "run_id": "r", "type": "node.failed", "node_path": "s", "node_id": "s",
        "attempt": 1, "payload": {"error": {"name": "StepError", "code": "step", "cause": "ValueError"}},
    }  # fmt: skip
    blocked = Runtime().create_run(create_workflow("w").then(make("s", blocks("guard"))).commit())
    await blocked.start(0)
    payload = (await events_of(blocked))[2].as_dict()["payload"]
    assert payload == {"tripwire": {"processor_id": "guard", "retry": False}}


class Color(Enum):
    """A colour."""

    RED = "red"


class Model(BaseModel):
    """A model of pydantic."""

    at: datetime
    color: Color


@dataclass
class Pair:
    """A dataclass."""

    left: Any
    right: Any


def test_everything_can_be_written() -> None:
    """Any value becomes JSON; what has no form of its own is named by its class, without its content."""
    at = datetime(2026, 1, 2, tzinfo=UTC)
    given: list[tuple[Any, Any]] = [
        (Model(at=at, color=Color.RED), {"at": at.isoformat(), "color": "red"}),
        (Pair((1, 2), b"ok"), {"left": [1, 2], "right": "b2s="}),
        ({1: float("inf"), "s": {"b", "a"}}, {"1": "inf", "s": ["a", "b"]}),
        (DataChunk(type="data-n", data=Color.RED), {"type": "data-n", "data": "red", "id": None, "transient": False}),
        (Doc(("secret",)), {"$type": "Doc"}),
        (ValueError("no"), {"name": "ValueError", "code": None, "cause": None, "message": "no"}),
    ]
    for value, wanted in given:
        assert plain(value) == wanted
        json.dumps(plain(value), allow_nan=False)
    ring: list[Any] = []
    ring.append(ring)
    json.dumps(plain(ring))


def guarded(order: list[int]) -> Workflow[Any, Any]:
    """Return parallel guards that end in *order*, a branch, a loop and a foreach after them."""
    arms = [make(f"g{number}", after(turns, lambda ctx: ctx.input)) for number, turns in enumerate(order)]
    asked: Arms = [(lambda v: v > 0, plus("yes", 1)), (lambda v: v < 0, plus("no", 1))]
    return (
        create_workflow("w")
        .parallel(arms)
        .map(lambda outputs: len(outputs))
        .branch(asked)
        .map(lambda outputs: outputs["yes"])
        .do_while(plus("more", 1), lambda v: v < 9)
        .map(lambda v: [v, v])
        .foreach(plus("each", 1), concurrency=2)
        .sleep(0.0)
        .commit()
    )


@pytest.mark.parametrize("backend", BACKENDS)
@given(seed=st.integers(0, 1000), size=st.integers(1, 6))
def test_the_same_interleaving_gives_the_same_bytes(backend: str, seed: int, size: int) -> None:
    """A run repeated with the same inputs and the same interleaving gives byte-identical events (06 §C14)."""

    async def once(order: list[int]) -> str:
        scheduler = sys.modules.get("trio._core._run")
        if scheduler is not None:  # it shuffles tasks on purpose
            vars(scheduler)["_r"].seed(seed)
        made = Runtime().create_run(guarded(order), run_id="r")
        made.state.breathe_at = float("inf")  # a run's own pauses come by the clock
        await made.start(0)
        events = [event.as_dict(with_values=True, with_times=False) for event in await events_of(made)]
        return "\n".join(json.dumps(event) for event in events)

    order = [2 * turns for turns in range(size)]  # no two in one turn: loops may order those as they like
    Random(seed).shuffle(order)

    async def main() -> list[str]:
        return [await once(order) for _ in range(2)]

    first, second = on(backend, main)
    assert first == second


async def test_a_recorded_run_is_told_in_the_same_bytes(tmp_path: Path) -> None:
    """Whoever observes a run that is kept, here or elsewhere and however often, sees the same bytes (06 §C14)."""
    told: list[str] = []

    async def observe(runtime: Runtime) -> None:
        events = [event.as_dict(with_values=True) async for event in runtime.observe("r")]
        told.append("\n".join(json.dumps(event) for event in events))

    async with SQLiteJournal(tmp_path / "runs.db") as store:
        live = Runtime(store).create_run(guarded([2, 0, 1]), run_id="r")
        assert (await live.start(0)).status == "success"
        completed = [event.node_path for event in await events_of(live) if event.type == "node.completed"]
        for runtime in (Runtime(store), Runtime(store)):
            await observe(runtime)
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        await observe(Runtime(store))
        again = [event.node_path async for event in Runtime(store).observe("r") if event.type == "node.completed"]
    assert told[0] == told[1] == told[2]
    assert again == [path for path in completed if path not in ("more", "each")]  # what contains others has no row


@pytest.mark.parametrize("backend", BACKENDS)
@given(seed=st.integers(0, 1000), size=st.integers(1, 6))
def test_the_interleaving_decides_nothing_but_the_order(backend: str, seed: int, size: int) -> None:
    """For any delays of parallel guards the events are the same, each guard's own in the same order (06 §C1)."""

    async def once(order: list[int]) -> dict[str, list[str]]:
        made = Runtime().create_run(guarded(order), run_id="r")
        await made.start(0)
        found: dict[str, list[str]] = {}
        for event in await events_of(made):
            data = event.as_dict(with_values=True, with_times=False)
            del data["seq"]
            found.setdefault(event.node_path, []).append(json.dumps(data))
        return found

    random = Random(seed)

    async def main() -> list[dict[str, list[str]]]:
        return [await once([random.randrange(6) for _ in range(size)]) for _ in range(3)]

    first, *others = on(backend, main)
    assert all(other == first for other in others)
