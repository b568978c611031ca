"""Replay: the walk over records that are there already does nothing twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.runtime.kit import Function, make

from procession.runtime.records import Records
from procession.runtime.runtime import Runtime
from procession.workflows.nodes import pick
from procession.workflows.workflow import Workflow, create_workflow


class Told:
    """Steps that count how often they ran, and one that waits until it is told to go on."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.open = False

    def step(self, id: str, function: Function = lambda ctx: ctx.input) -> Any:
        """Return a step that counts."""

        def work(ctx: Any) -> Any:
            self.ran[ctx.path] += 1
            return function(ctx)

        return make(id, work)

    def gate(self, id: str) -> Any:
        """Return a step that suspends until ``open``."""

        async def wait(ctx: Any) -> Any:
            self.ran[ctx.path] += self.open
            return ctx.input if self.open else await ctx.suspend(id)

        return make(id, wait)


def sequence(told: Told) -> Workflow[Any, Any]:
    return create_workflow("w").then(told.step("a")).then(told.gate("gate")).then(told.step("b"))


def nested(told: Told) -> Workflow[Any, Any]:
    before = create_workflow("before").then(told.step("x")).commit()
    inner = create_workflow("inner").then(told.step("x")).then(told.gate("gate")).commit()
    return create_workflow("w").then(before).then(inner).then(told.step("b"))


def parallel(told: Told) -> Workflow[Any, Any]:
    arms = [told.step("a"), told.gate("gate"), told.step("b")]
    return create_workflow("w").parallel(arms).map(pick("a")).then(told.step("c"))


def branch(told: Told) -> Workflow[Any, Any]:
    def decide(value: Any) -> bool:
        told.ran["decide"] += 1
        return True

    arms = [(decide, told.gate("gate")), (decide, told.step("a"))]
    return create_workflow("w").branch(arms).map(pick("a")).then(told.step("b"))


def loop(told: Told) -> Workflow[Any, Any]:
    body = create_workflow("round").then(told.step("up", lambda ctx: ctx.input + 1)).then(told.gate("gate")).commit()
    return create_workflow("w").do_while(body, lambda value: value < 3).then(told.step("b"))


def foreach(told: Told) -> Workflow[Any, Any]:
    body = create_workflow("each").then(told.step("x")).then(told.gate("gate")).commit()
    return create_workflow("w").map(lambda value: [1, 2, 3]).foreach(body, concurrency=2).then(told.step("b"))


def graph(told: Told) -> Workflow[Any, Any]:
    workflow = create_workflow("w").add(told.step("a")).add(told.gate("gate"), after=["a"])
    return workflow.add(told.step("b"), after=["a"]).add(told.step("c"), after=["gate", "b"])


@pytest.mark.parametrize("build", [sequence, nested, parallel, branch, loop, foreach, graph])
async def test_what_is_recorded_is_not_done_again(build: Any) -> None:
    """A run that was suspended goes on from its records, and every step of it has run once."""
    told = Told()
    workflow = build(told).commit()
    first = Runtime().create_run(workflow)
    assert (await first.start(0)).status == "suspended"
    told.open = True
    records: Records = {path: record for path, record in first.state.records.items() if record.status == "success"}
    second = Runtime().create_run(workflow)
    second.state.records.update(records)
    second.state.replaying = True
    result = await second.start(0)
    assert result.status == "success", result.error
    assert {path: count for path, count in told.ran.items() if count > 1 and path != "decide"} == {}
    assert told.ran["decide"] in (0, 2)
    straight = Told()
    straight.open = True
    assert result.output == (await Runtime().run(build(straight).commit(), 0)).output
    assert set(told.ran) == set(straight.ran)
