"""Who may resume a run: one at a time, while it waits, under its own id."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.agents.suspending import CALL, asker, asking, doing

from procession.agents.agent import Agent
from procession.errors import InputError, RunAlreadyClaimed
from procession.runtime.runtime import Runtime
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.testing.fake_model import FakeModel
from procession.tools.context import ToolContext

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_of_two_resumes_one_wins(kind: str, tmp_path: Any) -> None:
    """Two resumes at once, a hundred times: the tool runs once, and the loser is told (SUS-001)."""
    charged: list[Any] = []

    async def act(args: Any, ctx: ToolContext) -> str:
        answer = ctx.suspend("?")
        await anyio.lowlevel.checkpoint()
        charged.append(answer)
        return "charged"

    rounds = 100 if kind == "memory" else 20
    store = InMemoryJournal() if kind == "memory" else SQLiteJournal(tmp_path / "runs.db")
    lost = 0
    for number in range(rounds):
        agent = Agent("asker", model=FakeModel([CALL, "Done."]), tools=[doing("act", [], act)], runtime=Runtime(store))
        first = await agent.generate("Hi")
        results: list[Any] = []

        async def one(agent: Agent = agent, run_id: str = first.run_id, results: list[Any] = results) -> None:
            try:
                results.append(await agent.resume(run_id, {"c1": "go"}))
            except RunAlreadyClaimed as error:
                results.append(error)

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            group.start_soon(one)
        assert len(charged) == number + 1
        lost += sum(isinstance(result, RunAlreadyClaimed) for result in results)
    assert lost == rounds
    if isinstance(store, SQLiteJournal):
        await store.aclose()


async def test_a_dead_winner_frees_the_run() -> None:
    """A claim that is no longer prolonged ends with its time, and the run can be resumed (SUS-001)."""
    now = [0.0]
    store = InMemoryJournal(clock=lambda: now[0])
    agent, _ = asker(asking("?"), runtime=Runtime(store))
    first = await agent.generate("Hi")
    assert await store.claim(first.run_id, "a process that died", 30)
    with pytest.raises(RunAlreadyClaimed):
        await agent.resume(first.run_id, {"c1": 1})
    with pytest.raises(RunAlreadyClaimed):
        await agent.cancel(first.run_id)
    now[0] += 31
    assert (await agent.resume(first.run_id, {"c1": 1})).status == "completed"


async def test_a_winner_that_was_late_is_told() -> None:
    """Who lost the claim while the tool ran writes nothing, and is told."""
    now = [0.0]
    store = InMemoryJournal(clock=lambda: now[0])

    async def act(args: Any, ctx: ToolContext) -> str:
        ctx.suspend("?")
        now[0] += 31
        assert await store.claim(ctx.run_id, "another", 30)
        return "late"

    agent, _ = asker(act, runtime=Runtime(store))
    first = await agent.generate("Hi")
    with pytest.raises(RunAlreadyClaimed):
        await agent.resume(first.run_id, {"c1": 1})
    row = await store.row(first.run_id)
    assert row is not None and row.status == "suspended"


async def test_a_cancelled_run_is_over() -> None:
    """A run that is cancelled while it waits cannot be resumed, and nothing of it stays."""
    agent, _ = asker(asking("?"))
    first = await agent.generate("Hi")
    await agent.cancel(first.run_id)
    row = await agent.runtime.store.row(first.run_id)
    assert row is not None and (row.status, row.data) == ("cancelled", None)
    with pytest.raises(RunAlreadyClaimed, match="aborted"):
        await agent.resume(first.run_id, {"c1": 1})


async def test_a_resume_that_is_cancelled_ends_the_run() -> None:
    """Leaving the stream of a resumed run cancels it: its tool is not run a second time."""
    started = anyio.Event()

    async def act(args: Any, ctx: ToolContext) -> None:
        ctx.suspend("?")
        started.set()
        await anyio.sleep_forever()

    agent, _ = asker(act)
    first = await agent.generate("Hi")
    async with agent.resume_stream(first.run_id, {"c1": 1}):
        await started.wait()
    with pytest.raises(RunAlreadyClaimed, match="aborted"):
        await agent.resume(first.run_id, {"c1": 1})


async def test_runs_that_cannot_be_resumed() -> None:
    """A run that is not known, another agent's, or one whose tool is gone: each is named."""
    agent, model = asker(asking("?"))
    with pytest.raises(InputError, match="no run 'x'"):
        await agent.resume("x", {"c1": 1})
    first = await agent.generate("Hi")
    other = Agent("other", model=model, runtime=agent.runtime)
    with pytest.raises(InputError, match="not of agent 'other'"):
        await other.resume(first.run_id, {"c1": 1})
    bare = Agent("asker", model=model, runtime=agent.runtime)
    with pytest.raises(InputError, match="tool 'act'"):
        await bare.resume(first.run_id, {"c1": 1})
    assert (await agent.resume(first.run_id, {"c1": 1})).status == "completed"


async def test_a_run_id_is_not_used_twice() -> None:
    """A second run of the same id cannot be suspended over the first one."""
    agent, _ = asker(asking("?"), CALL)
    await agent.generate("Hi", run_id="r")
    with pytest.raises(InputError, match="there has been a run 'r'"):
        await agent.generate("Hi", run_id="r")
