"""
Played: described workflows run under schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
from hypothesis import reject
from tests.runtime.random_graphs.build import PLAY, Play, Seen, seen
from tests.runtime.random_graphs.clocks import play
from tests.runtime.random_graphs.described import Flow, Graph
from tests.runtime.random_graphs.oracle import worlds_of
from tests.runtime.random_graphs.worlds import TooManyWorlds, World

from procession.runtime.events import WorkflowEvent
from procession.runtime.run import Run, RunResult
from procession.runtime.runtime import Runtime
from procession.workflows.workflow import Workflow

__all__ = ["Seen", "allowed", "beside", "played", "watched"]


def allowed(graph: Flow | Graph, value: int, answers: Mapping[str, list[Any]] | None = None) -> list[World]:
    """Return what may come of it; a graph that leaves too much to the moment is not used."""
    try:
        return worlds_of(graph, value, answers)
    except TooManyWorlds:
        reject()


def played(backend: str, workflow: Workflow[Any, Any], value: int, seed: int, **options: Any) -> Seen:
    """Run *workflow* under the schedule of *seed* and return what came of it."""

    async def main() -> Seen:
        here = Play(seed)
        PLAY.set(here)
        made = Runtime().create_run(workflow, **options)
        return seen(made, await made.start(value), here)

    return play(backend, main, seed)


def watched(
    backend: str, workflow: Workflow[Any, Any], value: int, seed: int, beside: Callable[[Run[Any, Any], Play], Any]
) -> tuple[Seen, RunResult[Any], list[WorkflowEvent]]:
    """Run *workflow* while *beside* does something with its run, and return what came of it, and its events."""

    async def main() -> tuple[Seen, RunResult[Any], list[WorkflowEvent]]:
        here = Play(seed)
        PLAY.set(here)
        made = Runtime().create_run(workflow)
        async with anyio.create_task_group() as group:
            group.start_soon(beside, made, here)
            await made.start(value)
        result = await made.result()
        return seen(made, result, here), result, [event async for event in made.events()]

    return play(backend, main, seed)


def beside(
    backend: str, workflow: Workflow[Any, Any], values: Sequence[int], seed: int
) -> list[tuple[Seen, Run[Any, Any]]]:
    """Run *workflow* on each of *values* at the same time, in one runtime, and return what came of each."""

    async def main() -> list[tuple[Seen, Run[Any, Any]]]:
        runtime = Runtime()
        plays = [Play(seed + number) for number in range(len(values))]
        runs = [runtime.create_run(workflow) for _ in values]

        async def run(number: int) -> None:
            PLAY.set(plays[number])
            await runs[number].start(values[number])

        async with anyio.create_task_group() as group:
            for number in range(len(values)):
                group.start_soon(run, number)
        return [(seen(run, await run.result(), plays[number]), run) for number, run in enumerate(runs)]

    return play(backend, main, seed)
