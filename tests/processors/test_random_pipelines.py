"""
Random pipelines of processors: whatever the shape, the schedule, failures, blocks and questions, nothing hidden comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.processors.kit import at, texts
from tests.processors.test_graph_merges import ACTS, SAID, SECRETS
from tests.runtime.random_graphs.clocks import BACKENDS, play

from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.processors.payloads import InputPayload
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.steps.step import Step
from procession.storage.base import JournalStore
from procession.storage.memory import InMemoryJournal
from procession.workflows.workflow import Workflow, create_workflow


@dataclass(frozen=True)
class Pipe:
    """A processor (``act``), or pipes in a ``row``, at the same time, in a branch, or in a graph with what each needs."""

    id: str
    kind: str
    act: str = ""
    pipes: tuple[Pipe, ...] = ()
    merge: str = "strictest"
    needs: tuple[tuple[int, ...], ...] = ()


@st.composite
def pipes(draw: st.DrawFn) -> Pipe:
    """Return a small pipeline; its acts hide, add, look, fail, block and ask."""
    left = draw(st.integers(2, 8))
    others = draw(st.lists(st.sampled_from(["skip", "fail", "block", "again", "ask"]), max_size=2))
    number = 0

    def drawn(depth: int) -> Pipe:
        nonlocal left, number
        number += 1
        id = f"n{number}"
        kind = "one" if depth > 2 or left <= 0 else draw(st.sampled_from(["one", "row", "parallel", "branch", "graph"]))
        if kind == "one":
            left -= 1
            return Pipe(
                id, kind, draw(st.sampled_from([*SECRETS, *SECRETS, "add", "note", "instruct", "look", *others]))
            )
        inside = tuple(drawn(depth + 1) for _ in range(draw(st.integers(1, 4))))
        needs = tuple(
            tuple(draw(st.sets(st.integers(0, at - 1), max_size=2)) if at else ()) for at in range(len(inside))
        )
        merge = draw(st.sampled_from(["strictest", "strictest", "priority", "chain"]))
        return Pipe(id, kind, "", inside, merge, needs if kind == "graph" else ())

    return Pipe("all", "row", "", tuple(drawn(0) for _ in range(draw(st.integers(1, 3)))))


async def asks(ctx: Any) -> Any:
    """Ask, and let the payload pass."""
    await ctx.suspend("may it go on?")
    return ctx.input


def one(pipe: Pipe, seed: int) -> Any:
    """Return the processor or the step of a pipe that is one."""
    if pipe.act == "ask":
        return Step[Any, Any](id=pipe.id, execute=asks)

    async def act(ctx: Any) -> None:
        for _ in range(Random(f"{seed}:{pipe.id}").choice((0, 0, 1, 2, 5, 9))):
            await anyio.lowlevel.checkpoint()
        if pipe.act in ("skip", "fail"):
            ACTS["add"](ctx)
            raise ValueError("no")
        if pipe.act in ("block", "again"):
            ctx.abort("no", retry=pipe.act == "again")
        ACTS[pipe.act](ctx)

    return at("process_input", act, id=pipe.id, on_error="skip" if pipe.act == "skip" else "stop")


def workflow_of(pipe: Pipe, seed: int) -> Workflow[Any, Any]:
    """Return the workflow of a pipe that holds others."""
    workflow: Workflow[Any, Any] = create_workflow(pipe.id, kind="processor")
    parts = [one(each, seed) if each.kind == "one" else workflow_of(each, seed) for each in pipe.pipes]
    options: dict[str, Any] = {"merge": pipe.merge}
    match pipe.kind:
        case "row":
            for part in parts:
                workflow.then(part)
        case "parallel":
            workflow.parallel(parts, **options)
        case "branch":
            holds: Callable[[Any], bool] = lambda value: True
            workflow.branch([(holds, part) for part in parts], **options)
        case _:
            ids = [part.as_step().id for part in parts]
            for part, needs in zip(parts, pipe.needs, strict=True):
                workflow.add(part, after=[ids[need] for need in needs])
    return workflow.commit()


def hiders(pipe: Pipe) -> dict[str, str]:
    """Return what each processor that hides something hides, by the id of its step."""
    found = {f"processor:{pipe.id}": pipe.act} if pipe.act in SECRETS else {}
    for each in pipe.pipes:
        found |= hiders(each)
    return found


async def end_of(pipe: Pipe, seed: int, store: JournalStore | None) -> RunResult[Any]:
    """Run a pipeline, answering whatever asks in an order of *seed*, each time by another runtime."""
    random = Random(seed)
    messages = MessageList([Message.user(SAID, id="u")])
    result = await Runtime(store).run(workflow_of(pipe, seed), InputPayload(messages), run_id="r") if store else None
    runtime = Runtime(store)
    if result is None:
        result = await runtime.run(workflow_of(pipe, seed), InputPayload(messages), run_id="r")
    while result.status == "suspended":
        if store is not None:
            runtime = Runtime(store)
        step = random.choice(sorted(result.suspended))
        result = await runtime.resume("r", "yes", step=step, workflow=workflow_of(pipe, seed))
    return result


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=settings.default.max_examples // 3 if settings.default else 30)
@given(pipe=pipes(), seed=st.integers(0, 10_000), kept=st.booleans())
def test_what_was_hidden_stays_hidden(backend: str, pipe: Pipe, seed: int, kept: bool) -> None:
    """Where a run goes on to its end, its messages hold nothing that a processor that did its work has hidden."""
    for schedule in range(2):

        async def main(schedule: int = schedule) -> RunResult[Any]:
            return await end_of(pipe, seed + schedule, InMemoryJournal() if kept else None)

        result = play(backend, main, seed)
        if result.status != "success":
            continue
        done = {record.id for record in result.steps.values() if record.status == "success"}
        said = texts(result.output.message_list)
        for id, secret in hiders(pipe).items():
            if id in done:
                assert not any(secret in text for text in said), id
