"""Tools that come while a run goes on: they stand under the same guards as those it began with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.agents.kit import WAYS, Seen, ask, at
from tests.agents.suspending import told

from procession.agents.agent import Agent
from procession.errors import ProcessorError
from procession.messages.chunks import ToolResult
from procession.processors.processor import Processor
from procession.steps.step import StepContext, step
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import Tool, tool
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
SECRET = "secret 4711"


def teller(name: str) -> Tool[Any]:
    """Return a tool that tells the secret."""
    return Tool(name=name, parameters={"type": "object"}, execute=lambda args, ctx: SECRET)


def bring(*tools: Any, since: int = 1) -> Processor:
    """Return a processor that adds *tools* from the second step on."""

    def act(ctx: Any) -> Any:
        if ctx.step_number < since:
            return None
        return {"tools": [*ctx.tools.values(), *tools]}

    return at("process_input_step", act, id="bring")


def on_results(act: Callable[[Any], Any]) -> tuple[Processor, list[Any]]:
    """Return a processor that does *act* with each result, and what it was shown."""
    shown: list[Any] = []

    def look(ctx: Any) -> Any:
        shown.append((ctx.tool_name, dict(ctx.args), ctx.tool_call_id, ctx.origin, ctx.result))
        return act(ctx)

    return at("process_tool_result", look), shown


async def told_in(way: str, guard: Processor, *script: Any) -> tuple[Seen, FakeModel]:
    """Let the script's calls reach ``t1``, which the agent has, and ``t2``, which comes after the first step."""
    model = FakeModel(script)
    agent = Agent(
        "teller", model=model, tools=[teller("t1")], input_processors=[bring(teller("t2"))], output_processors=[guard]
    )
    return await ask(agent, way), model


@both_ways
async def test_results_of_tools_that_come_later_are_replaced_too(way: str) -> None:
    """A redactor sees both tools' results with name, arguments, call and origin, and the model gets its words (TOOL-016)."""
    guard, shown = on_results(lambda ctx: {"result": ctx.result.replace(SECRET, "[hidden]")})
    first, second = call_tool("t1", {"n": 1}, id="a"), call_tool("t2", {"n": 2}, id="b")
    seen, model = await told_in(way, guard, first, second, "Done.")
    assert shown == [("t1", {"n": 1}, "a", "agent", SECRET), ("t2", {"n": 2}, "b", "step", SECRET)]
    assert told(model.requests[-1]) == ["[hidden]", "[hidden]"]
    assert SECRET not in repr([*seen.chunks, *model.requests, seen.result.messages])
    assert seen.result.text == "Done."


@both_ways
@pytest.mark.parametrize("late", [False, True])
async def test_a_guard_blocks_tools_that_come_later_too(way: str, late: bool) -> None:
    """A secret told by either tool ends the run with a tripwire, and is told to nobody (TOOL-016)."""

    def block(ctx: Any) -> Any:
        return ctx.abort("a secret") if late is (ctx.tool_name == "t2") and "secret" in ctx.result else {"result": "-"}

    guard, shown = on_results(block)
    seen, model = await told_in(way, guard, call_tool("t1", id="a"), call_tool("t2", id="b"), "Done.")
    assert [name for name, *_ in shown] == (["t1", "t2"] if late else ["t1"])
    assert seen.tripwire.reason == "a secret"
    assert seen.tripwire.processor_id == "guard"
    assert len(model.requests) == len(shown)
    assert SECRET not in repr([*seen.chunks, *model.requests])


@step
def tell(ctx: StepContext[str]) -> str:
    """Tell the secret."""
    return SECRET


@both_ways
@pytest.mark.parametrize("kind", ["agent", "agent as tool", "workflow"])
async def test_agents_and_workflows_may_come_later(way: str, kind: str) -> None:
    """A processor brings an agent, a tool made of one, or a workflow, and their answers stand under the guards."""
    guard, shown = on_results(lambda ctx: {"result": "[hidden]"} if SECRET in str(ctx.result) else None)
    child: Any = Agent("child", model=FakeModel([SECRET]))
    if kind == "workflow":
        child = create_workflow("child", str).then(tell).commit()
    name, args = f"{kind.split()[0]}-child", {"input": "Tell."} if kind == "workflow" else {"prompt": "Tell."}
    model = FakeModel([call_tool(name, args, id="a"), "Done."])
    brings = bring(child.as_tool() if kind == "agent as tool" else child, since=0)
    seen = await ask(Agent("parent", model=model, input_processors=[brings], output_processors=[guard]), way)
    assert shown == [(name, args, "a", "step", SECRET)]
    (result,) = seen.result.tool_results
    assert isinstance(result, ToolResult)
    assert told(model.requests[-1]) == [result.result] == ["[hidden]"]


@both_ways
@pytest.mark.parametrize("kind", ["workflow", "twice", "none"])
async def test_what_cannot_be_a_tool_is_refused_where_it_is_brought(way: str, kind: str) -> None:
    """A processor that brings a workflow that is not committed, two with one name, or no tool at all is named."""
    model = FakeModel(["Done."])
    child = Agent("child", model=FakeModel([]))
    bare: Any = {"workflow": [create_workflow("flow", str).then(tell)], "twice": [child, child], "none": [4711]}[kind]
    seen = await ask(Agent("parent", model=model, input_processors=[bring(*bare, since=0)]), way)
    error = seen.error if seen.error is not None else seen.result.error
    assert isinstance(error, ProcessorError)
    assert "bring" in str(error)
    assert {"workflow": ".commit()", "twice": "another name", "none": "@tool"}[kind] in str(error)
    assert "4711" not in str(error)
    assert not model.requests


@both_ways
@pytest.mark.parametrize("whose", ["call", "request"])
async def test_agents_given_for_one_call_are_tools_of_it(way: str, whose: str) -> None:
    """``tools=[agent]`` of a call and of a function of the request make tools, under the guards like all."""
    guard, shown = on_results(lambda ctx: {"result": "[hidden]"})
    child = Agent("child", model=FakeModel([SECRET]))
    flow = create_workflow("flow", str).then(tell).commit()
    both = call_tool("agent-child", {"prompt": "Tell."}, id="a") + call_tool("workflow-flow", {"input": "?"}, id="b")
    model = FakeModel([both, "Done."])
    if whose == "call":
        agent = Agent("parent", model=model, output_processors=[guard])
        seen = await ask(agent, way, tools=[child, flow])
    else:
        agent = Agent("parent", model=model, tools=lambda ctx: ctx["given"], output_processors=[guard])
        seen = await ask(agent, way, request_context={"given": [child, flow]})
    assert sorted(name for name, *_ in shown) == ["agent-child", "workflow-flow"]
    assert {result for *_, result in shown} == {SECRET}
    assert told(model.requests[-1]) == ["[hidden]", "[hidden]"]
    assert SECRET not in repr([seen.result.tool_results, seen.result.messages])


@both_ways
async def test_a_tool_that_comes_later_can_be_taken_again(way: str) -> None:
    """A tool of one step that the next does not have is not run: the model is told that there is none."""
    calls: list[Any] = []

    @tool
    def once() -> str:
        """Do it once."""
        calls.append("once")
        return "did"

    only_first = at("process_input_step", lambda ctx: None if ctx.step_number else {"tools": [once]}, id="bring")
    model = FakeModel([call_tool("once"), call_tool("once"), "Done."])
    seen = await ask(Agent("parent", model=model, input_processors=[only_first]), way)
    assert calls == ["once"]
    assert seen.result.text == "Done."


@both_ways
async def test_a_guard_is_told_where_a_tool_came_from(way: str) -> None:
    """The agent's own, one of the call, which may take the place of the agent's, and one that no one has (TOOL-016)."""
    origins: dict[str, Any] = {}

    def look(ctx: Any) -> None:
        origins[ctx.tool_name] = ctx.origin

    guard = at("process_tool_result", look, process_tool_errors=True)
    model = FakeModel([call_tool(name, id=name) for name in ("own", "both", "brought", "none")] + ["Done."])
    agent = Agent("teller", model=model, tools=[teller("own"), teller("both")], output_processors=[guard])
    await ask(agent, way, tools=[teller("both"), teller("brought")])
    assert origins == {"own": "agent", "both": "call", "brought": "call", "none": None}


@both_ways
async def test_tools_that_depend_on_the_request_are_the_agents(way: str) -> None:
    """Tools found when a call begins, such as those of a server, are the agent's (TOOL-016)."""
    guard, shown = on_results(lambda ctx: {"result": "-"})
    model = FakeModel([call_tool("t1", id="a"), "Done."])
    agent = Agent("teller", model=model, tools=lambda context: [teller("t1")], output_processors=[guard])
    await ask(agent, way)
    assert [origin for *_, origin, _ in shown] == ["agent"]
