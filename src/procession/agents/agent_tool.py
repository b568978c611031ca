"""
An agent as a tool: it runs inside the run of the agent that calls it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from procession.agents.call import Call, Emit
from procession.agents.caller import Caller
from procession.agents.output import AgentResult
from procession.agents.resume import prepare_resumed, waiting_calls
from procession.agents.sub_run import begin_sub_run, sub_run
from procession.agents.workflow_tool import tool_name
from procession.errors import InputError, RunAlreadyClaimed, RunError, TripwireError
from procession.messages.chunks import AbortChunk, Chunk, ErrorChunk, Finish, StepFinish, TextDelta, TripwireChunk
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

    async def execute(args: Mapping[str, Any], ctx: ToolContext) -> str:
        return await _run(agent, args["prompt"], ctx)

    return Tool(
        name=name or tool_name("agent", agent.id),
        description=said or f"Ask the agent {agent.id}.",
        parameters=_PARAMETERS,
        execute=execute,
        requires_approval=requires_approval,
        output_type=str,
    )


async def _run(agent: Caller, prompt: str, ctx: ToolContext) -> str:
    run_id = f"{ctx.run_id}:{ctx.tool_call_id}"
    emit = _forwarded(ctx)
    if ctx.resumed:
        result = await _resume(agent, run_id, ctx, emit)
    else:
        result = await begin_sub_run(agent, prompt, ctx.scope, run_id=run_id, emit=emit)
    if result.suspended:
        await _ask(agent, result.run_id, ctx)
    if result.tripwire is not None:
        raise TripwireError(result.tripwire)
    if result.error is not None:  # its words may be those of a provider, or of a processor that was shown private text
        raise RunError(f"agent {agent.id!r} failed: {type(result.error).__name__}") from result.error
    if result.status == "aborted":
        raise RunError(f"agent {agent.id!r} was aborted")
    return result.text


async def _resume(agent: Caller, run_id: str, ctx: ToolContext, emit: Emit | None) -> AgentResult:
    """
    Hand on the last answer; those before it the inner run has had.
    """
    answers: Any = None
    for _ in range(ctx.answers_given):
        answers = ctx.suspend(resume_schema=_ANSWERS)

    def prepared(options: dict[str, Any]) -> Awaitable[Call]:
        return prepare_resumed(agent, run_id, answers, options, emit=emit, streaming=emit is not None, inside=True)

    try:
        return await sub_run(agent.id, ctx.scope, prepared)
    except (InputError, RunAlreadyClaimed) as error:  # or a process that died holds it yet: the question stands
        ctx.refused = error
        await _ask(agent, run_id, ctx)
        raise


async def _ask(agent: Caller, run_id: str, ctx: ToolContext) -> None:
    """
    Suspend the call for what the inner run waits for.
    """
    calls = [
        {
            "question_id": call.question_id,
            "tool_call_id": call.tool_call_id,
            "tool_name": call.tool_name,
            "args": call.args,
            "kind": call.kind,
            "payload": call.payload,
            "resume_schema": call.resume_schema,
        }
        for call in await waiting_calls(agent, run_id)
    ]
    ctx.suspend({"agent": agent.id, "run_id": run_id, "calls": calls}, resume_schema=_ANSWERS, label=agent.id)


def _forwarded(ctx: ToolContext) -> Callable[[Chunk], Awaitable[None]] | None:
    """
    Return what takes the inner run's chunks to the reader of the outer one, or ``None`` where nobody is to get them.

    They wait for the end of the run, which may be rejected as a whole, and nothing of an attempt that was sent back is
    passed on; each text goes as one.
    Where processors of the outer run look at its stream nothing is passed on: guards look into text, not into this.
    """
    listens = ctx.scope.resources.get("listens")
    if listens is None or not listens():
        return None
    accepted: list[Chunk] = []
    step: list[Chunk] = []
    texts: list[str] = []

    async def emit(chunk: Chunk) -> None:
        if isinstance(chunk, (TripwireChunk, ErrorChunk, AbortChunk)):  # the tool's result says it
            accepted.clear()
            step.clear()
            texts.clear()
            return
        last = step[-1] if step else None
        if isinstance(last, TextDelta):
            if isinstance(chunk, TextDelta) and last.id == chunk.id:
                texts.append(chunk.text)
                return
            step[-1] = last.replace(text="".join((last.text, *texts)))
            texts.clear()
        step.append(chunk)
        if isinstance(chunk, StepFinish):
            if chunk.reason != "retry":
                accepted.extend(step)
            step.clear()
        elif isinstance(chunk, Finish):
            for each in (*accepted, chunk):
                await ctx.writer.write(each)

    return emit
