"""Several models: the next one is asked where one has failed, and never where something else went wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.agents.kit import COST, WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.agents.output import AgentStep
from procession.errors import InputError, ModelError, ProcessorError
from procession.messages.chunks import Chunk, StepFinish
from procession.models.model import ModelRequest
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, fail, say

both_ways = pytest.mark.parametrize("way", WAYS)


@both_ways
async def test_the_next_model_is_asked(way: str) -> None:
    """Where a model fails the next one answers the same step; the attempt is taken back, kept and told."""
    first, second = FakeModel(Reply(("bro",), stream_error=fail("down"))), FakeModel("Hello.")
    told: list[AgentStep] = []
    seen = await ask(Agent("guide", model=[first, second]), way, on_step_finish=told.append)
    result = seen.result
    assert (result.status, result.text, result.usage.total_tokens) == ("completed", "Hello.", COST)
    assert [(step.step_number, step.finish_reason) for step in told] == [(0, "retry"), (0, "stop")]
    assert (result.rejected, result.steps) == ((told[0],), (told[1],))
    assert [chunk.reason for chunk in seen.chunks if isinstance(chunk, StepFinish)] == ["retry", "stop"]
    assert "error" not in seen.chunks.types
    assert [message.text for message in second.requests[0].messages] == ["Hi"]


class Plain:
    """A model whose ``stream`` is a plain function, as the port declares it, and fails before it returns."""

    id = "plain"

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Fail."""
        raise self.failure


@both_ways
@pytest.mark.parametrize("failure", [ModelError("no connection", kind="unavailable"), ValueError("no connection")])
async def test_a_model_may_fail_before_it_returns_a_stream(way: str, failure: Exception) -> None:
    """That is a model's failure like any: processors are asked, the next model is, and the reader is told in order."""
    asked: list[str] = []
    note = at("process_api_error", lambda ctx: asked.append(ctx.error.message))
    agent = Agent("guide", model=[Plain(failure), FakeModel("Hello.")], error_processors=[note])
    assert (await ask(agent, way)).result.text == "Hello."
    seen = await ask(agent, way, model=Plain(failure))
    assert isinstance(seen.error, ModelError)
    assert seen.chunks.types == ["start", "step-start", "error", "step-finish", "finish"]
    assert asked == ["no connection"] * 2


@both_ways
async def test_a_call_names_its_models(way: str) -> None:
    """A call, and a function of the request, may give a list; each model is asked once."""
    models = [FakeModel(fail("down"), id=name) for name in "ab"]
    never = FakeModel([])
    agent = Agent("guide", model=lambda context: [never])
    assert (await ask(agent, way, model=[*models, FakeModel("Hello.")])).result.text == "Hello."
    assert [len(model.requests) for model in models] == [1, 1]
    assert repr(Agent("guide", model=models)) == "Agent('guide', model=['a', 'b'])"


@both_ways
async def test_the_next_step_begins_with_the_first_model(way: str) -> None:
    """A fallback is for one step: the next one asks the first model again."""
    tool, _ = counted_tool()
    first, second = FakeModel([fail("down"), "done"]), FakeModel([call_tool("lookup")])
    result = (await ask(Agent("guide", model=[first, second], tools=[tool]), way)).result
    assert (result.text, len(first.requests), len(second.requests)) == ("done", 2, 1)


@both_ways
async def test_which_hooks_are_called_again(way: str) -> None:
    """A fallback calls ``process_llm_request`` again and not ``process_input_step``, whose overrides stay (D16)."""
    calls: list[tuple[str, int, Any]] = []

    def step(ctx: Any) -> dict[str, Any]:
        calls.append(("step", ctx.retry_count, ctx.model.id))
        return {"model_settings": {"temperature": 0}, "system_messages": ["Be kind."]}

    def request(ctx: Any) -> None:
        calls.append(("request", ctx.retry_count, ctx.model.id))

    first, second = FakeModel(fail("down"), id="a"), FakeModel("Hello.", id="b")
    agent = Agent(
        "guide",
        model=[first, second],
        input_processors=[at("process_input_step", step, id="s"), at("process_llm_request", request, id="r")],
    )
    assert (await ask(agent, way)).result.text == "Hello."
    assert calls == [("step", 0, "a"), ("request", 0, "a"), ("request", 1, "b")]
    assert [message.text for message in second.requests[0].messages] == ["Be kind.", "Hi"]
    assert second.requests[0].settings == {"temperature": 0}


@both_ways
async def test_process_api_error_comes_first(way: str) -> None:
    """A processor may have the same model asked again; where it does not, the next one is asked, with its own chance."""
    counts: list[int] = []

    def once(ctx: Any) -> Any:
        counts.append(ctx.retry_count)
        return {"retry": len(counts) == 1}

    first, second = FakeModel(fail("down"), repeat_last=True), FakeModel([fail("down"), "never"])
    third = FakeModel("Hello.")
    agent = Agent("guide", model=[first, second, third], error_processors=[at("process_api_error", once)])
    assert (await ask(agent, way)).result.text == "Hello."
    assert [len(model.requests) for model in (first, second, third)] == [2, 1, 1]
    assert counts == [0, 1, 1]


@both_ways
async def test_a_step_that_is_sent_back_stays_with_its_model(way: str) -> None:
    """A processor that sends the answer of a fallback back has the same model asked again; budgets are not touched."""

    def guard(ctx: Any) -> None:
        if ctx.retry_count == 1:
            ctx.abort("no", retry=True)

    first, second = FakeModel(fail("down")), FakeModel(["no", "yes"])
    agent = Agent("guide", model=[first, second], output_processors=[at("process_output_step", guard)])
    result = (await ask(agent, way, max_processor_retries=1)).result
    assert (result.text, len(result.rejected), len(first.requests), len(second.requests)) == ("yes", 2, 1, 2)


@both_ways
async def test_a_model_of_process_input_step_falls_back_to_the_list(way: str) -> None:
    """Where a model that a processor chose fails, the list's second one is asked."""
    chosen, first, second = FakeModel(fail("down")), FakeModel("never"), FakeModel("Hello.")
    agent = Agent(
        "guide", model=[first, second], input_processors=[at("process_input_step", lambda ctx: {"model": chosen})]
    )
    assert (await ask(agent, way)).result.text == "Hello."
    assert first.requests == []


@both_ways
async def test_all_models_fail(way: str) -> None:
    """The error is the last model's; it has those of the others, and the reader hears of one error."""
    errors = [ModelError(name) for name in "abc"]
    seen = await ask(Agent("guide", model=[FakeModel(error) for error in errors]), way)
    assert seen.error is errors[2]
    assert errors[2].earlier == (errors[0], errors[1])
    assert seen.chunks.types.count("error") == 1


@both_ways
@pytest.mark.parametrize(
    "hook", ["process_input_step", "process_llm_request", "process_output_stream", "process_output_step"]
)
async def test_a_processors_failure_is_its_own(way: str, hook: str) -> None:
    """A processor that fails, or a tool that raises, has no other model asked."""

    def broken(ctx: Any) -> None:
        raise ValueError

    spare = FakeModel([])
    lists: dict[str, Any] = {
        "input_processors" if hook in ("process_input_step", "process_llm_request") else "output_processors": [
            at(hook, broken)
        ]
    }
    with pytest.raises(ProcessorError):
        _ = (await ask(Agent("guide", model=[FakeModel("x"), spare], **lists), way)).result
    assert spare.requests == []


@both_ways
async def test_neither_verdicts_nor_our_own_errors_fall_back(way: str) -> None:
    """A tripwire is a verdict, and an error of ours is the caller's to mend: neither has another model asked."""
    spare = FakeModel([])

    def stop(ctx: Any) -> None:
        ctx.abort("no")

    blocked = Agent("guide", model=[FakeModel(fail("down")), spare], error_processors=[at("process_api_error", stop)])
    assert (await ask(blocked, way)).result.status == "blocked"
    faulty = Agent("guide", model=[FakeModel(InputError("bad prompt")), spare])
    with pytest.raises(ModelError, match="bad prompt"):
        _ = (await ask(faulty, way)).result
    assert spare.requests == []


@both_ways
async def test_a_tool_that_raises_is_no_failure_of_the_model(way: str) -> None:
    """What a tool raises is told to the model that called it."""

    def broken(args: Any, ctx: Any) -> None:
        raise ValueError("no rows")

    tool = counted_tool()[0].replace(execute=broken)
    spare = FakeModel([])
    agent = Agent("guide", model=[FakeModel([say("a ") + call_tool("lookup"), "done"]), spare], tools=[tool])
    assert (await ask(agent, way)).result.text == "a done"
    assert spare.requests == []
