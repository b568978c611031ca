"""What the tests of suspended runs share: both ways to resume, a tool that must be approved, one that asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.agents.kit import Seen

from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.errors import ProcessionError
from procession.models.model import ModelRequest
from procession.testing.fake_model import FakeModel
from procession.testing.recorder import record
from procession.testing.script import call_tool
from procession.tools.context import ToolContext
from procession.tools.tool import Tool


async def go_on(agent: Agent, way: str, run_id: str, answers: Any, **options: Any) -> Seen:
    """Resume a run by ``resume`` or ``resume_stream`` and return what a caller sees."""
    seen = Seen()
    result: AgentResult
    try:
        if way == "generate":
            result = await agent.resume(run_id, answers, on_chunk=seen.chunks.append, **options)
        else:
            async with agent.resume_stream(run_id, answers, **options) as stream:
                seen.chunks = await record(stream.full_stream)
                result = await stream.result()
        seen.keep(result)
    except ProcessionError as error:
        seen.error = error
    return seen


def doing(
    name: str, calls: list[Any], act: Callable[[Any, ToolContext], Any] | None = None, **options: Any
) -> Tool[Any]:
    """Return a tool that notes what it is called with, and does *act*."""

    async def execute(args: Any, ctx: ToolContext) -> Any:
        calls.append((name, args))
        result: Any = act(args, ctx) if act is not None else f"{name} done"
        return (await result) if hasattr(result, "__await__") else result

    return Tool(name=name, parameters={"type": "object"}, execute=execute, **options)


def told(request: ModelRequest) -> list[Any]:
    """Return what a model was told of the tools' results."""
    return [
        part.output["value"]  # type: ignore[union-attr]
        for message in request.messages
        if message.role == "tool"
        for part in message.content
    ]


def asking(*what: Any, **how: Any) -> Callable[[Any, ToolContext], Any]:
    """Return what a tool does that only asks, and gives back the answer."""

    def act(args: Any, ctx: ToolContext) -> Any:
        return ctx.suspend(*what, **how)

    return act


CALL = call_tool("act", {"x": 1}, id="c1")


def asker(act: Any, *more: Any, calls: list[Any] | None = None, **options: Any) -> tuple[Agent, FakeModel]:
    """Return an agent whose model calls a tool that does *act*, and the model."""
    model = FakeModel([CALL, *(more or ("Done.",))])
    return Agent("asker", model=model, tools=[doing("act", [] if calls is None else calls, act)], **options), model
