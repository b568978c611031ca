"""
Random workflows that ask, answered in any order, in one process or in several, do each step once and what an oracle says.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.random_graphs.build import PLAY, Play, built, seen
from tests.runtime.random_graphs.clocks import BACKENDS, play
from tests.runtime.random_graphs.compared import check
from tests.runtime.random_graphs.described import Flow, Graph, mix
from tests.runtime.random_graphs.draws import graphs, workflows
from tests.runtime.random_graphs.played import allowed

from procession.runtime.runtime import Runtime
from procession.storage.base import JournalStore
from procession.storage.memory import InMemoryJournal

ANY = st.one_of(workflows(asks=True), graphs(asks=True))


async def answered(graph: Flow | Graph, value: int, seed: int, store: JournalStore | None, *, restarts: bool) -> None:
    """
    Run *graph*, answer its questions one by one in an order of *seed*, and hold each part against the oracle.

    With *restarts* each part is run by another runtime, from another definition of the same workflow.
    """
    random = Random(seed)
    answers: dict[str, list[Any]] = {}
    before: set[str] = set()
    outputs: dict[str, str] = {}
    runtime, workflow = Runtime(store), built(graph)
    waiting: list[str] = []
    containers: dict[str, tuple[str, str]] = {}
    while True:
        here = Play(seed)
        PLAY.set(here)
        if not waiting:
            run = runtime.create_run(workflow, run_id="r")
            result = await run.start(value)
        else:
            path = random.choice(waiting)
            number = len(answers.get(path, []))
            answer = mix("answer", (path, number))
            answers.setdefault(path, []).append(answer)
            before.discard(path)
            if restarts:
                runtime, workflow = Runtime(store), built(graph)
            label = here.label(path, number)
            which: dict[str, Any] = {"label": label} if label is not None else {"step": path}
            async with runtime.resume_stream("r", answer, workflow=workflow, **which) as run:
                result = await run.result()
        found = seen(run, result, here)
        found.records = {**containers, **found.records}
        where = f"seed {seed}, value {value}, answers {answers}"
        check(graph, found, allowed(graph, value, answers), where, before=before)
        for path, (status, output) in found.records.items():
            if status == "success":
                assert outputs.setdefault(path, output) == output, path
        if result.status != "suspended":
            break
        waiting = sorted(result.suspended)
        # Of a workflow that is passed by as a whole, the containers inside have no records in the next part.
        containers = {
            path: found.records[path]
            for path, record in result.steps.items()
            if record.kind in ("foreach", "loop", "workflow") and record.status != "suspended"
        }
        before = {path for path, record in result.steps.items() if record.kind == "step"}


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=settings.default.max_examples // 3 if settings.default else 30)
@given(
    graph=ANY, value=st.integers(0, 3), seed=st.integers(0, 10_000), kept=st.sampled_from(["late", "eager", "moves"])
)
def test_any_order_of_answers(backend: str, graph: Flow | Graph, value: int, seed: int, kept: str) -> None:
    """Each part of a run goes on from the one before: what was done is not done again, what waits goes on waiting."""
    store = None if kept == "late" else InMemoryJournal()
    play(backend, lambda: answered(graph, value, seed, store, restarts=kept == "moves"), seed)
