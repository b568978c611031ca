"""
SubRun: a run of an agent inside another run: it shares the request, and what it costs and finds is told to the outer one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from procession.agents.call import Call, Emit, prepare
from procession.agents.caller import Caller
from procession.agents.output import AgentResult
from procession.agents.snapshot import INSIDE
from procession.errors import RunError
from procession.steps.scope import RequestScope

__all__ = ["DEEPEST", "begin_sub_run", "sub_run"]

DEEPEST = 8
"""How many runs may stand inside each other, so that agents that call themselves come to an end."""
_DEPTH = "depth"


def begin_sub_run(
    agent: Caller,
    messages: Any,
    outer: RequestScope,
    *,
    run_id: str = "",
    emit: Emit | None = None,
    streaming: bool = False,
) -> Awaitable[AgentResult]:
    """
    Let *agent* answer *messages* inside the run of *outer*; *emit* takes its chunks, its model is asked as *streaming*
    says.

    With a *run_id*, which the outer run has made of its own, it is resumed by the outer run alone.
    """

    async def prepared(options: dict[str, Any]) -> Call:
        if run_id:
            options["run_id"] = run_id
        call = await prepare(agent, messages, options, emit=emit, streaming=streaming)
        call.state.scope.resources[INSIDE] = bool(run_id)
        return call

    return sub_run(agent.id, outer, prepared)


async def sub_run(
    agent_id: str, outer: RequestScope, prepared: Callable[[dict[str, Any]], Awaitable[Call]]
) -> AgentResult:
    """
    Run what *prepared* lays out, given the options that join it to *outer*, and charge it to the run of *outer*, once, however it ends.

    Raises ``RunError`` where too many runs stand inside each other.
    """
    depth = outer.resources.get(_DEPTH, 0) + 1
    if depth > DEEPEST:
        raise RunError(
            f"agent {agent_id!r} was not run: {DEEPEST} runs stand inside each other already",
            hint="let it answer itself",
        )
    # It listens to the outer signal and has one of its own: that it is cancelled alone, by a timeout, ends it alone.
    joined = {"request_context": outer.request_context, "abort_signal": outer.abort}
    call = await prepared({**joined, "tracing_context": outer.tracing_context})
    scope = call.state.scope
    scope.resources[_DEPTH] = depth
    scope.outer = outer
    paid, asked = scope.usage, scope.guard_usage  # of a resumed run: what was charged before, as its findings were told
    found, left = len(scope.violations), len(scope.left_behind)
    try:
        return await call.run()
    finally:
        outer.charge(scope.usage - paid, scope.guard_usage - asked)
        outer.violations.extend(scope.violations[found:])
        for looked in scope.looked or ():
            outer.note_look(*looked)
        outer.left_behind += scope.left_behind[left:]
