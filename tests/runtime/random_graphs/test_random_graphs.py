"""
Random workflows under random schedules do what an oracle says that works them out one step after the other.
"""

from __future__ import annotations

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from tests.runtime.random_graphs.build import PLAY, Play, Seen, built, seen
from tests.runtime.random_graphs.clocks import BACKENDS, play
from tests.runtime.random_graphs.compared import check, outcome
from tests.runtime.random_graphs.described import Flow, Graph
from tests.runtime.random_graphs.draws import graphs, workflows
from tests.runtime.random_graphs.oracle import worlds_of
from tests.runtime.random_graphs.worlds import TooManyWorlds, World

from procession.runtime.runtime import Runtime
from procession.workflows.workflow import Workflow

SCHEDULES = 3
"""Under so many schedules each workflow is run."""


def worlds(graph: Flow | Graph, value: int) -> list[World]:
    """Return what may come of it; a graph that leaves too much to the moment is not used."""
    try:
        return worlds_of(graph, value)
    except TooManyWorlds:
        reject()


def runs(backend: str, workflow: Workflow[int, object], value: int, seed: int) -> Seen:
    """Run *workflow* under the schedule of *seed*."""

    async def main() -> Seen:
        here = Play(seed)
        PLAY.set(here)
        made = Runtime().create_run(workflow)
        return seen(made, await made.start(value), here)

    return play(backend, main, seed)


def agree(backend: str, graph: Flow | Graph, value: int, seed: int) -> None:
    """Run the workflow under several schedules and hold each against the oracle, and all against each other."""
    allowed = worlds(graph, value)
    workflow = built(graph)
    ends = {outcome(world) for world in allowed}
    for number in range(SCHEDULES):
        found = runs(backend, workflow, value, seed + number)
        check(graph, found, allowed, f"{backend}, seed {seed + number}, value {value}")
        assert (found.status, found.output, found.stop) in ends


@pytest.mark.parametrize("backend", BACKENDS)
@given(graph=workflows(), value=st.integers(0, 3), seed=st.integers(0, 10_000))
def test_workflows_agree_with_the_oracle(backend: str, graph: Flow | Graph, value: int, seed: int) -> None:
    """Status, output, what decided, records, state and how often steps began are what the oracle allows."""
    agree(backend, graph, value, seed)


@pytest.mark.parametrize("backend", BACKENDS)
@given(graph=graphs(), value=st.integers(0, 3), seed=st.integers(0, 10_000))
def test_graphs_agree_with_the_oracle(backend: str, graph: Graph, value: int, seed: int) -> None:
    """The same holds for steps that wait for each other, in whatever order they were written down."""
    agree(backend, graph, value, seed)


@pytest.mark.parametrize("backend", BACKENDS)
@given(graph=st.one_of(workflows(asks=True), graphs(asks=True)), value=st.integers(0, 3), seed=st.integers(0, 10_000))
def test_questions_agree_with_the_oracle(backend: str, graph: Flow | Graph, value: int, seed: int) -> None:
    """A step that asks lets the steps beside it finish; what any of them ends in comes before the question."""
    agree(backend, graph, value, seed)
