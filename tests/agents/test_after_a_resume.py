"""What may happen to a run after it was resumed: verdicts, aborts, and answers to some of its calls only."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.agents.kit import WAYS, Seen, ask, at, list_of, text_only
from tests.agents.suspending import doing, go_on, told

from procession.agents.agent import Agent
from procession.errors import RunAlreadyClaimed
from procession.messages.chunks import ToolCallApproval, ToolResult
from procession.processors.memory.memory import Memory
from procession.steps.abort import AbortSignal
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.context import ToolContext

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
PAY = say("Let me pay. ") + call_tool("pay", {"n": 1}, id="c1")
YES = {"approved": True}
HOOKS = [
    "process_tool_result", "process_input_step", "process_llm_request", "process_output_stream",
    "process_llm_response", "process_output_step", "process_output_result",
]  # fmt: skip


@both_ways
@pytest.mark.parametrize("hook", HOOKS)
async def test_a_tripwire_after_a_resume(way: str, hook: str) -> None:
    """A verdict in any hook blocks the run as ever: one tripwire chunk, last, nothing saved, and it is over (D13)."""
    acted: list[Any] = []
    resumed: list[bool] = []
    store = InMemoryStore()
    guard = at(hook, text_only(lambda ctx: ctx.abort("no") if resumed else None))
    lists: dict[str, Any] = {list_of(hook): [guard]}
    agent = Agent(
        "payer",
        model=FakeModel([PAY, "Paid."]),
        tools=[doing("pay", acted, requires_approval=True)],
        memory=Memory(store),
        **lists,
    )
    first = (await ask(agent, way, thread="t", resource="ada")).result
    resumed.append(True)
    saved = [message.text for message in await store.messages("t")]
    seen = await go_on(agent, way, first.run_id, {"c1": YES}, resource="ada")
    assert (seen.result.status, seen.tripwire.reason, len(acted)) == ("blocked", "no", 1)
    assert [chunk.type for chunk in seen.chunks].count("tripwire") == 1
    assert seen.chunks[-1].type == "tripwire"
    assert "Paid." not in seen.result.text
    assert [message.text for message in await store.messages("t")] == saved
    row = await agent.runtime.store.row(first.run_id)
    assert row is not None and (row.status, row.data) == ("blocked", None)
    with pytest.raises(RunAlreadyClaimed, match="blocked"):
        await agent.approve(first.run_id, "c1", resource="ada")


@both_ways
@pytest.mark.parametrize("where", ["tool", "model"])
async def test_an_abort_after_a_resume(way: str, where: str) -> None:
    """What was delivered stays, the call that was cut off is closed with an error, and the run is over."""
    signal = AbortSignal()
    acted: list[str] = []

    async def pay(args: Any, ctx: ToolContext) -> str:
        acted.append("begun")
        if where == "tool":
            signal.abort("enough")
            await anyio.sleep_forever()
        return "paid"

    def stop(chunk: Any) -> None:
        if getattr(chunk, "text", "").startswith("Paid, "):
            signal.abort("enough")

    model = FakeModel([PAY, say("Paid, ", "and more")])
    agent = Agent("payer", model=model, tools=[doing("pay", [], pay, requires_approval=True)])
    first = (await ask(agent, way)).result
    if way == "generate":
        result = await agent.approve(first.run_id, abort_signal=signal, on_chunk=stop)
    else:
        async with agent.resume_stream(first.run_id, {"c1": YES}, abort_signal=signal, on_chunk=stop) as stream:
            result = await stream.result()
    assert (result.status, result.finish_reason) == ("aborted", "aborted")
    assert result.text.startswith("Let me pay. ")
    assert acted == ["begun"]
    states = [getattr(part, "state", None) for message in result.messages for part in message.parts]
    assert ("output-error" if where == "tool" else "result") in states
    with pytest.raises(RunAlreadyClaimed, match="aborted"):
        await agent.approve(first.run_id, "c1")
    assert acted == ["begun"]


async def test_an_abort_before_a_resume_begins() -> None:
    """A signal that was set already: nothing runs, and the run is over, as a call that is aborted is."""
    signal = AbortSignal()
    signal.abort("never mind")
    acted: list[Any] = []
    agent = Agent("payer", model=FakeModel([PAY, "Paid."]), tools=[doing("pay", acted, requires_approval=True)])
    first = await agent.generate("Hi")
    result = await agent.approve(first.run_id, abort_signal=signal)
    assert (result.status, acted) == ("aborted", [])


def three(acted: list[Any], *script: Any, act: Any = None, **options: Any) -> tuple[Agent, FakeModel]:
    """Return an agent that is about to pay three times, and its model."""
    calls = [call_tool("pay", {"n": number}, id=f"c{number}") for number in (1, 2, 3)]
    model = FakeModel([calls[0] + calls[1] + calls[2], *(script or ("Paid.",))])
    return Agent("payer", model=model, tools=[doing("pay", acted, act, requires_approval=True)], **options), model


@both_ways
@pytest.mark.parametrize("order", [("c3", "c1", "c2"), ("c1", "c2", "c3")])
async def test_answers_one_by_one(way: str, order: tuple[str, ...]) -> None:
    """Each answer runs its own call, once; the model is asked when all are there, and told in the order of the calls."""
    acted: list[Any] = []
    agent, model = three(acted)
    first = (await ask(agent, way)).result
    assert [call.question_id for call in first.suspended] == ["c1", "c2", "c3"]
    rest = ["c1", "c2", "c3"]
    seen = Seen()
    for number, name in enumerate(order):
        rest.remove(name)
        seen = await go_on(agent, way, first.run_id, {name: YES})
        assert len(acted) == number + 1
        assert [call.question_id for call in seen.result.suspended] == rest
        assert not seen.chunks.of(ToolCallApproval)  # those that wait on are not asked again
        assert len(seen.chunks.of(ToolResult)) == 1
    assert seen.result.status == "completed"
    assert len(model.requests) == 2
    assert told(model.requests[1]) == ["pay done"] * 3
    assert [result.tool_call_id for result in seen.result.tool_results] == ["c1", "c2", "c3"]


@both_ways
async def test_some_yes_some_no_some_later(way: str) -> None:
    """A yes and a no at once leave the third call waiting; hooks see the results in the order of the calls."""
    acted: list[Any] = []
    looked: list[Any] = []
    guard = at(
        "process_tool_result", lambda ctx: looked.append((ctx.tool_call_id, ctx.is_error)), process_tool_errors=True
    )
    agent, model = three(acted, output_processors=[guard])
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c3": {"approved": False, "reason": "no"}, "c1": YES})
    assert ([args["n"] for _, args in acted], looked) == ([1], [("c1", False), ("c3", True)])
    assert [call.question_id for call in seen.result.suspended] == ["c2"]
    seen = await go_on(agent, way, first.run_id, {"c2": YES})
    assert seen.result.status == "completed"
    assert told(model.requests[1]) == ["pay done", "pay done", "no"]


async def test_different_answers_at_once() -> None:
    """Two people answer two calls of a run at the same time: one is told to come again, and nothing runs twice."""
    acted: list[Any] = []
    lost: list[str] = []
    told_so = anyio.Event()

    async def wait(args: Any, ctx: ToolContext) -> None:
        await told_so.wait()

    agent, _ = three(acted, act=wait)
    first = await agent.generate("Hi")

    async def one(name: str) -> None:
        try:
            await agent.resume(first.run_id, {name: YES})
        except RunAlreadyClaimed:
            lost.append(name)
            told_so.set()

    async with anyio.create_task_group() as group:
        group.start_soon(one, "c1")
        group.start_soon(one, "c2")
    (name,) = lost
    assert len(acted) == 1
    result = await agent.resume(first.run_id, {name: YES})
    assert [call.question_id for call in result.suspended] == ["c3"]
    assert sorted(args["n"] for _, args in acted) == [1, 2]


@both_ways
async def test_one_bad_answer_of_several(way: str) -> None:
    """Where one of several answers does not fit, none is used: no tool runs, and all calls wait on."""
    acted: list[Any] = []
    agent, _ = three(acted)
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c1": YES, "c2": {"approved": "maybe"}})
    assert "'c2'" in str(seen.error)
    assert acted == []
    assert len(await agent.suspended(first.run_id)) == 3
