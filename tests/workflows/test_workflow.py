"""The builder."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from typing import Any, TypedDict

import pytest

from procession.errors import DefinitionError, WorkflowDefinitionError
from procession.steps.budget import Budget
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, step
from procession.workflows.nodes import Arm, arm, pick
from procession.workflows.workflow import Workflow, create_workflow


class State(TypedDict):
    """What steps may set."""

    n: int


def add_one(ctx: StepContext[int]) -> int:
    """Add one."""
    return ctx.input + 1


def write(ctx: StepContext[int]) -> str:
    """Write a number."""
    return str(ctx.input)


# Their types are known to `commit` alone: here they are put where a checker would refuse them.
one: Step[Any, Any] = step(id="one")(add_one)
text: Step[Any, Any] = step(id="text")(write)


LIST: Any = list[int]


def named(ctx: StepContext[Any]) -> Any:
    """Stand in a workflow without being a step."""
    return ctx.input


def test_calls_are_chained_in_order() -> None:
    """Each call adds a node after those before it and returns the workflow."""
    workflow: Workflow[Any, Any] = create_workflow("w", description="All there is.")
    same = (
        workflow.then(one)
        .parallel([one.renamed("a"), text])
        .map(lambda both: both["a"])
        .branch([(lambda n: n > 0, one.renamed("b"))], default=one.renamed("c"))
        .map(pick("b"), id="picked")
        .do_while(one.renamed("d"), lambda n: n < 3)
        .do_until(one.renamed("e"), lambda n: n > 3, max_iterations=5)
        .map(lambda n: [n])
        .foreach(one.renamed("f"), concurrency=2)
        .sleep(0)
    )
    assert same is workflow
    assert [(node.kind, node.id) for node in workflow.nodes] == [
        ("step", "one"),
        ("parallel", "parallel-1"),
        ("map", "map-1"),
        ("branch", "branch-1"),
        ("map", "picked"),
        ("loop", "d"),
        ("loop", "e"),
        ("map", "map-2"),
        ("foreach", "f"),
        ("sleep", "sleep-1"),
    ]
    assert [each.id for each in workflow.walk_steps()] == ["one", "a", "text", "b", "c", "d", "e", "f"]
    assert (workflow.kind, workflow.description, workflow.explicit) == ("default", "All there is.", False)
    assert repr(workflow) == "Workflow('w', 10 nodes)"


def test_nodes_know_where_they_were_added() -> None:
    """Each node remembers the file and the line of the call that added it."""
    frame = inspect.currentframe()
    assert frame is not None
    line = frame.f_lineno + 1
    workflow = create_workflow("w").then(one)
    workflow.parallel([text])
    workflow.map(lambda both: both)
    assert [node.source for node in workflow.nodes] == [f"{__file__}:{line + each}" for each in range(3)]
    assert workflow.source == f"{__file__}:{line}"


def test_functions_with_a_name_are_steps() -> None:
    """A plain function may stand where a step may; one without a name may not, nor may anything else."""
    workflow = create_workflow("w").then(named).parallel([named, one]).branch([(lambda both: True, named)])
    assert [each.id for each in workflow.walk_steps()] == ["named", "named", "one", "named"]
    with pytest.raises(DefinitionError, match="cannot stand in a workflow"):
        create_workflow("w").then(lambda ctx: 1)
    with pytest.raises(DefinitionError, match="cannot stand in a workflow"):
        create_workflow("w").then(3)  # type: ignore[call-overload]


def test_a_committed_workflow_does_not_change() -> None:
    """After ``commit`` every builder call is an error; committing again changes nothing."""
    workflow = create_workflow("w", int).then(one).commit()
    assert workflow.commit() is workflow
    calls: dict[str, Any] = {
        "then": lambda: workflow.then(text),
        "parallel": lambda: workflow.parallel([text]),
        "branch": lambda: workflow.branch([(lambda n: True, text)]),
        "map": lambda: workflow.map(lambda n: n),
        "foreach": lambda: workflow.foreach(text),
        "do_while": lambda: workflow.do_while(one, lambda n: False),
        "do_until": lambda: workflow.do_until(one, lambda n: False),
        "sleep": lambda: workflow.sleep(1),
        "sleep_until": lambda: workflow.sleep_until(datetime(2026, 1, 1, tzinfo=UTC)),
    }
    assert {*calls, "add"} == {name for name in vars(Workflow) if not name.startswith("_")}  # all that build
    for call in calls.values():
        with pytest.raises(DefinitionError, match="committed"):
            call()
    assert len(workflow.nodes) == 1
    graph = create_workflow("g").add(one).commit()
    with pytest.raises(DefinitionError, match="committed"):
        graph.add(text)


def test_the_two_forms_do_not_mix() -> None:
    """A workflow is built by ``then`` and its kin or by ``add``, not by both."""
    with pytest.raises(DefinitionError, match="cannot be mixed"):
        create_workflow("w").then(one).add(text)
    with pytest.raises(DefinitionError, match="cannot be mixed"):
        create_workflow("w").add(one).then(text)


def test_dependencies_are_ids_or_steps() -> None:
    """``after`` takes ids, and whatever was added itself."""
    workflow = create_workflow("w").add(one).add(named).add(text, after=["one", named])
    assert [getattr(node, "after", None) for node in workflow.nodes] == [(), (), ("one", "named")]
    assert workflow.explicit


def test_numbers_that_make_no_sense_are_refused() -> None:
    """A foreach of none at once, and a loop of no iteration, are errors where they are written."""
    with pytest.raises(DefinitionError, match="concurrency=0"):
        create_workflow("w").foreach(one, concurrency=0)
    with pytest.raises(DefinitionError, match="max_iterations=0"):
        create_workflow("w", int).do_while(one, lambda n: True, max_iterations=0)


def test_arms_have_conditions() -> None:
    """An arm without a condition is an error where it is written."""
    with pytest.raises(DefinitionError, match="no condition"):
        create_workflow("w").branch([arm(one)])
    with pytest.raises(DefinitionError, match="cannot map"):
        create_workflow("w").map("x")  # type: ignore[call-overload]


def test_arms_may_be_restricted_to_hooks() -> None:
    """``on`` is kept on the node of a step, a branch of parallel and an arm."""
    spec = arm(one, when=lambda n: True, on=["process_input"])
    assert isinstance(spec, Arm)
    workflow = create_workflow("w", kind="processor").then(text, on={"process_output_step"}).parallel([spec, named])
    workflow.branch([spec])
    hooks = [child.on for node in workflow.nodes for child in node.children]
    assert hooks == [{"process_output_step"}, {"process_input"}, None, {"process_input"}]


def test_a_workflow_is_a_step() -> None:
    """A workflow as a step has its id, its types, and the hooks of the processors inside that may run."""
    a: Step[Any, Any] = Step(id="processor:a", kind="processor", hooks=frozenset({"x", "y"}), mutates=True)
    b: Step[Any, Any] = Step(id="processor:b", kind="processor", hooks=frozenset({"y", "z"}))
    workflow = create_workflow("w", int, description="Two guards.").parallel([a, arm(b, on={"z"})]).commit()
    made = workflow.as_step()
    assert (made.id, made.kind, made.body, made.owner) == ("w", "workflow", workflow, workflow)
    assert (set(made.hooks), made.mutates, made.description) == ({"x", "y", "z"}, True, "Two guards.")
    assert workflow.as_step() is made
    outer = create_workflow("outer", int).then(create_workflow("inner", int).then(one).then(text).commit()).commit()
    assert (outer.as_step().input_type, outer.as_step().output_type) == (int, str)
    assert [each.id for each in outer.walk_steps()] == ["inner", "one", "text"]


def test_building_is_cheap_and_linear() -> None:
    """A workflow of many nodes commits, and its plan is made when it first runs."""
    workflow: Workflow[Any, Any] = create_workflow("w")
    for number in range(2000):
        workflow.then(one.renamed(f"s{number}"))
    workflow.commit()
    assert workflow.plans == {}
    assert len(workflow.nodes) == 2000


def test_an_error_shows_every_finding() -> None:
    """The error of ``commit`` lists all that was found, with codes, hints and places."""
    workflow = create_workflow("w", LIST).then(text).then(text).map(pick("nothing"))
    with pytest.raises(WorkflowDefinitionError) as caught:
        workflow.commit()
    assert [finding.code for finding in caught.value.findings] == [
        "duplicate-step-id",
        "incompatible-schema",
        "invalid-map-reference",
    ]
    assert "3 errors" in str(caught.value)
    assert f"{__file__}:" in str(caught.value)
    assert not workflow.committed


def test_a_clone_has_everything_under_another_id() -> None:
    """WF-003: a clone has the nodes and settings of its original, is open, and what is added to it stays there."""
    policy = RetryPolicy(2)
    plain = create_workflow("plain")
    original: Workflow[Any, Any] = create_workflow(
        "w", int, kind="processor", description="All.", reducers={"n": max}, retry=policy, timeout=3.0,
        state_type=State, output_type=int, budget=Budget(seconds=60),
    )  # fmt: skip
    original.then(one).map(lambda n: n).sleep(0).commit()
    copy = original.clone("again")
    assert (copy.id, copy.committed, copy.nodes) == ("again", False, original.nodes)
    for name in inspect.signature(create_workflow).parameters:
        if name != "id":
            assert getattr(copy, name) == getattr(original, name) != getattr(plain, name), name
    assert copy.source == f"{__file__}:{inspect.currentframe().f_lineno - 5}"  # type: ignore[union-attr]
    copy.map(lambda n: n).commit()
    assert [node.id for node in copy.nodes] == ["one", "map-1", "sleep-1", "map-2"]
    assert len(original.nodes) == 3
    graph = create_workflow("g").add(one).clone("h").add(text, after=["one"])
    assert graph.explicit
    assert one.clone("two") == one.renamed("two")


def test_a_clone_resolves_a_duplicate() -> None:
    """WF-003: what is told about two steps of one id names the way out, and the way out works."""
    inner = create_workflow("inner").then(one).commit()
    with pytest.raises(WorkflowDefinitionError, match=r"\.clone\("):
        create_workflow("w").then(inner).then(inner).commit()
    create_workflow("w").then(inner).then(inner.clone("second").commit()).commit()
