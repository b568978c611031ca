"""``ToolSearch``: what a run has loaded, wherever that is kept, and which tool is meant by a name."""

from __future__ import annotations

from secrets import token_hex
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.agents.kit import ask
from tests.processors.utility.test_tool_search import ADA, TOOLS, both_ways, find, load, shown, told

from procession.agents.agent import Agent
from procession.messages.chunks import ToolResult
from procession.processors.cache.response_cache import ResponseCache
from procession.processors.memory.memory import Memory
from procession.processors.utility.tool_search import ToolSearch
from procession.storage.memory import InMemoryCacheStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import Tool


@pytest.mark.parametrize("storage", ["in-memory", "context"])
async def test_what_may_not_be_loaded_is_not_loaded_by_being_found(storage: Any) -> None:
    """With ``auto_load`` a result of a search that ``filter`` does not let be loaded is not given, wherever it is kept."""
    model = FakeModel([find("email"), "done"])
    search = ToolSearch(
        tools=TOOLS, storage=storage, search={"auto_load": True}, filter=lambda question: question.phase != "load"
    )
    seen = await ask(Agent("p", model=model, input_processors=[search]))
    assert told(seen)[0]["results"][0]["name"] == "send_email"
    assert shown(model)[-1] == ["search_tools"]


@both_ways
async def test_what_a_cache_says_is_loaded_is_loaded(way: str) -> None:
    """A cached step runs no tool, so this run's messages tell what it has loaded."""
    model, store = FakeModel([load("send_email"), "done"]), InMemoryCacheStore()
    steps: list[bool] = []
    for _ in range(2):
        search, cache = ToolSearch(tools=TOOLS), ResponseCache(store)
        seen = await ask(Agent("p", model=model, input_processors=[search, cache]), way, resource="ada", max_steps=4)
        assert seen.result.text == "done"
        steps += [step.from_cache for step in seen.result.steps]
    assert shown(model) == [["search_tools", "load_tool"], ["search_tools", "load_tool", "send_email"]]
    assert steps == [False, False, True, True]


async def test_what_was_loaded_before_a_wait_is_there_after_it() -> None:
    """A run that waits for somebody longer than ``ttl`` has the tools that it has loaded itself when it goes on."""
    now = [0.0]
    parameters = {"type": "object"}
    door = Tool[Any](name="door", parameters=parameters, execute=lambda args, ctx: "open", requires_approval=True)
    model = FakeModel([load("send_email"), call_tool("door", id="d1"), call_tool("send_email"), "done"])
    search = ToolSearch(tools=TOOLS, ttl=60, clock=lambda: now[0])
    agent = Agent("p", model=model, memory=Memory(), tools=[door], input_processors=[search])
    waiting = await agent.generate("Hi", **ADA, max_steps=6)
    now[0] = 86_400
    result = await agent.resume(waiting.run_id, {"d1": {"approved": True}}, resource="ada")
    (answer,) = result.steps[-2].tool_results
    assert (result.text, isinstance(answer, ToolResult) and answer.result) == ("done", "send_email!")
    assert shown(model)[-2:] == [["door", "search_tools", "load_tool", "send_email"]] * 2


async def test_two_tools_of_one_name_are_told_of() -> None:
    """The agent's own is called where it is shown, that of the search where both have to be found; a log says so once."""
    for every, answer in ((False, "mine"), (True, "send_email!")):
        mine = Tool[Any](name="send_email", parameters={"type": "object"}, execute=lambda args, ctx: "mine")
        model = FakeModel([load("send_email"), call_tool("send_email"), "done"])
        search = ToolSearch(tools=TOOLS, include_resolved_tools=every, id=token_hex(8))
        with capture_logs() as logs:
            seen = await ask(Agent("p", model=model, tools=[mine], input_processors=[search]), max_steps=4)
        assert told(seen)[-1] == answer
        assert [log["processor_id"] for log in logs if "two tools called 'send_email'" in log["event"]] == [search.id]


async def test_a_name_without_end_is_not_said_back() -> None:
    """A model that asks for a tool by a megabyte is answered in a sentence."""
    model = FakeModel([load("x" * 1_000_000), "done"])
    seen = await ask(Agent("p", model=model, input_processors=[ToolSearch(tools=TOOLS)]))
    assert told(seen)[0]["success"] is False and len(told(seen)[0]["message"]) < 300
