"""What processors made of messages and of chunks, and what models were asked, as events of a run."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.watch_kit import events_of, idle, look, watched

from procession.errors import ModelError, ProcessorError
from procession.messages.chunks import TextDelta
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.processor import Processor
from procession.testing.fake_model import FakeModel, Reply, ScriptedCall
from procession.workflows.workflow import create_workflow


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """What is seen needs no server, and is the same on both."""
    backend: str = request.param
    return backend


class Upper(Processor):
    def process_input(self, ctx: Any) -> Any:
        return [message.with_text(message.text.upper()) for message in ctx.messages]

    def process_output_stream(self, ctx: Any) -> Any:
        chunk = ctx.chunk
        return chunk.replace(text=chunk.text.upper()) if isinstance(chunk, TextDelta) else chunk


class Holds(Processor):
    """Lets text go only when its block ends."""

    id = "holds"

    def process_output_stream(self, ctx: Any) -> Any:
        if isinstance(ctx.chunk, TextDelta):
            ctx.state.setdefault("held", []).append(ctx.chunk)
            return None
        return ctx.chunk

    def flush_output_stream(self, ctx: Any) -> Any:
        held = ctx.state.pop("held", [])
        return [held[0].replace(text="".join(chunk.text for chunk in held))] if held else None


def passed_in(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["payload"] for event in events if event["type"] == "stream.passed"]


async def test_what_a_hook_changed_is_told_and_nothing_else() -> None:
    """Of the messages only the one that differs is listed, before and after, and the payload itself is not."""
    agent, runs = watched(model=FakeModel("Hi."), input_processors=[Upper(id="up"), idle("idle")])
    result = await agent.generate([{"role": "user", "content": "hello"}])
    events = await events_of(runs, result.run_id)
    first, second = (
        event["payload"]
        for event in events
        if event["type"] == "hook.changed" and event["payload"]["hook"] == "process_input"
    )
    (message,) = first["messages"]
    assert (message["change"], message["before"]["text"], message["after"]["text"]) == ("changed", "hello", "HELLO")
    assert first["outcome"] == "changed" and first["processor"] == "up" and first["fields"] == {}
    assert second["outcome"] == "passed" and second["messages"] == []
    started = next(event for event in events if event["node_path"] == "process_input/processor:up")
    assert started["payload"]["input"] == {"hook": "process_input", "step_number": 0, "message_count": 1}


async def test_changed_fields_messages_and_system_messages_are_told() -> None:
    """Tools are told by name, the rest as it is; messages that were added and taken away with their texts."""

    class Sets(Processor):
        id = "sets"

        def process_input_step(self, ctx: Any) -> Any:
            ctx.message_list.add_system("Be kind.", "manners")
            ctx.message_list.add("and this", "input")
            return {"tools": {}, "model_settings": {"temperature": 0.5}}

    agent, runs = watched(model=FakeModel("Hi."), tools=[look], input_processors=[Sets()])
    result = await agent.generate("hello")
    (changed,) = await events_of(runs, result.run_id, "hook.changed")
    payload = changed["payload"]
    assert payload["fields"]["tools"] == {"before": ["look"], "after": []}
    assert payload["fields"]["model_settings"]["after"] == {"temperature": 0.5}
    told = [(one["role"], one["change"], one["after"]["text"]) for one in payload["messages"]]
    assert told == [("system", "added", "Be kind."), ("user", "added", "and this")]


async def test_parallel_branches_each_tell_their_own_difference() -> None:
    """A branch works on a fork: what the one beside it did is not told as its own."""

    class Adds(Processor):
        def process_input(self, ctx: Any) -> None:
            ctx.message_list.add_system(f"from {self.id}")

    both = create_workflow("both", kind="processor").parallel([Adds(id="a"), Adds(id="b")]).commit()
    agent, runs = watched(model=FakeModel("Hi."), input_processors=[both])
    result = await agent.generate("hello")
    told = {
        event["payload"]["processor"]: event["payload"]
        for event in await events_of(runs, result.run_id, "hook.changed")
    }
    assert [one["after"]["text"] for one in told["a"]["messages"]] == ["from a"]
    assert [one["after"]["text"] for one in told["b"]["messages"]] == ["from b"]


async def test_a_hook_that_fails_is_told_as_failed() -> None:
    """The run's error is in its last event, and the node's."""

    class Breaks(Processor):
        id = "breaks"

        def process_input(self, ctx: Any) -> None:
            raise ValueError("private")

    agent, runs = watched(model=FakeModel("Hi."), input_processors=[Breaks()])
    with pytest.raises(ProcessorError):
        await agent.generate("hello")
    (run,) = runs
    (changed,) = await events_of(runs, run.run_id, "hook.changed")
    assert changed["payload"]["outcome"] == "failed"
    shown = await runs.summary(run.run_id)
    assert shown["status"] == "failed" and shown["error"]["code"] == "processor"


async def test_every_chunk_is_told_with_what_each_stage_made_of_it() -> None:
    """Stages that passed it on as it was are left out, and what left is what the reader got."""
    agent, runs = watched(model=FakeModel(Reply(("Hel", "lo"))), output_processors=[idle("idle"), Upper(id="up")])
    async with agent.stream("hello") as stream:
        got = [chunk.text async for chunk in stream.full_stream if isinstance(chunk, TextDelta)]
    (run,) = runs
    passed = passed_in(await events_of(runs, run.run_id))
    assert [one["number"] for one in passed] == list(range(len(passed)))
    deltas = [one for one in passed if one["came"] is not None and one["came"]["type"] == "text-delta"]
    assert [one["came"]["text"] for one in deltas] == ["Hel", "lo"]
    assert [chunk["text"] for one in deltas for chunk in one["left"]] == got == ["HEL", "LO"]
    assert [[stage["processor"] for stage in one["stages"]] for one in deltas] == [["up"], ["up"]]
    assert deltas[0]["stages"][0]["node_path"] == "step[0]/process_output_stream/processor:up"


async def test_text_that_was_held_is_told_where_it_is_let_go() -> None:
    """A chunk that is held leaves nothing; the chunk that ends the block brings the text with it."""
    agent, runs = watched(model=FakeModel(Reply(("Hel", "lo"))), output_processors=[Holds(), Upper(id="up")])
    async with agent.stream("hello") as stream:
        result = await stream.result()
    assert result.text == "HELLO"
    passed = passed_in(await events_of(runs, result.run_id))
    deltas = [one for one in passed if one["came"] is not None and one["came"]["type"] == "text-delta"]
    assert [one["left"] for one in deltas] == [[], []]
    assert [one["stages"][0] for one in deltas] == [
        {"processor": "holds", "node_path": "step[0]/process_output_stream/processor:holds", "out": []}
    ] * 2
    (ends,) = [one for one in passed if one["came"] is not None and one["came"]["type"] == "text-end"]
    assert [(chunk["type"], chunk.get("text")) for chunk in ends["left"]] == [
        ("text-delta", "HELLO"),
        ("text-end", None),
    ]
    assert [stage["processor"] for stage in ends["stages"]] == ["holds", "up"]


async def test_a_stream_that_no_processor_looks_at_is_told_all_the_same() -> None:
    """Each chunk leaves as it came."""
    agent, runs = watched(model=FakeModel("Hello."))
    result = await agent.generate("hello")
    passed = passed_in(await events_of(runs, result.run_id))
    assert "".join(one["came"].get("text", "") for one in passed if one["came"]["type"] == "text-delta") == "Hello."
    assert all(one["left"] == [one["came"]] for one in passed)


async def test_streams_are_the_same_whether_they_are_watched_or_not() -> None:
    """What the reader gets does not depend on who looks on: guards that hold text, calls that wait for it, branches."""
    from procession.agents.agent import Agent

    def options() -> dict[str, Any]:
        guards = create_workflow("guards", kind="processor").parallel(
            [PIIDetector(id="a", strategy="redact"), idle("b")]
        )
        call = Reply(tool_calls=[ScriptedCall("look", {"what": "a"})])
        return {
            "model": FakeModel([Reply(("Ask e", "va@exam", "ple.com")) + call, Reply(("D", "one."))]), "tools": [look],
            "output_processors": [guards.commit(), Holds(), Upper(id="up")],
        }  # fmt: skip

    async def chunks_of(agent: Agent) -> list[tuple[str, Any]]:
        async with agent.stream("hello") as stream:
            return [(chunk.type, getattr(chunk, "text", None)) async for chunk in stream.full_stream]

    seen, runs = watched(**options())
    plain = await chunks_of(Agent("plain", **options()))
    assert await chunks_of(seen) == plain
    assert len(runs) == 1 and any(kind == "text-delta" for kind, _ in plain)


async def test_a_verdict_in_the_stream_leaves_nothing() -> None:
    """The chunk that was blocked is told with what came, and nothing that left."""

    class Blocks(Processor):
        id = "blocks"

        def process_output_stream(self, ctx: Any) -> Any:
            if isinstance(ctx.chunk, TextDelta) and "bomb" in ctx.chunk.text:
                ctx.abort("no bombs")
            return ctx.chunk

    agent, runs = watched(model=FakeModel(Reply(("a ", "bomb"))), output_processors=[Blocks()])
    async with agent.stream("hello") as stream:
        result = await stream.result()
    assert result.tripwire is not None
    last = passed_in(await events_of(runs, result.run_id))[-1]
    assert last["came"]["text"] == "bomb" and last["left"] == []


async def test_model_calls_are_told_with_what_they_used() -> None:
    """The prompt, the names of the tools, and then usage and reason; of a failed call its error."""
    agent, runs = watched(model=FakeModel([ModelError("no")]), tools=[look])
    with pytest.raises(ModelError):
        await agent.generate("hello")
    (run,) = runs
    events = await events_of(runs, run.run_id, "model.asked", "model.answered")
    asked, answered = events[0]["payload"], events[1]["payload"]
    assert asked["tools"] == ["look"] and asked["messages"][-1]["content"][0]["text"] == "hello"
    assert answered["error"]["name"] == "ModelError" and answered["cached"] is False


async def test_an_observer_that_fails_does_not_fail_the_run() -> None:
    """The run goes on, and nothing more of it is told to that observer."""
    from procession.agents.agent import Agent
    from procession.runtime.runtime import Runtime

    class Broken:
        told = 0

        def observe(self, run: Any, /) -> Any:
            return self.tap

        def tap(self, entry: Any) -> None:
            self.told += 1
            raise RuntimeError("broken")

    class Refuses:
        def observe(self, run: Any, /) -> Any:
            raise RuntimeError("broken")

    broken = Broken()
    agent = Agent("a", model=FakeModel("Hi."), runtime=Runtime(observers=[broken, Refuses()]))
    assert (await agent.generate("hello")).text == "Hi."
    assert broken.told == 1
