"""Edges of a graph, and those that a run followed."""

import json
from collections.abc import Mapping
from typing import Any

from tests.workflows.render.sample import shout

from procession import run_sync
from procession.steps.step import Step, StepContext, step
from procession.workflows.describe import graph_spec
from procession.workflows.render.draw import draw
from procession.workflows.workflow import create_workflow


def text(id: str) -> Step[str, str]:
    return shout.renamed(id)


def first(outputs: Mapping[str, str]) -> str:
    return next(iter(outputs.values()))


def followed(workflow: Any, value: Any) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Run *workflow*; return the edges that its drawing as JSON marks, and the others."""
    content = json.loads(draw(workflow, "json", run=run_sync(workflow, value)))
    ran = {(edge["source"], edge["target"]) for edge in content["run"]["edges"] if not edge["path"]}
    return ran, {(edge["source"], edge["target"]) for edge in content["edges"]} - ran


def test_edges_are_the_dependencies_and_followed_ones_are_marked() -> None:
    """GRA-001: arms do not overwrite each other, all is joined, and exactly what a run followed is marked."""
    workflow = (
        create_workflow("gra", str)
        .then(text("a"))
        .parallel([text("b"), text("c")], id="p")
        .map(first, id="one")
        .branch([(str.isdigit, text("d"))], default=text("e"), id="x")
        .map(first, id="only")
        .then(text("f"))
        .commit()
    )
    ids = {node.id for node in graph_spec(workflow).nodes}
    assert {"a", "b", "c", "d", "e", "f", "p@fork", "p@join", "x@decision", "x@join"} <= ids
    ran, others = followed(workflow, "hello")
    assert ran == {
        ("@start", "a"), ("a", "p@fork"), ("p@fork", "b"), ("p@fork", "c"), ("b", "p@join"), ("c", "p@join"),
        ("p@join", "one"), ("one", "x@decision"), ("x@decision", "e"), ("e", "x@join"), ("x@join", "only"),
        ("only", "f"), ("f", "@end"),
    }  # fmt: skip
    assert others == {("x@decision", "d"), ("d", "x@join")}
    mermaid = draw(workflow, "mermaid", run=run_sync(workflow, "hello"))
    assert mermaid.count("==>") == len(ran)


@step
def broken(ctx: StepContext[str]) -> str:
    raise ValueError("no")


def test_what_came_after_a_failure_was_not_followed() -> None:
    """A run leads to the step that failed, no further; a join is not reached where an arm failed."""
    workflow = create_workflow("w", str).parallel([shout, broken], id="p").map(first, id="one").commit()
    ran, others = followed(workflow, "x")
    assert {("@start", "p@fork"), ("p@fork", "broken")} <= ran
    assert {("broken", "p@join"), ("shout", "p@join"), ("p@join", "one"), ("one", "@end")} == others


def test_a_branch_that_nothing_was_chosen_of() -> None:
    """The edge past all arms is followed where no condition held, and only there."""
    workflow = create_workflow("w", str).branch([(str.isdigit, shout)], on_no_match="skip", id="x").commit()
    assert ("x@decision", "x@join") in followed(workflow, "x")[0]
    assert ("x@decision", "x@join") in followed(workflow, "1")[1]


def test_a_loop_that_ran_once_did_not_lead_back() -> None:
    """The edge back is followed from the second time on."""

    @step
    def more(ctx: StepContext[int]) -> int:
        return ctx.input + 1

    def loop(most: int) -> Any:
        def reached(value: int) -> bool:
            return value >= most

        made: Any = create_workflow("w", int)
        return made.do_until(more, reached).commit()

    assert ("more@loop", "more") in followed(loop(1), 0)[1]
    ran, others = followed(loop(3), 0)
    assert ("more@loop", "more") in ran and not others


def test_edges_inside_a_nested_workflow() -> None:
    """Edges of a graph inside are marked by the path of its node."""
    inner = create_workflow("inner", str).then(text("a")).then(broken).then(text("b")).commit()
    workflow = create_workflow("outer", str).then(inner).commit()
    run: Any = json.loads(draw(workflow, "json", run=run_sync(workflow, "x")))["run"]
    inside = {(edge["source"], edge["target"]) for edge in run["edges"] if edge["path"] == "inner"}
    assert inside == {("@start", "a"), ("a", "broken")}
    assert {node["path"]: node["status"] for node in run["nodes"]} == {
        "inner": "failed",
        "inner/a": "success",
        "inner/broken": "failed",
    }


def test_items_of_a_foreach() -> None:
    """A foreach over something is left, one that failed is not."""
    made: Any = create_workflow("w", list[str])
    ran, others = followed(made.foreach(shout).commit(), ["a", "b"])
    assert ran == {("@start", "shout@foreach"), ("shout@foreach", "shout"), ("shout", "@end")} and not others
    failing: Any = create_workflow("w", list[str])
    assert followed(failing.foreach(broken).commit(), ["a"])[1] == {("broken", "@end")}
