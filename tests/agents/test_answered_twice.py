"""An answer that is sent twice: it is used once, and never for a question that nobody has seen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.agents.kit import WAYS, ask
from tests.agents.suspending import asking, doing, go_on, told

from procession.agents.agent import Agent
from procession.errors import AlreadyAnswered, InputError, RunAlreadyClaimed
from procession.messages.chunks import ToolCallSuspended
from procession.runtime.runtime import Runtime
from procession.storage.base import JournalStore
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.context import ToolContext

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
CALL = call_tool("act", {"x": 1}, id="c1")


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[JournalStore]:
    """Yield an empty journal."""
    if request.param == "memory":
        yield InMemoryJournal()
    else:
        async with SQLiteJournal(tmp_path / "runs.db") as made:
            yield made


def twice_asking(acted: list[Any], store: JournalStore | None = None) -> tuple[Agent, FakeModel]:
    """Return an agent whose tool asks two questions, and its model."""

    def act(args: Any, ctx: ToolContext) -> str:
        acted.append((ctx.suspend("Really?"), ctx.suspend("And delete the backups?")))
        return "acted"

    model = FakeModel([CALL, "Done."])
    return Agent("clerk", model=model, tools=[doing("act", [], act)], runtime=Runtime(store)), model


@both_ways
async def test_the_second_question_is_not_met_by_the_first_answer(way: str, store: JournalStore) -> None:
    """An answer that comes again meets an error, not the tool's next question; the run waits on for that one."""
    acted: list[Any] = []
    agent, model = twice_asking(acted, store)
    first = (await ask(agent, way)).result
    second = await go_on(agent, way, first.run_id, {"c1": "yes"})
    (question,) = second.result.suspended
    assert (question.tool_call_id, question.question_id, question.payload) == ("c1", "c1#2", "And delete the backups?")
    (chunk,) = second.chunks.of(ToolCallSuspended)
    assert (chunk.tool_call_id, chunk.question_id) == ("c1", "c1#2")
    for _ in range(2):
        again = await go_on(agent, way, first.run_id, {"c1": "yes"})
        assert isinstance(again.error, AlreadyAnswered)
        assert "'c1#2'" in str(again.error)
    assert await agent.suspended(first.run_id) == (question,)
    assert acted == []
    third = await go_on(agent, way, first.run_id, {"c1#2": "no"})
    assert (third.result.status, acted, told(model.requests[1])) == ("completed", [("yes", "no")], ["acted"])


async def test_of_two_at_once_one_meets_the_second_question(store: JournalStore) -> None:
    """Two equal answers at the same time: one goes on to the second question, the other one is told."""
    acted: list[Any] = []
    agent, _ = twice_asking(acted, store)
    first = await agent.generate("Hi")
    came: list[Any] = []

    async def one() -> None:
        try:
            came.append((await agent.resume(first.run_id, {"c1": "yes"})).status)
        except (AlreadyAnswered, RunAlreadyClaimed) as error:
            came.append(type(error))

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(one)
    assert came.count("suspended") == 1
    assert len(came) == 4
    assert acted == []
    assert [call.question_id for call in await agent.suspended(first.run_id)] == ["c1#2"]


async def test_a_yes_is_no_answer_to_what_the_tool_asks() -> None:
    """A call that was approved and then asks is not answered by the same yes again."""
    acted: list[Any] = []
    act = doing("act", acted, asking("How much?"), requires_approval=True)
    agent = Agent("clerk", model=FakeModel([CALL, "Done."]), tools=[act])
    first = await agent.generate("Hi")
    assert (await agent.resume(first.run_id, {"c1": {"approved": True}})).status == "suspended"
    with pytest.raises(AlreadyAnswered, match="'c1'"):
        await agent.resume(first.run_id, {"c1": {"approved": True}})
    with pytest.raises(AlreadyAnswered):
        await agent.approve(first.run_id, "c1")
    assert len(acted) == 1


async def test_the_same_id_in_a_later_step() -> None:
    """Models that give every call one id: an answer to the call of one step is none to that of the next."""
    acted: list[Any] = []
    model = FakeModel([call_tool("pay", {"n": 1}, id="c"), call_tool("pay", {"n": 1000}, id="c"), "Paid."])
    agent = Agent("payer", model=model, tools=[doing("pay", acted, requires_approval=True)])
    first = await agent.generate("Hi")
    second = await agent.approve(first.run_id, "c")
    assert [call.args for call in second.suspended] == [{"n": 1000}]
    with pytest.raises(AlreadyAnswered):
        await agent.approve(first.run_id, "c")
    assert acted == [("pay", {"n": 1})]
    assert (await agent.approve(first.run_id, "c#2")).text == "Paid."


async def test_approve_without_a_name_is_for_the_first_question_alone() -> None:
    """``approve(run_id)`` that is sent twice does not agree to a call that nobody has seen."""
    acted: list[Any] = []
    model = FakeModel([call_tool("pay", {"n": 1}, id="c1"), call_tool("pay", {"n": 1000}, id="c2"), "Paid."])
    agent = Agent("payer", model=model, tools=[doing("pay", acted, requires_approval=True)])
    first = await agent.generate("Hi")
    assert (await agent.approve(first.run_id)).status == "suspended"
    for again in (agent.approve(first.run_id), agent.decline(first.run_id)):
        with pytest.raises(InputError, match="has had an answer before.*'c2'"):
            await again
    assert acted == [("pay", {"n": 1})]
    assert (await agent.approve(first.run_id, "c2")).text == "Paid."


async def test_two_calls_of_one_step_with_one_id() -> None:
    """A yes to one of them is none to the other, and the one that is agreed to is the one that runs."""
    acted: list[Any] = []

    def large(args: Any, ctx: ToolContext) -> bool:
        return bool(args["n"] > 10)

    both = (
        call_tool("pay", {"n": 1}, id="c") + call_tool("pay", {"n": 20}, id="c") + call_tool("pay", {"n": 30}, id="c")
    )
    agent = Agent("payer", model=FakeModel([both, "Paid."]), tools=[doing("pay", acted, requires_approval=large)])
    first = await agent.generate("Hi")
    assert [(call.question_id, call.args["n"]) for call in first.suspended] == [("c-2", 20), ("c-3", 30)]
    second = await agent.approve(first.run_id, "c-3")
    assert [(call.question_id, call.args["n"]) for call in second.suspended] == [("c-2", 20)]
    assert [args["n"] for _, args in acted] == [1, 30]
    assert (await agent.decline(first.run_id, "c-2")).status == "completed"
    assert [args["n"] for _, args in acted] == [1, 30]


@both_ways
async def test_an_answer_that_the_tool_refuses_leaves_the_question(way: str) -> None:
    """A question whose answer did not fit keeps its name: the next answer is given by the same one."""
    from datetime import date

    agent = Agent(
        "clerk",
        model=FakeModel([CALL, "Done."]),
        tools=[doing("act", [], lambda args, ctx: str(ctx.suspend("When?", resume_schema=date)))],
    )
    first = await agent.generate("Hi")
    assert isinstance((await go_on(agent, way, first.run_id, {"c1": "never"})).error, InputError)
    assert [call.question_id for call in await agent.suspended(first.run_id)] == ["c1"]
    assert (await agent.resume(first.run_id, {"c1": "2026-03-01"})).status == "completed"


async def test_an_answer_sent_twice_inside_a_sub_agent() -> None:
    """The inner agent's second call is not agreed to by the answer to its first; the outer run waits on."""
    acted: list[Any] = []
    inner = FakeModel([call_tool("pay", {"n": 1}, id="p"), call_tool("pay", {"n": 1000}, id="p"), "Paid."])
    child = Agent("child", model=inner, tools=[doing("pay", acted, requires_approval=True)])
    outer = FakeModel([call_tool("agent-child", {"prompt": "Pay"}, id="c1"), "Done."])
    agent = Agent("parent", model=outer, tools=[child])
    first = await agent.generate("Hi")
    second = await agent.resume(first.run_id, {"c1": {"p": {"approved": True}}})
    (call,) = second.suspended
    assert call.question_id == "c1#2"
    for twice in ({"c1": {"p": {"approved": True}}}, {"c1#2": {"p": {"approved": True}}}):
        with pytest.raises(AlreadyAnswered):
            await agent.resume(first.run_id, twice)
    assert acted == [("pay", {"n": 1})]
    inner_question = call.payload["calls"][0]["question_id"]
    result = await agent.resume(first.run_id, {"c1#2": {inner_question: {"approved": True}}})
    assert (result.text, acted) == ("Done.", [("pay", {"n": 1}), ("pay", {"n": 1000})])
