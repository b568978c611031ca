"""Whose a kept run is: it is listed by its resource and its thread, also where it stands inside another one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.suspending import asker, asking

from procession.agents.agent import Agent
from procession.agents.workflow_tool import workflow_tool
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.base import RunRow
from procession.storage.memory import InMemoryJournal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.workflows.workflow import create_workflow


def owners(rows: list[RunRow]) -> set[tuple[str, str | None, str | None]]:
    """Return who owns each run."""
    return {(row.owner, row.resource_id, row.thread_id) for row in rows}


@pytest.mark.parametrize(
    ("named", "owner"),
    [
        ({"resource": "ada", "thread": "t"}, ("ada", "t")),
        ({"resource": "ada"}, ("ada", None)),
        ({"request_context": {"resource_id": "ada"}}, ("ada", None)),
        ({}, (None, None)),
    ],
)
async def test_a_suspended_run_says_whose_it_is(named: dict[str, Any], owner: tuple[str | None, str | None]) -> None:
    """A suspended run has the resource and the thread that its call has named."""
    agent, _ = asker(asking())
    result = await agent.generate("Hi", **named)
    assert result.status == "suspended"
    assert owners(await agent.runtime.store.runs()) == {("asker", *owner)}


@pytest.mark.parametrize("store", [InMemoryJournal, None])
async def test_an_inner_run_is_that_of_the_outer_one(store: Any) -> None:
    """The runs of an agent and of a workflow that are tools belong to the thread that the outer call names."""

    @step
    async def approve(ctx: StepContext[str]) -> str:
        return str(await ctx.suspend("ok?"))

    inner, _ = asker(asking())
    flow = create_workflow("flow", str).then(approve).commit()
    for name, tool in (("agent-asker", inner.as_tool()), ("workflow-flow", workflow_tool(flow))):
        runtime = Runtime(store()) if store is not None else Runtime()
        outer = Agent(
            "outer",
            model=FakeModel([call_tool(name, {"prompt": "ask", "input": "ask"})]),
            tools=[tool],
            runtime=runtime,
        )
        result = await outer.generate("Hi", resource="ada", thread="t")
        assert result.status == "suspended"
        kept = await outer.runtime.store.runs()
        if tool.name == "agent-asker":
            kept += await inner.runtime.store.runs()
        assert owners(kept) == {("outer", "ada", "t"), (name.partition("-")[2], "ada", "t")}


async def test_runs_are_listed_by_thread() -> None:
    """The runtime lists the runs of one thread."""
    agent, _ = asker(asking())
    await agent.generate("Hi", resource="ada", thread="t")
    assert [row.thread_id for row in await agent.runtime.list(thread_id="t")] == ["t"]
    assert await agent.runtime.list(thread_id="u") == []


async def test_a_thread_may_be_given_with_a_title() -> None:
    """A run is of the thread's id also where the call gives the thread a title besides."""
    agent, _ = asker(asking())
    await agent.generate("Hi", resource="ada", thread={"id": "t", "title": "Tulips"})
    assert owners(await agent.runtime.store.runs()) == {("asker", "ada", "t")}
    assert (await agent.forget(resource="ada", thread="t")).runs == 1
