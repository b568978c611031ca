"""A second model that makes the value of what the agent said in prose."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import COST, WAYS, ask, at, list_of
from tests.agents.structured_kit import DATA, JSON, Codenames, Person, types

from procession.agents.agent import Agent
from procession.errors import ModelError, SchemaError, StructuredOutputError
from procession.models.structured_output import StructuredOutput
from procession.testing.fake_model import FakeModel

pytestmark = pytest.mark.anyio
both_ways = pytest.mark.parametrize("way", WAYS)


def second(*answers: Any, **options: Any) -> tuple[Agent, FakeModel, FakeModel, StructuredOutput]:
    """Return an agent that answers in prose, both models, and what asks the second."""
    main, other = FakeModel("Bob lives in Paris"), FakeModel(answers, id="structurer")
    return (
        Agent("a", model=main, instructions="Be kind."),
        main,
        other,
        StructuredOutput(Person, model=other, **options),
    )


@both_ways
async def test_second_model(way: str) -> None:
    """The agent answers in prose, and a second model makes the value of the text that stands; both calls are counted."""
    agent, main, other, wanted = second(JSON)
    seen = await ask(agent, way, structured_output=wanted)
    assert seen.result.object == Person(**DATA) and seen.result.text == "Bob lives in Paris"
    assert seen.result.usage.total_tokens == 2 * COST
    [first], [asked] = main.requests, other.requests
    assert first.response_format is None and '"city"' in first.messages[0].text
    assert first.messages[0].text.startswith("Be kind.")
    assert "name, city" in asked.messages[0].text and "Bob lives in Paris" in asked.messages[1].text
    assert asked.response_format == wanted.response_format()
    assert types(seen)[-2:] == ["object-result", "finish"]


async def test_second_model_is_shown_what_stands() -> None:
    """The second model is asked about the text as the guards left it, and sees nothing that they hid."""
    _, _, other, wanted = second('{"name": "[CODENAME]", "city": "Paris"}')
    agent = Agent("a", model=FakeModel("Heron lives in Paris"), output_processors=[Codenames(strategy="redact")])
    result = await agent.generate("Hi", structured_output=wanted)
    assert result.object == Person(name="[CODENAME]", city="Paris")
    assert "Heron" not in repr(other.requests[0].messages)


@both_ways
async def test_second_model_is_guarded(way: str) -> None:
    """What the second model writes is new text: its strings pass the text guards of the answer."""
    _, _, _, wanted = second('{"name": "Heron", "city": "Paris"}')
    agent = Agent("a", model=FakeModel("Somebody"), output_processors=[Codenames(strategy="redact")])
    seen = await ask(agent, way, structured_output=wanted)
    assert seen.result.object == Person(name="[CODENAME]", city="Paris")
    assert "Heron" not in repr(seen.chunks)


@both_ways
@pytest.mark.parametrize("hook", ["process_input", "process_output_step", "process_output_result"])
async def test_second_model_is_not_asked_for_a_blocked_run(way: str, hook: str) -> None:
    """A run that was stopped costs no further call."""
    _, _, other, wanted = second(JSON)
    guard = at(hook, lambda ctx: ctx.abort("no"))
    lists: dict[str, Any] = {list_of(hook): [guard]}
    agent = Agent("a", model=FakeModel("Bob"), **lists)
    seen = await ask(agent, way, structured_output=wanted)
    assert seen.result.status == "blocked" and not other.requests


async def test_second_model_is_not_asked_about_a_processors_answer() -> None:
    """Where a processor gave the answer itself there is no further model call (D36)."""
    _, _, other, _ = second(JSON)
    wanted = StructuredOutput(Person, model=other, error_strategy="warn")
    guard = at("process_output_step", lambda ctx: ctx.replace_response("I cannot say."))
    result = await Agent("a", model=FakeModel("Bob"), output_processors=[guard]).generate(
        "Hi", structured_output=wanted
    )
    assert result.text == "I cannot say." and result.object is None and not other.requests
    assert "processor" in result.warnings[0]


@both_ways
@pytest.mark.parametrize("answer", ["nope", '{"name": "Bob"}', ModelError("overloaded at 10.0.0.1")])
async def test_second_model_fails(way: str, answer: Any) -> None:
    """A second model that fails, or gives no such value, meets the strategy; what it cost is counted."""
    agent, _, _, wanted = second(answer)
    error = (await ask(agent, way, structured_output=wanted)).error
    assert isinstance(error, StructuredOutputError) and isinstance(
        error.__cause__, (ModelError, SchemaError, ValueError)
    )
    agent, _, _, wanted = second(answer, error_strategy="fallback", fallback_value=DATA)
    result = (await ask(agent, way, structured_output=wanted)).result
    assert result.object == Person(**DATA) and result.used_fallback
    assert result.usage.total_tokens == (1 if isinstance(answer, Exception) else 2) * COST
    agent, _, _, wanted = second(answer, error_strategy="warn")
    result = (await ask(agent, way, structured_output=wanted)).result
    assert result.object is None and len(result.warnings) == 1


async def test_second_model_takes_own_instructions() -> None:
    """Instructions of one's own take the place of the built-in ones."""
    agent, _, other, wanted = second(JSON, instructions="Extract.")
    await agent.generate("Hi", structured_output=wanted)
    assert other.requests[0].messages[0].text == "Extract."
