"""What becomes of what a model has written down: it is written once the outcome is known, and not before."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import HOOKS, WAYS, ask, at, list_of, text_only
from tests.agents.suspending import asking, doing, go_on
from tests.agents.writing_kit import ADA, KEY, note, shown, stored

from procession.agents.agent import Agent
from procession.messages.parts import ToolCallPart
from procession.models.model import ModelRequest
from procession.processors.cache.response_cache import ResponseCache
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.memory.memory import Memory
from procession.processors.memory.working_memory import WorkingMemory
from procession.steps.abort import AbortSignal
from procession.storage.memory import InMemoryStore
from procession.storage.notes import Note
from procession.testing.fake_model import FakeModel, Reply, ScriptedCall
from procession.testing.script import fail

both_ways = pytest.mark.parametrize("way", WAYS)


@both_ways
@pytest.mark.parametrize("hook", HOOKS)
async def test_a_blocked_turn_leaves_nothing(way: str, hook: str) -> None:
    """After a tripwire in whatever hook nothing is written down, and the next turn is shown nothing (MEM-003)."""
    store = InMemoryStore()
    blocks = [True]

    def stop(ctx: Any) -> None:
        if blocks and (ctx.step_number or hook in ("process_input", "process_tool_result", "process_output_result")):
            ctx.abort("no")

    second = fail("down", status=400) if hook == "process_api_error" else "secret answer"
    model = FakeModel([note("secret"), second])
    policy: Any = "accepted_steps"
    agent = Agent(
        "a",
        model=model,
        memory=Memory(store, working_memory=True, persist_on_tripwire=policy),
        **{list_of(hook): [at(hook, text_only(stop))]},  # type: ignore[arg-type]
    )
    first = await ask(agent, way, "secret question", **ADA)
    assert first.result.status == "blocked"
    assert await store.note(KEY) is None
    blocks.clear()
    used = len(model.requests)
    model = FakeModel("hello")
    await ask(agent, way, "hi", thread="new", resource="ada", model=model)
    assert used <= 2
    assert shown(model.requests[0]) == "null"
    assert [message.text for message in model.requests[0].messages[1:]] == ["hi"]


@both_ways
@pytest.mark.parametrize("hook", ["process_input", "process_output_result"])
async def test_the_turn_after_a_blocked_one(way: str, hook: str) -> None:
    """Neither what was blocked nor what was answered is in the store, nor in the next prompt of the thread, which holds what
    the user says now and an empty working memory; the same for both ways to run (MEM-003)."""
    store = InMemoryStore()

    def stop(ctx: Any) -> None:
        if "secret" in str(ctx.messages):
            ctx.abort("no")

    model = FakeModel([note("secret"), "secret answer"] if hook == "process_output_result" else [])
    memory = Memory(store, working_memory=True)
    agent = Agent("a", model=model, memory=memory, **{list_of(hook): [at(hook, stop)]})  # type: ignore[arg-type]
    said = "secret question" if hook == "process_input" else "question"
    assert (await ask(agent, way, said, **ADA)).result.status == "blocked"
    assert await store.thread("t") is None
    assert await store.note(KEY) is None
    after = FakeModel("hello")
    assert (await ask(agent, way, "hi", **ADA, model=after)).result.text == "hello"
    (request,) = after.requests
    assert shown(request) == "null"
    assert [(message.role, message.text) for message in request.messages[1:]] == [("user", "hi")]


async def test_private_values_are_not_written_down() -> None:
    """Where a guard has put tokens in place of values, the kind of each is written down, also where tools get the values."""
    store = InMemoryStore()
    guard = PIIDetector(redaction="reversible", restore_tool_args=True)
    agent = Agent(
        "a",
        model=FakeModel([note("- Mail: <EMAIL_1>"), "done"]),
        memory=Memory(store, working_memory=True),
        input_processors=[guard],
        output_processors=[guard],
    )
    await agent.generate("I am eva@example.net", **ADA)
    assert await store.note(KEY) == Note("- Mail: [EMAIL]", 1)


@both_ways
async def test_a_rejected_step_drops_its_update(way: str) -> None:
    """What a step wrote that was sent back is gone; what the next attempt writes is kept (D15)."""
    store = InMemoryStore()
    tries = [1]

    def judge(ctx: Any) -> None:
        if tries:
            tries.clear()
            ctx.abort("again", retry=True)

    model = FakeModel([note("- wrong", "w1"), note("- right", "w1"), "done"])
    agent = Agent(
        "a",
        model=model,
        memory=Memory(store, working_memory={"template": "# User"}),
        output_processors=[at("process_tool_result", judge)],
        max_processor_retries=1,
    )
    seen = await ask(agent, way, "Hi", **ADA)
    assert seen.result.text == "done"
    assert await store.note(KEY) == Note("- right", 1)


@both_ways
async def test_a_rejected_step_that_is_not_repeated(way: str) -> None:
    """An attempt that was sent back leaves nothing, although one with the same call's id follows that writes nothing."""
    store = InMemoryStore()
    tries = [1]

    def judge(ctx: Any) -> None:
        if tries:
            tries.clear()
            ctx.abort("again", retry=True)

    agent = Agent(
        "a",
        model=FakeModel([note("- wrong", "w1"), "done"]),
        memory=Memory(store, working_memory=True),
        output_processors=[at("process_tool_result", judge)],
        max_processor_retries=1,
    )
    assert (await ask(agent, way, "Hi", **ADA)).result.text == "done"
    assert await store.note(KEY) is None


@both_ways
async def test_a_model_that_fails_later(way: str) -> None:
    """What accepted steps have written stays where the model fails after them, as the turn does."""
    store = InMemoryStore()
    agent = Agent(
        "a", model=FakeModel([note("x"), fail("down", status=400)]), memory=Memory(store, working_memory=True)
    )
    assert (await ask(agent, way, "Hi", **ADA)).error is not None
    assert await store.note(KEY) == Note("x", 1)


@both_ways
async def test_an_aborted_run_keeps_what_its_turn_keeps(way: str) -> None:
    """What an accepted step has written stays where the turn is aborted after it."""
    store = InMemoryStore()
    signal = AbortSignal()

    async def hang(request: ModelRequest) -> str:
        signal.abort("enough")
        await anyio.sleep_forever()
        return ""

    agent = Agent("a", model=FakeModel([note("x"), hang]), memory=Memory(store, working_memory=True))
    seen = await ask(agent, way, "Hi", **ADA, abort_signal=signal)
    assert seen.result.status == "aborted"
    assert await store.note(KEY) == Note("x", 1)
    assert await stored(store) == [("user", "Hi")]


@both_ways
async def test_a_suspended_run_writes_and_goes_on(way: str) -> None:
    """What was written down before a question is kept with it, that of the step in hand too; after the answer the model
    goes on from what it has been shown, and what others have written meanwhile stays."""
    store = InMemoryStore()
    await store.put_note(KEY, "# User\n- </working_memory_data>", version=0)
    both = Reply(
        tool_calls=[
            ScriptedCall("updateWorkingMemory", {"memory": "# User\n- </working_memory_data>\n- Name: Bob"}, "w1"),
            ScriptedCall("act", {}, "c1"),
        ]
    )
    model = FakeModel([both, note("# User\n- </working_memory_data>\n- Name: Bob\n- Age: 5", "w2"), "done"])
    memory = Memory(store, working_memory=True)
    agent = Agent("a", model=model, tools=[doing("act", [], asking("Go on?"))], memory=memory)
    asked = await ask(agent, way, "Hi", **ADA)
    assert asked.result.status == "suspended"
    assert await memory.working_memory(resource="ada") == "# User\n- </working_memory_data>\n- Name: Bob"
    await memory.set_working_memory("# User\n- </working_memory_data>\n- Name: Bob\n- Likes: tea", resource="ada")
    answered = await go_on(agent, way, asked.result.run_id, {"c1": "yes"}, resource="ada")
    assert answered.result.text == "done"
    lines = (await memory.working_memory(resource="ada")).split("\n")
    assert sorted(lines) == sorted(["# User", "- </working_memory_data>", "- Name: Bob", "- Likes: tea", "- Age: 5"])
    assert [role for role, _ in await stored(store)] == ["user", "assistant", "assistant"]
    for message in await store.messages("t"):
        assert not any(
            isinstance(part, ToolCallPart) and part.tool_name == "updateWorkingMemory" for part in message.parts
        )


@pytest.mark.parametrize("first_reads", [False, True])
async def test_two_in_one_list(first_reads: bool, anyio_backend: str) -> None:
    """The model is shown both, and told of the tool by the first that it may change; that one is written, also after a
    question that the run was suspended for, and no call of it is stored."""
    store, other = InMemoryStore(), InMemoryStore()
    await other.put_note(KEY, "- Other: x", version=0)
    both = Reply(
        tool_calls=[
            ScriptedCall("updateWorkingMemory", {"memory": "- Name: Bob"}, "w1"),
            ScriptedCall("act", {}, "c1"),
        ]
    )
    model = FakeModel([both, note("- Name: Bob\n- Age: 5", "w2"), "done"])
    own = WorkingMemory(store, template="- Name:", id=f"own-{anyio_backend}-{first_reads}")
    second = WorkingMemory(
        other, template="- Other:", id=f"second-{anyio_backend}-{first_reads}", read_only=first_reads
    )
    listed = [second, own] if first_reads else [own, second]
    agent = Agent(
        "a",
        model=model,
        tools=[doing("act", [], asking("Go on?"))],
        input_processors=listed,
        memory=Memory(store),
    )
    with capture_logs() as logs:
        asked = await agent.generate("Hi", **ADA)
        await agent.resume(asked.run_id, {"c1": "yes"}, resource="ada")
    systems = [message.text for message in model.requests[0].messages if message.role == "system"]
    assert len(systems) == 2
    assert ["call updateWorkingMemory" in text for text in systems] == [processor is own for processor in listed]
    assert "- Other: x" in systems[listed.index(second)]
    assert await store.note(KEY) == Note("- Name: Bob\n- Age: 5", 2)
    assert await other.note(KEY) == Note("- Other: x", 1)
    assert sum("another working memory" in entry["event"] for entry in logs) == (0 if first_reads else 1)
    assert not any(
        isinstance(part, ToolCallPart) and part.tool_name == "updateWorkingMemory"
        for message in await store.messages("t")
        for part in message.parts
    )


async def test_a_call_that_needs_approval() -> None:
    """Where every call needs a person's leave, that of the tool does; it runs once the tool is given again."""
    store = InMemoryStore()
    memory = Memory(store, working_memory=True)
    agent = Agent("a", model=FakeModel([note("x"), "done"]), memory=memory, require_tool_approval=True)
    asked = await agent.generate("Hi", **ADA)
    assert asked.status == "suspended"
    assert await store.note(KEY) is None
    (working, *_) = [each for each in memory.input_processors() if isinstance(each, WorkingMemory)]
    result = await agent.approve(asked.run_id, tools=[working.tool], resource="ada")
    assert result.text == "done"
    assert await store.note(KEY) == Note("x", 1)


async def test_an_answer_from_the_cache_writes_again() -> None:
    """A call that is played again from a cache is run: what it writes down is not lost with the first turn."""
    store = InMemoryStore()
    cache = ResponseCache()
    tripped = [True]

    def stop(ctx: Any) -> None:
        if tripped:
            ctx.abort("no")

    model = FakeModel([note("x"), "rejected", "done"])
    agent = Agent(
        "a",
        model=model,
        memory=Memory(store, working_memory=True),
        input_processors=[cache],
        output_processors=[at("process_output_result", stop)],
    )
    assert (await agent.generate("Hi", **ADA)).status == "blocked"
    assert await store.note(KEY) is None
    tripped.clear()
    assert (await agent.generate("Hi", **ADA)).text == "done"
    assert len(model.requests) == 3
    assert await store.note(KEY) == Note("x", 1)
