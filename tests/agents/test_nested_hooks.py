"""Processors inside workflows take part in all nine hooks, with one state for all of them and both lists (D10, D11)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.agents.kit import HOOKS, WAYS, ask, at, counted_tool, list_of

from procession.agents.agent import Agent
from procession.messages.chunks import Finish, TextDelta, TextEnd, TextStart
from procession.processors.hooks import Hook
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say
from procession.workflows.workflow import Workflow, create_workflow

pytestmark = pytest.mark.anyio


class Diary(Processor):
    """Takes part in every hook and writes into its state which it was; only the first error is tried again."""

    def __init__(self, id: str, last: list[Any]) -> None:
        super().__init__(id=id)
        self.last = last


def _noted(self: Diary, ctx: Any) -> Any:
    entries: list[str] = ctx.state.setdefault("entries", [])
    if not entries:
        self.last.append(entries)
    entries.append(ctx.hook.value)
    if ctx.hook is Hook.API_ERROR:
        return {"retry": ctx.retry_count == 0}
    return ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM else None


for _hook in HOOKS:
    setattr(Diary, _hook, _noted)


def nested(id: str, processors: Iterable[Any], picked: str) -> Workflow[Any, Any]:
    """Return a workflow in a workflow: *processors* side by side, of which a map picks one."""
    inner = (
        create_workflow(f"{id}-inner", kind="processor")
        .parallel(list(processors))
        .map(lambda outputs: outputs[f"processor:{picked}"])
        .commit()
    )
    return create_workflow(id, kind="processor").then(inner).commit()


def within(hook: str, checks: Workflow[Any, Any]) -> dict[str, Any]:
    """Return the options of an agent with *checks* in the list where *hook* belongs."""
    return {list_of(hook): [checks]}


def script() -> FakeModel:
    """Return a model that fails, calls a tool, and answers: every hook takes place."""
    return FakeModel([fail("overloaded", status=503), say("one") + call_tool("lookup"), say("two")])


@pytest.mark.parametrize("way", WAYS)
async def test_every_hook_runs_inside_parallel_and_map(way: str) -> None:
    """All nine hooks of processors in a nested ``.parallel().map()`` run, each with the state of its id (D10, D11)."""
    diaries: list[list[str]] = []
    one, two = Diary("one", diaries), Diary("two", diaries)
    tool, _ = counted_tool()
    agent = Agent(
        "bot",
        model=script(),
        tools=[tool],
        input_processors=[nested("in", [one, two], "one")],
        output_processors=[nested("out", [one, two], "two")],
    )
    seen = await ask(agent, way)
    assert seen.result.text == "onetwo"
    assert len(diaries) == 2  # one state per id, begun once: both lists and all hooks share it
    for entries in diaries:
        assert set(entries) == set(HOOKS)
        assert entries.count("process_input") == entries.count("process_output_result") == 1
        assert entries.count("process_input_step") == 3
        assert entries.count("process_tool_result") == entries.count("process_api_error") == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("hook", HOOKS)
async def test_a_block_inside_parallel_and_map_stops_the_run(hook: str, way: str) -> None:
    """A verdict in any hook of a nested workflow is the processor's own and stops the run (D10, D13)."""

    def stop(ctx: Any) -> Any:
        ctx.abort(f"no {ctx.hook.value}")

    def idle(ctx: Any) -> Any:
        return ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM else None

    checks = nested("checks", [at(hook, idle, id="idle"), at(hook, stop, id="stop")], "idle")
    tool, _ = counted_tool()
    model = script() if hook == Hook.API_ERROR else FakeModel([say("one") + call_tool("lookup"), say("two")])
    agent = Agent("bot", model=model, tools=[tool], **within(hook, checks))
    seen = await ask(agent, way)
    assert (seen.tripwire.processor_id, seen.tripwire.reason) == ("stop", f"no {hook}")
    assert [chunk.type for chunk in seen.chunks].count("tripwire") == 1


def _edit(ctx: Any) -> Any:
    """Change what the hook of *ctx* may change, and say that it was the picked branch."""
    if ctx.hook is Hook.OUTPUT_STREAM:
        chunk = ctx.chunk
        return chunk.replace(text=chunk.text.upper()) if chunk.type == "text-delta" else chunk
    if ctx.hook is Hook.TOOL_RESULT:
        return {"result": "PICKED"}
    if ctx.hook in (Hook.INPUT, Hook.INPUT_STEP):
        ctx.message_list.add_system("PICKED")
    elif ctx.hook is Hook.LLM_REQUEST:
        return {"response": {"chunks": [TextStart(), TextDelta("TWO"), TextEnd(), Finish("stop")]}}
    elif ctx.hook is Hook.API_ERROR:
        return {"retry": True}
    elif ctx.hook in (Hook.OUTPUT_STEP, Hook.OUTPUT_RESULT):
        for message in ctx.messages:
            if message.role == "assistant":
                message.text = message.text.upper()
    return None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("picks", ["edit", "idle"])
@pytest.mark.parametrize("hook", [hook for hook in HOOKS if hook != Hook.LLM_RESPONSE])  # which changes nothing
async def test_what_the_map_picks_is_what_is_applied(hook: str, picks: str, way: str) -> None:
    """In every phase the branch that the map picks counts, and the other does not (D26)."""

    def idle(ctx: Any) -> Any:
        return ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM else None

    checks = nested("checks", [at(hook, _edit, id="edit"), at(hook, idle, id="idle")], picks)
    tool, _ = counted_tool()
    first = fail("overloaded", status=503) if hook == Hook.API_ERROR else call_tool("lookup")
    model = FakeModel([first, say("two")])
    seen = await ask(Agent("bot", model=model, tools=[tool], **within(hook, checks)), way)
    if hook == Hook.API_ERROR:
        assert (seen.error is None) is (picks == "edit")
        return
    prompt = str(model.requests[-1].messages) if model.requests else ""
    applied = "PICKED" in prompt or seen.result.final_text == "TWO"
    assert applied is (picks == "edit")


async def test_a_stream_workflow_is_no_run_per_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ``.parallel().map()`` over a stream is one chain for the whole stream: a run has been made, and only one."""
    runs: list[str] = []
    create = Runtime.create_run

    def counted(self: Runtime, definition: Any, **options: Any) -> Any:
        runs.append(definition.id)
        return create(self, definition, **options)

    monkeypatch.setattr(Runtime, "create_run", counted)

    def idle(ctx: Any) -> Any:
        return ctx.chunk

    listed = [
        nested("out", [at("process_output_stream", idle, id="a"), at("process_output_stream", idle, id="b")], "a")
    ]
    agent = Agent("bot", model=FakeModel(say(*["x"] * 200)), output_processors=listed)
    assert (await ask(agent, "stream")).result.text == "x" * 200
    assert runs == ["bot"]
