"""``StructuredOutputProcessor``: the same as the agent's own option, from either list."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool
from tests.agents.structured_kit import Person

from procession.agents.agent import Agent
from procession.errors import DefinitionError, ProcessorDefinitionError, StructuredOutputError
from procession.messages.chunks import ObjectResult
from procession.models.structured_output import StructuredOutput
from procession.processors.utility.structured_output import StructuredOutputProcessor
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import Tool
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)
both_lists = pytest.mark.parametrize("where", ["input_processors", "output_processors"])
ADA = '{"name": "Ada", "city": "London"}'
VALUE = Person(name="Ada", city="London")


def agent(where: str, model: Any, processor: StructuredOutputProcessor, **more: Any) -> Agent:
    """Return an agent with the processor in one of its lists."""
    lists: dict[str, Any] = {where: [processor]}
    return Agent("p", model=model, **lists, **more)


@both_ways
@both_lists
@pytest.mark.parametrize("answer", [ADA, "no JSON"])
@pytest.mark.parametrize(
    "options", [{}, {"error_strategy": "warn"}, {"error_strategy": "fallback", "fallback_value": {"name": "?", "city": "?"}}],
    ids=["strict", "warn", "fallback"],
)  # fmt: skip
async def test_it_is_the_agents_option(way: str, where: str, answer: str, options: dict[str, Any]) -> None:
    """Whatever the second model says and the strategy is, result, chunks and what both models are asked are the same."""
    seen: list[Any] = []
    for form in ("processor", "option"):
        model, second = FakeModel("Ada lives in London."), FakeModel(answer)
        if form == "processor":
            made = agent(where, model, StructuredOutputProcessor(Person, model=second, **options))
        else:
            made = Agent("p", model=model, structured_output=StructuredOutput(Person, model=second, **options))
        one = await ask(made, way)
        result = one.result if one.error is None else None
        seen.append(
            {
                "error": str(one.error),
                "object": result and (result.text, result.object, result.used_fallback, result.warnings, result.usage),
                "chunks": [(chunk.type, getattr(chunk, "object", None)) for chunk in one.chunks],
                "asked": [
                    [entry.text for entry in request.messages] for request in (*model.requests, *second.requests)
                ],
            }
        )
    assert seen[0] == seen[1]
    if answer == ADA:
        assert seen[0]["object"][1] == VALUE
    assert (seen[0]["error"] != "None") is (answer != ADA and not options)


@both_ways
@both_lists
async def test_a_reader_is_shown_the_value(way: str, where: str) -> None:
    """The chunk ``object-result`` comes with the value, before ``finish``."""
    seen = await ask(
        agent(where, FakeModel("Ada lives in London."), StructuredOutputProcessor(Person, model=FakeModel(ADA))), way
    )
    (result,) = [chunk for chunk in seen.chunks if isinstance(chunk, ObjectResult)]
    assert result.object == {"name": "Ada", "city": "London"}
    assert [chunk.type for chunk in seen.chunks][-2:] == ["object-result", "finish"]


@both_lists
async def test_the_second_model_is_asked_once_at_the_end(where: str) -> None:
    """Not after each step of a turn with tools, but when its text stands; and not where a guard stops the run."""
    tool, _ = counted_tool()
    second = FakeModel(ADA, repeat_last=True)
    processor = StructuredOutputProcessor(
        Person, model=second, instructions="Only names.", provider_options={"fake": {"tier": "low"}}
    )
    model = FakeModel([call_tool("lookup"), "Ada lives in London."])
    result = (await ask(agent(where, model, processor, tools=[tool]))).result
    assert result.object == VALUE
    (request,) = second.requests
    assert request.messages[0].text == "Only names."
    assert request.provider_options == {"fake": {"tier": "low"}}
    stop = at("process_output_step", lambda ctx: ctx.abort("no"))
    blocked = Agent("p", model=FakeModel("x"), input_processors=[processor], output_processors=[stop])
    assert (await ask(blocked)).result.status == "blocked"
    assert len(second.requests) == 1


@both_lists
async def test_a_calls_own_wish_comes_first(where: str) -> None:
    """What a call asks for with ``structured_output=`` is what it gets."""
    second = FakeModel(ADA)
    made = agent(where, FakeModel('{"city": "Paris"}'), StructuredOutputProcessor(Person, model=second))
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    assert (await ask(made, structured_output=schema)).result.object == {"city": "Paris"}
    assert second.requests == []


async def test_in_both_lists_it_asks_once() -> None:
    """One that stands in both lists is one."""
    second = FakeModel(ADA)
    one = StructuredOutputProcessor(Person, model=second)
    made = Agent("p", model=FakeModel("Ada lives in London."), input_processors=[one], output_processors=[one])
    assert (await ask(made)).result.object == VALUE
    assert len(second.requests) == 1


async def test_lists_of_a_call_may_have_it() -> None:
    """A list that a call brings, or that is a function of the request, is treated alike."""
    one = StructuredOutputProcessor(Person, model=FakeModel(ADA, repeat_last=True))
    model = FakeModel("Ada lives in London.", repeat_last=True)
    assert (await ask(Agent("p", model=model), output_processors=[one])).result.object == VALUE
    made = Agent("p", model=model, output_processors=lambda context: [one])
    assert (await ask(made)).result.object == VALUE


@both_lists
def test_an_explanation_says_where_it_is_listed(where: str) -> None:
    """It takes part before each model call, and is told of by the list in which the user put it."""
    made = agent(where, FakeModel("x"), StructuredOutputProcessor(Person, model=FakeModel(ADA)))
    assert f"structured-output ({where})" in str(made.explain())


def test_inside_of_an_output_workflow_it_is_refused() -> None:
    """There it would never be asked: that is said when the agent is made, not found out by a missing value."""
    one = StructuredOutputProcessor(Person, model=FakeModel(ADA))
    inner = create_workflow("w", kind="processor").then(one).commit()
    with pytest.raises(ProcessorDefinitionError, match="'structured-output' stands inside of a workflow"):
        Agent("p", model=FakeModel("x"), output_processors=[inner])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"model": FakeModel("x")}, "no schema"),
        ({"schema": Person}, "no model"),
        ({"schema": Person, "model": FakeModel("x"), "error_strategy": "loud"}, "error_strategy"),
        ({"schema": Person, "model": FakeModel("x"), "fallback_value": {}}, "fallback_value"),
        (
            {"schema": Person, "model": FakeModel("x"), "error_strategy": "fallback", "fallback_value": {}},
            "fallback_value",
        ),
        ({"schema": Person, "model": FakeModel("x"), "json_prompt_injection": "loud"}, "json_prompt_injection"),
        ({"schema": Person, "model": FakeModel("x"), "provider_options": "fast"}, "provider_options"),
        ({"schema": "Person", "model": FakeModel("x")}, "structured_output is str"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], named: str) -> None:
    """The error names what is wrong and what it may be, when the processor is made."""
    with pytest.raises(DefinitionError, match=named) as caught:
        StructuredOutputProcessor(**options)
    assert caught.value.hint


def test_provider_options_want_a_second_model() -> None:
    """The agent's own model has the agent's."""
    with pytest.raises(DefinitionError, match="provider_options"):
        StructuredOutput(Person, provider_options={"fake": {}})


async def test_without_a_value_the_run_fails() -> None:
    """A value that the second model does not give is an error by default, with the faults and without the answer."""
    made = agent("output_processors", FakeModel("x"), StructuredOutputProcessor(Person, model=FakeModel("private")))
    seen = await ask(made)
    assert isinstance(seen.error, StructuredOutputError)
    assert seen.error.faults
    assert "private" not in str(seen.error)


@both_lists
async def test_it_asks_after_a_resume(where: str) -> None:
    """A run that has waited for an approval ends in the value, and says of nothing that it was lost."""
    door: Tool[Any] = Tool(
        name="door", parameters={"type": "object"}, execute=lambda args, ctx: "open", requires_approval=True
    )
    processor = StructuredOutputProcessor(Person, model=FakeModel(ADA))
    made = agent(where, FakeModel([call_tool("door", id="d1"), "Ada lives in London."]), processor, tools=[door])
    waiting = await made.generate("Hi")
    result = await made.resume(waiting.run_id, {"d1": {"approved": True}})
    assert (result.object, result.warnings) == (VALUE, ())
