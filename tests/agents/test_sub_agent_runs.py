"""Agents as tools: what goes down with a call, what does not come up, and how they run beside each other."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.agents.kit import COST, WAYS, ask, at
from tests.agents.suspending import go_on

from procession.agents.agent import Agent
from procession.messages.chunks import ToolError
from procession.runtime.runtime import Runtime
from procession.storage.sqlite.journal import SQLiteJournal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import tool

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
PROMPT = {"prompt": "Find it."}
tenant: ContextVar[str] = ContextVar("tenant", default="nobody")


@both_ways
@pytest.mark.parametrize("thread", [False, True])
@pytest.mark.parametrize("limit", [None, 60])
async def test_context_variables_go_down_to_a_sub_agent_and_do_not_come_up(
    way: str, thread: bool, limit: float | None
) -> None:
    """A sub-agent's hooks and tools see what the caller set; what they set nobody above sees."""
    seen: list[tuple[str, str]] = []

    def note(where: str, then: str = "") -> None:
        seen.append((where, tenant.get()))
        if then:
            tenant.set(then)

    @tool
    def plain() -> str:
        """Look from a thread."""
        note("tool", "tool")
        return "ok"

    @tool
    async def awaited() -> str:
        """Look from the loop."""
        note("tool", "tool")
        return "ok"

    async def hook(ctx: Any) -> None:
        note("hook", "hook")

    inner = plain if thread else awaited
    child = Agent(
        "child",
        model=FakeModel([call_tool(inner.name), "ok"]),
        tools=[inner],
        input_processors=[at("process_input", hook)],
    )

    async def above(ctx: Any) -> None:
        note("above")

    parent = Agent(
        "parent",
        model=FakeModel([call_tool("agent-child", PROMPT), "Done."]),
        tools=[child.as_tool().replace(timeout=limit)],
        output_processors=[at("process_tool_result", above), at("process_output_result", above, id="end")],
    )
    token = tenant.set("acme")
    try:
        result = (await ask(parent, way)).result
        assert tenant.get() == "acme"
    finally:
        tenant.reset(token)
    assert result.text == "Done."
    assert [where for where, _ in seen] == ["hook", "tool", "above", "above"]
    assert seen[0] == ("hook", "acme")
    assert seen[1][1] in ("acme", "hook")  # what a hook sets may go on inside its own run
    assert seen[2:] == [("above", "acme"), ("above", "acme")]


@both_ways
async def test_sub_agents_of_one_step_wait_for_each_other(way: str) -> None:
    """Two sub-agents called in one step run at the same time: each goes on only once the other has begun."""
    begun = {"one": anyio.Event(), "two": anyio.Event()}

    def child(name: str, other: str) -> Agent:
        @tool
        async def meet() -> str:
            """Meet the other."""
            begun[name].set()
            await begun[other].wait()
            return "met"

        return Agent(name, model=FakeModel([call_tool("meet"), f"{name} met {other}"]), tools=[meet])

    both = call_tool("agent-one", PROMPT, id="a") + call_tool("agent-two", PROMPT, id="b")
    agent = Agent("parent", model=FakeModel([both, "Done."]), tools=[child("one", "two"), child("two", "one")])
    with anyio.fail_after(20):
        result = (await ask(agent, way)).result
    assert [each.result for each in result.tool_results] == ["one met two", "two met one"]  # type: ignore[union-attr]
    assert result.usage.total_tokens == 6 * COST


@both_ways
@pytest.mark.parametrize("approved", [True, False])
async def test_an_approval_inside_a_sub_agent_outlives_a_restart(way: str, approved: bool, tmp_path: Path) -> None:
    """A second runtime on the same file, with agents made anew, hands the answer down and ends the run."""
    paid: list[int] = []

    def made(journal: SQLiteJournal, outer: list[Any], inner: list[Any]) -> Agent:
        @tool(requires_approval=True)
        def pay(amount: int) -> str:
            """Pay."""
            paid.append(amount)
            return "paid"

        runtime = Runtime(journal)
        child = Agent("child", model=FakeModel(inner), tools=[pay], runtime=runtime)
        return Agent("parent", model=FakeModel(outer), tools=[child], runtime=runtime)

    file = tmp_path / "runs.db"
    async with SQLiteJournal(file) as journal:
        before = made(journal, [call_tool("agent-child", PROMPT, id="c1")], [call_tool("pay", {"amount": 5}, id="p1")])
        asked = (await ask(before, way)).result
        assert asked.status == "suspended"
        assert paid == []
    async with SQLiteJournal(file) as journal:
        after = made(journal, ["Done."], ["It is settled."])
        seen = await go_on(after, way, asked.run_id, {"c1": {"p1": {"approved": approved}}})
    assert seen.result.status == "completed"
    assert seen.result.text == "Done."
    assert paid == ([5] if approved else [])
    assert [each.result for each in seen.result.tool_results] == ["It is settled."]  # type: ignore[union-attr]
    assert seen.result.usage.total_tokens == 4 * COST


@both_ways
async def test_a_sub_agent_whose_run_is_kept_nowhere_does_nothing_after_a_restart(way: str, tmp_path: Path) -> None:
    """Where only the outer agent has a journal the answer finds no inner run: a tool error says so, and nothing is done."""
    paid: list[str] = []

    @tool(requires_approval=True)
    def pay() -> str:
        """Pay."""
        paid.append("paid")
        return "paid"

    def made(journal: SQLiteJournal, outer: list[Any], inner: list[Any]) -> Agent:
        child = Agent("child", model=FakeModel(inner), tools=[pay])
        return Agent("parent", model=FakeModel(outer), tools=[child], runtime=Runtime(journal))

    file = tmp_path / "runs.db"
    async with SQLiteJournal(file) as journal:
        before = made(journal, [call_tool("agent-child", PROMPT, id="c1")], [call_tool("pay", id="p1")])
        asked = (await ask(before, way)).result
        assert asked.status == "suspended"
    async with SQLiteJournal(file) as journal:
        after = made(journal, ["Done."], ["It is paid."])
        seen = await go_on(after, way, asked.run_id, {"c1": {"p1": {"approved": True}}})
    assert paid == []
    assert seen.result.text == "Done."
    (error,) = seen.result.tool_results
    assert isinstance(error, ToolError)
    assert f"{asked.run_id}:c1" in error.error


@both_ways
async def test_what_a_sub_agent_leaves_in_the_background_does_not_hold_up_the_answer(way: str) -> None:
    """It goes into the background of the runtime that is open round the outer run; one of its own that is open wins."""
    done, over = list[str](), anyio.Event()

    async def work(name: str) -> None:
        await over.wait()
        done.append(name)

    async def answer(inner: Runtime | None, outer: Runtime) -> None:
        leave = at("process_output_result", lambda ctx: ctx.background(work, "inner" if inner is not None else "outer"))
        child = Agent("child", model=FakeModel(["Found."]), output_processors=[leave], runtime=inner)
        model = FakeModel([call_tool("agent-child", PROMPT), "Done."])
        with anyio.fail_after(5):
            seen = await ask(Agent("parent", model=model, tools=[child], runtime=outer), way)
        assert seen.result.text == "Done."

    async with Runtime() as outer:
        await answer(None, outer)
        assert done == []
        async with Runtime() as inner:
            await answer(inner, outer)
            over.set()
        assert "inner" in done
    assert sorted(done) == ["inner", "outer"]
