"""The log of a run: numbered, bounded, and the same for every reader."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.watch_kit import events_of

from procession.errors import RunNotFound
from procession.runtime.runtime import Runtime
from procession.server.run_log import LARGEST, LoggedEvent, RunLog
from procession.server.runs import Runs
from procession.steps.step import Step, StepContext, step
from procession.workflows.workflow import Workflow, create_workflow


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """A log needs no server, and is the same on both."""
    backend: str = request.param
    return backend


def written(count: int, **bounds: Any) -> RunLog:
    log = RunLog("r", **bounds)
    for number in range(count):
        log.append("node.started", {"node_path": f"n{number}", "payload": {}})
    return log


async def read_some(reader: AsyncGenerator[LoggedEvent, None], most: int | None) -> list[LoggedEvent]:
    found: list[LoggedEvent] = []
    async with aclosing(reader) as events:
        async for event in events:
            found.append(event)
            if len(found) == most:
                break
    return found


@settings(max_examples=40, deadline=None)
@given(
    readers=st.lists(st.lists(st.integers(1, 9), max_size=4), min_size=1, max_size=4),
    bursts=st.lists(st.integers(0, 12), min_size=1, max_size=6),
    backend=st.sampled_from(["asyncio", "trio"]),
)
def test_readers_see_the_same_sequence_whenever_they_join(
    readers: list[list[int]], bursts: list[int], backend: str
) -> None:
    """Each joins at some time, leaves after so many events, and joins again behind the last: no gap, none twice."""
    log = RunLog("r")
    seen: list[list[LoggedEvent]] = [[] for _ in readers]

    async def follow(number: int, stays: list[int]) -> None:
        for _ in range(number):
            await anyio.lowlevel.checkpoint()
        for most in [*stays, None]:
            after = seen[number][-1].seq if seen[number] else -1
            seen[number] += await read_some(log.read(after), most)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number, stays in enumerate(readers):
                group.start_soon(follow, number, stays)
            for burst in bursts:
                for _ in range(burst):
                    log.append("node.started", {"payload": {"count": log.next_seq}})
                await anyio.lowlevel.checkpoint()
            log.append("run.finished", {"payload": {}})

    anyio.run(main, backend=backend)
    everything = log.kept()
    assert [event.seq for event in everything] == list(range(sum(bursts) + 1))
    for found in seen:
        texts = [event.text for event in found]
        # Who joins behind the last event of a run that has ended sees nothing more, and nothing again.
        assert texts == [event.text for event in everything]


async def test_a_log_stays_within_its_bounds_and_says_what_is_missing() -> None:
    """Of 25,000 events the last 10,000 are there, behind one that tells how many were dropped, also for who asks later."""
    log = written(25_000)
    found = log.kept()
    assert (found[0].type, found[0].seq) == ("log.dropped", 14_999)
    assert found[0].data["payload"] == {"from": 0, "to": 14_999, "dropped": 15_000}
    assert [event.seq for event in found[1:]] == list(range(15_000, 25_000))
    assert [event.seq for event in log.kept(14_999, limit=2)] == [15_000, 15_001]
    assert log.kept(9_999, limit=1)[0].data["payload"]["dropped"] == 5_000
    assert log.kept(24_999) == []


async def test_a_log_is_bounded_in_size_and_so_is_an_event() -> None:
    """Large events push out the oldest; what is larger than an event may be is shown without its payload."""
    log = RunLog("r", max_size=4 * 1024 * 1024)
    for _ in range(100):
        log.append("node.completed", {"node_path": "a", "payload": {"output": "x" * 200_000}})
        assert log.size <= log.max_size
    assert len(log.kept(log.first_seq - 1)) <= 21
    whole = log.append("node.completed", {"node_path": "a", "payload": {"output": "x" * LARGEST}}).data
    assert whole["node_path"] == "a" and whole["payload"]["withheld"] == "too large"


async def test_a_reader_in_another_thread_is_woken() -> None:
    """A run may go on in an event loop of its own."""
    log = RunLog("r")
    found: list[LoggedEvent] = []

    async def follow() -> None:
        found.extend(await read_some(log.read(), None))

    def write() -> None:
        for _ in range(100):
            log.append("node.started", {"payload": {}})
        log.append("run.finished", {"payload": {}})

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(follow)
            await anyio.lowlevel.checkpoint()
            await anyio.to_thread.run_sync(write)
    assert [event.seq for event in found] == list(range(101))


def counting(items: int) -> tuple[Workflow[Any, Any], list[int]]:
    @step
    def same(ctx: StepContext[int]) -> int:
        return ctx.input

    return create_workflow("many", list[int]).foreach(same).commit(), list(range(items))


async def test_a_run_of_many_events_stays_within_the_bounds() -> None:
    """Its log, its nodes and what they hold are bounded, and how it ended is known all the same."""
    runs = Runs(redact=None, max_events=1_000)
    workflow, items = counting(6_000)
    result = await Runtime(observers=[runs]).run(workflow, items)
    assert result.status == "success"
    page = await runs.events(result.run_id, limit=10_000)
    assert page["last_seq"] > 12_000 and len(page["events"]) == 1_001
    assert page["events"][-1]["type"] == "run.finished"
    shown = await runs.summary(result.run_id)
    assert shown["status"] == "success" and len(shown["nodes"]) == 5_000 and shown["nodes_left_out"] > 0


async def test_the_oldest_ended_runs_go_first() -> None:
    """A run that goes on stays, however old; of the ended ones the newest are there."""
    runs = Runs(redact=None, max_runs=3)
    runtime = Runtime(observers=[runs])
    begun, go_on = anyio.Event(), anyio.Event()

    async def wait(ctx: Any) -> int:
        begun.set()
        await go_on.wait()
        return 1

    held: Step[int, int] = Step(id="wait", execute=wait)
    waiting = create_workflow("waiting", int).then(held).commit()
    workflow, items = counting(1)
    async with anyio.create_task_group() as group:
        old = runtime.create_run(waiting, run_id="old")
        group.start_soon(old.start, 0)
        await begun.wait()
        for number in range(6):
            await runtime.run(workflow, items, run_id=f"r{number}")
        assert [run.run_id for run in runs] == ["old", "r4", "r5"]
        with pytest.raises(RunNotFound):
            await runs.summary("r1")
        go_on.set()
    assert (await runs.summary("old"))["status"] == "success"


async def test_a_page_has_the_types_that_are_asked_for() -> None:
    """Numbers are those of the whole log, so that a page goes on behind any of them."""
    runs = Runs(redact=None)
    workflow, items = counting(2)
    result = await Runtime(observers=[runs]).run(workflow, items)
    found = await events_of(runs, result.run_id, "foreach.progress")
    assert [event["payload"]["completed"] for event in found] == [1, 2]
    page = await runs.events(result.run_id, after=found[0]["seq"], types=["foreach.progress"])
    assert [event["seq"] for event in page["events"]] == [found[1]["seq"]] and page["ended"]
