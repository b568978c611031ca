"""An abort while functions of the request still say what the call is made with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from tests.agents.kit import WAYS, ask, counted_tool

from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.processors.memory.memory import Memory
from procession.steps.abort import AbortSignal
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool

both_ways = pytest.mark.parametrize("way", WAYS)
SETTINGS = ("model", "instructions", "tools", "input_processors", "output_processors", "error_processors")
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}


def aborting(signal: AbortSignal, asked: list[str], name: str) -> Callable[[Any], Awaitable[Any]]:
    """Return a function of the request during which the signal is set, and which then waits for ever."""

    async def function(context: Any) -> Any:
        asked.append(name)
        signal.abort("enough")
        await anyio.sleep_forever()

    return function


@both_ways
@pytest.mark.parametrize("setting", SETTINGS)
async def test_an_abort_is_heard_while_a_function_of_the_request_runs(setting: str, way: str) -> None:
    """The function is cancelled, no other one is called, and the call ends as one that was aborted before it began."""
    signal, asked, store = AbortSignal(), list[str](), InMemoryStore()
    model, told = FakeModel("x"), list[AgentResult]()
    options: dict[str, Any] = {"model": model, "memory": Memory(store), setting: aborting(signal, asked, setting)}
    with anyio.fail_after(5):
        seen = await ask(Agent("guide", **options), way, abort_signal=signal, on_abort=told.append, **IDS)
    result = seen.result
    assert (result.status, result.abort_reason, result.text, result.steps) == ("aborted", "enough", "", ())
    assert (seen.chunks.types, told) == (["abort", "finish"], [result])
    assert (asked, model.requests, await store.messages("t")) == ([setting], [], [])


@both_ways
async def test_functions_are_not_asked_for_a_call_that_was_aborted_before(way: str) -> None:
    """A signal that is set already spares all of them."""
    signal, asked = AbortSignal(), list[str]()
    signal.abort("enough")
    options: dict[str, Any] = {setting: aborting(signal, asked, setting) for setting in SETTINGS}
    result = (await ask(Agent("guide", **options), way, abort_signal=signal)).result
    assert (result.status, result.abort_reason, asked) == ("aborted", "enough", [])


async def test_a_resume_that_is_aborted_while_a_function_runs_is_the_end_of_its_run() -> None:
    """It ends as aborted, as if it had been aborted before, and runs no tool."""
    signal, (tool, calls) = AbortSignal(), counted_tool("pay")
    slow, asked = [False], list[str]()

    async def tools(context: Any) -> Any:
        return await aborting(signal, asked, "tools")(context) if slow[0] else [tool.replace(requires_approval=True)]

    agent = Agent("guide", model=FakeModel(call_tool("pay")), tools=tools)
    run_id = (await agent.generate("Hi")).run_id
    slow[0] = True
    with anyio.fail_after(5):
        result = await agent.approve(run_id, abort_signal=signal)
    assert (result.status, calls, asked) == ("aborted", [], ["tools"])
