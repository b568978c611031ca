"""A hit passes every guard exactly once, and runs no tool whose result was kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool
from tests.processors.cache.kit import Store, parrot, said

from procession.agents.agent import Agent
from procession.messages.chunks import Finish, TextDelta, ToolCall
from procession.processors.cache.key import scope_prefix
from procession.processors.cache.response_cache import ResponseCache
from procession.storage.sqlite.cache import SQLiteCacheStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.tool import Tool, client_tool, tool

both_ways = pytest.mark.parametrize("way", WAYS)


class Guards:
    """Processors that note, and change, what passes them."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []
        hooks: list[tuple[str, Callable[[Any], Any]]] = [
            ("process_output_stream", lambda ctx: ctx.chunk.text),
            ("process_llm_response", lambda ctx: ctx.from_cache),
            ("process_output_step", lambda ctx: ctx.text),
            ("process_tool_result", lambda ctx: ctx.result),
            ("process_output_result", lambda ctx: ctx.result.text),
        ]
        self.all = [at(hook, self._noting(hook, read), id=hook[8:]) for hook, read in hooks]

    def _noting(self, hook: str, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def note(ctx: Any) -> Any:
            if hook == "process_output_stream" and not isinstance(ctx.chunk, TextDelta):
                return ctx.chunk
            self.seen.append((hook, read(ctx)))
            if hook == "process_output_stream":
                return ctx.chunk.replace(text=ctx.chunk.text + "!")
            return {"result": f"{ctx.result}!"} if hook == "process_tool_result" else None

        return note

    def take(self) -> list[tuple[str, Any]]:
        """Return what was seen since the last time."""
        seen, self.seen = self.seen, []
        return seen


@both_ways
async def test_a_hit_passes_every_guard_exactly_once(way: str) -> None:
    """
    What is kept is what the model said, and what the tool answered, before any processor: each sees a hit as the first time.
    """
    guards = Guards()
    lookup, ran = counted_tool()
    model = FakeModel([say("Look.") + call_tool("lookup"), say("So.")])
    agent = Agent(
        "parrot",
        model=model,
        tools=[lookup],
        input_processors=[ResponseCache(Store()), *(one for one in guards.all if one.id == "llm_response")],
        output_processors=[one for one in guards.all if one.id != "llm_response"],
    )
    first = (await ask(agent, way)).result
    fresh = guards.take()
    second = (await ask(agent, way)).result
    kept = guards.take()
    assert [(hook, value) for hook, value in kept if hook != "process_llm_response"] == [
        (hook, value) for hook, value in fresh if hook != "process_llm_response"
    ]
    assert [value for hook, value in kept if hook == "process_llm_response"] == [True, True]
    assert (first.text, second.text) == ("Look.!So.!", "Look.!So.!")
    assert [[one.result for one in result.tool_results] for result in (first, second)] == [["found!"], ["found!"]]  # type: ignore[union-attr]
    assert (len(ran), len(model.requests)) == (1, 2)


@both_ways
async def test_no_tool_runs_whose_result_was_kept(way: str) -> None:
    """Typed results come back equal, under the ids of their calls, also where the model's ids are none or come twice."""
    ran: list[str] = []

    @tool
    def weather(city: str) -> dict[str, Any]:
        """Say what the weather is."""
        ran.append(city)
        return {"city": city, "temp": 21, "hours": [1, 2], "none": None, "$type": "x", "wet": 0.5}

    def call(id: str, city: str) -> Any:
        return ToolCall(id, "weather", {"city": city})

    def asked(*calls: Any) -> Any:
        async def stream(request: Any) -> Any:
            for chunk in (*calls, Finish("tool-calls")) if request.messages[-1].role == "user" else (
                TextDelta("So."), Finish("stop"),
            ):  # fmt: skip
                yield chunk

        class Calling:
            id = "fake/calling"
            asked = 0

            def stream(self, request: Any) -> Any:
                self.asked += 1
                return stream(request)

        return Calling()

    for ids in (("a", "b"), ("a", "a"), ("", "")):
        ran.clear()
        model = asked(call(ids[0], "Bergen"), call(ids[1], "Oslo"))
        agent = Agent("guide", model=model, tools=[weather], input_processors=[ResponseCache()])
        results = [(await ask(agent, way)).result for _ in range(2)]
        assert (sorted(ran), model.asked) == (["Bergen", "Oslo"], 2)
        told = [[(one.result, one.args) for one in result.tool_results] for result in results]  # type: ignore[union-attr]
        assert told[0] == told[1]
        assert told[0][0][0]["city"] == "Bergen"
        assert results[1].text == "So."


@both_ways
async def test_a_tool_that_failed_is_run_again(way: str) -> None:
    """An error is no result to be kept: on a hit the tool has another try."""
    answers: list[Any] = [ValueError("busy"), "found"]

    def execute(args: Any, ctx: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    lookup: Tool[Any] = Tool(name="lookup", parameters={"type": "object"}, execute=execute)
    agent, model = parrot([call_tool("lookup"), "failed", "worked"], ResponseCache(), tools=[lookup])
    assert [await said(agent, way), await said(agent, way)] == ["failed", "worked"]
    assert (answers, len(model.requests)) == ([], 3)


@both_ways
async def test_what_the_client_or_a_person_gives_is_not_kept(way: str) -> None:
    """The call of a client's tool is open again on a hit; a run that was suspended for a person has kept nothing of the step."""
    store = Store()
    beside, ran = counted_tool("beside")
    theirs = client_tool("theirs")
    calls = call_tool("theirs") + call_tool("beside")
    agent, model = parrot([calls], ResponseCache(store), tools=[beside, theirs])
    for _ in range(2):
        result = (await ask(agent, way)).result
        assert [call.tool_name for call in result.tool_calls] == ["theirs", "beside"]
        assert [one.tool_name for one in result.tool_results] == ["beside"]
    assert (len(ran), len(model.requests)) == (1, 1)
    store = Store()
    asking, ran = counted_tool("asking")
    agent, model = parrot(
        [call_tool("asking"), "done"], ResponseCache(store), tools=[asking], require_tool_approval=True
    )
    result = (await ask(agent, way)).result
    assert (result.status, store.kept) == ("suspended", {})
    assert (await agent.approve(result.run_id)).text == "done"
    assert [types for types in store.types() if "ToolResult" in types] == []


@both_ways
async def test_a_kept_result_takes_nobody_s_leave_away(way: str) -> None:
    """Where a person must agree now, a call is not answered from the cache although it was run without leave before."""
    lookup, ran = counted_tool()
    agent, _ = parrot([call_tool("lookup"), "done", "again"], ResponseCache(), tools=[lookup])
    assert await said(agent, way) == "done"
    result = (await ask(agent, way, require_tool_approval=True)).result
    assert (result.status, len(ran), len(result.steps)) == ("suspended", 1, 1)


@both_ways
async def test_beside_guards_that_check_while_the_model_answers(way: str) -> None:
    """With guards beside the model call a hit waits for them as well, and one that blocks leaves nothing kept."""
    seen: list[str] = []

    def check(ctx: Any) -> None:
        seen.append(ctx.view[-1].text)
        if ctx.view[-1].text == "bad":
            ctx.abort("bad")

    store = Store()
    agent = Agent(
        "parrot",
        model=FakeModel(["Hello.", "never"]),
        input_processors=[at("process_input", check, id="check", check_only=True), ResponseCache(store)],
        guard_mode="concurrent",
    )
    assert [(await ask(agent, way)).result.text for _ in range(2)] == ["Hello.", "Hello."]
    assert (await ask(agent, way, "bad")).result.status == "blocked"
    assert (seen, len(store.kept)) == (["Hi", "Hi", "bad"], 1)


@both_ways
async def test_a_run_that_goes_on_after_a_person_agreed_has_its_scope(way: str) -> None:
    """The steps behind an approval are kept, and found, for the run's resource; the step that waited is not."""
    store = Store()
    lookup, _ = counted_tool()
    agent, model = parrot(
        [call_tool("lookup"), "done", call_tool("lookup"), "never"], ResponseCache(store), tools=[lookup]
    )
    texts: list[str] = []
    for _ in range(2):
        waiting = (await ask(agent, way, require_tool_approval=True, resource="t-a")).result
        assert waiting.status == "suspended"
        texts.append((await agent.approve(waiting.run_id, resource="t-a")).text)
    assert texts == ["done", "done"]
    assert [key.startswith(scope_prefix("t-a")) for key in store.kept] == [True]
    assert len(model.requests) == 3


async def test_a_shared_store_serves_agents_of_other_processes(tmp_path: Path) -> None:
    """What one store wrote in a file another one finds, with the tools' results, and asks no model."""
    lookup, ran = counted_tool()
    for script in ([call_tool("lookup"), "done"], []):
        async with SQLiteCacheStore(tmp_path / "answers.db") as store:
            agent, _ = parrot(script, ResponseCache(store), tools=[lookup])
            result = (await ask(agent, "stream", resource="t-a")).result
            assert (result.text, [one.result for one in result.tool_results]) == ("done", ["found"])  # type: ignore[union-attr]
    assert len(ran) == 1
