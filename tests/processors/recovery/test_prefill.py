"""``PrefillErrorHandler``: a model that refuses an assistant's last turn is asked to continue."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at

from procession.agents.agent import Agent
from procession.errors import ModelError, ProcessorDefinitionError
from procession.processors.processor import Processor
from procession.processors.recovery.prefill import PrefillErrorHandler
from procession.testing.fake_model import FakeModel
from procession.testing.script import fail
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)
REFUSED = fail("This model does not support assistant message prefill.", status=400)
DOWN = fail("overloaded", status=503, retryable=True)
TURNS: list[Any] = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
CONTINUE = '<system-reminder type="anthropic-prefill-processor-retry">continue</system-reminder>'
REFUSALS: list[Exception] = [
    REFUSED,
    fail("Assistant response prefill is incompatible with enable_thinking", plain=True),
    fail("assistant response prefill is incompatible with enable thinking", status=400),
    ModelError("bad request", body={"error": {"message": "Requests ending with a model turn are not supported."}}),
    ModelError("bad request", body="requests ending with a model turn are not supported"),
]


class Listed(PrefillErrorHandler):
    """The handler as a user lists it, who counts the calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    async def process_api_error(self, ctx: Any) -> Any:
        """Count the call."""
        self.calls += 1
        return await super().process_api_error(ctx)


@both_ways
@pytest.mark.parametrize("error", REFUSALS, ids=range(len(REFUSALS)))
async def test_it_is_there_by_default(way: str, error: Exception) -> None:
    """A refusal, told in the message, a cause or the body, is answered with the signal ``continue`` and one retry."""
    model = FakeModel([error, "ok"])
    seen = await ask(Agent("parrot", model=model), way, TURNS)
    assert seen.result.text == "ok"
    assert [message.text for message in model.requests[1].messages] == ["one", "two", CONTINUE]
    assert [step.finish_reason for step in seen.result.rejected] == ["retry"]


@both_ways
async def test_it_tries_once(way: str) -> None:
    """A second refusal of the same step is the run's error."""
    model = FakeModel(REFUSED, repeat_last=True)
    seen = await ask(Agent("parrot", model=model), way, TURNS)
    assert seen.error is REFUSED
    assert len(model.requests) == 2


@both_ways
@pytest.mark.parametrize("limit", [None, 0, 3])
async def test_other_errors_are_not_its_own(way: str, limit: int | None) -> None:
    """By being there it has no other failed call made again, whatever ``max_processor_retries`` says."""
    model = FakeModel([DOWN, "ok"])
    seen = await ask(Agent("parrot", model=model, max_processor_retries=limit), way, TURNS)
    assert seen.error is DOWN
    assert len(model.requests) == 1


@both_ways
async def test_its_budget_is_its_own(way: str) -> None:
    """It needs no budget of the run, and takes nothing from the handlers and guards that have one."""
    counts: list[tuple[int, bool]] = []

    def handle(ctx: Any) -> dict[str, bool]:
        counts.append((ctx.retry_count, ctx.can_retry))
        return {"retry": "overloaded" in str(ctx.error)}

    def short(ctx: Any) -> None:
        if ctx.text == "bad":
            ctx.abort("bad", retry=True)

    model = FakeModel([REFUSED, DOWN, "bad", "ok"])
    agent = Agent(
        "parrot", model=model, max_processor_retries=1,
        error_processors=[at("process_api_error", handle)], output_processors=[at("process_output_step", short, id="short")],
    )  # fmt: skip
    assert (await ask(agent, way, TURNS)).result.text == "ok"
    assert counts == [(0, True), (0, True)]
    none = Agent("parrot", model=FakeModel([REFUSED, "ok"]), max_processor_retries=0)
    assert (await ask(none, way, TURNS)).result.text == "ok"


@both_ways
async def test_it_can_be_switched_off(way: str) -> None:
    """``Agent(prefill_error_handler=False)`` leaves the refusal as it is, also where chunks are kept for a hook."""
    for watchers in ([], [at("process_llm_response", lambda ctx: None)]):
        model = FakeModel([REFUSED, "ok"])
        agent = Agent("parrot", model=model, prefill_error_handler=False, input_processors=watchers)
        assert (await ask(agent, way, TURNS)).error is REFUSED
        assert len(model.requests) == 1


@both_ways
async def test_it_works_beside_a_hook_of_the_response(way: str) -> None:
    """``process_llm_response`` is called for the refused call before the handler is asked."""
    calls: list[str] = []
    watch = at("process_llm_response", lambda ctx: calls.append(ctx.chunks[-1].type))
    agent = Agent("parrot", model=FakeModel([REFUSED, "ok"]), input_processors=[watch])
    assert (await ask(agent, way, TURNS)).result.text == "ok"
    assert calls == ["error", "finish"]


@both_ways
@pytest.mark.parametrize("place", ["input_processors", "output_processors", "error_processors", "nested"])
async def test_a_listed_one_takes_its_place(way: str, place: str) -> None:
    """One that the user lists, in any list or inside a workflow, is the only one."""
    listed = Listed()
    given: Any = listed
    if place == "nested":
        given = create_workflow("mine", kind="processor").then(listed).commit()
    lists: dict[str, Any] = {"error_processors" if place == "nested" else place: [given]}
    model = FakeModel(REFUSED, repeat_last=True)
    assert (await ask(Agent("parrot", model=model, **lists), way, TURNS)).error is REFUSED
    assert (listed.calls, len(model.requests)) == (2, 2)


@both_ways
async def test_it_is_asked_last(way: str) -> None:
    """A handler of the user's that mends the refusal itself is asked first, and no signal is sent."""

    class Mine(Processor):
        def process_api_error(self, ctx: Any) -> dict[str, bool]:
            ctx.message_list.add("go on")
            return {"retry": True}

    model = FakeModel([REFUSED, "ok"])
    await ask(Agent("parrot", model=model, error_processors=[Mine(id="mine")]), way, TURNS)
    assert [message.text for message in model.requests[1].messages] == ["one", "two", "go on"]
    agent = Agent("parrot", model=FakeModel("x"), error_processors=[Mine(id="mine")])
    assert [node.id for node in agent.processor_workflows[0].nodes] == [
        "processor:mine",
        "processor:prefill-error-handler",
    ]


@both_ways
async def test_matchers_know_further_refusals(way: str) -> None:
    """A pattern, searched for in error, causes and body, or a function of the error and of its causes, is a refusal too."""
    plain = fail("the last message must be the user's", status=400)
    buried = ModelError("bad request", body={"message": "The LAST message must be the user's"})
    caused = ModelError("it failed")
    caused.__cause__ = KeyError("assistant")

    def is_key(error: BaseException) -> bool:
        return isinstance(error, KeyError)

    for error, matcher in ((plain, "last message must be"), (buried, "last message must be"), (caused, is_key)):
        model = FakeModel([error, "ok"])
        handler = PrefillErrorHandler(matchers=[matcher])
        seen = await ask(Agent("parrot", model=model, error_processors=[handler]), way, TURNS)
        assert seen.result.text == "ok"
        assert model.requests[1].messages[-1].text == CONTINUE
        seen = await ask(Agent("parrot", model=FakeModel([error, "ok"])), way, TURNS)
        assert seen.error is error
    model = FakeModel([REFUSED, "ok"])  # and its own are known all the same
    handler = PrefillErrorHandler(matchers=["something else"])
    assert (await ask(Agent("parrot", model=model, error_processors=[handler]), way, TURNS)).result.text == "ok"


async def later(error: BaseException) -> bool:
    """Match, some time."""
    return True


@pytest.mark.parametrize(
    ("matchers", "named"), [("text", "a text"), (["("], "regular"), ([7], "7"), ([later], "plain")]
)
def test_matchers_that_are_none_are_refused(matchers: Any, named: str) -> None:
    """What is neither a pattern nor a plain function is an error when the handler is made."""
    with pytest.raises(ProcessorDefinitionError, match=named):
        PrefillErrorHandler(matchers=matchers)
