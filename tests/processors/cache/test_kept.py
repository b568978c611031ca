"""What is kept is an answer that stands: none that was cut off, failed, rejected or broken off."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pydantic
import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool
from tests.processors.cache.kit import Store, parrot, said

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.messages.chunks import Finish, TextDelta
from procession.messages.usage import Usage
from procession.models.structured_output import StructuredOutput
from procession.processors.cache.response_cache import ResponseCache
from procession.runtime.runtime import Runtime
from procession.steps.budget import Budget
from procession.steps.step import StepContext, step
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, fail, say
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)


@both_ways
@pytest.mark.parametrize("reason", ["length", "content-filter", "other", "unknown"])
async def test_an_answer_that_was_cut_off_is_not_kept(way: str, reason: Any) -> None:
    """
    Only ``stop`` and ``tool-calls`` are ends to be kept, unless others are asked for.

    CACHE-006: entry count 0 after ``length``, which is configurable.
    """
    store = Store()
    agent, model = parrot([say("He") + Reply(finish=reason)] * 12, ResponseCache(store), max_steps=1)
    await ask(agent, way)
    await ask(agent, way)
    assert (store.kept, len(model.requests)) == ({}, 2)
    agent, model = parrot(
        [say("He") + Reply(finish=reason)] * 12, ResponseCache(store, finish_reasons=["stop", reason]), max_steps=1
    )
    results = [(await ask(agent, way)).result for _ in range(2)]
    if reason != "other":
        assert (len(store.kept), len(model.requests)) == (1, 1)
        assert [result.finish_reason for result in results] == [reason, reason]


@both_ways
@pytest.mark.parametrize(
    "hook",
    [
        "process_output_stream",
        "process_llm_response",
        "process_output_step",
        "process_tool_result",
        "process_output_result",
    ],
)
@pytest.mark.parametrize("retry", [False, True])
async def test_what_a_processor_rejects_is_not_kept(way: str, hook: str, retry: bool) -> None:
    """
    A tripwire of any hook behind the call leaves no entry of the step that it rejects; sent back, only what stands is kept.

    CACHE-006: entry count 0 after a tripwire.
    """
    store = Store()
    lookup, _ = counted_tool()
    rejected: list[Any] = []

    def reject(ctx: Any) -> Any:
        if hook == "process_output_stream" and not isinstance(ctx.chunk, TextDelta):
            return ctx.chunk
        if not rejected:
            rejected.append(hook)
            ctx.abort("bad", retry=retry)
        return ctx.chunk if hook == "process_output_stream" else None

    first = say("bad") + call_tool("lookup") if hook == "process_tool_result" else say("bad")
    listed = "input_processors" if hook == "process_llm_response" else "output_processors"
    model = FakeModel([first, "good", "never"])
    processors: dict[str, Any] = {"input_processors": [ResponseCache(store)]}
    processors[listed] = [*processors.get(listed, ()), at(hook, reject)]
    agent = Agent("parrot", model=model, tools=[lookup], max_processor_retries=1, **processors)
    result = (await ask(agent, way)).result
    sent_back = retry and hook != "process_output_result"
    assert result.status == ("completed" if sent_back else "blocked")
    assert len(store.kept) == (1 if sent_back else 0)
    assert "bad" not in "".join(store.kept.values())
    assert (await ask(agent, way)).result.text == (
        "never" if sent_back else "good"
    )  # what was sent back was another prompt


@both_ways
async def test_a_failed_call_is_not_kept(way: str) -> None:
    """
    A model's error, before its answer or in the middle of it, leaves no entry, and the next request asks.

    CACHE-006: entry count 0 after an error.
    """
    store = Store()
    broken = say("He") + Reply(stream_error=ModelError("gone", kind="stream"))
    agent, model = parrot([fail("bad", status=400), broken, "ok"], ResponseCache(store))
    for _ in range(2):
        assert isinstance((await ask(agent, way)).error, ModelError)
        assert store.kept == {}
    assert [await said(agent, way), await said(agent, way)] == ["ok", "ok"]
    assert len(model.requests) == 3


async def test_a_client_that_leaves_leaves_no_entry() -> None:
    """CACHE-006: the client disconnects after 2 of 5 chunks: entry count 0, and the second request asks the provider."""
    store = Store()
    reached = anyio.Event()

    async def hanging(request: Any) -> Any:
        for piece in "ab":
            yield TextDelta(piece)
        reached.set()
        await anyio.sleep_forever()

    class Hanging:
        id = "fake"

        def __init__(self) -> None:
            self.asked = 0

        def stream(self, request: Any) -> Any:
            self.asked += 1
            return hanging(request) if self.asked == 1 else FakeModel("whole").stream(request)

    model = Hanging()
    agent, _ = parrot([], ResponseCache(store), model=model)
    async with agent.stream("Hi") as stream:
        async for _ in stream.full_stream:
            if reached.is_set():
                break
    assert store.kept == {}
    assert await said(agent, "stream") == "whole"
    assert (model.asked, len(store.kept)) == (2, 1)


@both_ways
async def test_structured_output_comes_back_equal(way: str) -> None:
    """The object of a hit is that of the first answer; text that does not fit is not kept."""

    class Answer(pydantic.BaseModel):
        city: str
        temps: list[float]

    text = json.dumps({"city": "Bergen", "temps": [1.5, 2]})
    store = Store()
    agent, model = parrot(["{}", text], ResponseCache(store), structured_output=Answer)
    assert (await ask(agent, way)).error is not None
    assert store.kept == {}
    results = [(await ask(agent, way)).result for _ in range(2)]
    assert results[0].object == results[1].object == Answer(city="Bergen", temps=[1.5, 2])
    assert len(model.requests) == 2
    warned = StructuredOutput(Answer, error_strategy="warn")
    lax, model = parrot(["none", "none"], ResponseCache(store), structured_output=warned, instructions="Else.")
    assert [(await ask(lax, way)).result.object for _ in range(2)] == [None, None]
    assert len(model.requests) == 2


async def test_a_budget_does_not_pay_twice() -> None:
    """A hit costs nothing where money is counted, though its usage says what it once cost."""
    agent, model = parrot(["Hello."], ResponseCache())

    @step
    async def asks(ctx: StepContext[str]) -> Any:
        return [await ctx.call(agent, ctx.input) for _ in range(3)]

    workflow = create_workflow("desk", str).then(asks, budget=Budget(tokens=20)).commit()
    result = await Runtime().create_run(workflow).start("Hi")
    assert (result.status, result.output) == ("success", ["Hello."] * 3)
    assert (await agent.generate("Hi")).usage == Usage(10, 5)
    assert len(model.requests) == 1


async def test_a_prompt_that_is_changed_behind_the_cache_is_not_kept() -> None:
    """The key was made of another prompt: nothing is kept under it, and that is said once; in front of it all is well."""

    def late(ctx: Any) -> Any:
        return {"prompt": [*ctx.prompt, {"role": "user", "content": f"It is {ctx.request_context['hour']}."}]}

    store = Store()
    change = at("process_llm_request", late, id="clock")
    model = FakeModel(["at ten", "at eleven", "in front", "never"])
    behind = Agent("parrot", model=model, input_processors=[ResponseCache(store, id="in-front"), change])
    assert [await said(behind, request_context={"hour": hour}) for hour in ("ten", "eleven")] == ["at ten", "at eleven"]
    assert store.kept == {}
    ahead = Agent("parrot", model=model, input_processors=[change, ResponseCache(store)])
    assert [await said(ahead, request_context={"hour": "ten"}) for _ in range(2)] == ["in front", "in front"]


async def test_a_reader_who_has_seen_the_end_finds_the_answer_kept() -> None:
    """The entry is written before ``finish`` is told: whoever leaves then has not cut it off."""
    store = Store()
    agent, _ = parrot(["Hello."], ResponseCache(store))
    async with agent.stream("Hi") as stream:
        async for chunk in stream.full_stream:
            if isinstance(chunk, Finish):
                assert len(store.kept) == 1
                break
    assert await said(agent) == "Hello."
