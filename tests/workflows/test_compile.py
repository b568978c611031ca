"""Plans: workflows compiled."""

from __future__ import annotations

from typing import Any

import pytest

from procession.errors import DefinitionError
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, step
from procession.workflows.compile import plan_for
from procession.workflows.nodes import arm, pick
from procession.workflows.plan import CALL, CHECKED, GUARDED, INLINE, Choice, Each, Fork, Leaf, Loop, Map, Nested
from procession.workflows.workflow import create_workflow


def do(id: str, **options: Any) -> Step[Any, Any]:
    """Return a step."""
    return Step(id=id, execute=lambda ctx: ctx.input, **options)


def test_a_plan_is_made_once_for_each_set_of_hooks() -> None:
    """Plans are kept on the workflow; nested workflows' plans on those."""
    inner = create_workflow("inner").then(do("a")).commit()
    outer = create_workflow("outer").then(inner).commit()
    plan = plan_for(outer)
    (node,) = plan.nodes
    assert isinstance(node, Nested)
    assert node.plan is plan_for(inner)
    assert plan_for(outer) is plan
    assert plan_for(outer, frozenset({"x"})) is plan_for(outer, frozenset({"x"})) is not plan


def test_an_open_workflow_has_no_plan() -> None:
    """A workflow that is not committed is refused."""
    with pytest.raises(DefinitionError, match="not committed"):
        plan_for(create_workflow("w").then(do("a")))


def test_each_step_is_run_in_the_cheapest_way() -> None:
    """What a step does not ask for is not in its plan."""

    @step
    async def typed(ctx: StepContext[int]) -> int:
        return ctx.input

    steps: list[Step[Any, Any]] = [
        do("plain"),
        typed,
        do("retried", retry=RetryPolicy(2)),
        do("once", retry=RetryPolicy(1)),
        do("timed", timeout=1.0),
        do("threaded", blocking=True),
        Step(id="inline", inline=lambda value, run, path: value),
    ]
    workflow = create_workflow("w")
    for each in steps:
        workflow.then(each)
    leaves = [node for node in plan_for(workflow.commit()).nodes if isinstance(node, Leaf)]
    assert [leaf.mode for leaf in leaves] == [CALL, CHECKED, GUARDED, CALL, GUARDED, GUARDED, INLINE]
    assert [leaf.is_async for leaf in leaves] == [False, True, False, False, False, False, True]


def test_the_kinds_of_nodes() -> None:
    """Containers hold the plans of their contents; a map after branches belongs to them."""
    workflow = (
        create_workflow("w")
        .parallel([do("a"), Step(id="empty")])
        .map(pick("a"))
        .branch([(lambda n: True, do("b"))], default=do("c"))
        .do_while(do("d"), lambda n: False)
        .foreach(do("e"), concurrency=2)
        .map(pick("b"))
        .commit()
    )
    plan = plan_for(workflow)
    fork, choice, loop, each, last = plan.nodes
    assert isinstance(fork, Fork)
    assert isinstance(fork.map, Map)
    assert ([arm.id for arm in fork.arms], set(fork.keys)) == (["a", "empty"], {"a"})
    assert isinstance(choice, Choice)
    assert (len(choice.arms), len(choice.asked)) == (2, 1)
    assert isinstance(loop, Loop)
    assert loop.body[0].key == ""
    assert isinstance(each, Each)
    assert isinstance(last, Map)
    assert plan.keeps


def test_only_those_that_take_part_are_compiled() -> None:
    """A plan for some hooks holds no processor without them."""
    guard = do("processor:a", kind="processor", hooks=frozenset({"in"}))
    inner = create_workflow("inner").parallel([guard]).commit()
    workflow = create_workflow("w").then(inner).then(do("f")).parallel([guard, arm(do("g"), on={"in"})]).commit()
    assert [node.id for node in plan_for(workflow, frozenset({"out"})).nodes] == ["f"]
    assert [node.id for node in plan_for(workflow, frozenset({"in"})).nodes] == ["inner", "f", "parallel-1"]


def test_a_value_is_checked_once() -> None:
    """What the step before, or the workflow's input, was checked to be is not checked again; after a map it is."""

    @step
    def add(ctx: StepContext[int]) -> int:
        return ctx.input + 1

    inline: Step[Any, Any] = Step(id="inline", inline=lambda value, run, path: value, output_type=int)
    workflow = create_workflow("w", int).then(add).then(add.renamed("again")).sleep(0).then(add.renamed("still"))
    workflow.then(inline).then(add.renamed("after-inline")).map(lambda n: n).then(add.renamed("after-map")).commit()
    nodes = plan_for(workflow).nodes
    checked = [node.id for node in nodes if isinstance(node, Leaf) and node.check_in is not None]
    assert checked == ["after-inline", "after-map"]
    assert all(node.check_out is not None for node in nodes if isinstance(node, Leaf) and node.mode != INLINE)


def test_a_hundred_workflows_go_inside_one_another() -> None:
    """More than Python can follow are refused with what to do, not with a trace of a thousand lines."""
    workflow = create_workflow("w").then(Step[Any, Any](id="s")).commit()
    for number in range(100):
        workflow = create_workflow(f"w{number}").then(workflow).commit()
    assert plan_for(workflow).nodes
    for number in range(100, 1000):
        workflow = create_workflow(f"w{number}").then(workflow).commit()
    with pytest.raises(DefinitionError, match="too deep"):
        plan_for(workflow)
