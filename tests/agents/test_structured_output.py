"""Structured output: the answer is a value, made of the text that stands, and never of another."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict
from tests.agents.kit import WAYS, ask, at, counted_tool
from tests.agents.structured_kit import DATA, JSON, Codenames, Person, partials, types

from procession.agents.agent import Agent
from procession.errors import DefinitionError, ModelError, StructuredOutputError
from procession.messages.chunks import ObjectDelta, ObjectResult
from procession.models.structured_output import StructuredOutput
from procession.processors.memory.memory import Memory
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, say
from procession.tools.tool import Tool

pytestmark = pytest.mark.anyio
both_ways = pytest.mark.parametrize("way", WAYS)
PLAIN: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "city": {"type": "string"}},
    "required": ["name", "city"],
}


# -- direct


@both_ways
async def test_model_type(way: str) -> None:
    """The answer is an instance of the type, in the result, its last step and, as plain data, the message and a chunk."""
    model = FakeModel(JSON)
    seen = await ask(Agent("a", model=model), way, structured_output=Person)
    assert seen.result.object == Person(name="Bob", city="Paris") == seen.result.steps[-1].object
    assert seen.result.messages[-1].metadata == {"structuredOutput": DATA}
    assert [chunk.object for chunk in seen.chunks if isinstance(chunk, ObjectResult)] == [DATA]
    assert types(seen)[-2:] == ["object-result", "finish"]
    told = model.requests[0].response_format
    assert told == {"type": "json", "name": "Person", "schema": Person.model_json_schema()}


@both_ways
async def test_plain_json_schema(way: str) -> None:
    """A plain JSON schema gives plain data, checked."""
    agent = Agent("a", model=FakeModel([JSON, '{"name": 5}']), structured_output=PLAIN)
    assert (await ask(agent, way)).result.object == DATA
    error = (await ask(agent, way)).error
    assert isinstance(error, StructuredOutputError)
    assert error.faults == ("city: is missing", "name: should be a string")


@pytest.mark.parametrize(
    ("wanted", "text", "value"),
    [
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (list[int], "[1, 2]", [1, 2]),
        (Literal["yes", "no"], '{"value": "no"}', "no"),
        (tuple[int, ...], '{"value": [1]}', (1,)),
        (dict[str, int], '{"value": 1}', {"value": 1}),
        (Person | None, '{"value": null}', None),
    ],
)
async def test_values_that_are_no_objects(wanted: Any, text: str, value: Any) -> None:
    """Any type will do: what is no object is asked for inside one, as providers want it, and taken out again."""
    model = FakeModel(text)
    result = await Agent("a", model=model).generate("Hi", structured_output=wanted)
    assert result.object == value
    told = model.requests[0].response_format
    assert told is not None and told["schema"]["type"] == "object"


async def test_model_that_refers_to_itself() -> None:
    """A model that refers to itself is described by an object at the root."""

    class Node(BaseModel):
        name: str
        children: list[Node]

    model = FakeModel('{"name": "a", "children": [{"name": "b", "children": []}]}')
    result = await Agent("a", model=model).generate("Hi", structured_output=Node)
    assert result.object is not None and result.object.children[0].name == "b"
    told = model.requests[0].response_format
    assert told is not None and told["schema"]["properties"]["name"] == {"title": "Name", "type": "string"}


async def test_strict_model_reads_json() -> None:
    """A strict model is filled from JSON, in which a set is a list."""

    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)
        tags: set[str]

    result = await Agent("a", model=FakeModel('{"tags": ["x"]}')).generate("Hi", structured_output=Strict)
    assert result.object == Strict(tags={"x"})


@both_ways
async def test_tool_steps_go_on(way: str) -> None:
    """Tools are called as ever; it is the last step's text that is read, whatever the others said."""
    tool, calls = counted_tool()
    model = FakeModel([say("Let me look.") + call_tool("lookup"), JSON])
    seen = await ask(Agent("a", model=model, tools=[tool]), way, structured_output=Person)
    assert calls and seen.result.object == Person(**DATA)
    assert [step.object for step in seen.result.steps] == [None, Person(**DATA)]
    assert all(request.response_format is not None for request in model.requests)


@both_ways
async def test_fence(way: str) -> None:
    """JSON in a Markdown fence is taken, partial values included."""
    seen = await ask(Agent("a", model=FakeModel(Reply(["```json\n", JSON, "\n```"]))), way, structured_output=Person)
    assert seen.result.object == Person(**DATA)
    if way == "stream":
        assert partials(seen)[-1] == DATA


@both_ways
async def test_agent_setting_and_option(way: str) -> None:
    """What a call asks for takes the place of what the agent does."""
    agent = Agent("a", model=FakeModel(['{"value": 3}', JSON]), structured_output=Person)
    assert (await ask(agent, way, structured_output=int)).result.object == 3
    assert (await ask(agent, way)).result.object == Person(**DATA)


@both_ways
async def test_step_override(way: str) -> None:
    """``process_input_step`` may ask for a value in one step, and for none in another (D7)."""
    tool, _ = counted_tool()
    model = FakeModel([call_tool("lookup"), JSON])

    def later(ctx: Any) -> Any:
        return {"structured_output": Person if ctx.step_number else None}

    agent = Agent("a", model=model, tools=[tool], input_processors=[at("process_input_step", later)])
    seen = await ask(agent, way)
    assert seen.result.object == Person(**DATA)
    assert [request.response_format is None for request in model.requests] == [True, False]
    if way == "stream":
        assert partials(seen)[-1] == DATA


async def test_client_side_tool_owes_the_answer() -> None:
    """A run that ends because the caller is to run a tool has no value yet, and has not failed."""
    tool: Tool[Any] = Tool(name="screen", parameters={"type": "object"}, client_side=True)
    result = await Agent("a", model=FakeModel([call_tool("screen")]), tools=[tool]).generate(
        "Hi", structured_output=Person
    )
    assert result.status == "completed" and result.object is None


# -- invalid


@both_ways
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Bob lives in a private place", "no JSON"),
        ('{"name": "Bob"}', "city"),
        ('{"name": "Bob", "name": "Eve", "city": "Paris"}', "twice"),
        ('{"name": NaN, "city": "Paris"}', "NaN"),
        ("[" * 5000, "deep"),
        ("", "no JSON"),
    ],
)
async def test_strict(way: str, text: str, fault: str) -> None:
    """By default an answer that does not fit is an error that says what is wrong and does not quote the answer."""
    seen = await ask(Agent("a", model=FakeModel(text)), way, structured_output=Person)
    error = seen.error
    assert isinstance(error, StructuredOutputError)
    assert any(fault in each for each in error.faults) and fault in str(error)
    assert error.__cause__ is not None
    assert "private" not in str(error)
    assert types(seen)[-2:] == ["error", "finish"]
    assert "object-result" not in types(seen)


@both_ways
async def test_warn(way: str) -> None:
    """``warn`` leaves the value out and says so in the result."""
    wanted = StructuredOutput(Person, error_strategy="warn")
    seen = await ask(Agent("a", model=FakeModel("private words")), way, structured_output=wanted)
    assert seen.result.object is None and seen.result.status == "completed"
    [warning] = seen.result.warnings
    assert "no JSON" in warning and "private" not in warning
    assert seen.result.text == "private words"


@both_ways
async def test_fallback(way: str) -> None:
    """``fallback`` gives the value that was named for this, marked as such."""
    wanted = StructuredOutput(Person, error_strategy="fallback", fallback_value={"name": "none", "city": "none"})
    seen = await ask(Agent("a", model=FakeModel("?")), way, structured_output=wanted)
    assert seen.result.object == Person(name="none", city="none") and seen.result.used_fallback
    [chunk] = [chunk for chunk in seen.chunks if isinstance(chunk, ObjectResult)]
    assert chunk.fallback and chunk.object == {"name": "none", "city": "none"}
    assert seen.result.messages[-1].metadata == {"structuredOutput": chunk.object}


async def test_reason_is_told() -> None:
    """An answer that was cut off says so."""
    model = FakeModel(Reply('{"name": "Bo', finish="length"))
    with pytest.raises(StructuredOutputError, match="'length'"):
        await Agent("a", model=model).generate("Hi", structured_output=Person)


async def test_failed_model_is_no_fault_of_the_answer() -> None:
    """Where the model fails, its own error is raised, whatever the strategy."""
    wanted = StructuredOutput(Person, error_strategy="warn")
    with pytest.raises(ModelError, match="down"):
        await Agent("a", model=FakeModel(ModelError("down"))).generate("Hi", structured_output=wanted)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: StructuredOutput("Person"), "str"),
        (lambda: StructuredOutput({"schema": Person}), "no JSON schema"),
        (lambda: StructuredOutput(Codenames), "Codenames"),
        (lambda: StructuredOutput(Person, error_strategy="never"), "error_strategy"),  # type: ignore[call-overload]
        (lambda: StructuredOutput(Person, error_strategy="fallback"), "fallback_value"),
        (lambda: StructuredOutput(Person, fallback_value=DATA), "fallback_value"),
        (lambda: StructuredOutput(Person, json_prompt_injection="end"), "json_prompt_injection"),  # type: ignore[call-overload]
        (lambda: Agent("a", model=FakeModel(""), structured_output=5), "int"),
    ],
)
async def test_bad_settings(make: Any, words: str) -> None:
    """What cannot work is refused where it is given, naming what is wrong."""
    with pytest.raises(DefinitionError, match=words):
        make()


# -- what stands


@both_ways
async def test_rejected_attempt_leaves_no_object(way: str) -> None:
    """Text and object are of one attempt: nothing of a rejected one stays (08 #28)."""
    answers = [json.dumps({"name": "Eve", "city": "Rome"}), "still not JSON", JSON]
    bad: list[str] = []

    def twice(ctx: Any) -> None:
        if ctx.retry_count < 2:
            bad.append(ctx.text)
            ctx.abort("again", retry=True)

    agent = Agent(
        "a",
        model=FakeModel(answers),
        output_processors=[at("process_output_step", twice)],
        max_processor_retries=2,
    )
    seen = await ask(agent, way, structured_output=Person)
    assert seen.result.object == Person(**DATA) and seen.result.text == JSON
    assert [step.object for step in seen.result.rejected] == [None, None]
    assert types(seen).count("object-result") == 1


@both_ways
@pytest.mark.parametrize("hook", ["process_output_step", "process_output_result"])
async def test_tripwire_leaves_no_object(way: str, hook: str) -> None:
    """A blocked run has no value, and no chunk that says so."""
    agent = Agent("a", model=FakeModel(JSON), output_processors=[at(hook, lambda ctx: ctx.abort("no"))])
    seen = await ask(agent, way, structured_output=Person)
    assert seen.result.status == "blocked" and seen.result.object is None
    assert "object-result" not in types(seen)


@both_ways
async def test_object_is_made_of_the_edited_text(way: str) -> None:
    """What ``process_output_result`` makes of the text is what the value is made of (D37)."""

    def edit(ctx: Any) -> None:
        for message in ctx.messages:
            message.text = message.text.replace("Paris", "[CITY]")

    agent = Agent("a", model=FakeModel(JSON), output_processors=[at("process_output_result", edit)])
    seen = await ask(agent, way, structured_output=Person)
    assert seen.result.object.city == "[CITY]" and "[CITY]" in seen.result.text


@both_ways
async def test_redacted_text_gives_a_redacted_object(way: str) -> None:
    """A redactor in the stream is not gone round: neither the value nor a partial one holds what it hides."""
    answer = Reply(['{"name": "He', 'ron", "ci', 'ty": "Paris"}'])
    agent = Agent("a", model=FakeModel(answer), output_processors=[Codenames(strategy="redact")])
    seen = await ask(agent, way, structured_output=Person)
    assert seen.result.object == Person(name="[CODENAME]", city="Paris")
    assert "Heron" not in repr(seen.chunks) and "Heron" not in repr(seen.result.messages)
    if way == "stream":
        assert partials(seen)[-1] == {"name": "[CODENAME]", "city": "Paris"}


@both_ways
@pytest.mark.parametrize("word", ["\\u0048eron", "He\\u0072on", "\\nHeron"])
async def test_escapes_hide_nothing_from_guards(way: str, word: str) -> None:
    """In JSON an escape stands for any character: what guards did not see in the text they see in the value."""
    answer = Reply(['{"name": "', word, '", "city": "Paris"}'])
    agent = Agent("a", model=FakeModel(answer), output_processors=[Codenames(strategy="redact")])
    seen = await ask(agent, way, structured_output=Person)
    assert seen.result.object.name.strip() == "[CODENAME]"
    objects = [chunk for chunk in seen.chunks if isinstance(chunk, (ObjectDelta, ObjectResult))]
    assert "Heron" not in repr(objects)


@both_ways
async def test_escapes_are_blocked(way: str) -> None:
    """A guard that blocks stops the run for what an escape hid from it."""
    answer = '{"name": "\\u0048eron", "city": "Paris"}'
    agent = Agent("a", model=FakeModel(answer), output_processors=[Codenames(strategy="block")])
    seen = await ask(agent, way, structured_output=Person)
    assert seen.tripwire.processor_id == "codenames"
    assert seen.result.object is None and seen.result.text == ""
    assert types(seen)[-1] == "tripwire" and "object-result" not in types(seen)


@both_ways
async def test_replaced_answer(way: str) -> None:
    """An answer that a processor gave itself is read like the model's."""
    agent = Agent(
        "a", model=FakeModel([]), input_processors=[at("process_input", lambda ctx: ctx.replace_response(JSON))]
    )
    assert (await ask(agent, way, structured_output=Person)).result.object == Person(**DATA)


async def test_object_is_kept_in_memory() -> None:
    """The value is saved with the message."""
    store = InMemoryStore()
    agent = Agent("a", model=FakeModel(JSON), memory=Memory(storage=store))
    await agent.generate("Hi", thread="t", resource="r", structured_output=Person)
    saved = await store.messages("t", resource_id="r")
    assert saved[-1].metadata == {"structuredOutput": DATA}


# -- the prompt


@pytest.mark.parametrize("way", ["system", "inline", True])
async def test_prompt_injection(way: Any) -> None:
    """A model without a JSON mode is told of the schema in words, once, and of no response format."""
    model = FakeModel(JSON)
    wanted = StructuredOutput(Person, json_prompt_injection=way)
    result = await Agent("a", model=model, instructions="Be brief.").generate("Who?", structured_output=wanted)
    [request] = model.requests
    assert result.object == Person(**DATA) and request.response_format is None
    told: dict[str, str] = {message.role: message.text for message in request.messages}
    role, other = ("user", "system") if way == "inline" else ("system", "user")
    assert '"city"' in told[role] and '"city"' not in told[other]
    assert told["system"].startswith("Be brief.") and told["user"].startswith("Who?")


async def test_prompt_hooks_see_what_is_added() -> None:
    """What is added to the prompt is there when ``process_llm_request`` looks at it."""
    shown: list[Any] = []
    guard = at("process_llm_request", lambda ctx: shown.extend(message.text for message in ctx.prompt))
    wanted = StructuredOutput(Person, json_prompt_injection="system")
    await Agent("a", model=FakeModel(JSON), input_processors=[guard]).generate("Who?", structured_output=wanted)
    assert '"city"' in shown[0]


async def test_resumed_run_has_a_value() -> None:
    """A run that waits for an answer has no value yet; resumed, it ends in one."""

    def execute(args: Any, ctx: Any) -> Any:
        return ctx.suspend({"sure": "?"})

    tool: Tool[Any] = Tool(name="confirm", parameters={"type": "object"}, execute=execute)
    model = FakeModel([call_tool("confirm"), JSON])
    agent = Agent("a", model=model, tools=[tool], structured_output=Person)
    waiting = await agent.generate("Hi")
    assert waiting.status == "suspended" and waiting.object is None
    [call] = waiting.suspended
    assert (await agent.resume(waiting.run_id, {call.tool_call_id: True})).object == Person(**DATA)
