"""
Random workflows under random schedules do what an oracle says that works them out one step after the other.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.random_graphs.build import Play, built
from tests.runtime.random_graphs.clocks import BACKENDS
from tests.runtime.random_graphs.compared import check, outcome
from tests.runtime.random_graphs.described import Flow, Graph
from tests.runtime.random_graphs.draws import graphs, workflows
from tests.runtime.random_graphs.played import allowed, beside, played, watched

from procession.runtime.run import Run

FEW = settings(max_examples=settings.default.max_examples // 3 if settings.default else 30)
"""So many examples keep the time of the whole short."""

SCHEDULES = 3
"""Under so many schedules each workflow is run."""

VALUES = st.integers(0, 3)
SEEDS = st.integers(0, 10_000)
ANY = st.one_of(workflows(asks=True), graphs(asks=True))


def agree(backend: str, graph: Flow | Graph, value: int, seed: int) -> None:
    """Run the workflow under several schedules and hold each against the oracle, and all against each other."""
    worlds = allowed(graph, value)
    workflow = built(graph)
    ends = {outcome(world) for world in worlds}
    for number in range(SCHEDULES):
        found = played(backend, workflow, value, seed + number)
        check(graph, found, worlds, f"{backend}, seed {seed + number}, value {value}")
        assert (found.status, found.output, found.stop) in ends


@pytest.mark.parametrize("backend", BACKENDS)
@FEW
@given(graph=workflows(), value=VALUES, seed=SEEDS)
def test_workflows_agree_with_the_oracle(backend: str, graph: Flow | Graph, value: int, seed: int) -> None:
    """Status, output, what decided, records, state and how often steps began are what the oracle allows."""
    agree(backend, graph, value, seed)


@pytest.mark.parametrize("backend", BACKENDS)
@FEW
@given(graph=graphs(), value=VALUES, seed=SEEDS)
def test_graphs_agree_with_the_oracle(backend: str, graph: Graph, value: int, seed: int) -> None:
    """The same holds for steps that wait for each other, in whatever order they were written down."""
    agree(backend, graph, value, seed)


@pytest.mark.parametrize("backend", BACKENDS)
@FEW
@given(graph=ANY, value=VALUES, seed=SEEDS)
def test_questions_agree_with_the_oracle(backend: str, graph: Flow | Graph, value: int, seed: int) -> None:
    """A step that asks lets the steps beside it finish; what any of them ends in comes before the question."""
    agree(backend, graph, value, seed)


@pytest.mark.parametrize("backend", BACKENDS)
@FEW
@given(graph=ANY, value=VALUES, seed=SEEDS)
def test_what_is_shown_to_nobody_ends_alike(backend: str, graph: Flow | Graph, value: int, seed: int) -> None:
    """Where what goes well is not recorded, status, output and what decided are the same."""
    worlds = allowed(graph, value)
    found = played(backend, built(graph), value, seed, sparse=True)
    assert (found.status, found.output, found.stop) in {outcome(world) for world in worlds}


@pytest.mark.parametrize("backend", BACKENDS)
@FEW
@given(graph=ANY, value=VALUES, seed=SEEDS, turns=st.integers(0, 40))
def test_cancelled_at_any_moment(backend: str, graph: Flow | Graph, value: int, seed: int, turns: int) -> None:
    """A run that is cancelled has done some of what it would have done, nothing else, and nothing of it goes on."""

    async def cancel(run: Run[Any, Any], play: Play) -> None:
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        run.cancel()

    worlds = allowed(graph, value)
    found, _, _ = watched(backend, built(graph), value, seed, cancel)
    where = f"{backend}, seed {seed}, value {value}, cancelled after {turns} turns"
    if found.status != "cancelled":
        check(graph, found, worlds, where)
    check(graph, found, [world.cut() for world in worlds], where, ended=False)


ENDS = {
    "success": "node.completed",
    "bailed": "node.completed",
    "failed": "node.failed",
    "blocked": "node.blocked",
    "suspended": "node.suspended",
    "cancelled": "node.cancelled",
}


@pytest.mark.parametrize("backend", BACKENDS)
@FEW
@given(graph=ANY, value=VALUES, seed=SEEDS, turns=st.one_of(st.none(), st.integers(0, 40)))
def test_events_tell_what_the_records_say(
    backend: str, graph: Flow | Graph, value: int, seed: int, turns: int | None
) -> None:
    """Events are numbered without gaps; each node ends once, as its record says, and within what contains it."""

    async def cancel(run: Run[Any, Any], play: Play) -> None:
        for _ in range(turns or 0):
            await anyio.lowlevel.checkpoint()
        if turns is not None:
            run.cancel()

    allowed(graph, value)
    _, result, events = watched(backend, built(graph), value, seed, cancel)
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.terminal for event in events] == [False] * (len(events) - 1) + [True]
    spans: dict[str, list[int]] = {}
    for event in events:
        if event.type in ENDS.values() or event.type == "node.started":
            spans.setdefault(event.node_path, []).append(event.seq)
    for path, record in result.steps.items():
        if record.kind == "branch":
            continue
        span = spans.pop(path)
        assert events[span[-1]].type == ENDS[record.status], path
        assert len(span) == (2 if record.started else 1), path
        parent = path.rpartition("/")[0] or path.rpartition("[")[0]
        if parent in result.steps and record.started:
            around = [event.seq for event in events if event.node_path == parent]
            assert around[0] < span[0], path
            assert span[-1] < around[-1], path
    assert all(result.steps[path].kind == "branch" for path in spans)


@pytest.mark.parametrize("backend", BACKENDS)
@FEW
@given(graph=ANY, values=st.tuples(VALUES, VALUES), seed=SEEDS)
def test_two_runs_at_the_same_time(backend: str, graph: Flow | Graph, values: tuple[int, int], seed: int) -> None:
    """Two runs of one workflow beside each other end as each does alone, and share nothing that changes."""
    worlds = [allowed(graph, value) for value in values]
    found = beside(backend, built(graph), values, seed)
    for (saw, _), value, world in zip(found, values, worlds, strict=True):
        check(graph, saw, world, f"{backend}, seed {seed}, value {value} of {values}")
    (_, one), (_, other) = found
    for name in ("broadcast", "memos", "records", "request_context", "scope", "settled", "shared"):
        first, second = getattr(one.state, name), getattr(other.state, name)
        assert first is not second or first is None or isinstance(first, frozenset | MappingProxyType), name
    for path, record in one.steps.items():
        assert record is not other.steps.get(path)
