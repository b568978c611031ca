"""Runs and graphs beside each other, and statistics over runs."""

from __future__ import annotations

from typing import Any

import pytest

from procession.server.compare import compare_graphs, compare_runs
from procession.server.stats import statistics
from procession.server.tokens import spent_by_node
from procession.workflows.describe import graph_spec
from procession.workflows.workflow import create_workflow


def node(path: str, **fields: Any) -> dict[str, Any]:
    return {"path": path, "id": path, "kind": "step", "status": "success", "seconds": 0.1, "attempts": 1, **fields}


def run_of(*nodes: Any, **fields: Any) -> dict[str, Any]:
    return {
        "run_id": "r",
        "owner": "w",
        "status": "success",
        "graph_hash": "h",
        "seconds": 1.0,
        "nodes": nodes,
        **fields,
    }


def answered(path: str, model: str = "openai/gpt-5-mini", **usage: int) -> dict[str, Any]:
    return {"type": "model.answered", "node_path": path, "payload": {"model": model, "usage": usage}}


def test_nodes_are_compared_by_what_went_in_and_out_not_by_how_long_they_took() -> None:
    """A node has changed where its status, input, output, error or verdict has; only those values are listed."""
    a = run_of(node("one", output=1), node("two", output=2, seconds=0.5), node("gone"))
    b = run_of(node("one", output=1, seconds=9.0), node("two", output=3), node("new"), output="x")
    made = compare_runs(a, [], b, [])
    changes = {each["path"]: each["change"] for each in made["nodes"]}
    assert changes == {"one": "same", "two": "changed", "gone": "only-a", "new": "only-b"}
    assert made["nodes"][1]["values"] == {"output": [2, 3]}
    assert made["nodes"][0]["seconds"] == [0.1, 9.0] and made["nodes"][0]["values"] == {}
    assert made["values"] == {"output": [None, "x"]} and made["same_graph"]


def test_tokens_and_cost_stand_at_the_node_that_asked_the_model() -> None:
    """What a model call took is counted at its node; what has no known price has no cost, and neither has the sum."""
    events = [answered("m", input_tokens=1_000_000, output_tokens=0), answered("m", input_tokens=1, output_tokens=2)]
    cached = answered("m", input_tokens=5)
    cached["payload"]["cached"] = True
    found = spent_by_node([*events, cached, answered("n", model="nobody/knows", input_tokens=7)])
    assert found["m"]["calls"] == 2 and found["m"]["input_tokens"] == 1_000_001 and found["m"]["output_tokens"] == 2
    assert found["m"]["cost"] > 0 and found["n"]["cost"] is None
    made = compare_runs(run_of(node("m")), events, run_of(node("m")), [])
    assert made["nodes"][0]["spent"][0]["calls"] == 2 and made["nodes"][0]["spent"][1] is None
    assert made["spent"][1] == {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost": 0.0}


def test_statistics_are_of_nodes_over_all_rounds_and_runs() -> None:
    """Rounds of a loop are one node; percentiles are times that were measured; a run that waits has no time."""
    runs: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        (
            run_of(node("step[0]/m", seconds=1.0), node("step[1]/m", seconds=2.0)),
            [answered("step[1]/m", input_tokens=4)],
        ),
        (run_of(node("step[0]/m", seconds=3.0, status="failed"), seconds=7.0, status="failed"), []),
        (run_of(seconds=99.0, status="suspended"), []),
    ]
    made = statistics(runs)
    assert made["runs"] == 3 and made["statuses"] == {"success": 1, "failed": 1, "suspended": 1}
    assert made["seconds"] == {"p50": 1.0, "p95": 7.0}
    [one] = made["nodes"]
    assert one["path"] == "step[]/m" and one["count"] == 3 and one["statuses"] == {"success": 2, "failed": 1}
    assert (one["p50"], one["p95"]) == (2.0, 3.0) and one["spent"]["input_tokens"] == 4


def test_statistics_of_no_runs_say_so() -> None:
    """Without a run there is nothing to say, and no error."""
    assert statistics([])["seconds"] == {"p50": None, "p95": None}


@pytest.mark.parametrize(("other", "breaking"), [(int, False), (str, True)])
def test_graphs_are_compared_in_sentences(other: Any, breaking: bool) -> None:
    """What breaks who relies on the old graph is marked; the same graph has no differences."""
    old = graph_spec(create_workflow("w", int).map(str, id="a").commit())
    new = graph_spec(create_workflow("w", other).map(str, id="a").commit())
    made = compare_graphs(old, new)
    assert made["breaking"] is breaking and made["same"] is not breaking
    assert all(each["text"] for each in made["differences"])
