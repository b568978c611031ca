"""What a model may call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, cast

import anyio
import pytest

from procession.errors import (
    DefinitionError,
    InputError,
    StepTimeout,
    ToolArgumentsError,
    ToolDefinitionError,
)
from procession.messages.chunks import Chunk, DataChunk
from procession.steps.request_context import RequestContext
from procession.steps.retry import RetryPolicy
from procession.steps.scope import RequestScope
from procession.steps.step import StepContext
from procession.tools.context import ToolContext
from procession.tools.tool import Tool, client_tool, tool

CITY: Mapping[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@tool
async def weather(city: str, ctx: ToolContext, days: int = 1) -> str:
    """Say what the weather will be."""
    await ctx.writer.custom({"type": "data-asked", "data": city})
    return f"{city}, {days} days, {ctx.tool_call_id}"


@tool(name="add-up", description="Adds.", requires_approval=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_function_becomes_a_tool() -> None:
    """A function's name, docstring and parameters describe the tool, and the tool runs it."""
    assert (weather.id, weather.name, weather.description) == ("weather", "weather", "Say what the weather will be.")
    assert list(weather.parameters["properties"]) == ["city", "days"]
    sent: list[Chunk] = []
    context = ToolContext(tool_call_id="c-1", emit=sent.append)
    assert await weather.run({"city": "Paris", "days": 2}, context) == "Paris, 2 days, c-1"
    assert sent == [DataChunk("data-asked", "Paris")]


async def test_options_of_the_decorator() -> None:
    """What is said in the decorator wins over what the function says."""
    assert (add.name, add.description, add.requires_approval) == ("add-up", "Adds.", True)
    assert await add.run({"a": 1, "b": "2"}) == 3
    assert add.source is not None
    assert "test_tool.py:" in add.source


@pytest.mark.parametrize("args", [None, "", "  ", "{}", {}])
async def test_no_arguments(args: Any) -> None:
    """Nothing at all is no arguments."""

    @tool
    def now() -> str:
        return "noon"

    assert await now.run(args) == "noon"


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ('{"a": 1', "no JSON"),
        ("[1]", "should be an object"),
        (5, "should be an object"),
        ({"a": 1}, "b: is missing"),
        ({"a": 1, "b": "x"}, "b: Input should be a valid integer"),
        ({"a": 1, "b": 2, "c": 3}, "c: is no argument: there are a, b"),
    ],
)
async def test_bad_arguments(args: Any, fault: str) -> None:
    """Arguments that do not fit are told to the model, and the tool does not run."""
    with pytest.raises(ToolArgumentsError) as caught:
        await add.run(args)
    assert any(fault in it for it in caught.value.faults)


async def test_tool_from_a_json_schema() -> None:
    """A tool that is described by a JSON schema takes its arguments as a mapping, checked."""

    def execute(args: Mapping[str, Any], ctx: ToolContext) -> str:
        return f"{args['city']} in {ctx.request_context['year']}"

    described: Tool[str] = Tool(name="weather", parameters=CITY, execute=execute)
    scope = RequestScope(request_context=RequestContext({"year": 2026}))
    assert await described.run('{"city": "Paris"}', ToolContext(scope=scope)) == "Paris in 2026"
    with pytest.raises(ToolArgumentsError, match="city: is missing"):
        await described.run({})


async def test_schema_instead_of_the_signature() -> None:
    """A schema given to the decorator is what the model is told and what is checked."""

    @tool(parameters=CITY)
    def lookup(**args: Any) -> Any:
        return args

    assert lookup.parameters is CITY
    assert await lookup.run({"city": "Paris"}) == {"city": "Paris"}
    with pytest.raises(ToolArgumentsError):
        await lookup.run({"city": 1})


async def test_errors_of_the_tool_are_its_own() -> None:
    """What the tool's code raises arrives as it was raised."""

    @tool
    async def boom() -> None:
        raise ValueError("kaput")

    with pytest.raises(ValueError, match="kaput"):
        await boom.run({})


async def test_retries() -> None:
    """A tool that fails is tried again as often as its policy says, and knows which attempt it is."""
    attempts: list[int] = []

    @tool(retry=RetryPolicy(3))
    async def flaky(ctx: ToolContext) -> str:
        attempts.append(ctx.attempt)
        if len(attempts) < 3:
            raise OSError("not yet")
        return "done"

    assert await flaky.run({}) == "done"
    assert attempts == [1, 2, 3]
    attempts.clear()

    @tool(retry=RetryPolicy(2))
    async def never() -> None:
        attempts.append(0)
        raise OSError("never")

    with pytest.raises(OSError, match="never"):
        await never.run({})
    assert attempts == [0, 0]


@pytest.mark.parametrize("error", [InputError("bad"), KeyError("x")])
async def test_what_is_not_tried_again(error: Exception) -> None:
    """Bad input, and what the policy does not name, is not tried again."""
    attempts: list[int] = []

    @tool(retry=RetryPolicy(3, retry_on=(OSError,)))
    async def fails() -> None:
        attempts.append(0)
        raise error

    with pytest.raises(type(error)):
        await fails.run({})
    assert attempts == [0]


async def test_timeout() -> None:
    """A tool that takes longer than it may is stopped, and the error names it."""

    @tool(timeout=0.01)
    async def slow() -> None:
        await anyio.sleep_forever()

    with pytest.raises(StepTimeout, match="slow"):
        await slow.run({})


async def test_blocking_tools_run_in_a_thread() -> None:
    """A plain function that blocks runs in a worker thread, any other in place."""

    @tool(blocking=True)
    def heavy() -> int:
        return threading.get_ident()

    @tool
    def light() -> int:
        return threading.get_ident()

    assert await heavy.run({}) != threading.get_ident()
    assert await light.run({}) == threading.get_ident()


async def test_what_the_model_is_told() -> None:
    """A result is told as text or as JSON, or as the tool says."""

    async def later(result: Any) -> str:
        return f"later {result}"

    def noon(result: Any) -> str:
        return "noon"

    def nothing(result: Any) -> dict[str, Any]:
        return {"type": "content", "value": []}

    plain: Tool[Any] = Tool(name="f", execute=lambda args, ctx: None)
    assert await plain.model_output("x") == {"type": "text", "value": "x"}
    assert await plain.model_output({"a": 1}) == {"type": "json", "value": {"a": 1}}
    assert await plain.replace(to_model_output=noon).model_output(1) == {"type": "text", "value": "noon"}
    assert await plain.replace(to_model_output=nothing).model_output(1) == {"type": "content", "value": []}
    assert await plain.replace(to_model_output=later).model_output(1) == {"type": "text", "value": "later 1"}


async def test_tools_of_the_client() -> None:
    """A tool that the client runs can be described and called by the model, and does nothing here."""
    door = client_tool("open_door", "Opens.", CITY)
    assert (door.client_side, door.parameters, door.execute) == (True, CITY, None)
    assert door.read_arguments({"city": "x"}) == {"city": "x"}
    with pytest.raises(InputError, match="client"):
        await door.run({"city": "x"})
    with pytest.raises(DefinitionError, match="client"):
        door.as_step()
    assert client_tool("f").parameters == {"type": "object", "properties": {}}


def test_tools_that_are_none() -> None:
    """What cannot be a tool is refused where it is made."""
    with pytest.raises(ToolDefinitionError, match="name"):
        tool(lambda: None)
    with pytest.raises(ToolDefinitionError, match="letters"):
        tool(name="no spaces")(lambda: None)
    with pytest.raises(ToolDefinitionError, match="has no execute"):
        Tool(name="f")
    with pytest.raises(ToolDefinitionError, match="both"):
        Tool(name="f", execute=lambda args, ctx: None, client_side=True)
    assert tool(name="fine")(lambda: None).name == "fine"


def test_tools_are_values() -> None:
    """A tool does not change, and is the same as one that is made of the same."""
    assert add.replace(description="x").description == "x"
    assert client_tool("f") == client_tool("f")
    with pytest.raises(AttributeError):
        add.name = "x"  # type: ignore[misc]


class FakeStepContext:
    """As much of a step's context as a tool uses."""

    def __init__(self, value: Any, emit: Any) -> None:
        self.input = value
        self.scope = RequestScope(run_id="r", request_context=RequestContext({"tenant": "acme"}))
        self.run_id = "r"
        self.path = "wf/weather"
        self.attempt = 2
        self.emit = emit


async def test_tool_as_a_step() -> None:
    """A tool stands in a workflow: its input are the arguments, and retry and timeout are the step's."""
    policy = RetryPolicy(2)
    step = weather.replace(retry=policy, timeout=3.0).as_step()
    assert (step.id, step.kind, step.retry, step.timeout) == ("weather", "tool", policy, 3.0)
    assert step.owner.name == "weather"
    sent: list[Chunk] = []

    async def emit(chunk: Chunk) -> None:
        sent.append(chunk)

    assert step.execute is not None
    context = cast("StepContext[Any]", FakeStepContext({"city": "Paris"}, emit))
    assert await step.execute(context) == "Paris, 1 days, r:wf/weather"
    assert sent == [DataChunk("data-asked", "Paris")]
    with pytest.raises(ToolArgumentsError):
        await step.execute(cast("StepContext[Any]", FakeStepContext({}, emit)))


async def test_types_reach_through() -> None:
    """The type of what a function returns is the type of what its tool returns."""

    @tool
    async def pick(kind: Literal["a", "b"]) -> Literal["a", "b"]:
        return kind

    result: Literal["a", "b"] = await pick.run({"kind": "a"})
    number: int = await add.run({"a": 1, "b": 1})
    assert (result, number) == ("a", 2)


class Yielding:
    """Something that is called like a function, and yields."""

    async def __call__(self, args: Any, ctx: Any) -> Any:
        """Yield."""
        yield args


def lines(args: Any = None, ctx: Any = None) -> Any:
    """Yield lines."""
    yield "x"


async def rows(args: Any = None, ctx: Any = None) -> Any:
    """Yield rows."""
    yield "x"


@pytest.mark.parametrize("function", [lines, rows, partial(rows, ctx=None), Yielding()])
def test_a_function_that_yields_is_no_tool(function: Any) -> None:
    """A generator function is refused where the tool is made, in any of its places: a call of it would run nothing."""

    def run(args: Any, ctx: Any) -> int:
        return 1

    made: list[Callable[[], Any]] = [
        partial(cast("Any", tool(name="rows")), function),
        partial(Tool, name="rows", execute=function),
        partial(Tool, name="rows", execute=run, check=function),
        partial(Tool, name="rows", execute=run, requires_approval=function),
        partial(Tool, name="rows", execute=run, to_model_output=function),
    ]
    for make in made:
        with pytest.raises(ToolDefinitionError, match=r"'rows'.* is a generator function.*writer"):
            make()
