"""Runs inside runs that wait: what guards see of their questions, that they end with the run, and their ids."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at
from tests.agents.suspending import asking, doing, go_on

from procession.agents.agent import Agent
from procession.errors import RunAlreadyClaimed
from procession.messages.chunks import ToolCallSuspended, ToolError, ToolResult
from procession.messages.parts import DataPart
from procession.messages.text.patterns import Rule
from procession.processors.text_guard import TextGuard
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.context import ToolContext

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
YES = {"approved": True}
PROMPT = {"prompt": "Pay."}


class Codes(TextGuard):
    """Finds codes."""

    id = "codes"
    rules = (Rule("code", "SECRET[0-9]{2}"),)


def payer(acted: list[Any], *script: Any) -> Agent:
    """Return an agent that wants to pay."""
    pay = doing("pay", acted, requires_approval=True)
    return Agent("payer", model=FakeModel([*script]), tools=[pay])


def parent(child: Any, *script: Any, tools: Any = (), **options: Any) -> Agent:
    """Return an agent that has *child* as a tool."""
    return Agent("parent", model=FakeModel([*script]), tools=[child, *tools], **options)


def outer_call(id: str = "c1") -> Any:
    """Return the call of the agent that pays."""
    return call_tool("agent-payer", PROMPT, id=id)


def inner_call(id: str = "p1") -> Any:
    """Return the call that pays."""
    return call_tool("pay", {}, id=id)


async def status_of(agent: Agent, run_id: str) -> str:
    """Return where a run stands, and check that nothing is kept of one that has ended."""
    row = await agent.runtime.store.row(run_id)
    assert row is not None
    assert (row.data is None) == (row.status != "suspended")
    return row.status


SHAPED = {
    "agent": "SECRET11",
    "run_id": "SECRET12",
    "calls": [{"question_id": "SECRET13", "tool_call_id": "SECRET13"}],
}


@both_ways
@pytest.mark.parametrize(
    "payload", [{"q": "SECRET11", "run_id": "SECRET12", "x": [{"tool_call_id": "SECRET13"}]}, SHAPED]
)
async def test_all_that_a_tool_says_when_it_asks_is_guarded(way: str, payload: Any) -> None:
    """What looks like an id, the label and the schema are hidden from the reader and in the journal like all else."""
    act = asking(payload, resume_schema={"type": "string", "description": "SECRET15"}, label="my SECRET14")
    agent = Agent(
        "clerk",
        model=FakeModel([call_tool("act", {}, id="c1"), "Done."]),
        tools=[doing("act", [], act)],
        output_processors=[Codes(strategy="redact")],
    )
    seen = await ask(agent, way)
    (call,) = seen.result.suspended
    assert (call.label, call.resume_schema) == ("my [CODE]", {"type": "string", "description": "[CODE]"})
    row = await agent.runtime.store.row(seen.result.run_id)
    for told in (seen.chunks.of(ToolCallSuspended), seen.result.suspended, row):
        assert "SECRET" not in repr(told)
    assert (await go_on(agent, way, seen.result.run_id, {"c1": "yes"})).result.status == "completed"


@both_ways
@pytest.mark.parametrize("how", [{"label": "SECRET14"}, {"resume_schema": {"type": "string", "title": "SECRET15"}}])
async def test_a_label_or_a_schema_may_be_blocked(way: str, how: Any) -> None:
    """A guard that blocks stops the run for them, where there is no payload either; nothing is kept."""
    agent = Agent(
        "clerk",
        model=FakeModel([call_tool("act", {}, id="c1"), "Done."]),
        tools=[doing("act", [], asking(**how))],
        output_processors=[Codes(strategy="block")],
    )
    seen = await ask(agent, way)
    assert seen.result.status == "blocked"
    assert not seen.chunks.of(ToolCallSuspended)
    assert await agent.runtime.store.row(seen.result.run_id) is None


@both_ways
async def test_a_question_two_runs_down_can_be_answered_where_guards_match_ids(way: str) -> None:
    """The ids of inner runs stay as they are, also where a guard finds something in them."""
    acted: list[Any] = []
    low = payer(acted, inner_call("SECRET13"), "Paid.")
    middle = Agent("middle", model=FakeModel([outer_call("SECRET12"), "Ok."]), tools=[low])
    call = call_tool("agent-middle", PROMPT, id="SECRET11")
    agent = parent(middle, call, "Done.", output_processors=[Codes(strategy="redact")])
    first = (await ask(agent, way)).result
    (question,) = first.suspended
    (inner,) = question.payload["calls"]
    assert question.payload["run_id"] == f"{first.run_id}:SECRET11"
    assert inner["question_id"] == "SECRET12"
    assert inner["payload"]["calls"][0]["question_id"] == "SECRET13"
    seen = await go_on(agent, way, first.run_id, {"SECRET11": {"SECRET12": {"SECRET13": YES}}})
    assert (seen.result.status, len(acted)) == ("completed", 1)


async def test_a_run_that_is_cancelled_takes_those_inside_it_along() -> None:
    """However deep they stand: they are cancelled, and nothing of what was said in them stays in the journal."""
    acted: list[Any] = []
    low = payer(acted, inner_call(), "Paid.")
    middle = Agent("middle", model=FakeModel([outer_call("m1"), "Ok."]), tools=[low])
    agent = parent(middle, call_tool("agent-middle", PROMPT, id="c1"), "Done.")
    first = await agent.generate("Hi")
    id = first.run_id
    runs = [(agent, id), (middle, f"{id}:c1"), (low, f"{id}:c1:m1")]
    assert [await status_of(*each) for each in runs] == ["suspended"] * 3
    await agent.cancel(id)
    assert [await status_of(*each) for each in runs] == ["cancelled"] * 3
    assert acted == []


async def test_a_run_is_not_cancelled_over_one_inside_that_somebody_goes_on_with() -> None:
    """It is refused, and both stay as they are."""
    child = payer([], inner_call(), "Paid.")
    agent = parent(child, outer_call(), "Done.")
    id = (await agent.generate("Hi")).run_id
    assert await child.runtime.store.claim(f"{id}:c1", "somebody", 30)
    with pytest.raises(RunAlreadyClaimed):
        await agent.cancel(id)
    assert await child.runtime.store.write(f"{id}:c1", "somebody", release=True)
    assert [await status_of(agent, id), await status_of(child, f"{id}:c1")] == ["suspended"] * 2
    assert (await agent.resume(id, {"c1": {"p1": YES}})).status == "completed"


@both_ways
async def test_a_call_that_is_declined_ends_the_run_inside_it(way: str) -> None:
    """Also where the run goes on waiting for another call, whose own run stays."""
    child = payer([], inner_call(), inner_call(), "Paid.")
    agent = parent(child, outer_call("c1") + outer_call("c2"), "Done.")
    id = (await ask(agent, way)).result.run_id
    again = await agent.decline(id, "c1")
    assert again.status == "suspended"
    assert await status_of(child, f"{id}:c1") == "cancelled"
    assert await status_of(child, f"{id}:c2") == "suspended"
    last = await agent.decline(id, "c2")
    assert last.status == "completed"
    assert await status_of(child, f"{id}:c2") == "cancelled"


@both_ways
async def test_a_run_that_is_blocked_ends_the_run_inside_it(way: str) -> None:
    """Where a guard stops the run for what the inner one asks, and where another tool's result does on resume."""
    child = payer([], call_tool("pay", {"to": "SECRET11"}, id="p1"), "Paid.")
    agent = parent(child, outer_call(), "Done.", output_processors=[Codes(strategy="block")])
    seen = await ask(agent, way)
    assert seen.result.status == "blocked"
    assert await status_of(child, f"{seen.result.run_id}:c1") == "cancelled"

    child = payer([], inner_call(), "Paid.")
    act = doing("act", [], asking("?"))
    guards = [at("process_tool_result", lambda ctx: ctx.abort("no"))]
    agent = parent(child, outer_call() + call_tool("act", {}, id="c2"), tools=[act], output_processors=guards)
    id = (await ask(agent, way)).result.run_id
    assert await status_of(child, f"{id}:c1") == "suspended"
    assert (await go_on(agent, way, id, {"c2": "yes"})).result.status == "blocked"
    assert await status_of(child, f"{id}:c1") == "cancelled"


@both_ways
@pytest.mark.parametrize("options", [{"tool_choice": "none"}, {}])
async def test_an_approved_call_runs_whatever_the_choice_of_tools_is_now(way: str, options: Any) -> None:
    """It was allowed when it was made: by its step, or before the resume said ``none``."""
    acted: list[Any] = []
    auto = at("process_input_step", lambda ctx: {"tool_choice": "auto"} if not ctx.step_number else None)
    agent = Agent(
        "payer",
        model=FakeModel([inner_call(), "Done."]),
        tools=[doing("pay", acted, requires_approval=True)],
        input_processors=[auto],
    )
    first = (await ask(agent, way, **options)).result
    again = {} if options else {"tool_choice": "none"}
    seen = await go_on(agent, way, first.run_id, {"p1": YES}, **again)
    assert [type(each) for each in seen.result.tool_results] == [ToolResult]
    assert len(acted) == 1


@both_ways
async def test_an_inner_agent_may_ask_again_in_a_later_step_with_the_same_id(way: str) -> None:
    """Models that give every call one id: each of the runs inside is one of its own, and is found again."""
    acted: list[Any] = []
    child = payer(acted, inner_call(), "Paid one.", inner_call(), "Paid two.")
    agent = parent(child, outer_call(), outer_call(), "Done.")
    first = (await ask(agent, way)).result
    second = (await go_on(agent, way, first.run_id, {"c1": {"p1": YES}})).result
    (question,) = second.suspended
    assert question.question_id == "c1#2"
    assert question.payload["run_id"].startswith(f"{first.run_id}:c1#")
    seen = await go_on(agent, way, first.run_id, {"c1#2": {"p1": YES}})
    assert [each.result for each in seen.result.tool_results] == ["Paid one.", "Paid two."]  # type: ignore[union-attr]
    assert len(acted) == 2


@both_ways
async def test_an_inner_agent_may_ask_again_after_its_step_was_sent_back(way: str) -> None:
    """The second attempt's question is asked and answered."""
    acted: list[Any] = []
    child = payer(acted, inner_call(), "Paid one.", inner_call(), "Paid two.")

    def judge(ctx: Any) -> None:
        if ctx.result == "Paid one.":
            ctx.abort("again", retry=True)

    agent = parent(
        child, outer_call(), outer_call(), "Done.",
        output_processors=[at("process_tool_result", judge)], max_processor_retries=1,
    )  # fmt: skip
    first = (await ask(agent, way)).result
    second = (await go_on(agent, way, first.run_id, {"c1": {"p1": YES}})).result
    assert [call.question_id for call in second.suspended] == ["c1#2"]
    seen = await go_on(agent, way, first.run_id, {"c1#2": {"p1": YES}})
    assert [each.result for each in seen.result.tool_results] == ["Paid two."]  # type: ignore[union-attr]


@both_ways
async def test_data_that_json_has_no_word_for_does_not_end_a_run(way: str) -> None:
    """A resumed tool wrote it: it is kept as JSON can say it, and the run completes."""

    async def act(args: Any, ctx: ToolContext) -> str:
        answer: str = ctx.suspend("?")
        await ctx.writer.custom({"type": "data-x", "data": {"n": Decimal(1)}})
        return answer

    agent = Agent("clerk", model=FakeModel([call_tool("act", {}, id="c1"), "Done."]), tools=[doing("act", [], act)])
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c1": "yes"})
    assert (seen.result.status, seen.result.text) == ("completed", "Done.")
    kept = [part for message in seen.result.messages for part in message.parts if isinstance(part, DataPart)]
    assert json.dumps([part.data for part in kept]) == '[{"n": "1"}]'


@both_ways
async def test_data_that_cannot_be_kept_is_refused_where_it_is_written(way: str) -> None:
    """The tool is told, and so is the model; the run goes on."""

    async def act(args: Any, ctx: ToolContext) -> None:
        await ctx.writer.custom({"type": "data-x", "data": {"n": iter([1]), "of": (each for each in "ab")}})

    agent = Agent("clerk", model=FakeModel([call_tool("act", {}, id="c1"), "Done."]), tools=[doing("act", [], act)])
    seen = await ask(agent, way)
    assert seen.result.status == "completed"
    assert [type(each) for each in seen.result.tool_results] == [ToolError]
