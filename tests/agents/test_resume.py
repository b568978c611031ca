"""What a resumed run keeps, and what it must be given again."""

from __future__ import annotations

from typing import Any, cast

import anyio
import pytest
from tests.agents.kit import WAYS, ask, at, spy
from tests.agents.suspending import doing, go_on, told

from procession.agents import claim
from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.agents.snapshot import read_snapshot
from procession.errors import InputError, MessageError, ModelError, RunAlreadyClaimed, RunError
from procession.processors.memory.memory import Memory
from procession.runtime.runtime import Runtime
from procession.storage.memory import InMemoryJournal, InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say
from procession.tools.context import ToolContext

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
TWO = say("It is 555-1234. ") + call_tool("look", {}, id="c1") + call_tool("act", {}, id="c2")
SECRET = "555-1234"


def asks(args: Any, ctx: ToolContext) -> str:
    """Ask, and answer with the secret."""
    ctx.suspend("?")
    return f"acted on {SECRET}"


def agent_with(*script: Any, **options: Any) -> tuple[Agent, FakeModel]:
    """Return an agent with a tool that tells a secret and one that asks, and its model."""
    model = FakeModel(script or (TWO, "Done."))
    tools = [doing("look", [], lambda args, ctx: f"seen {SECRET}"), doing("act", [], asks)]
    return Agent("clerk", model=model, tools=tools, **options), model


def hide_chunk(ctx: Any) -> Any:
    """Hide the secret in the text that streams."""
    return (
        ctx.chunk.replace(text=ctx.chunk.text.replace(SECRET, "[PHONE]"))
        if ctx.chunk.type == "text-delta"
        else ctx.chunk
    )


@both_ways
async def test_what_guards_hid_stays_hidden(way: str) -> None:
    """What was redacted in the stream and in results is in neither journal, prompt nor result after a resume."""
    guards = [
        at("process_output_stream", hide_chunk, id="text"),
        at("process_tool_result", lambda ctx: {"result": ctx.result.replace(SECRET, "[PHONE]")}, id="results"),
    ]
    agent, model = agent_with(output_processors=guards)
    first = (await ask(agent, way)).result
    row = await agent.runtime.store.row(first.run_id)
    assert row is not None and row.data is not None
    assert SECRET not in row.data and "[PHONE]" in row.data
    seen = await go_on(agent, way, first.run_id, {"c2": "go"})
    assert told(model.requests[1]) == ["seen [PHONE]", "acted on [PHONE]"]
    everything = repr((model.requests[1].messages, seen.chunks, seen.result.messages, seen.result.steps))
    assert SECRET not in everything
    assert seen.result.text == "It is [PHONE]. Done."


@both_ways
async def test_which_hooks_run_again(way: str) -> None:
    """``process_input`` is not run again; the new result and the following step pass every other hook."""
    calls: list[str] = []
    agent, _ = agent_with(input_processors=[spy(calls, "in")], output_processors=[spy(calls, "out")])
    first = (await ask(agent, way)).result
    assert calls.count("out.process_tool_result") == 1
    calls.clear()
    await go_on(agent, way, first.run_id, {"c2": "go"})
    calls = [call for call in calls if "stream" not in call]
    assert calls == [
        "out.process_tool_result",
        "in.process_input_step",
        "in.process_llm_request",
        "in.process_llm_response",
        "out.process_output_step",
        "out.process_output_result",
    ]


@both_ways
async def test_a_guard_may_stop_a_resumed_run(way: str) -> None:
    """A verdict on the new result blocks the run as ever, and it is over."""
    guard = at("process_tool_result", lambda ctx: ctx.abort("no") if ctx.tool_name == "act" else None)
    agent, model = agent_with(output_processors=[guard])
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c2": "go"})
    assert (seen.result.status, seen.result.text, seen.result.messages) == ("blocked", "", ())
    assert len(model.requests) == 1
    with pytest.raises(RunAlreadyClaimed, match="blocked"):
        await agent.resume(first.run_id, {"c2": "go"})


@both_ways
async def test_a_guard_may_send_a_resumed_step_back(way: str) -> None:
    """A retry rolls back the whole step, counts in the budget, and the loop goes on."""
    verdicts: list[int] = []

    def judge(ctx: Any) -> None:
        if ctx.tool_name == "act":
            verdicts.append(ctx.retry_count)
            ctx.abort("not so", retry=True)

    guard = at("process_tool_result", judge)
    agent, model = agent_with(TWO, "Something else.", output_processors=[guard], max_processor_retries=1)
    first = (await ask(agent, way)).result
    seen = await go_on(agent, way, first.run_id, {"c2": "go"})
    assert (seen.result.status, seen.result.text) == ("completed", "Something else.")
    assert [step.finish_reason for step in seen.result.rejected] == ["retry"]
    assert "not so" in model.requests[1].messages[0].text
    assert told(model.requests[1]) == []


async def test_retries_go_on_counting() -> None:
    """A budget that was spent before the suspension is spent after it."""
    tries: list[str] = []

    def judge(ctx: Any) -> None:
        tries.append(ctx.text)
        if len(tries) == 1 or ctx.step_number:
            ctx.abort("again", retry=True)

    guard = at("process_output_step", judge)
    agent, _ = agent_with("Hm.", TWO, "Done.", "More.", output_processors=[guard], max_processor_retries=1)
    first = await agent.generate("Hi")
    assert (first.status, len(first.rejected)) == ("suspended", 1)
    result = await agent.resume(first.run_id, {"c2": "go"})
    assert result.status == "blocked"
    assert len(result.rejected) == 2


@both_ways
async def test_memory_keeps_the_turn(way: str) -> None:
    """The turn is saved as it stands when the run is suspended, and whole at its end, in messages of their own."""
    store = InMemoryStore()
    agent, _ = agent_with(memory=Memory(store))
    first = (await ask(agent, way, thread="t", resource="ada")).result
    assert [message.role for message in await store.messages("t")] == ["user", "assistant"]
    seen = await go_on(agent, way, first.run_id, {"c2": "go"}, resource="ada")
    assert seen.result.status == "completed"
    kept = await store.messages("t")
    assert [(message.role, message.text) for message in kept] == [
        ("user", "Hi"), ("assistant", f"It is {SECRET}. "), ("assistant", "Done."),
    ]  # fmt: skip
    assert len({message.id for message in kept}) == 3


async def test_a_suspended_run_is_found_by_whose_it_is() -> None:
    """What waits for one resource is listed for it alone, also without a memory (D35)."""
    agent, _ = agent_with()
    first = await agent.generate("Hi", resource="ada")
    await agent.generate("Hi", resource="bob")
    found = await agent.runtime.store.runs(resource_id="ada")
    assert [(row.run_id, row.owner, row.kind, row.status) for row in found] == [
        (first.run_id, agent.id, "agent", "suspended")
    ]


async def test_on_finish_is_told_both() -> None:
    """``on_finish`` is told that the run waits, and how it ended."""
    told_of: list[str] = []

    def note(result: AgentResult) -> None:
        told_of.append(result.status)

    agent, _ = agent_with()
    first = await agent.generate("Hi", on_finish=note)
    await agent.resume(first.run_id, {"c2": "go"}, on_finish=note)
    assert told_of == ["suspended", "completed"]


def nothing(ctx: Any) -> None:
    """Do nothing."""


GIVEN: list[dict[str, Any]] = [
    {"output_processors": [at("process_output_step", nothing)]},
    {"request_context": {"tenant": "acme"}},
    {"prepare_step": nothing},
    {"tools": [doing("more", [])]},
]


@pytest.mark.parametrize("given", GIVEN)
async def test_what_cannot_be_kept_is_given_again(given: dict[str, Any]) -> None:
    """A run does not go on without a guard, or anything else, that it was begun with."""
    agent, _ = agent_with()
    first = await agent.generate("Hi", **given)
    (name,) = given
    with pytest.raises(InputError, match=f"begun with {name}="):
        await agent.resume(first.run_id, {"c2": "go"})
    assert (await agent.resume(first.run_id, {"c2": "go"}, **given)).status == "completed"


async def test_plain_options_are_kept() -> None:
    """Settings of the call hold after a resume; what began the run cannot be changed."""
    agent, model = agent_with()
    first = await agent.generate("Hi", system="Be kind.", model_settings={"temperature": 0}, max_steps=3)
    for name in ("system", "context", "instructions"):
        with pytest.raises(InputError, match=f"has its {name} already"):
            await agent.resume(first.run_id, {"c2": "go"}, **cast("dict[str, Any]", {name: "x"}))
    assert (await agent.resume(first.run_id, {"c2": "go"})).status == "completed"
    assert model.requests[1].settings == {"temperature": 0}
    assert [message.text for message in model.requests[1].messages[:2]] == ["Be kind.", "Hi"]


async def test_a_value_that_cannot_be_written() -> None:
    """Nothing is pickled: the run fails where it would be suspended, and the place is named (SUS-006)."""

    def mark(ctx: Any) -> Any:
        return [message.with_metadata(thing=object()) for message in ctx.view]

    agent, _ = agent_with(input_processors=[at("process_input", mark)])
    with pytest.raises(RunError, match=r"cannot be suspended: .*messages.*'thing'.*object"):
        await agent.generate("Hi")


async def test_a_snapshot_of_another_version() -> None:
    """A snapshot of a format that is not known is refused, not guessed at."""
    with pytest.raises(MessageError, match="format"):
        read_snapshot('{"format":99}')


async def test_a_failure_after_a_resume_is_final() -> None:
    """A model that fails after a resume fails the run."""
    agent, _ = agent_with(TWO, fail("overloaded", status=503))
    first = await agent.generate("Hi")
    with pytest.raises(ModelError):
        await agent.resume(first.run_id, {"c2": "go"})
    with pytest.raises(RunAlreadyClaimed, match="failed"):
        await agent.resume(first.run_id, {"c2": "go"})


async def test_a_journal_that_fails() -> None:
    """Where the run cannot be kept it has failed, rather than wait for an answer that nobody can give."""

    class Broken(InMemoryJournal):
        async def add(self, row: Any, **options: Any) -> bool:
            raise OSError("disk full")

    agent, _ = agent_with(runtime=Runtime(Broken()))
    with pytest.raises(RunError, match="disk full"):
        await agent.generate("Hi")


@pytest.mark.parametrize("failure", [None, OSError("gone")])
async def test_a_claim_that_is_lost_while_a_tool_runs(failure: Exception | None, monkeypatch: Any) -> None:
    """Who can no longer hold the claim is stopped and told: another one may be running the tool by now (SUS-001)."""
    monkeypatch.setattr(claim, "LEASE", 0.01)
    stopped: list[bool] = []

    class Lost(InMemoryJournal):
        claims = 0

        async def claim(self, run_id: str, token: str, seconds: float, **options: Any) -> Any:
            self.claims += 1
            if self.claims == 1:
                return await super().claim(run_id, token, 60, **options)
            if failure is not None:
                raise failure
            return None

    async def act(args: Any, ctx: ToolContext) -> None:
        ctx.suspend("?")
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append(True)

    model = FakeModel([call_tool("act", {}, id="c2")])
    agent = Agent("clerk", model=model, tools=[doing("act", [], act)], runtime=Runtime(Lost()))
    first = await agent.generate("Hi")
    with pytest.raises(RunAlreadyClaimed if failure is None else OSError):
        await agent.resume(first.run_id, {"c2": "go"})
    assert stopped == [True]


async def test_a_claim_is_prolonged_while_a_tool_runs(monkeypatch: Any) -> None:
    """A tool may take longer than the claim lasts."""
    monkeypatch.setattr(claim, "LEASE", 0.01)
    prolonged = anyio.Event()

    class Counting(InMemoryJournal):
        claims = 0

        async def claim(self, run_id: str, token: str, seconds: float, **options: Any) -> Any:
            self.claims += 1
            if self.claims == 4:
                prolonged.set()
            return await super().claim(run_id, token, seconds, **options)

    async def act(args: Any, ctx: ToolContext) -> str:
        ctx.suspend("?")
        await prolonged.wait()
        return "done"

    model = FakeModel([call_tool("act", {}, id="c2"), "Done."])
    agent = Agent("clerk", model=model, tools=[doing("act", [], act)], runtime=Runtime(Counting(clock=lambda: 0.0)))
    first = await agent.generate("Hi")
    assert (await agent.resume(first.run_id, {"c2": "go"})).text == "Done."


@both_ways
async def test_a_resumed_run_has_the_tracing_of_its_own_call(way: str) -> None:
    """What tracing needs is never written down, and need not be given again: it is that of whoever resumes."""
    calls: list[Any] = []
    spans: list[Any] = []

    def act(args: Any, ctx: ToolContext) -> Any:
        spans.append(ctx.tracing_context)
        return ctx.suspend("?")

    agent = Agent("bot", model=FakeModel([call_tool("ask", id="a"), "Done."]), tools=[doing("ask", calls, act)])
    first = await agent.generate("Hi", tracing_context=object())
    seen = await go_on(agent, way, first.run_id, {"a": "yes"}, tracing_context="span")
    assert (seen.result.text, spans[1:]) == ("Done.", ["span"])
