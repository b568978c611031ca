"""The graph of a workflow."""

from __future__ import annotations

from typing import Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.steps.step import Step
from procession.workflows.graph import find_cycle
from procession.workflows.workflow import Workflow, create_workflow


def do(id: str) -> Step[Any, Any]:
    """Return a step."""
    return Step(id=id, execute=lambda ctx: ctx.input)


def edges(workflow: Workflow[Any, Any]) -> list[str]:
    """Return the edges of a workflow's graph."""
    return [f"{a} -> {b}" for a, b in workflow.graph.edges]


def test_containers_lead_to_what_they_contain() -> None:
    """A container's node leads to its contents, and these to what follows."""
    inner = create_workflow("inner").then(do("x")).then(do("y")).commit()
    workflow = (
        create_workflow("w").then(do("a")).parallel([do("b"), inner]).map(lambda both: both).then(do("c")).commit()
    )
    assert edges(workflow) == [
        "a -> parallel-1",
        "parallel-1 -> b",
        "parallel-1 -> inner",
        "b -> map-1",
        "inner -> inner/x",
        "inner/x -> inner/y",
        "inner/y -> map-1",
        "map-1 -> c",
    ]
    assert workflow.graph.nodes["inner/x"]["parent"] == "inner"
    assert workflow.graph.nodes["b"]["parent"] == "parallel-1"
    kinds = {path: data["kind"] for path, data in workflow.graph.nodes(data=True)}
    assert (kinds["parallel-1"], kinds["inner"], kinds["map-1"], kinds["a"]) == ("parallel", "workflow", "map", "step")


def test_loops_lead_on_and_never_back() -> None:
    """A loop or foreach is a node that leads through its body: the graph has no cycle."""
    inner = create_workflow("inner").then(do("x")).commit()
    workflow = create_workflow("w").do_while(inner, lambda n: False).foreach(do("each")).then(do("c")).commit()
    assert edges(workflow) == ["inner -> inner/x", "inner/x -> each", "each -> c"]
    assert workflow.graph.nodes["inner"]["kind"] == "loop"
    assert networkx.is_directed_acyclic_graph(workflow.graph)


def test_a_branch_that_may_be_skipped_leads_past_its_arms() -> None:
    """Where no arm may run, an edge leads from the branch to what follows."""
    skipping = create_workflow("w").branch([(lambda n: True, do("a"))], on_no_match="skip").then(do("c")).commit()
    assert edges(skipping) == ["branch-1 -> a", "branch-1 -> c", "a -> c"]


def test_an_explicit_graph_is_as_it_was_written() -> None:
    """Edges of the explicit form are its dependencies."""
    workflow = create_workflow("w").add(do("c"), after=["a", "b"]).add(do("a")).add(do("b"), after=["a"]).commit()
    assert sorted(edges(workflow)) == ["a -> b", "a -> c", "b -> c"]
    outer = create_workflow("o").then(workflow).then(do("d")).commit()
    assert sorted(edges(outer)) == ["w -> w/a", "w/a -> w/b", "w/a -> w/c", "w/b -> w/c", "w/c -> d"]


def test_the_graph_is_made_once() -> None:
    """The graph of a committed workflow is kept; an open one's is made anew."""
    workflow = create_workflow("w").then(do("a"))
    assert workflow.graph is not workflow.graph
    workflow.then(do("b")).commit()
    assert workflow.graph is workflow.graph
    assert list(workflow.graph) == ["a", "b"]


@given(
    st.dictionaries(
        st.sampled_from("abcdefg"), st.lists(st.sampled_from("abcdefg"), max_size=3, unique=True), max_size=7
    )
)
def test_cycles_are_found_if_there_are_any(needs: dict[str, list[str]]) -> None:
    """A cycle is found where there is one, and it is one."""
    graph: networkx.DiGraph[str] = networkx.DiGraph([(a, b) for a, after in needs.items() for b in after])
    cycle = find_cycle(needs)
    assert bool(cycle) == (not networkx.is_directed_acyclic_graph(graph))
    for a, b in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
        assert b in needs[a]


@pytest.mark.parametrize("size", [3000])
def test_long_chains_are_no_problem(size: int) -> None:
    """Nothing about a graph is recursive: thousands of steps in a row are checked and drawn."""
    workflow = create_workflow("w").add(do("s0"))
    for number in range(1, size):
        workflow.add(do(f"s{number}"), after=[f"s{number - 1}"])
    workflow.commit()
    assert workflow.graph.number_of_edges() == size - 1
    assert find_cycle({str(number): [str((number + 1) % size)] for number in range(size)})
