"""``process_api_error``: who is asked about a failed model call, and what a retry does."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import COST, WAYS, ask, at, counted_tool, spy

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.messages.chunks import ErrorChunk, Finish, StepFinish
from procession.processors.processor import Processor
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, fail, say

both_ways = pytest.mark.parametrize("way", WAYS)
DOWN = fail("overloaded", status=503, retryable=True)


class Handler(Processor):
    """Ask for a retry, or not, and note what was seen."""

    def __init__(self, id: str = "handler", *, retry: bool = True) -> None:
        super().__init__(id=id)
        self.retry = retry
        self.calls: list[Any] = []

    def process_api_error(self, ctx: Any) -> Any:
        """Answer."""
        self.calls.append((ctx.error, ctx.can_retry, ctx.retry_count, ctx.step_number))
        return {"retry": self.retry}


@both_ways
async def test_a_retry_makes_the_call_again(way: str) -> None:
    """A handler that asks for it gets another attempt; what failed leaves nothing behind."""
    handler = Handler()
    model = FakeModel([DOWN, say("Hello.")])
    seen = await ask(Agent("parrot", model=model, error_processors=[handler]), way)
    assert (seen.result.status, seen.result.text) == ("completed", "Hello.")
    assert len(model.requests) == 2
    assert model.requests[0].messages == model.requests[1].messages
    assert [step.step_number for step in seen.result.steps] == [0]
    assert [(step.finish_reason, step.tripwire) for step in seen.result.rejected] == [("retry", None)]
    assert seen.result.usage.total_tokens == COST
    retried = [chunk for chunk in seen.chunks.of(StepFinish) if chunk.reason == "retry"]
    assert [(chunk.text, chunk.retry_reason) for chunk in retried] == [("", None)]


@both_ways
async def test_the_error_says_what_failed(way: str) -> None:
    """``ctx.error`` carries kind, status code and whether it may pass by itself."""
    handler = Handler()
    await ask(Agent("parrot", model=FakeModel([DOWN, "Hello."]), error_processors=[handler]), way)
    error, can_retry, retry_count, step_number = handler.calls[0]
    assert isinstance(error, ModelError)
    assert (error.kind, error.status_code, error.retryable) == ("unavailable", 503, True)
    assert (can_retry, retry_count, step_number) == (True, 0, 0)


@both_ways
async def test_an_error_that_is_no_models_is_wrapped(way: str) -> None:
    """Whatever the model's code raises comes as a ``ModelError`` of kind ``other`` with its cause."""
    handler = Handler()
    model = FakeModel([fail("socket hang up", plain=True), "Hello."])
    await ask(Agent("parrot", model=model, error_processors=[handler]), way)
    error = handler.calls[0][0]
    assert (error.kind, error.message) == ("other", "socket hang up")
    assert isinstance(error.__cause__, RuntimeError)


@both_ways
async def test_a_stream_that_breaks_is_rolled_back(way: str) -> None:
    """Text that came before the stream broke is in neither the result nor the next prompt."""
    broken = say("half a ") + Reply(stream_error=ModelError("gone", kind="stream"))
    model = FakeModel([broken, "whole"])
    seen = await ask(Agent("parrot", model=model, error_processors=[Handler()]), way)
    assert seen.result.text == "whole"
    assert "half" not in str(model.requests[1].messages) + str(seen.result.messages)


@both_ways
async def test_what_came_before_a_terminal_error_stays(way: str) -> None:
    """Text that was delivered before an error that nobody mends is in the answer, and the hooks that follow see it."""
    shown: list[Any] = []

    def step(ctx: Any) -> None:
        shown.append((ctx.text, ctx.finish_reason, [part.type for part in ctx.view[-1].parts]))

    def result(ctx: Any) -> None:
        shown.append((ctx.result.text, len(ctx.result.steps), ctx.view[-1].text))

    processors = [at("process_output_step", step, id="a"), at("process_output_result", result, id="b")]
    tool, _ = counted_tool()
    broken = say("half a ") + Reply(stream_error=ModelError("gone", kind="stream"))
    model = FakeModel([say("First. ") + call_tool("lookup"), broken])
    seen = await ask(Agent("parrot", model=model, tools=[tool], output_processors=processors), way)
    assert isinstance(seen.error, ModelError)
    border = ["text", "tool-invocation", "step-start", "text", "error"]
    assert shown[1:] == [("half a ", "error", border), ("First. half a ", 2, "First. half a ")]
    assert [chunk.text for chunk in seen.chunks.of(StepFinish)] == ["First. ", "half a "]


@both_ways
async def test_the_end_of_an_attempt_says_what_was_streamed(way: str) -> None:
    """``step-finish`` with reason ``retry`` has the text that came before the call failed (D37)."""
    broken = say("half a ") + Reply(stream_error=ModelError("gone", kind="stream"))
    seen = await ask(Agent("parrot", model=FakeModel([broken, "whole"]), error_processors=[Handler()]), way)
    assert [(chunk.reason, chunk.text) for chunk in seen.chunks.of(StepFinish)] == [
        ("retry", "half a "),
        ("stop", "whole"),
    ]


@both_ways
async def test_a_handler_sees_where_the_failed_step_begins(way: str) -> None:
    """At a later step the answer so far ends with the border of the step whose call failed."""
    shown: list[Any] = []

    def look(ctx: Any) -> dict[str, bool]:
        shown.append(ctx.view[-1].parts[-1].type)
        return {"retry": True}

    tool, _ = counted_tool()
    model = FakeModel([call_tool("lookup"), DOWN, "done"])
    agent = Agent("parrot", model=model, tools=[tool], error_processors=[at("process_api_error", look)])
    assert (await ask(agent, way)).result.text == "done"
    assert shown == ["step-start"]


@both_ways
@pytest.mark.parametrize(("budget", "calls"), [(None, 11), (0, 1), (2, 3)])
async def test_the_budget_is_ten_or_what_was_said(way: str, budget: int | None, calls: int) -> None:
    """A configured handler may retry ten times, or ``max_processor_retries`` times where that is set."""
    handler = Handler()
    model = FakeModel(DOWN, repeat_last=True)
    agent = Agent("parrot", model=model, error_processors=[handler], max_processor_retries=budget)
    seen = await ask(agent, way)
    assert isinstance(seen.error, ModelError)
    assert len(model.requests) == calls
    assert [count for _, _, count, _ in handler.calls] == list(range(calls))
    assert [can for _, can, _, _ in handler.calls] == [True] * (calls - 1) + [False]


@both_ways
async def test_nobody_is_asked_without_a_handler(way: str) -> None:
    """Without a handler a failed call is not made again."""
    model = FakeModel([DOWN, "Hello."])
    seen = await ask(Agent("parrot", model=model), way)
    assert seen.error is DOWN
    assert len(model.requests) == 1


@both_ways
async def test_a_terminal_error_ends_the_stream(way: str) -> None:
    """An error that nobody mends gives ``error``, ``step-finish`` and ``finish``, both with reason ``error``."""
    seen = await ask(Agent("parrot", model=FakeModel(DOWN), error_processors=[Handler(retry=False)]), way)
    assert seen.error is DOWN
    last = seen.chunks[-3:]
    assert [type(chunk) for chunk in last] == [ErrorChunk, StepFinish, Finish]
    assert [chunk.reason for chunk in last if isinstance(chunk, (StepFinish, Finish))] == ["error", "error"]


@both_ways
async def test_all_three_lists_are_asked_in_order(way: str) -> None:
    """Handlers of the input, the output and the error list are asked in this order."""
    calls: list[str] = []

    def note(id: str) -> Processor:
        return at("process_api_error", lambda ctx: calls.append(ctx.processor_id), id=id)

    agent = Agent(
        "parrot", model=FakeModel(DOWN),
        input_processors=[note("in")], output_processors=[note("out")], error_processors=[note("err")],
    )  # fmt: skip
    await ask(agent, way)
    assert calls == ["in", "out", "err"]


@both_ways
async def test_one_instance_is_asked_once(way: str) -> None:
    """A handler that stands in several lists is asked once per failure."""
    handler = Handler(retry=False)
    lists: dict[str, Any] = {"input_processors": [handler], "error_processors": [handler]}
    await ask(Agent("parrot", model=FakeModel(DOWN), **lists), way)
    assert len(handler.calls) == 1


@both_ways
async def test_two_instances_of_one_id_are_both_asked(way: str) -> None:
    """Two handlers of one id in two lists are two handlers."""
    first, second = Handler("same", retry=False), Handler("same")
    model = FakeModel([DOWN, "Hello."])
    agent = Agent("parrot", model=model, input_processors=[first], error_processors=[second])
    assert (await ask(agent, way)).result.text == "Hello."
    assert (len(first.calls), len(second.calls)) == (1, 1)


@both_ways
async def test_the_first_retry_wins(way: str) -> None:
    """Once a handler has asked for a retry, those after it are not asked."""
    first, second = Handler("first"), Handler("second")
    await ask(Agent("parrot", model=FakeModel([DOWN, "Hello."]), error_processors=[first, second]), way)
    assert (len(first.calls), len(second.calls)) == (1, 0)


@both_ways
async def test_a_handler_may_mend_the_messages(way: str) -> None:
    """What a handler does to the messages is what the next attempt is made with."""

    def shorten(ctx: Any) -> dict[str, bool]:
        ctx.messages[-1].text = "short"
        return {"retry": True}

    model = FakeModel([DOWN, "Hello."])
    agent = Agent("parrot", model=model, error_processors=[at("process_api_error", shorten)])
    await ask(agent, way, "long long long")
    assert model.requests[1].messages[-1].text == "short"


@both_ways
@pytest.mark.parametrize("answer", [None, {}, {"retry": False}])
async def test_other_answers_are_no_retry(way: str, answer: Any) -> None:
    """``None`` and a mapping without ``retry`` leave the error as it is."""
    model = FakeModel([DOWN, "Hello."])
    agent = Agent("parrot", model=model, error_processors=[at("process_api_error", lambda ctx: answer)])
    assert (await ask(agent, way)).error is DOWN


@both_ways
async def test_the_two_budgets_are_separate(way: str) -> None:
    """Failed calls use up nothing of what processors may send back, and the other way round."""
    handler = Handler()
    counts: list[int] = []

    def too_short(ctx: Any) -> None:
        counts.append(ctx.retry_count)
        if ctx.text != "good":
            ctx.abort("too short", retry=True)

    model = FakeModel([DOWN, "bad", DOWN, "good"])
    agent = Agent(
        "parrot", model=model, max_processor_retries=2,
        output_processors=[at("process_output_step", too_short)], error_processors=[handler],
    )  # fmt: skip
    assert (await ask(agent, way)).result.text == "good"
    assert counts == [1, 3]  # a step hook counts the attempts of its step, whatever caused them
    assert [count for _, _, count, _ in handler.calls] == [0, 1]


@both_ways
async def test_a_step_has_a_full_budget(way: str) -> None:
    """Once a step is accepted, the calls of the next one may fail as often."""
    handler = Handler()
    tool, _ = counted_tool()
    model = FakeModel([DOWN, call_tool("lookup"), DOWN, "done"])
    agent = Agent("parrot", model=model, tools=[tool], error_processors=[handler], max_processor_retries=1)
    assert (await ask(agent, way)).result.text == "done"
    assert [(count, step) for _, _, count, step in handler.calls] == [(0, 0), (0, 1)]


@both_ways
async def test_a_retry_begins_at_process_input_step(way: str) -> None:
    """An attempt after a failed call runs ``process_input_step`` and ``process_llm_request`` again."""
    calls: list[str] = []
    model = FakeModel([DOWN, "Hello."])
    agent = Agent("parrot", model=model, input_processors=[spy(calls)], error_processors=[Handler()])
    await ask(agent, way)
    once = ["spy.process_input_step", "spy.process_llm_request", "spy.process_llm_response"]
    assert calls == ["spy.process_input", *once, "spy.process_api_error", *once]


@both_ways
async def test_output_hooks_see_a_call_that_failed_for_good(way: str) -> None:
    """An error that nobody mends ends the turn: the output hooks see it, with nothing said, and it is raised."""
    shown: list[Any] = []

    def step(ctx: Any) -> None:
        shown.append((ctx.hook.value, ctx.finish_reason, ctx.text))

    def result(ctx: Any) -> None:
        shown.append((ctx.hook.value, ctx.result.finish_reason, ctx.result.text))

    processors = [at("process_output_step", step, id="a"), at("process_output_result", result, id="b")]
    seen = await ask(Agent("parrot", model=FakeModel(DOWN), output_processors=processors), way)
    assert seen.error is DOWN
    assert shown == [("process_output_step", "error", ""), ("process_output_result", "error", "")]


@both_ways
@pytest.mark.parametrize("finish", ["error", "other"])
async def test_an_answer_that_is_none_is_a_failure(way: str, finish: Any) -> None:
    """A stream that ends with ``error``, or with ``other`` and nothing said, is a failed call."""
    handler = Handler()
    model = FakeModel([say(finish=finish), "Hello."])
    assert (await ask(Agent("parrot", model=model, error_processors=[handler]), way)).result.text == "Hello."
    assert handler.calls[0][0].kind == "stream"
