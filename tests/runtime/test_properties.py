"""Properties that hold for every schedule and every graph."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable, Collection, Sequence
from random import Random
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.kit import Doc, blocks, events_of, fails, make, plus

from procession.messages.value import Value
from procession.runtime.events import WorkflowEvent
from procession.runtime.runtime import Runtime
from procession.steps.step import Step
from procession.workflows.workflow import Workflow, create_workflow

BACKENDS = ["asyncio", "trio"]
Schedule = list[int]
"""For each branch, how many turns of others it lets pass before it ends."""


def on(backend: str, main: Callable[[], Any]) -> Any:
    """Run an async function in an event loop of its own, and see that it leaves no task behind."""

    async def checked() -> Any:
        before = living()
        value = await main()
        await anyio.lowlevel.checkpoint()
        assert living() == before
        return value

    return anyio.run(checked, backend=backend)


def living() -> int:
    """Return how many tasks there are."""
    trio = sys.modules.get("trio")
    try:
        import asyncio

        return len(asyncio.all_tasks())
    except RuntimeError:
        assert trio is not None
        count: int = trio.lowlevel.current_statistics().tasks_living
        return count


def after(turns: int, then: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a step function that lets *turns* turns pass and then does what *then* does."""

    async def step(ctx: Any) -> Any:
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        return then(ctx)

    return step


ENDS: dict[str, Callable[[Any], Any]] = {
    "pass": lambda ctx: ctx.input,
    "strike": lambda ctx: ctx.input.strike("secret"),
    "block": blocks("block"),
    "retry": blocks("retry", retry=True),
    "fail": fails(ValueError("failed")),
}


def guards(kinds: list[str], schedule: Schedule, **options: Any) -> Workflow[Any, Any]:
    """Return branches that end in *kinds* after the turns of *schedule*."""
    arms = [make(f"{n}-{kind}", after(schedule[n], ENDS[kind])) for n, kind in enumerate(kinds)]
    return create_workflow("guards").parallel(arms, **options).commit()


async def outcome(workflow: Workflow[Any, Any]) -> tuple[Any, ...]:
    """Run and return everything that may not depend on the schedule."""
    made = Runtime().create_run(workflow)
    result = await made.start(Doc(("the", "secret")))
    text = result.output.text if result.status == "success" else None
    statuses = {path: record.status for path, record in result.steps.items()}
    return result.status, text, result.tripwire, str(result.error), statuses


def schedules(size: int, seed: int) -> list[Schedule]:
    """Return some schedules, the same for the same seed."""
    random = Random(seed)
    return [[random.randrange(6) for _ in range(size)] for _ in range(4)]


@pytest.mark.parametrize("backend", BACKENDS)
@given(kinds=st.lists(st.sampled_from(sorted(ENDS)), min_size=1, max_size=5), seed=st.integers(0, 1000))
def test_where_all_are_waited_for_the_schedule_decides_nothing(backend: str, kinds: list[str], seed: int) -> None:
    """With ``"wait"`` the status, the verdict, the records and the text are the same for every schedule."""

    async def main() -> list[Any]:
        return [
            await outcome(guards(kinds, schedule, on_block="wait", on_failure="wait"))
            for schedule in schedules(len(kinds), seed)
        ]

    first, *others = on(backend, main)
    assert all(other == first for other in others)


@pytest.mark.parametrize("backend", BACKENDS)
@given(
    passing=st.lists(st.sampled_from(["pass", "strike"]), min_size=1, max_size=4),
    end=st.sampled_from(sorted(ENDS)),
    place=st.integers(0, 4),
    seed=st.integers(0, 1000),
)
def test_with_one_verdict_the_schedule_does_not_decide(
    backend: str, passing: list[str], end: str, place: int, seed: int
) -> None:
    """Where one branch at most blocks or fails, cancelling the others changes neither verdict nor text."""
    kinds = [*passing[:place], end, *passing[place:]]

    async def main() -> list[Any]:
        return [(await outcome(guards(kinds, schedule)))[:4] for schedule in schedules(len(kinds), seed)]

    first, *others = on(backend, main)
    assert all(other == first for other in others)


@pytest.mark.parametrize("backend", BACKENDS)
@given(kinds=st.lists(st.sampled_from(sorted(ENDS)), min_size=2, max_size=5), seed=st.integers(0, 1000))
def test_no_schedule_lets_a_secret_through(backend: str, kinds: list[str], seed: int) -> None:
    """If a branch strikes a word out, the run's output does not contain it, whatever the others do and when."""

    async def main() -> list[Any]:
        workflow = guards(["strike", *kinds], schedules(len(kinds) + 1, seed)[0])
        return list(await outcome(workflow))

    status, text, *_, statuses = on(backend, main)
    assert text in (None, "the")
    assert (status == "success") == all(kind in ("pass", "strike") for kind in kinds)
    assert "running" not in statuses.values()


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[str, tuple[str, ...], int]]:
    """Draw an acyclic graph: id, dependencies and turns of each step."""
    names = [f"n{number}" for number in range(draw(st.integers(1, 9)))]
    made = [
        (name, tuple(sorted(draw(st.sets(st.sampled_from(names[:at]))))) if at else (), draw(st.integers(0, 4)))
        for at, name in enumerate(names)
    ]
    return draw(st.permutations(made))


def oracle(graph: list[tuple[str, tuple[str, ...], int]], value: int) -> Any:
    """Work the graph out one step after the other."""
    needs = {name: after for name, after, _ in graph}
    outputs: dict[str, Any] = {}

    def of(name: str) -> Any:
        if name not in outputs:
            given = needs[name]
            got = value if not given else of(given[0]) if len(given) == 1 else {each: of(each) for each in given}
            outputs[name] = (name, got)
        return outputs[name]

    fed = {each for after in needs.values() for each in after}
    sinks = [name for name, _, _ in graph if name not in fed]
    return of(sinks[0]) if len(sinks) == 1 else {name: of(name) for name in sinks}


@pytest.mark.parametrize("backend", BACKENDS)
@given(graph=graphs())
def test_joins_agree_with_an_oracle(backend: str, graph: list[tuple[str, tuple[str, ...], int]]) -> None:
    """Any graph, in whatever order it was written down, gives what working it out step by step gives, each step once."""
    ran: list[str] = []

    def node(name: str, turns: int) -> Step[Any, Any]:
        def work(ctx: Any) -> Any:
            ran.append(name)
            return (name, ctx.input)

        return make(name, after(turns, work))

    workflow = create_workflow("w")
    for name, needs, turns in graph:
        workflow.add(node(name, turns), after=needs)
    workflow.commit()

    async def main() -> Any:
        return (await Runtime().run(workflow, 7)).unwrap()

    assert on(backend, main) == oracle(graph, 7)
    assert sorted(ran) == sorted(name for name, _, _ in graph)


@pytest.mark.parametrize("backend", BACKENDS)
@given(
    kinds=st.lists(st.sampled_from(sorted(ENDS)), min_size=1, max_size=4),
    joins=st.lists(st.integers(0, 25), min_size=1, max_size=4),
    seed=st.integers(0, 1000),
)
def test_every_reader_sees_the_same(backend: str, kinds: list[str], joins: list[int], seed: int) -> None:
    """Readers who join at any moment of any run see the same events, numbered without gaps, one of them terminal."""
    seen: list[list[WorkflowEvent]] = []

    async def main() -> None:
        made = Runtime().create_run(guards(kinds, schedules(len(kinds), seed)[0]))

        async def read(turns: int) -> None:
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            seen.append([event async for event in made.events()])

        async with anyio.create_task_group() as group:
            for turns in joins:
                group.start_soon(read, turns)
            group.start_soon(made.start, Doc(("the", "secret")))
        seen.append(await events_of(made))

    on(backend, main)
    assert all(events == seen[0] for events in seen)
    assert [event.seq for event in seen[0]] == list(range(len(seen[0])))
    assert [event.terminal for event in seen[0]] == [False] * (len(seen[0]) - 1) + [True]


def reached(roots: Sequence[Any], without: Collection[int] = ()) -> dict[int, Any]:
    """Return by identity what *roots* lead to through containers and objects of ours, past classes and code."""
    found: dict[int, Any] = {}
    left = list(roots)
    while left:
        each: Any = left.pop()
        ours = type(each).__module__.startswith("procession") and not isinstance(each, type)
        if id(each) in found or id(each) in without or not (ours or type(each) in CONTAINERS):
            continue
        found[id(each)] = each
        left += gc.get_referents(each)
    return found


CONTAINERS = (dict, list, set, frozenset, tuple, deque, bytearray)


async def test_two_runs_share_nothing_that_changes() -> None:
    """C12: runs of one definition at the same time have no object in common that changes, however deep."""
    both = anyio.Event()
    arrived = 0

    async def meet(ctx: Any) -> Any:
        nonlocal arrived
        ctx.set_state(who=ctx.init_data)
        ctx.scope.state("p")["who"] = ctx.init_data
        arrived += 1
        if arrived == 2:
            both.set()
        await both.wait()
        return [ctx.state["who"], ctx.scope.state("p")["who"], ctx.result_of("a")]

    workflow = create_workflow("w").then(plus("a", 1)).parallel([make("meet", meet), plus("b", 1)]).commit()
    runtime = Runtime()
    runs = [runtime.create_run(workflow) for _ in range(2)]
    async with anyio.create_task_group() as group:
        for number, made in enumerate(runs):
            group.start_soon(made.start, number * 10)
    results = [await made.result() for made in runs]
    assert [result.output["meet"] for result in results] == [[0, 0, 1], [10, 10, 11]]
    first, second = (made.state for made in runs)
    for name in ("records", "scope", "broadcast", "request_context", "shared"):
        assert getattr(first, name) is not getattr(second, name)
    assert not {id(record) for record in first.records.values()} & {id(record) for record in second.records.values()}
    assert first.run_id != second.run_id
    defined = reached([workflow, runtime, *(made.plan for made in runs)])
    one, other = (reached([made], defined) for made in runs)
    shared = [one[key] for key in one.keys() & other.keys()]
    assert [each for each in shared if not isinstance(each, tuple | frozenset | Value)] == []
    assert id(first.records) in one
    assert id(second.shared.values) in other


async def test_a_wide_fan_out_uses_few_tasks() -> None:
    """A thousand branches that never wait take a handful of tasks: two, and one for each time a branch draws breath."""
    most = 0

    async def count(ctx: Any) -> None:
        nonlocal most
        most = max(most, living())

    before = living()
    workflow = create_workflow("w").parallel([make(f"s{number}", count) for number in range(1000)]).commit()
    assert (await Runtime().run(workflow, 0)).status == "success"
    assert most - before < 30
