"""A process that dies in the middle of a resume: what was done is not done again, and what guards hid is not written."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at
from tests.agents.suspending import doing, go_on, told

from procession.agents.agent import Agent
from procession.errors import AlreadyAnswered, InputError, RunAlreadyClaimed, RunError
from procession.runtime.runtime import Runtime
from procession.storage.base import RunRow
from procession.storage.memory import InMemoryJournal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.context import ToolContext

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
PAIR = call_tool("pay", {"n": 1}, id="c1") + call_tool("post", {}, id="c2")
YES = {"approved": True}
SECRET = "555-1234"


class Dying(InMemoryJournal):
    """A journal that remembers how it was when the process died."""

    copy: RunRow | None = None

    def die(self, run_id: str) -> None:
        """Keep what another process would find from now on."""
        self.copy = self._rows[run_id]

    async def left(self) -> Runtime:
        """Return a runtime on what the dead process has left."""
        assert self.copy is not None
        store = InMemoryJournal()
        await store.add(self.copy)
        return Runtime(store)


def clerk(journal: Any, acted: list[str], *script: Any, dies_in: str = "", **options: Any) -> tuple[Agent, FakeModel]:
    """Return an agent with two tools that need approval, which may die in one of them or in the model, and its model."""

    def tool(name: str) -> Any:
        def act(args: Any, ctx: ToolContext) -> str:
            if name == dies_in:
                journal.die(ctx.run_id)
            acted.append(name)
            return f"{name} {SECRET}"

        return doing(name, [], act, requires_approval=True)

    model = FakeModel(script)
    runtime = journal if isinstance(journal, Runtime) else Runtime(journal)
    agent = Agent("clerk", model=model, tools=[tool("pay"), tool("post")], runtime=runtime, **options)
    return agent, model


@both_ways
async def test_a_tool_that_was_run_is_not_run_again(way: str) -> None:
    """The process dies in the second tool: the same answers go on, and the first tool's result is the one it had."""
    acted: list[str] = []
    journal = Dying()
    agent, _ = clerk(journal, acted, PAIR, "Done.", dies_in="post")
    first = (await ask(agent, way)).result
    answers = {"c1": YES, "c2": YES}
    await go_on(agent, way, first.run_id, answers)
    assert acted == ["pay", "post"]
    after, model = clerk(await journal.left(), acted, "Done.")
    assert [call.question_id for call in await after.suspended(first.run_id)] == ["c2"]
    seen = await go_on(after, way, first.run_id, answers)
    assert acted == ["pay", "post", "post"]
    assert (seen.result.status, seen.result.text) == ("completed", "Done.")
    assert told(model.requests[0]) == [f"pay {SECRET}", f"post {SECRET}"]
    assert [result.tool_call_id for result in seen.result.tool_results] == ["c1", "c2"]
    with pytest.raises(RunAlreadyClaimed, match="completed"):
        await after.resume(first.run_id, answers)


@both_ways
@pytest.mark.parametrize("answers", [{"c1": YES, "c2": YES}, {"c2": YES}, {}])
async def test_a_run_goes_on_where_all_tools_were_run(way: str, answers: dict[str, Any]) -> None:
    """The process dies in the model call behind them: the run goes on with the same answers, some of them or none."""
    acted: list[str] = []
    journal = Dying()

    def dies(ctx: Any) -> None:
        if ctx.step_number == 1:
            journal.die(ctx.run_id)

    guard = at("process_input_step", dies)
    agent, _ = clerk(journal, acted, PAIR, "Never heard.", input_processors=[guard])
    first = await agent.generate("Hi")
    await agent.resume(first.run_id, {"c1": YES, "c2": YES})
    after, model = clerk(await journal.left(), acted, "Done.")
    assert await after.suspended(first.run_id) == ()
    seen = await go_on(after, way, first.run_id, answers)
    assert (seen.result.status, seen.result.text, acted) == ("completed", "Done.", ["pay", "post"])
    assert told(model.requests[0]) == [f"pay {SECRET}", f"post {SECRET}"]
    assert seen.result.usage.total_tokens == 2 * first.usage.total_tokens


async def test_another_answer_after_the_interruption_is_refused() -> None:
    """What was answered and acted on cannot be answered otherwise; nothing runs, and the run still waits."""
    acted: list[str] = []
    journal = Dying()
    agent, _ = clerk(journal, acted, PAIR, "Done.", dies_in="post")
    first = await agent.generate("Hi")
    await agent.resume(first.run_id, {"c1": YES, "c2": YES})
    acted.clear()
    after, _ = clerk(await journal.left(), acted, "Done.")
    with pytest.raises(AlreadyAnswered, match="'c1'"):
        await after.resume(first.run_id, {"c1": {"approved": False}, "c2": YES})
    assert acted == []
    seen = await after.resume(first.run_id, {"c1": YES})  # the other one is still to be answered
    assert ([call.question_id for call in seen.suspended], acted) == (["c2"], [])
    with pytest.raises(AlreadyAnswered):  # and from now on this is an answer that came twice
        await after.resume(first.run_id, {"c1": YES})
    assert (await after.resume(first.run_id, {"c2": {"approved": False}})).status == "completed"


async def test_a_no_is_kept_as_well() -> None:
    """A call that was declined before the process died stays so, and its answer may come in either form."""
    acted: list[str] = []
    journal = Dying()
    agent, _ = clerk(journal, acted, PAIR, "Done.", dies_in="post")
    first = await agent.generate("Hi")
    no = {"approved": False, "reason": "too much"}
    await agent.resume(first.run_id, {"c1": no, "c2": YES})
    after, model = clerk(await journal.left(), acted, "Done.")
    with pytest.raises(InputError, match="has had an answer before"):
        await after.approve(first.run_id)
    await after.resume(first.run_id, {"c1": no, "c2": YES})
    assert told(model.requests[0])[0] == "too much"
    assert acted == ["post", "post"]


@both_ways
async def test_what_guards_hid_is_not_in_what_is_left(way: str) -> None:
    """A result is written down as guards leave it: never as the tool gave it, at no moment."""
    acted: list[str] = []
    notes: list[str] = []

    class Watched(Dying):
        async def write(self, run_id: str, token: str, *rows: Any, **changes: Any) -> bool:
            if "data" in changes and "status" not in changes:
                notes.append(changes["data"])
            return await super().write(run_id, token, *rows, **changes)

    def hide(ctx: Any) -> Any:
        return {"result": ctx.result.replace(SECRET, "[PHONE]")}

    journal = Watched()
    guard = at("process_tool_result", hide)
    agent, _ = clerk(journal, acted, PAIR, "Done.", dies_in="post", output_processors=[guard])
    first = (await ask(agent, way)).result
    await go_on(agent, way, first.run_id, {"c1": YES, "c2": YES})
    assert len(notes) == 2
    assert not any(SECRET in note for note in notes)
    after, model = clerk(await journal.left(), acted, "Done.", output_processors=[guard])
    seen = await go_on(after, way, first.run_id, {"c1": YES, "c2": YES})
    assert told(model.requests[0]) == ["pay [PHONE]", "post [PHONE]"]
    assert SECRET not in repr((seen.chunks, seen.result.messages))


@both_ways
async def test_one_after_the_other(way: str) -> None:
    """A verdict on one answered call's result stops the run before the next one's tool."""
    acted: list[str] = []
    guard = at("process_tool_result", lambda ctx: ctx.abort("no") if ctx.tool_name == "pay" else None)
    agent, _ = clerk(InMemoryJournal(), acted, PAIR, "Done.", output_processors=[guard])
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c1": YES, "c2": YES})
    assert (seen.result.status, acted) == ("blocked", ["pay"])


@pytest.mark.parametrize("way", WAYS)
async def test_a_result_that_cannot_be_written(way: str) -> None:
    """A value that a processor puts where it cannot be written ends the run, by name, before the next tool runs."""
    acted: list[str] = []

    def mark(ctx: Any) -> Any:
        return [message.with_metadata(thing=object()) for message in ctx.view]

    agent, _ = clerk(InMemoryJournal(), acted, PAIR, "Done.", output_processors=[at("process_tool_result", mark)])
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c1": YES, "c2": YES})
    assert isinstance(seen.error, RunError)
    assert "thing" in str(seen.error)
    assert acted == ["pay"]


async def test_a_claim_that_was_lost_stops_before_the_next_tool() -> None:
    """Who finds at the first result that another one has the run by now runs no further tool."""
    acted: list[str] = []

    class Lost(InMemoryJournal):
        async def write(self, run_id: str, token: str, *rows: Any, **changes: Any) -> bool:
            return False

    agent, _ = clerk(Lost(), acted, PAIR, "Done.")
    first = await agent.generate("Hi")
    with pytest.raises(RunAlreadyClaimed):
        await agent.resume(first.run_id, {"c1": YES, "c2": YES})
    assert acted == ["pay"]


async def test_a_sub_agent_that_a_dead_process_still_holds() -> None:
    """Where the inner run is not free yet the outer one waits on: the answer is not lost, and nothing runs."""
    now = [0.0]
    acted: list[Any] = []
    runtime = Runtime(InMemoryJournal(clock=lambda: now[0]))
    pay = doing("pay", acted, requires_approval=True)
    inner = FakeModel([call_tool("pay", {}, id="p1"), "Paid."])
    child = Agent("child", model=inner, tools=[pay], runtime=runtime)
    outer = FakeModel([call_tool("agent-child", {"prompt": "Pay"}, id="c1"), "Done."])
    agent = Agent("parent", model=outer, tools=[child], runtime=runtime)
    first = await agent.generate("Hi")
    assert await runtime.store.claim(f"{first.run_id}:c1", "a process that died", 30)
    for _ in range(2):
        with pytest.raises(RunAlreadyClaimed):
            await agent.resume(first.run_id, {"c1": {"p1": YES}})
        assert (await agent.suspended(first.run_id)) == first.suspended
    now[0] += 31
    assert (await agent.resume(first.run_id, {"c1": {"p1": YES}})).text == "Done."
    assert len(acted) == 1


async def test_a_sub_agent_that_had_ended_is_not_run_again() -> None:
    """The process dies between the inner run's end and the outer one's note: the model is told, nothing runs again."""
    acted: list[Any] = []
    inner_journal, outer_journal = InMemoryJournal(), Dying()

    def made(runtime: Runtime, *script: Any) -> tuple[Agent, FakeModel]:
        pay = doing("pay", acted, requires_approval=True)
        child = Agent(
            "child",
            model=FakeModel([call_tool("pay", {}, id="p1"), "Paid."]),
            tools=[pay],
            runtime=Runtime(inner_journal),
        )
        model = FakeModel(script)
        return Agent("parent", model=model, tools=[child], runtime=runtime), model

    agent, _ = made(Runtime(outer_journal), call_tool("agent-child", {"prompt": "Pay"}, id="c1"), "Done.")
    first = await agent.generate("Hi")
    outer_journal.die(first.run_id)
    await agent.resume(first.run_id, {"c1": {"p1": YES}})
    after, model = made(await outer_journal.left(), "Done.")
    assert (await after.resume(first.run_id, {"c1": {"p1": YES}})).text == "Done."
    assert "has ended as completed" in told(model.requests[0])[0]
    assert len(acted) == 1


@both_ways
async def test_what_was_streamed_and_counted_is_there(way: str) -> None:
    """After an interruption the text of before, the steps and what guards found are in the result."""
    acted: list[str] = []
    journal = Dying()

    def warn(ctx: Any) -> None:
        ctx.warn(f"{ctx.tool_name} was used")

    guard = at("process_tool_result", warn)
    agent, _ = clerk(journal, acted, say("Let me see. ") + PAIR, "Done.", dies_in="post", output_processors=[guard])
    first = (await ask(agent, way)).result
    await go_on(agent, way, first.run_id, {"c1": YES, "c2": YES})
    after, _ = clerk(await journal.left(), acted, "Done.", output_processors=[guard])
    seen = await go_on(after, way, first.run_id, {"c1": YES, "c2": YES})
    assert seen.result.text == "Let me see. Done."
    assert [one.message for one in seen.result.violations] == ["pay was used", "post was used"]
