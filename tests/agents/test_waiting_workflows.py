"""Workflows that are tools and wait: the agent's run waits, and its answers go on inside the workflow."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import anyio
import pytest
from tests.agents.kit import COST, WAYS, ask, at
from tests.agents.suspending import asking, doing, go_on

from procession.agents.agent import Agent
from procession.errors import AlreadyAnswered, InputError, SchemaError
from procession.messages.chunks import ToolError, ToolResult
from procession.messages.text.patterns import Rule
from procession.processors.text_guard import TextGuard
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.steps.step import StepContext, step
from procession.storage.base import JournalRow, RunStatus, Unchanged
from procession.storage.memory import InMemoryJournal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
YES = {"approved": True}


class Codes(TextGuard):
    """Finds codes."""

    id = "codes"
    rules = (Rule("code", "SECRET[0-9]{2}"),)


@step(resume_type=bool)
async def approve(ctx: StepContext[int]) -> str:
    """Ask whether to go on."""
    approved = await ctx.suspend({"amount": ctx.input}, label="approval")
    return f"{ctx.input}: {approved} for {ctx.request_context.get('who')}"


def counting(done: list[Any]) -> Any:
    """Return a step that notes what it is done for."""

    @step
    def count(ctx: StepContext[int]) -> int:
        done.append(ctx.input)
        return ctx.input

    return count


def flow(*steps: Any, id: str = "flow", given: Any = int) -> Any:
    """Return a workflow of *steps*."""
    made: Any = create_workflow(id, given)
    for each in steps:
        made = made.then(each)
    return made.commit()


def parent(workflow: Any, *calls: Any, store: Any = None, **options: Any) -> Agent:
    """Return an agent that calls *workflow* and is done then."""
    calls = calls or (call(),)
    runtime = Runtime(store) if store is not None else None
    return Agent("parent", model=FakeModel([*calls, "Done."]), tools=[workflow], runtime=runtime, **options)


def call(value: Any = 5, id: str = "c1", name: str = "workflow-flow") -> Any:
    """Return the call of the workflow."""
    return call_tool(name, {"input": value}, id=id)


async def kept(agent: Agent, run_id: str) -> str | None:
    """Return where a run stands in the store, or ``None`` where it is not there."""
    row = await agent.runtime.store.row(run_id)
    return row.status if row is not None else None


@both_ways
@pytest.mark.parametrize("stored", [False, True])
async def test_a_workflow_that_waits_suspends_the_agent(way: str, stored: bool) -> None:
    """Its question is the call's; the answer goes on at the step that waits, and what came before is not done again."""
    done: list[Any] = []
    agent = parent(flow(counting(done), approve), store=InMemoryJournal() if stored else None)
    first = (await ask(agent, way, request_context={"who": "ann"})).result
    (waits,) = first.suspended
    assert (first.status, waits.kind, waits.question_id) == ("suspended", "suspended", "c1")
    (question,) = waits.payload["steps"]
    assert waits.payload["workflow"] == "flow"
    assert question == {
        "question_id": "approve", "step": "approve", "label": "approval", "payload": {"amount": 5},
        "resume_schema": {"type": "boolean"},
    }  # fmt: skip
    seen = await go_on(agent, way, first.run_id, {"c1": {"approve": True}}, request_context={"who": "ben"})
    (told,) = seen.result.tool_results
    assert isinstance(told, ToolResult)
    assert (seen.result.status, told.result) == ("completed", "5: True for ben")
    assert done == [5]
    assert await kept(agent, f"{first.run_id}:c1") == "success"


@both_ways
async def test_a_workflow_that_does_not_wait_is_not_kept(way: str) -> None:
    """Also where the agent's runtime has a store."""
    store = InMemoryJournal()
    result = (await ask(parent(flow(counting([])), store=store), way)).result
    assert result.status == "completed"
    assert await store.runs() == []


@both_ways
async def test_steps_that_wait_side_by_side_are_answered_by_their_paths(way: str) -> None:
    """Together or one after the other; those that are not answered go on waiting, and are not done again."""
    asked: list[str] = []

    def asker(id: str) -> Any:
        @step(id=id, resume_type=str)
        async def wait(ctx: StepContext[int]) -> str:
            asked.append(id)
            return str(await ctx.suspend(f"{id}?"))

        return wait

    branches: Any = create_workflow("flow", int).parallel([asker("a"), asker("b"), asker("c")]).commit()
    agent = parent(branches)
    first = (await ask(agent, way)).result
    assert [each["question_id"] for each in first.suspended[0].payload["steps"]] == ["a", "b", "c"]
    second = (await go_on(agent, way, first.run_id, {"c1": {"b": "two"}})).result
    (waits,) = second.suspended
    assert (waits.question_id, [each["payload"] for each in waits.payload["steps"]]) == ("c1#2", ["a?", "c?"])
    last = (await go_on(agent, way, first.run_id, {"c1#2": {"a": "one", "c": "three"}})).result
    assert last.tool_results[0].result == {"a": "one", "b": "two", "c": "three"}  # type: ignore[union-attr]
    assert sorted(asked) == ["a", "a", "b", "b", "c", "c"]


@both_ways
async def test_a_step_that_asks_twice_has_two_questions(way: str) -> None:
    """An answer that comes twice never meets the second one: it is passed over, and the question asked again."""

    @step
    async def twice(ctx: StepContext[int]) -> str:
        return f"{await ctx.suspend('one?')} {await ctx.suspend('two?')}"

    agent = parent(flow(twice))
    first = (await ask(agent, way)).result
    second = (await go_on(agent, way, first.run_id, {"c1": {"twice": "a"}})).result
    (waits,) = second.suspended
    assert [each["question_id"] for each in waits.payload["steps"]] == ["twice#2"]
    third = (await go_on(agent, way, first.run_id, {"c1#2": {"twice": "a"}})).result
    (waits,) = third.suspended
    assert (waits.question_id, [each["payload"] for each in waits.payload["steps"]]) == ("c1#3", ["two?"])
    with pytest.raises(AlreadyAnswered):
        await agent.resume(first.run_id, {"c1": {"twice": "b"}})
    last = (await go_on(agent, way, first.run_id, {"c1#3": {"twice#2": "b"}})).result
    assert last.tool_results[0].result == "a b"  # type: ignore[union-attr]


@both_ways
@pytest.mark.parametrize(
    ("answer", "error"), [({"approve": "no"}, SchemaError), ({"other": True}, InputError), ("yes", InputError)]
)
async def test_an_answer_that_does_not_fit_is_refused(way: str, answer: Any, error: type[Exception]) -> None:
    """The agent's run and the workflow's wait on."""
    agent = parent(flow(approve))
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c1": answer})
    assert isinstance(seen.error, error)
    assert await kept(agent, f"{first.run_id}:c1") == "suspended"
    assert (await go_on(agent, way, first.run_id, {"c1": {"approve": True}})).result.status == "completed"


@both_ways
async def test_an_agent_in_the_workflow_that_waits_is_answered_through_both(way: str) -> None:
    """Its question is in that of its step; tokens of all are the outer run's, once."""
    acted: list[Any] = []
    pay = doing("pay", acted, requires_approval=True)
    child = Agent("child", model=FakeModel([call_tool("pay", {}, id="p1"), "Paid."]), tools=[pay])
    agent = parent(flow(child, given=str), call("Pay."))
    first = (await ask(agent, way)).result
    (question,) = first.suspended[0].payload["steps"]
    assert question["payload"]["run_id"] == f"{first.run_id}:c1:child"
    assert [each["question_id"] for each in question["payload"]["calls"]] == ["p1"]
    assert first.usage.total_tokens == 2 * COST
    last = (await go_on(agent, way, first.run_id, {"c1": {"child": {"p1": YES}}})).result
    assert last.tool_results[0].result == "Paid."  # type: ignore[union-attr]
    assert last.usage.total_tokens == 4 * COST
    assert len(acted) == 1


@both_ways
async def test_ids_of_what_waits_inside_are_not_hidden_by_guards(way: str) -> None:
    """What steps and tools say is."""
    acted: list[Any] = []
    pay = doing("pay", acted, asking("SECRET11"))
    script: list[Any] = [call_tool("pay", {}, id="SECRET12"), "Paid."]
    child = Agent("SECRET13", model=FakeModel(script), tools=[pay])
    agent = parent(flow(child, given=str), call("Pay."), output_processors=[Codes(strategy="redact")])
    first = (await ask(agent, way)).result
    (question,) = first.suspended[0].payload["steps"]
    (inner,) = question["payload"]["calls"]
    assert inner["payload"] == "[CODE]"
    assert (question["question_id"], inner["question_id"]) == ("SECRET13", "SECRET12")
    last = (await go_on(agent, way, first.run_id, {"c1": {"SECRET13": {"SECRET12": "yes"}}})).result
    assert last.tool_results[0].result == "Paid."  # type: ignore[union-attr]


@both_ways
async def test_a_tripwire_and_a_failure_after_the_answer_are_the_tools(way: str) -> None:
    """As they are where the workflow had not waited."""

    @step
    def fails(ctx: StepContext[str]) -> str:
        raise ValueError("secret")

    child = Agent(
        "child", model=FakeModel(["bad"]),
        output_processors=[at("process_output_result", lambda ctx: ctx.abort("not that"))],
    )  # fmt: skip
    for last, kind in ((fails, ToolError), (child, ToolResult)):
        agent = parent(flow(approve, last))
        first = (await ask(agent, way)).result
        seen = await go_on(agent, way, first.run_id, {"c1": {"approve": True}})
        (told,) = seen.result.tool_results
        assert isinstance(told, kind)
        assert "secret" not in str(told)
        assert await kept(agent, f"{first.run_id}:c1") == ("failed" if kind is ToolError else "blocked")


@both_ways
@pytest.mark.parametrize("how", ["cancel", "decline"])
async def test_an_agent_that_ends_cancels_the_workflow_that_waits(way: str, how: str) -> None:
    """With the agents that wait in it."""
    pay = doing("pay", [], requires_approval=True)
    child = Agent("child", model=FakeModel([call_tool("pay", {}, id="p1"), "Paid."]), tools=[pay])
    agent = parent(flow(child, given=str), call("Pay."), store=InMemoryJournal())
    first = (await ask(agent, way)).result
    ids = [f"{first.run_id}:c1", f"{first.run_id}:c1:child"]
    assert [await kept(agent, id) for id in ids] == ["suspended"] * 2
    if how == "cancel":
        await agent.cancel(first.run_id)
    else:
        assert (await agent.decline(first.run_id)).status == "completed"
    assert [await kept(agent, id) for id in ids] == ["cancelled"] * 2


@both_ways
async def test_an_abort_reaches_the_workflow_that_goes_on(way: str) -> None:
    """Its step is cancelled, and its run is in the store as cancelled."""
    signal, cancelled = AbortSignal(), list[str]()

    @step
    async def hang(ctx: StepContext[str]) -> str:
        signal.abort("enough")
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.append("hang")
            raise
        return ctx.input

    agent = parent(flow(approve, hang))
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c1": {"approve": True}}, abort_signal=signal)
    assert (seen.result.status, cancelled) == ("aborted", ["hang"])
    assert await kept(agent, f"{first.run_id}:c1") == "cancelled"


@both_ways
async def test_a_call_in_a_later_step_with_the_same_id_has_a_run_of_its_own(way: str) -> None:
    """Models that give every call one id."""
    done: list[Any] = []
    agent = parent(flow(counting(done), approve), call(1), call(2))
    first = (await ask(agent, way)).result
    second = (await go_on(agent, way, first.run_id, {"c1": {"approve": True}})).result
    assert [each.question_id for each in second.suspended] == ["c1#2"]
    last = (await go_on(agent, way, first.run_id, {"c1#2": {"approve": False}})).result
    assert [each.result for each in last.tool_results] == ["1: True for None", "2: False for None"]  # type: ignore[union-attr]
    assert done == [1, 2]


class Clock:
    """A clock that is put forward by hand."""

    now = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


@step(id="approve_again", resume_type=bool)
async def approve_again(ctx: StepContext[str]) -> str:
    """Ask once more."""
    return f"{ctx.input}, {await ctx.suspend('sure?')}"


class Dying(InMemoryJournal):
    """A journal whose process is gone after so many writes: nothing is kept any more."""

    left = 1_000

    async def write(
        self,
        run_id: str,
        token: str,
        rows: Sequence[JournalRow] = (),
        *,
        status: RunStatus | None = None,
        data: str | None | Unchanged = Unchanged.TOKEN,
        release: bool = False,
    ) -> bool:
        """Keep rows."""
        if self.left <= 0:
            raise KeyboardInterrupt
        self.left -= 1
        return await super().write(run_id, token, rows, status=status, data=data, release=release)


async def test_a_workflow_whose_process_died_goes_on_with_the_same_answer() -> None:
    """At each write of the resume: what was answered is not asked again, and what was completed is not done twice."""
    died = 0
    for writes in range(12):
        done: list[str] = []
        clock = Clock()
        store = Dying(clock=clock)

        @step
        def note(ctx: StepContext[str], done: list[str] = done) -> str:
            done.append(ctx.input)
            return ctx.input

        work = flow(approve, note, approve_again)
        first = await parent(work, store=store).generate("Hi")
        store.left = writes
        with suppress(KeyboardInterrupt, BaseExceptionGroup):
            await parent(work, "Done.", store=store).resume(first.run_id, {"c1": {"approve": True}})
        died += store.left == 0
        store.left = 1_000
        clock.now += 60
        again = parent(work, "Done.", store=store)
        row = await store.row(first.run_id)
        assert row is not None
        if "approve_again" not in (row.data or ""):
            result = await again.resume(first.run_id, {"c1": {"approve": True}})
            assert result.status == "suspended", writes
        (waits,) = await again.suspended(first.run_id)
        assert (waits.question_id, waits.payload["steps"][0]["question_id"]) == ("c1#2", "approve_again")
        result = await again.resume(first.run_id, {"c1#2": {"approve_again": True}})
        (told,) = result.tool_results
        assert isinstance(told, ToolResult)
        assert told.result == "5: True for None, True"
        assert len(done) <= 2
    assert 3 < died < 12
