"""
Inner runs: those of agents that are tools, which wait while the run that they stand in does, and end with it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

import anyio

from procession.agents.caller import Caller
from procession.agents.claim import Claim
from procession.agents.kept_in import kept_in, store_of
from procession.agents.output import AgentResult
from procession.agents.snapshot import read_snapshot
from procession.agents.state import LoopState
from procession.agents.suspended_call import SuspendedCall
from procession.storage.base import JournalStore, RunRow
from procession.tools.tool import Tool

__all__ = ["WAITING", "AgentExecute", "end_inner_runs", "end_run", "end_waiting", "inner_agent", "note_inner_runs"]

WAITING = "inner_runs"
"""Where a run keeps, among the request's resources, the agents of inner runs that have been suspended, by run id."""


class AgentExecute(partial[Coroutine[Any, Any, str]]):
    """
    What a tool executes that is an agent, with the agent as its first argument.
    """

    __slots__ = ()


def inner_agent(call: SuspendedCall, tools: Mapping[str, Tool[Any]] | Callable[..., Any], outer: Caller) -> Caller:
    """
    Return the agent whose run *call* waits for, or *outer*, whose store may have the run, where that is not known.
    """
    found = None if callable(tools) else tools.get(call.tool_name)
    execute = found.execute if found is not None else None
    return execute.args[0] if isinstance(execute, AgentExecute) else outer


def note_inner_runs(state: LoopState, outer: Caller) -> None:
    """
    Note the inner runs that a suspended run waits for, to end them with it.
    """
    for call in state.suspended:
        if call.inner_run is not None:
            waiting: dict[str, Caller] = state.scope.resources.setdefault(WAITING, {})
            waiting[call.inner_run] = inner_agent(call, state.settings.tools, outer)


async def end_inner_runs(state: LoopState, result: AgentResult | None) -> None:
    """
    End the inner runs that nobody waits for any more, now that the run they stand in has come to *result*.

    One that cannot be ended, because it is held or the store fails, stays as it is: the run's own end stands.
    """
    waiting: Mapping[str, Caller] = state.scope.resources.get(WAITING, {})
    suspended = result.suspended if result is not None and result.status == "suspended" else ()
    wanted = {call.inner_run for call in suspended}
    kept = kept_in(state.scope)
    for run_id, agent in waiting.items():
        if run_id not in wanted:
            try:
                with anyio.CancelScope(shield=True):
                    await end_run(agent, run_id, kept)
            except Exception:
                continue


async def end_run(agent: Caller, run_id: str, kept: JournalStore | None) -> None:
    """
    End a suspended run of *agent*, and those inside it; one that is known nowhere, or has ended, is left.

    Raises ``RunAlreadyClaimed`` where somebody goes on with it.
    """
    row = await store_of(agent, kept).row(run_id)
    if row is not None and row.status == "suspended":
        await end_waiting(agent, row, kept)


async def end_waiting(agent: Caller, row: RunRow, kept: JournalStore | None = None) -> None:
    """
    End the suspended run of *agent* in *row* as cancelled, and those inside it.

    Raises ``RunAlreadyClaimed`` where somebody goes on with one of them, or has.
    """
    claim = Claim(store_of(agent, kept), row.run_id)
    await claim.take(row)
    try:
        for call in read_snapshot(row.data or "")["suspended"]:
            if call.inner_run is not None:
                await end_run(inner_agent(call, agent.tools, agent), call.inner_run, kept)
    except BaseException:
        await claim.release()
        raise
    await claim.settle("cancelled")
