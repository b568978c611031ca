"""Agents that are steps and wait: the workflow's run waits, and goes on with their answers."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.agents.kit import COST, at
from tests.agents.suspending import asking, doing

from procession.agents.agent import Agent
from procession.agents.resume import ResumedCall
from procession.errors import RunAlreadyClaimed, RunError, RunSuspended
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.step import StepContext, step
from procession.storage.base import RunRow
from procession.storage.memory import InMemoryJournal
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail
from procession.tools.context import ToolContext
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

YES = {"approved": True}


def runtime(kind: str) -> Runtime:
    """Return a runtime that keeps runs from their start, or only those that wait."""
    return Runtime(InMemoryJournal()) if kind == "stored" else Runtime()


kinds = pytest.mark.parametrize("kind", ["stored", "plain"])


def payer(acted: list[Any], *script: Any, **options: Any) -> Agent:
    """Return an agent that wants to pay."""
    pay = doing("pay", acted, requires_approval=True)
    return Agent("payer", model=FakeModel([*script]), tools=[pay], **options)


def pay(id: str = "p1") -> Any:
    """Return the call that pays."""
    return call_tool("pay", {}, id=id)


def flow(*steps: Any) -> Any:
    """Return a workflow of *steps* on a text."""
    made: Any = create_workflow("flow", str)
    for each in steps:
        made = made.then(each)
    return made.commit()


@step
def shout(ctx: StepContext[str]) -> str:
    """Say it loudly."""
    return ctx.input.upper()


@kinds
async def test_an_agent_that_waits_suspends_the_workflow(kind: str) -> None:
    """What its run waits for is the question; the answer goes on with that run, and nothing is done twice."""
    acted: list[Any] = []
    counted: list[str] = []

    @step
    def before(ctx: StepContext[str]) -> str:
        counted.append(ctx.input)
        return ctx.input

    agent = payer(acted, pay(), "Paid.")
    rt = runtime(kind)
    first = await rt.run(flow(before, agent, shout), "Pay.", run_id="r1")
    assert first.status == "suspended"
    question = first.suspended["payer"]
    assert (question["agent"], question["run_id"]) == ("payer", "r1:payer")
    assert [(call["question_id"], call["kind"]) for call in question["calls"]] == [("p1", "approval")]
    assert acted == []
    last = await rt.resume("r1", {"p1": YES}, step="payer")
    assert last.unwrap() == "PAID."
    assert (acted, counted) == ([("pay", {})], ["Pay."])
    assert last.steps["payer"].output == "Paid."
    store = rt.store if kind == "stored" else agent.runtime.store
    row = await store.row("r1:payer")
    assert row is not None
    assert (row.status, row.data) == ("success", None)


@kinds
async def test_an_agent_may_wait_several_times(kind: str) -> None:
    """Each answer is handed over once, to its own question."""
    acted: list[Any] = []
    ask = doing("ask", acted, asking("Which?"))
    script = [pay() + call_tool("ask", {}, id="a1"), pay("p2"), "Paid twice."]
    agent = Agent("payer", model=FakeModel(script), tools=[doing("pay", acted, requires_approval=True), ask])
    rt = runtime(kind)
    await rt.run(flow(agent), "Pay.", run_id="r1")
    second = await rt.resume("r1", {"a1": "this"})
    assert [call["question_id"] for call in second.suspended["payer"]["calls"]] == ["p1"]
    third = await rt.resume("r1", {"p1": YES})
    assert [call["question_id"] for call in third.suspended["payer"]["calls"]] == ["p2"]
    assert (await rt.resume("r1", {"p2": YES})).unwrap() == "Paid twice."
    assert [name for name, _ in acted] == ["ask", "ask", "pay", "pay"]
    with pytest.raises(RunAlreadyClaimed):
        await rt.resume("r1", {"p2": YES})


@kinds
@pytest.mark.parametrize("answer", ["yes", {"p1": {"approved": "no"}}, {"p9": YES}])
async def test_an_answer_that_does_not_fit_is_asked_for_again(kind: str, answer: Any) -> None:
    """The run waits on, and says why; nothing was run."""
    acted: list[Any] = []
    rt = runtime(kind)
    await rt.run(flow(payer(acted, pay(), "Paid.")), "Pay.", run_id="r1")
    again = await rt.resume("r1", answer)
    assert again.status == "suspended"
    question = again.suspended["payer"]
    assert question["refused"]
    assert [call["question_id"] for call in question["calls"]] == ["p1"]
    assert acted == []
    assert (await rt.resume("r1", {"p1": YES})).unwrap() == "Paid."


@kinds
async def test_a_tripwire_of_the_resumed_agent_blocks_the_run(kind: str) -> None:
    """As it does where it had not waited."""
    agent = payer([], pay(), "Paid.", output_processors=[at("process_output_result", lambda ctx: ctx.abort("no"))])
    rt = runtime(kind)
    await rt.run(flow(agent), "Pay.", run_id="r1")
    last = await rt.resume("r1", {"p1": YES})
    assert last.status == "blocked"
    assert last.tripwire is not None
    assert last.tripwire.reason == "no"


@kinds
async def test_a_failure_of_the_resumed_agent_fails_the_run(kind: str) -> None:
    """With its own error; nothing waits any more."""
    agent = payer([], pay(), fail("down", status=400))
    rt = runtime(kind)
    await rt.run(flow(agent), "Pay.", run_id="r1")
    last = await rt.resume("r1", {"p1": YES})
    assert last.status == "failed"
    assert "down" in str(last.error)


@kinds
async def test_a_step_that_is_tried_again_gives_no_old_answer_to_a_new_run(kind: str) -> None:
    """The resumed run fails, the next attempt begins another one: it asks for itself, though its call has the same id."""
    acted: list[Any] = []
    agent = payer(acted, pay(), fail("down", status=400), pay(), "Paid.")
    patient = agent.as_step().replace(retry=RetryPolicy(2))
    rt = runtime(kind)
    await rt.run(flow(patient), "Pay.", run_id="r1")
    second = await rt.resume("r1", {"p1": YES})
    assert second.suspended["payer"]["run_id"] == "r1:payer#2"
    assert len(acted) == 1
    assert (await rt.resume("r1", {"p1": YES})).unwrap() == "Paid."
    assert len(acted) == 2


@kinds
@pytest.mark.parametrize("how", ["cancel", "delete"])
async def test_a_run_that_is_cancelled_or_deleted_ends_the_agents_that_wait_in_it(kind: str, how: str) -> None:
    """However deep they stand: what was said in them is kept no longer."""
    low = payer([], pay(), "Paid.")
    call = call_tool("agent-payer", {"prompt": "Pay."}, id="c1")
    agent = Agent("boss", model=FakeModel([call, "Ok."]), tools=[low])
    rt = runtime(kind)
    first = await rt.run(flow(agent), "Pay.", run_id="r1")
    assert first.status == "suspended"
    stores = [agent.runtime.store, low.runtime.store] if kind == "plain" else [rt.store] * 2
    rows = [await store.row(id) for store, id in zip(stores, ["r1:boss", "r1:boss:c1"], strict=True)]
    assert [row.status for row in rows if row is not None] == ["suspended"] * 2
    assert await getattr(rt, how)("r1")
    rows = [await store.row(id) for store, id in zip(stores, ["r1:boss", "r1:boss:c1"], strict=True)]
    assert [(row.status, row.data) for row in rows if row is not None] == [("cancelled", None)] * 2


class Noting(InMemoryJournal):
    """A journal that says when a run of an agent waits."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = anyio.Event()

    async def add(self, row: RunRow, *, token: str | None = None, seconds: float = 0.0) -> bool:
        """Keep a run."""
        added = await super().add(row, token=token, seconds=seconds)
        if row.kind == "agent":
            self.waits.set()
        return added


@pytest.mark.parametrize("answered", [False, True])
async def test_a_run_that_fails_beside_an_agent_that_waits_ends_it(answered: bool) -> None:
    """At once, or after an answer: nobody will answer it any more."""
    store = Noting()

    @step(resume_type=str)
    async def choose(ctx: StepContext[str]) -> str:
        if answered:
            await ctx.suspend("?")
        await store.waits.wait()
        raise ValueError("not that")

    work: Any = create_workflow("flow", str).parallel([payer([], pay(), "Paid."), choose]).commit()
    rt = Runtime(store)
    result = await rt.run(work, "Pay.", run_id="r1")
    if answered:
        assert set(result.suspended) == {"payer", "choose"}
        result = await rt.resume("r1", "x", step="choose")
    assert result.status == "failed"
    row = await store.row("r1:payer")
    assert row is not None
    assert (row.status, row.data) == ("cancelled", None)


async def test_a_run_that_is_not_kept_from_its_start_ends_what_waits_in_it() -> None:
    """It fails before it was ever suspended: the agent's own runtime has the run that waited."""
    store = Noting()

    @step
    async def break_down(ctx: StepContext[str]) -> str:
        await store.waits.wait()
        raise ValueError("not that")

    agent = payer([], pay(), "Paid.", runtime=Runtime(store))
    work: Any = create_workflow("flow", str).parallel([agent, break_down]).commit()
    assert (await Runtime().run(work, "Pay.", run_id="r1")).status == "failed"
    row = await store.row("r1:payer")
    assert row is not None
    assert (row.status, row.data) == ("cancelled", None)


@kinds
async def test_an_answer_that_is_noted_is_not_lost_with_the_process(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the run came to is in the workflow's journal before the run ends: what follows takes it from there."""
    acted: list[Any] = []
    agent = payer(acted, pay(), "Paid.")
    patient = agent.as_step().replace(retry=RetryPolicy(2))
    rt = runtime(kind)
    await rt.run(flow(patient), "Pay.", run_id="r1")

    async def broken(call: ResumedCall) -> None:
        await call.claim.release()
        raise OSError("the process is gone")

    monkeypatch.setattr(ResumedCall, "end", broken)
    assert (await rt.resume("r1", {"p1": YES})).unwrap() == "Paid."
    assert len(acted) == 1
    row = await (rt.store if kind == "stored" else agent.runtime.store).row("r1:payer")
    assert row is not None
    assert (row.status, row.data) == ("cancelled", None)


@kinds
async def test_an_agent_in_a_loop_has_a_run_for_each_item(kind: str) -> None:
    """Items wait side by side, and are answered by their paths."""
    acted: list[Any] = []
    pay_tool = doing("pay", acted, requires_approval=True)
    agent = Agent("payer", model=FakeModel([pay(), pay(), "Paid.", "Paid."]), tools=[pay_tool])
    work: Any = create_workflow("flow", list[str]).foreach(agent).commit()
    rt = runtime(kind)
    first = await rt.run(work, ["a", "b"], run_id="r1")
    last = first
    for _ in range(2):
        last = await rt.resume("r1", {"p1": YES}, step=next(iter(last.suspended)))
    assert last.unwrap() == ["Paid.", "Paid."]
    assert len(acted) == 2


@kinds
async def test_a_step_that_calls_an_agent_waits_with_it(kind: str) -> None:
    """``ctx.call(agent, ...)``: the step runs again from the top, the agent's run goes on."""
    acted: list[Any] = []
    agent = payer(acted, pay(), "Paid.")

    @step
    async def ask(ctx: StepContext[str]) -> str:
        return f"{await ctx.call(agent, ctx.input)}!"

    rt = runtime(kind)
    first = await rt.run(flow(ask), "Pay.", run_id="r1")
    assert list(first.suspended) == ["ask/payer"]
    assert (await rt.resume("r1", {"p1": YES})).unwrap() == "Paid.!"
    assert len(acted) == 1


class Hanging:
    """What a tool does that hangs the first time, once it has said that it runs."""

    def __init__(self) -> None:
        self.runs = anyio.Event()
        self.times = 0

    async def __call__(self, args: Any, ctx: ToolContext) -> str:
        """Pay."""
        self.times += 1
        if self.times == 1:
            self.runs.set()
            await anyio.sleep_forever()
        return "paid"


def hanging(store: InMemoryJournal) -> tuple[Any, Hanging]:
    """Return a workflow of an agent whose approved tool hangs the first time."""
    act = Hanging()
    tool = doing("pay", [], act, requires_approval=True)
    return flow(Agent("payer", model=FakeModel([pay(), "Paid."]), tools=[tool])), act


async def test_a_run_that_is_cancelled_while_its_agent_goes_on_ends_that() -> None:
    """Nothing waits any more."""
    store = InMemoryJournal()
    rt = Runtime(store)
    work, act = hanging(store)
    await rt.run(work, "Pay.", run_id="r1")
    async with anyio.create_task_group() as group:
        group.start_soon(rt.resume, "r1", {"p1": YES})
        await act.runs.wait()
        assert await rt.cancel("r1")
    rows = [await store.row(id) for id in ("r1", "r1:payer")]
    assert [row.status for row in rows if row is not None] == ["cancelled"] * 2


async def test_a_run_that_is_broken_off_as_its_runtime_closes_goes_on_elsewhere() -> None:
    """The agent's run is given back with it, and the answer is handed over again."""
    store = InMemoryJournal()
    work, act = hanging(store)
    async with Runtime(store, drain=0) as rt:
        await rt.run(work, "Pay.", run_id="r1")
        rt.background(rt.resume, "r1", {"p1": YES})
        await act.runs.wait()
    row = await store.row("r1:payer")
    assert row is not None
    assert (row.status, row.claimed) == ("suspended", False)
    assert (await Runtime(store).restart("r1", workflow=work)).unwrap() == "Paid."
    assert act.times == 2


class Clock:
    """A clock that goes on by a second whenever it is looked at."""

    now = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        self.now += 1
        return self.now


async def test_a_process_that_died_holds_the_agents_run_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step waits until it is free."""
    monkeypatch.setattr("procession.agents.agent_step._POLL", 0.0)
    store = InMemoryJournal(clock=Clock())
    agent = payer([], pay(), "Paid.", runtime=Runtime(store))
    rt = Runtime()
    await rt.run(flow(agent), "Pay.", run_id="r1")
    assert await store.claim("r1:payer", "dead", 20)
    assert (await rt.resume("r1", {"p1": YES})).unwrap() == "Paid."


async def test_usage_of_each_turn_is_told_once() -> None:
    """What was paid before a run waited is not charged again when it goes on."""
    agent = payer([], pay(), "Paid.")
    rt = Runtime()
    run = rt.create_run(flow(agent), run_id="r1")
    await run.start("Pay.")
    assert run.scope.usage.total_tokens == COST
    async with rt.resume_stream("r1", {"p1": YES}) as again:
        assert (await again.result()).unwrap() == "Paid."
    assert again.scope.usage.total_tokens == COST


async def test_a_run_that_is_not_kept_says_that_it_cannot_be_resumed() -> None:
    """With ``durable=False`` the step fails, and names the agent's run, which can be resumed by itself."""
    agent = payer([], pay(), "Paid.")
    result = await Runtime().create_run(flow(agent), durable=False).start("Pay.")
    assert isinstance(result.error, RunSuspended | RunError)
    assert "waits for an answer to call 'p1'" in str(result.error)
