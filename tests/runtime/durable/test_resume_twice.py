"""SUS-001: of several answers to one question one wins, whoever gives them and however often, and what follows is done once."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from tests.runtime.durable.everything import Death, mortal
from tests.runtime.durable.resume_program import approval
from tests.storage.journals import Clock

from procession.errors import RunAlreadyClaimed
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.workflows.workflow import create_workflow


async def test_a_hundred_times_two_answers_at_once() -> None:
    """SUS-001: gather(resume, resume) a hundred times: one winner, one RunAlreadyClaimed, one charge."""
    charged: list[str] = []
    workflow = approval(charged.append)
    store = InMemoryJournal()
    runtimes = (Runtime(store), Runtime(store))
    for number in range(100):
        run_id = f"r{number}"
        await runtimes[0].run(workflow, 5, run_id=run_id)
        outcomes: list[str] = []

        async def answer(runtime: Runtime, run_id: str = run_id, outcomes: list[str] = outcomes) -> None:
            try:
                outcomes.append((await runtime.resume(run_id, True, workflow=workflow)).status)
            except RunAlreadyClaimed as error:
                outcomes.append(error.code)

        async with anyio.create_task_group() as group:
            group.start_soon(answer, runtimes[0])
            group.start_soon(answer, runtimes[number % 2])
        assert sorted(outcomes) == ["already-claimed", "success"]
    assert Counter(charged) == {f"r{number}:charge": 1 for number in range(100)}


async def test_two_processes_answer_at_once(tmp_path: Path) -> None:
    """SUS-001: two processes on one SQLite file race for each of many runs: every run has one winner and one charge."""
    file, charges = tmp_path / "runs.db", tmp_path / "charges"
    runs = 25
    async with SQLiteJournal(file) as store:
        for number in range(runs):
            result = await Runtime(store).run(approval(lambda key: None), 5, run_id=f"r{number}")
            assert result.status == "suspended"

    def race() -> list[list[str]]:
        program = [sys.executable, "-W", "error", "-m", "tests.runtime.durable.resume_program"]
        arguments = [str(file), str(charges), str(runs)]
        processes = [
            subprocess.Popen([*program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [process.communicate(timeout=50)[0].split() for process in processes]

    told = await anyio.to_thread.run_sync(race)
    assert len(told[0]) == len(told[1]) == runs
    for one, other in zip(*told, strict=True):
        assert sorted((one, other)) == ["already-claimed", "success"]
    assert Counter(charges.read_text().split()) == {f"r{number}:charge": 1 for number in range(runs)}


@pytest.mark.parametrize("written", [True, False])
async def test_a_winner_that_dies_loses(written: bool) -> None:
    """SUS-001: a claim whose holder dies before it starts is free after its lease: with the answer, if that was kept."""
    clock, charged = Clock(), list[str]()
    workflow = approval(charged.append)
    kept = InMemoryJournal(clock=clock)
    await Runtime(kept).run(workflow, 5, run_id="r")
    with pytest.raises(Death):
        await Runtime(mortal(kept, 1, written=written)).resume("r", True, workflow=workflow)
    assert charged == []
    later = Runtime(kept)
    for take in (later.resume("r", True, workflow=workflow), later.restart("r", workflow=workflow)):
        with pytest.raises(RunAlreadyClaimed):
            await take
    clock.now += 60
    if written:
        result = await later.restart("r", workflow=workflow)
    else:
        result = await later.resume("r", True, workflow=workflow)
    assert result.unwrap() == "charged 5"
    assert charged == ["r:charge"]


async def test_an_answer_never_goes_to_another_question() -> None:
    """A second answer to a question, by path or by label, is refused also where another step waits by then."""

    @step(id="a")
    async def asks(ctx: StepContext[int]) -> int:
        return ctx.input + int(await ctx.suspend("?", label=f"q {ctx.path}"))

    @step
    async def twice(ctx: StepContext[int]) -> int:
        return int(await ctx.call(asks, await ctx.call(asks, ctx.input)))

    inner = create_workflow("inner", int).then(asks).commit()
    workflow = create_workflow("w", int).then(twice).then(asks).then(inner).commit()
    runtime = Runtime(InMemoryJournal())
    await runtime.run(workflow, 0, run_id="r")
    for path in ("twice/a", "twice/a[1]", "a"):
        result = await runtime.resume("r", 1, step=path)
        assert result.status == "suspended"
        with pytest.raises(RunAlreadyClaimed):
            await runtime.resume("r", 1, step=path)
        with pytest.raises(RunAlreadyClaimed):
            await runtime.resume("r", 1, label=f"q {path}")
    assert list(result.suspended) == ["inner/a"]
    assert (await runtime.resume("r", 1, label="q inner/a")).unwrap() == 4
