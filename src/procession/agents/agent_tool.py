"""
An agent as a tool: it runs inside the run of the agent that calls it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

from procession.agents.call import Call
from procession.agents.caller import Caller
from procession.agents.inner_kinds import AgentExecute, Inner
from procession.agents.inner_runs import WAITING, new_inner_id
from procession.agents.kept_in import kept_in
from procession.agents.nested_stream import NestedStream
from procession.agents.output import AgentResult
from procession.agents.resume import prepare_resumed, waiting_calls
from procession.agents.sub_run import begin_sub_run, sub_run
from procession.agents.suspended_call import asked
from procession.agents.workflow_tool import tool_name
from procession.errors import InputError, RunAlreadyClaimed, RunError, TripwireError
from procession.steps.own_context import OwnContext
from procession.tools.context import ToolContext
from procession.tools.tool import Approver, Tool

__all__ = ["agent_tool"]

_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {"prompt": {"type": "string", "description": "What the agent is to do, with all that it must know."}},
    "required": ["prompt"],
}
_ANSWERS: Mapping[str, Any] = {"type": "object", "minProperties": 1}


def agent_tool(
    agent: Caller, *, name: str | None = None, description: str | None = None, requires_approval: Approver = False
) -> Tool[str]:
    """
    Return *agent* as a tool that takes ``{"prompt": ...}`` and returns the answer's text; see ``Agent.as_tool``.
    """
    said = description if description is not None else getattr(agent, "description", "")

    return Tool(
        name=name or tool_name("agent", agent.id),
        description=said or f"Ask the agent {agent.id}.",
        parameters=_PARAMETERS,
        execute=AgentExecute(_execute, agent),
        requires_approval=requires_approval,
        output_type=str,
    )


async def _execute(agent: Caller, args: Mapping[str, Any], ctx: ToolContext) -> str:
    return await OwnContext(_run(agent, args["prompt"], ctx))


async def _run(agent: Caller, prompt: str, ctx: ToolContext) -> str:
    nested = NestedStream(agent.id, ctx)
    if ctx.resumed and ctx.inner_run is not None:
        result = await _resume(agent, ctx.inner_run, ctx, nested)
    else:
        run_id = ctx.inner_run = new_inner_id(ctx)
        run = begin_sub_run(agent, prompt, ctx.scope, run_id=run_id, emit=nested.emit, streaming=nested.streaming)
        result = await nested.read(run)
    if result.suspended:
        await _ask(agent, result.run_id, ctx)
    if result.tripwire is not None:
        raise TripwireError(result.tripwire)
    if result.error is not None:  # its words may be those of a provider, or of a processor that was shown private text
        raise RunError(f"agent {agent.id!r} failed: {type(result.error).__name__}") from result.error
    if result.status == "aborted":
        raise RunError(f"agent {agent.id!r} was aborted")
    return result.text


async def _resume(agent: Caller, run_id: str, ctx: ToolContext, nested: NestedStream) -> AgentResult:
    """
    Hand on the last answer; those before it the inner run has had.
    """
    answers: Any = None
    for _ in range(ctx.answers_given):
        answers = ctx.suspend(resume_schema=_ANSWERS)

    def prepared(options: dict[str, Any]) -> Awaitable[Call]:
        return prepare_resumed(
            agent, run_id, answers, options, emit=nested.emit, streaming=nested.streaming, inside=True,
            kept=kept_in(ctx.scope),
        )  # fmt: skip

    try:
        return await nested.read(sub_run(agent.id, ctx.scope, prepared))
    except (InputError, RunAlreadyClaimed) as error:  # or a process that died holds it yet: the question stands
        ctx.refused = error
        await _ask(agent, run_id, ctx)
        raise


async def _ask(agent: Caller, run_id: str, ctx: ToolContext) -> None:
    """
    Suspend the call for what the inner run waits for.
    """
    calls = await waiting_calls(agent, run_id, kept_in(ctx.scope))
    ctx.scope.resources.setdefault(WAITING, {})[run_id] = Inner(agent)
    ctx.suspend(asked(agent.id, run_id, calls), resume_schema=_ANSWERS, label=agent.id)
