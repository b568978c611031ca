"""``ContextLengthRecovery``: a request that was refused as too long is sent again, shorter."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.ids import new_id
from procession.messages.prompt import PromptToolCall, PromptToolResult
from procession.models.model import ModelRequest
from procession.models.tokens.counter import TokenCounter
from procession.processors.memory.memory import Memory
from procession.processors.recovery.context_length import ContextLengthRecovery
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, fail, say

both_ways = pytest.mark.parametrize("way", WAYS)
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}
TOO_LONG = fail("Your input exceeds the context window of this model.", status=400)
TURNS: list[dict[str, str]] = [
    {"role": "assistant" if at % 2 else "user", "content": " ".join([f"w{at}"] * 10)} for at in range(9)
]


class Words(TokenCounter):
    """A token is a word, and nothing stands around it."""

    name = "words"
    per_message = 0.0
    per_request = 0.0

    def count(self, text: str) -> float:
        return 0 if text in ("system", "user", "assistant", "tool") else len(text.split())


def size(request: ModelRequest) -> int:
    """Return how many words a request has."""
    return int(Words().count_prompt(request.messages))


def window(limit: int, *answers: Reply | str, factor: int = 1, says: bool = True) -> FakeModel:
    """Return a model that takes so many of its own tokens, of which a word has *factor*, and may say how many it got."""
    left = list(answers)

    def decide(request: ModelRequest) -> Any:
        used = size(request) * factor
        if used > limit:
            numbers = f": {used} tokens > {limit} maximum" if says else ""
            raise fail(f"prompt is too long{numbers}", status=400)
        return left.pop(0)

    return FakeModel(decide, repeat_last=True)


@both_ways
@pytest.mark.parametrize("factor", [1, 3])
async def test_it_is_sent_within_what_was_said(way: str, factor: int) -> None:
    """The second attempt has the share of the limit, in the provider's own tokens, whatever ours are; the oldest messages
    are left out."""
    model = window(60 * factor, "ok", factor=factor)
    recovery = ContextLengthRecovery(counter=Words())
    seen = await ask(Agent("clerk", model=model, input_processors=[recovery]), way, TURNS)
    assert seen.result.text == "ok"
    assert [size(request) for request in model.requests] == [90, 40]
    assert [entry.text.split()[0] for entry in model.requests[1].messages] == ["w5", "w6", "w7", "w8"]
    assert [step.finish_reason for step in seen.result.rejected] == ["retry"]
    [violation] = seen.result.violations
    assert violation.outcome == "modified"
    assert violation.detail == {"limit": 60 * factor, "used": 90 * factor, "messages_left_out": 5}


@both_ways
async def test_without_numbers_it_goes_down_in_steps(way: str) -> None:
    """Where the provider says no numbers, each attempt has a share of the one before, as often as it may."""
    model = window(60, "ok", says=False)
    recovery = ContextLengthRecovery(counter=Words(), share=0.8)
    seen = await ask(Agent("clerk", model=model, input_processors=[recovery]), way, TURNS)
    assert seen.result.text == "ok"
    assert [size(request) for request in model.requests] == [90, 70, 50]


@both_ways
@pytest.mark.parametrize("retries", [0, 1, 2])
async def test_it_never_loops(way: str, retries: int) -> None:
    """It tries as often as it may in a step, then the refusal is the run's error."""
    model = FakeModel(TOO_LONG, repeat_last=True)
    recovery = ContextLengthRecovery(counter=Words(), max_retries=retries, share=0.9)
    seen = await ask(Agent("clerk", model=model, input_processors=[recovery]), way, TURNS)
    assert seen.error is TOO_LONG
    assert len(model.requests) == 1 + retries


@both_ways
@pytest.mark.parametrize("limit", [0, 1])
async def test_the_budget_of_the_run_holds(way: str, limit: int) -> None:
    """``max_processor_retries`` bounds it as well."""
    model = FakeModel(TOO_LONG, repeat_last=True)
    recovery = ContextLengthRecovery(counter=Words(), max_retries=5, share=0.9)
    agent = Agent("clerk", model=model, input_processors=[recovery], max_processor_retries=limit)
    seen = await ask(agent, way, TURNS)
    assert seen.error is TOO_LONG
    assert len(model.requests) == 1 + limit


@both_ways
async def test_its_count_is_its_own(way: str) -> None:
    """What another processor had tried again before does not count against it."""
    model = FakeModel([fail("overloaded", status=503), TOO_LONG, TOO_LONG, "ok"])
    other = at("process_api_error", lambda ctx: {"retry": ctx.error.kind == "unavailable"}, id="other")
    recovery = ContextLengthRecovery(counter=Words(), share=0.7)
    agent = Agent("clerk", model=model, input_processors=[recovery], error_processors=[other])
    assert (await ask(agent, way, TURNS)).result.text == "ok"


@both_ways
async def test_other_errors_are_left_alone(way: str) -> None:
    """Another refusal is the run's error, and nothing is left out."""
    refused = fail("invalid value", status=400)
    model = FakeModel([refused, "never"])
    seen = await ask(Agent("clerk", model=model, input_processors=[ContextLengthRecovery()]), way, TURNS)
    assert seen.error is refused
    assert len(model.requests) == 1


@both_ways
async def test_what_must_stay_is_not_tried_again(way: str) -> None:
    """Where only the system message and what the user said last are left, another attempt would be refused as well: there
    is none."""
    model = FakeModel(TOO_LONG, repeat_last=True)
    agent = Agent("clerk", model=model, instructions="Be brief.", input_processors=[ContextLengthRecovery()])
    seen = await ask(agent, way, "a long text " * 50)
    assert seen.error is TOO_LONG
    assert len(model.requests) == 1


@both_ways
async def test_what_is_stored_is_whole(way: str) -> None:
    """Memory has every message, also those that were left out; later hooks see them, too."""
    store = InMemoryStore()
    await Agent("clerk", model=FakeModel("noted " * 30), memory=Memory(store)).generate("old " * 30, **IDS)
    model = window(50, "ok")
    agent = Agent("clerk", model=model, memory=Memory(store), input_processors=[ContextLengthRecovery(counter=Words())])
    seen = await ask(agent, way, "And now?", **IDS)
    assert seen.result.text == "ok"
    assert size(model.requests[1]) < size(model.requests[0])
    assert [message.text.split()[0] for message in await store.messages("t", resource_id="ada")] == [
        "old", "noted", "And", "ok",
    ]  # fmt: skip


@both_ways
async def test_what_was_learned_holds_for_the_run(way: str) -> None:
    """The second step is sent within what the first one learned, its calls and results with it, and is not refused again."""
    search, _ = counted_tool("search", "found it")
    model = window(60, say("Wait. ") + call_tool("search"), "done")
    agent = Agent("clerk", model=model, tools=[search], input_processors=[ContextLengthRecovery(counter=Words())])
    seen = await ask(agent, way, TURNS)
    assert seen.result.text == "Wait. done"
    assert [size(request) <= 48 for request in model.requests] == [False, True, True]
    kinds = [type(part) for entry in model.requests[2].messages for part in entry.content]
    assert PromptToolCall in kinds
    assert PromptToolResult in kinds
    assert "w8" in model.requests[2].messages[-3].text


async def test_a_request_that_is_learned_too_little_for_is_sent_as_it_is() -> None:
    """Where this run's own traffic exceeds what was learned, the provider decides: nothing that must stay is left out."""
    search, _ = counted_tool("search", "r " * 80)
    model = window(60, call_tool("search"), "never")
    agent = Agent("clerk", model=model, tools=[search], input_processors=[ContextLengthRecovery(counter=Words())])
    seen = await ask(agent, "generate", TURNS)
    assert isinstance(seen.error, ModelError)
    assert len(model.requests) == 3
    assert size(model.requests[2]) > 60


async def test_each_model_has_a_limit_of_its_own() -> None:
    """What one model refused says nothing of the next one, which is sent everything."""
    small = FakeModel(
        [fail("prompt is too long: 90 tokens > 60 maximum", status=400), fail("down", status=503)], id="small"
    )
    large = FakeModel("ok", id="large")
    recovery = ContextLengthRecovery(counter=Words())
    agent = Agent("clerk", model=[small, large], input_processors=[recovery])
    assert (await agent.generate(TURNS)).text == "ok"
    assert [size(request) for request in small.requests] == [90, 40]
    assert [size(request) for request in large.requests] == [90]


@both_ways
async def test_among_error_processors_it_says_what_is_missing(way: str) -> None:
    """In the error list alone it sees no requests: it asks for nothing, and says where it belongs."""
    model = FakeModel(TOO_LONG, repeat_last=True)
    recovery = ContextLengthRecovery(id=f"misplaced-{new_id()}")
    with capture_logs() as logs:
        seen = await ask(Agent("clerk", model=model, error_processors=[recovery]), way, TURNS)
    assert seen.error is TOO_LONG
    assert len(model.requests) == 1
    assert [log["event"] for log in logs if "input processors" in log["event"]]


async def test_one_serves_many_requests() -> None:
    """CON-001: what was learned belongs to the request, never to the processor."""
    recovery = ContextLengthRecovery(counter=Words())
    for _ in range(2):
        model = window(60, "ok")
        await Agent("clerk", model=model, input_processors=[recovery]).generate(TURNS)
        assert [size(request) for request in model.requests] == [90, 40]
