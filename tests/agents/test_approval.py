"""Tool calls that a person must agree to: not run before somebody says yes, never run where somebody says no."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at
from tests.agents.suspending import doing, go_on, told

from procession.agents.agent import Agent
from procession.agents.suspended_call import APPROVAL_SCHEMA, SuspendedCall
from procession.errors import ApprovalError, DefinitionError, InputError, RunAlreadyClaimed, ToolDefinitionError
from procession.messages.chunks import Finish, StepFinish, ToolCallApproval, ToolOutputDenied, ToolResult
from procession.messages.parts import Approval, ToolCallPart
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.context import ToolContext
from procession.tools.tool import Tool, client_tool, tool

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
PAY = call_tool("pay", {"amount": 5}, id="c1")


def payer(calls: list[Any], *more: Any, **options: Any) -> tuple[Agent, FakeModel]:
    """Return an agent whose first answer wants to pay, and its model."""
    model = FakeModel([say("Let me pay. ") + PAY, "Paid.", *more])
    return Agent("payer", model=model, tools=[doing("pay", calls, requires_approval=True)], **options), model


def always(answer: Any) -> Any:
    """Return a rule that says *answer* of every call."""

    def rule(args: Any, ctx: ToolContext) -> Any:
        return answer

    return rule


def failing(args: Any, ctx: ToolContext) -> bool:
    """Raise, as a rule with a fault does."""
    raise ZeroDivisionError


def is_pay(args: Any, ctx: ToolContext) -> bool:
    """Tell by its name whether a call pays."""
    return ctx.tool_name == "pay"


def part_of(result: Any, tool_call_id: str = "c1") -> ToolCallPart:
    """Return the part of a tool call in a result's messages."""
    parts = [part for message in result.messages for part in message.parts]
    return next(part for part in parts if isinstance(part, ToolCallPart) and part.tool_call_id == tool_call_id)


@both_ways
async def test_a_call_that_needs_approval_is_not_run(way: str) -> None:
    """The run ends as suspended, and says what it waits for; the reader is told, and no finish comes."""
    calls: list[Any] = []
    agent, _ = payer(calls)
    seen = await ask(agent, way)
    result = seen.result
    assert calls == []
    assert (result.status, result.finish_reason, result.error) == ("suspended", "suspended", None)
    assert result.suspended == (SuspendedCall(tool_call_id="c1", tool_name="pay", args={"amount": 5}, kind="approval"),)
    assert seen.chunks.of(ToolCallApproval) == [ToolCallApproval("c1", "pay", {"amount": 5}, APPROVAL_SCHEMA)]
    assert not seen.chunks.of(Finish) and not seen.chunks.of(StepFinish)
    assert part_of(result).state == "approval-requested"


@both_ways
async def test_an_approved_call_is_run(way: str) -> None:
    """With a yes the tool is run, once, and the run goes on to its end as one run."""
    calls: list[Any] = []
    agent, model = payer(calls)
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c1": {"approved": True}})
    result = seen.result
    assert calls == [("pay", {"amount": 5})]
    assert (result.status, result.run_id, result.text) == ("completed", first.run_id, "Let me pay. Paid.")
    assert [step.text for step in result.steps] == ["Let me pay. ", "Paid."]
    assert result.usage.input_tokens == 2 * first.usage.input_tokens
    assert told(model.requests[1]) == ["pay done"]
    assert [chunk.result for chunk in seen.chunks.of(ToolResult)] == ["pay done"]
    assert [chunk.reason for chunk in seen.chunks.of(StepFinish)] == ["tool-calls", "stop"]
    assert len(seen.chunks.of(Finish)) == 1
    assert [message.text for message in result.messages] == ["Let me pay. ", "Paid."]  # a message of its own


async def test_approve_and_decline_find_the_only_call() -> None:
    """A call need not be named where only one waits; a run that has ended is told from one that waits."""
    calls: list[Any] = []
    agent, _ = payer(calls)
    first = await agent.generate("Hi")
    assert await agent.suspended(first.run_id) == first.suspended
    assert (await agent.approve(first.run_id)).text == "Let me pay. Paid."
    for again in (agent.approve(first.run_id), agent.suspended(first.run_id), agent.cancel(first.run_id)):
        with pytest.raises(RunAlreadyClaimed, match="completed"):
            await again
    assert len(calls) == 1


@both_ways
async def test_a_declined_call_is_never_run(way: str) -> None:
    """With a no the model is told why, and the reader and the messages say so."""
    calls: list[Any] = []
    agent, model = payer(calls)
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c1": {"approved": False, "reason": "too much"}})
    assert calls == []
    assert seen.chunks.of(ToolOutputDenied) == [ToolOutputDenied("c1", "pay", {"amount": 5}, "too much")]
    assert told(model.requests[1]) == ["too much"]
    part = part_of(seen.result)
    assert (part.state, part.approval) == ("output-denied", Approval("c1", False, "too much"))
    assert (seen.result.status, seen.result.text) == ("completed", "Let me pay. Paid.")


async def test_decline_without_a_reason() -> None:
    """A no needs no reason: the model is told that the call was not allowed."""
    agent, model = payer([])
    first = await agent.generate("Hi")
    assert (await agent.decline(first.run_id, "c1")).status == "completed"
    assert told(model.requests[1]) == ["The call of this tool was not allowed."]


async def test_a_reason_is_a_text() -> None:
    """A reason that is no text is refused, and the run still waits."""
    agent, _ = payer([])
    first = await agent.generate("Hi")
    with pytest.raises(InputError, match="reason is int"):
        await agent.decline(first.run_id, reason=5)  # type: ignore[arg-type]
    assert (await agent.approve(first.run_id)).status == "completed"


@pytest.mark.parametrize("answer", [{"approved": "no"}, {}, {"approved": 1}, {"approved": True, "x": 1}, True, None])
async def test_an_answer_that_says_neither_is_refused(answer: Any) -> None:
    """Nothing is taken for a yes that is none; the run waits on, and its claim is free (SUS-012)."""
    calls: list[Any] = []
    agent, _ = payer(calls)
    first = await agent.generate("Hi")
    with pytest.raises(InputError, match="does not fit"):
        await agent.resume(first.run_id, {"c1": answer})
    assert calls == []
    assert (await agent.suspended(first.run_id)) == first.suspended
    assert (await agent.resume(first.run_id, {"c1": {"approved": False}})).status == "completed"
    assert calls == []


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_a_function_says_which_calls(asynchronous: bool) -> None:
    """``requires_approval`` may be a function of the checked arguments and the context, plain or async."""

    def plain(args: Any, ctx: Any) -> bool:
        return bool(args["amount"] > ctx.request_context["limit"])

    async def later(args: Any, ctx: Any) -> bool:
        return plain(args, ctx)

    ran: list[int] = []

    @tool(requires_approval=later if asynchronous else plain)
    def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return "paid"

    answer = call_tool("pay", {"amount": "5"}, id="small") + call_tool("pay", {"amount": 50}, id="large")
    agent = Agent("payer", model=FakeModel([answer, "Done."]), tools=[pay])
    result = await agent.generate("Hi", request_context={"limit": 10})
    assert [call.tool_call_id for call in result.suspended] == ["large"]
    assert ran == [5]


@pytest.mark.parametrize("answer", [None, "", 0, "yes"])
async def test_only_false_lets_a_call_pass(answer: Any) -> None:
    """A function that forgets to answer does not let the call pass."""
    calls: list[Any] = []
    agent = Agent(
        "payer", model=FakeModel([PAY, "Paid."]), tools=[doing("pay", calls, requires_approval=always(answer))]
    )
    assert (await agent.generate("Hi")).status == "suspended"
    assert calls == []


async def test_a_function_that_raises_ends_the_run() -> None:
    """Where nobody can tell whether a call needs approval it is not run, and the caller is told."""
    calls: list[Any] = []
    agent = Agent("payer", model=FakeModel([PAY, "Paid."]), tools=[doing("pay", calls, requires_approval=failing)])
    with pytest.raises(ApprovalError, match="'pay'.*ZeroDivisionError"):
        await agent.generate("Hi")
    assert calls == []


async def test_wrong_arguments_are_not_put_to_a_person() -> None:
    """A call that cannot be run is told to the model at once."""

    @tool(requires_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    agent = Agent("payer", model=FakeModel([call_tool("pay", {"amount": "much"}), "Sorry."]), tools=[pay])
    assert (await agent.generate("Hi")).text == "Sorry."


@both_ways
async def test_an_agent_or_a_call_asks_for_approval(way: str) -> None:
    """``require_tool_approval`` of the agent holds for every tool; that of the call takes its place."""
    calls: list[Any] = []

    def agent(**options: Any) -> Agent:
        return Agent("payer", model=FakeModel([PAY, "Paid."]), tools=[doing("pay", calls)], **options)

    asking = agent(require_tool_approval=True)
    first = (await ask(asking, way)).result
    assert (first.status, calls) == ("suspended", [])
    assert (await asking.approve(first.run_id)).status == "completed"
    seen = await ask(agent(), way, require_tool_approval=is_pay)
    assert seen.result.status == "suspended"
    seen = await ask(agent(require_tool_approval=True), way, require_tool_approval=False)
    assert seen.result.status == "completed"


async def test_a_call_cannot_waive_what_a_tool_asks_for() -> None:
    """A tool that needs approval needs it whatever the call says."""
    agent, _ = payer([])
    assert (await agent.generate("Hi", require_tool_approval=False)).status == "suspended"


async def test_settings_that_say_nothing_are_refused() -> None:
    """Neither a tool nor an agent nor a call takes for a rule what is none."""
    with pytest.raises(ToolDefinitionError, match="requires_approval"):
        Tool(name="pay", execute=lambda args, ctx: None, requires_approval="yes")  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="require_tool_approval"):
        Agent("payer", model=FakeModel("Hi"), require_tool_approval="yes")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="require_tool_approval"):
        await Agent("payer", model=FakeModel("Hi")).generate("Hi", require_tool_approval="yes")  # type: ignore[call-overload]


@both_ways
async def test_other_calls_of_the_step_are_run_once(way: str) -> None:
    """What needs no approval runs at once, and its result is not made again when the run goes on."""
    calls: list[Any] = []
    tools = [doing("look", calls), doing("pay", calls, requires_approval=True)]
    both = PAY + call_tool("look", {}, id="c2") + call_tool("pay", {"amount": 6}, id="c3")
    model = FakeModel([both, "Done."])
    agent = Agent("payer", model=model, tools=tools)
    first = (await ask(agent, way)).result
    assert calls == [("look", {})]
    assert [call.tool_call_id for call in first.suspended] == ["c1", "c3"]
    assert [result.tool_call_id for result in first.tool_results] == ["c2"]
    second = (await go_on(agent, way, first.run_id, {"c3": {"approved": True}})).result
    assert (second.status, [call.tool_call_id for call in second.suspended]) == ("suspended", ["c1"])
    assert len(model.requests) == 1
    third = (await go_on(agent, way, first.run_id, {"c1": {"approved": True}})).result
    assert calls == [("look", {}), ("pay", {"amount": 6}), ("pay", {"amount": 5})]
    assert third.status == "completed"
    assert [result.tool_call_id for result in third.tool_results] == ["c1", "c2", "c3"]
    assert told(model.requests[1]) == ["pay done", "look done", "pay done"]


async def test_which_call_must_be_said_where_there_are_several() -> None:
    """``approve`` without an id is refused where several calls wait, with their names."""
    calls: list[Any] = []
    model = FakeModel([PAY + call_tool("pay", {"amount": 6}, id="c2"), "Done."])
    agent = Agent("payer", model=model, tools=[doing("pay", calls, requires_approval=True)])
    first = await agent.generate("Hi")
    with pytest.raises(InputError, match="'c1'.*'c2'"):
        await agent.approve(first.run_id)
    with pytest.raises(InputError, match="does not wait for call 'c9'.*'c1'"):
        await agent.approve(first.run_id, "c9")
    with pytest.raises(InputError, match="no answers"):
        await agent.resume(first.run_id, {})
    assert calls == []


async def test_a_call_of_the_client_beside_one_that_waits() -> None:
    """A tool of the client ends the run, once the call beside it has been answered."""
    calls: list[Any] = []
    tools = [doing("pay", calls, requires_approval=True), client_tool("door")]
    model = FakeModel([PAY + call_tool("door", {}, id="c2"), "unused"])
    agent = Agent("payer", model=model, tools=tools)
    first = await agent.generate("Hi")
    result = await agent.approve(first.run_id)
    assert (result.status, result.finish_reason) == ("completed", "tool-calls")
    assert len(model.requests) == 1


@both_ways
async def test_a_stop_beats_a_question(way: str) -> None:
    """Where a guard stops the run at another result of the step, nobody is asked, and nothing can be resumed."""
    calls: list[Any] = []
    guard = at("process_tool_result", lambda ctx: ctx.abort("no"))
    tools = [doing("look", calls), doing("pay", calls, requires_approval=True)]
    agent = Agent("payer", model=FakeModel([PAY + call_tool("look"), "x"]), tools=tools, output_processors=[guard])
    seen = await ask(agent, way)
    assert seen.result.status == "blocked"
    assert not seen.chunks.of(ToolCallApproval)
    with pytest.raises(InputError, match="no run"):
        await agent.approve(seen.result.run_id)
