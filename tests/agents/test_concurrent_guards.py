"""Concurrent guards: what only checks runs beside the model call, and nothing gets out before it has passed."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.agents.guards_kit import GUARD_DOES, MODEL_DOES, RacedModel, RacingGuard, raced
from tests.agents.kit import COST, WAYS, ask, at, counted_tool
from tests.models.wire import DONE, WireAnswer, delta, serving

from procession.agents.agent import Agent
from procession.errors import ModelError, ProcessorError
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel

pytestmark = pytest.mark.anyio
NOBODY = ModelRequest(messages=())


def types(chunks: Any) -> list[str]:
    """Return the types of chunks."""
    return [chunk.type for chunk in chunks]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model_does", MODEL_DOES)
@pytest.mark.parametrize("guard_does", GUARD_DOES)
async def test_each_cell_of_the_table(guard_does: str, model_does: str, way: str) -> None:
    """Whatever guard and model do, and whoever is first: the table in docs/guards.md holds."""
    api_errors: list[Any] = []
    watcher = at("process_api_error", api_errors.append, id="watcher")
    agent, model, guard = raced(guard_does, model_does, error_processors=[watcher])
    with anyio.fail_after(10):
        seen = await ask(agent, way)
    assert guard.calls == 1 and model.over.is_set()
    assert model.cancelled is (guard_does != "passes" and model_does == "still streaming")
    if guard_does == "blocks":
        assert types(seen.chunks) == ["tripwire"]
        result = seen.result
        assert (result.status, result.text, result.steps, result.messages) == ("blocked", "", (), ())
        assert seen.tripwire.processor_id == "guard"
        assert result.usage.total_tokens == (COST if model_does == "answers first" else 0)
        assert not api_errors
    elif guard_does == "fails":
        assert types(seen.chunks) == ["error"]
        assert isinstance(seen.error, ProcessorError) and seen.error.processor_id == "guard"
        assert not api_errors
    else:
        plain = await ask(Agent("bot", model=_untimed(model_does)), way)
        assert types(seen.chunks) == types(plain.chunks)
        if model_does == "errors":
            assert isinstance(seen.error, ModelError) and len(api_errors) == 1
        else:
            assert seen.result.text == "one two"
            assert seen.result.usage.total_tokens == COST


def _untimed(does: str) -> RacedModel:
    model = RacedModel(does)
    model.goes_on.set()
    return model


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model_does", MODEL_DOES)
async def test_a_built_in_guard_that_cannot_check_trips(model_does: str, way: str) -> None:
    """A guard that fails closed trips with ``guard_failed`` beside the model as before it (D17)."""
    agent, model, guard = raced("fails", model_does)
    guard.fails_closed = True
    with anyio.fail_after(10):
        seen = await ask(agent, way)
    assert types(seen.chunks) == ["tripwire"]
    assert seen.tripwire.metadata == {"kind": "guard_failed"}
    assert model.cancelled is (model_does == "still streaming")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model_does", ["answers first", "still streaming"])
@pytest.mark.parametrize("moment", ["at once", "begun", "spoke", "over"])
async def test_no_tool_runs_where_a_guard_blocks(moment: str, model_does: str, way: str) -> None:
    """TOOL-008: a guard blocks before, while or after the model asks for a tool: the tool never runs."""
    tool, calls = counted_tool("charge_card")
    model = RacedModel(model_does, tool="charge_card")
    if model_does == "still streaming" and moment == "over":
        model.goes_on.set()
    moments = {"at once": anyio.lowlevel.checkpoint, "begun": model.begun.wait, "spoke": model.spoke.wait}
    guard = RacingGuard("blocks", moments.get(moment, model.over.wait))
    agent = Agent("bot", model=model, tools=[tool], input_processors=[guard], guard_mode="concurrent")
    with anyio.fail_after(10):
        seen = await ask(agent, way)
    assert calls == []
    assert types(seen.chunks) == ["tripwire"]
    assert not model.begun.is_set() or model.over.is_set()  # cancelled and awaited


@pytest.mark.parametrize("way", WAYS)
async def test_a_block_hangs_up_on_the_provider(way: str) -> None:
    """TOOL-008: the request over HTTP is cancelled, the connection closed, and the guard's verdict is what is told."""
    tool, calls = counted_tool("charge_card")
    hold = anyio.Event()
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "charge_card", "arguments": "{}"}}
    answer = WireAnswer((delta(tool_calls=[call]), hold, delta("tool_calls"), DONE))
    async with serving(answer) as server:
        agent = Agent(
            "bot",
            model=OpenAIChatModel("m", base_url=server.base_url),
            tools=[tool],
            input_processors=[RacingGuard("blocks", server.asked.wait)],
            guard_mode="concurrent",
        )
        with anyio.fail_after(10):
            seen = await ask(agent, way)
            await server.gone.wait()
    assert (calls, types(seen.chunks)) == ([], ["tripwire"])
    assert (seen.result.status, seen.result.tool_calls, seen.result.tool_results) == ("blocked", (), ())
    assert [(one.processor_id, one.outcome) for one in seen.result.violations] == [("guard", "blocked")]


@pytest.mark.parametrize("way", WAYS)
async def test_tools_run_once_the_guards_have_passed(way: str) -> None:
    """TOOL-008: a tool call that came before the verdict waits for it; the second step has no guards beside it."""
    order: list[str] = []
    tool, calls = counted_tool("charge_card")
    model = RacedModel(tool="charge_card")
    guard = RacingGuard("passes", model.over.wait, then=lambda: order.append(f"passed after {len(calls)}"))
    agent = Agent("bot", model=model, tools=[tool], input_processors=[guard], guard_mode="concurrent")
    with anyio.fail_after(10):
        seen = await ask(agent, way)
    assert order == ["passed after 0"] and len(calls) == 1
    assert guard.calls == 1 and seen.result.final_text == "done"


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_heard_before_the_guards_have_passed(way: str) -> None:
    """Neither the reader nor ``on_chunk`` hears of the run before the verdict, then all comes in order."""
    heard: list[str] = []
    at_verdict: list[int] = []
    model = RacedModel("still streaming")

    def verdict() -> None:
        at_verdict.append(len(heard))
        model.goes_on.set()

    guard = RacingGuard("passes", model.spoke.wait, then=verdict)
    agent = Agent("bot", model=model, input_processors=[guard], guard_mode="concurrent")

    async def note(chunk: Any) -> None:
        heard.append(chunk.type)

    with anyio.fail_after(10):
        if way == "generate":
            await agent.generate("Hi", on_chunk=note)
        else:
            async with agent.stream("Hi", on_chunk=note) as stream:
                assert types([chunk async for chunk in stream]) == heard
    assert at_verdict == [0]
    assert heard == [
        "start", "step-start", "text-start", "text-delta", "text-delta", "text-end", "step-finish", "finish",
    ]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
async def test_the_first_block_cancels_the_other_guards(way: str) -> None:
    """The first block ends the guards beside it and the model, each awaited (D27)."""
    model = RacedModel("still streaming")
    first = RacingGuard("blocks", model.spoke.wait, id="first")
    slow = RacingGuard("passes", anyio.Event().wait, id="slow")
    agent = Agent("bot", model=model, input_processors=[slow, first], guard_mode="concurrent")
    with anyio.fail_after(10):
        seen = await ask(agent, way)
    assert seen.tripwire.processor_id == "first"
    assert slow.cancelled and model.cancelled
