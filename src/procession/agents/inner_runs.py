"""
Inner runs: those of agents and workflows that are tools, which wait while the run that they stand in does, and end with it.
"""

from __future__ import annotations

from collections.abc import Mapping

import anyio

from procession.agents.caller import Caller
from procession.agents.claim import Claim
from procession.agents.inner_kinds import Inner, inner_of
from procession.agents.kept_in import kept_in, runtime_in, store_of
from procession.agents.output import AgentResult
from procession.agents.snapshot import RESUMED, read_snapshot
from procession.agents.state import LoopState
from procession.ids import new_id
from procession.storage.base import JournalStore, RunRow
from procession.tools.context import ToolContext

__all__ = ["WAITING", "end_inner_runs", "end_run", "end_waiting", "new_inner_id", "note_inner_runs"]

WAITING = "inner_runs"
"""Where a run keeps, among the request's resources, whose inner runs are that have been suspended, by run id."""

_BEGUN = "inner_runs_begun"


def note_inner_runs(state: LoopState, outer: Caller) -> None:
    """
    Note the inner runs that a suspended run waits for, to end them with it.
    """
    for call in state.suspended:
        if call.inner_run is not None:
            waiting: dict[str, Inner] = state.scope.resources.setdefault(WAITING, {})
            waiting[call.inner_run] = inner_of(call, state.settings.tools, outer)


async def end_inner_runs(state: LoopState, result: AgentResult | None) -> None:
    """
    End the inner runs that nobody waits for any more, now that the run they stand in has come to *result*.

    One that cannot be ended, because it is held or the store fails, stays as it is: the run's own end stands.
    """
    waiting: Mapping[str, Inner] = state.scope.resources.get(WAITING, {})
    suspended = result.suspended if result is not None and result.status == "suspended" else ()
    wanted = {call.inner_run for call in suspended}
    kept = kept_in(state.scope)
    for run_id, inner in waiting.items():
        if run_id not in wanted:
            try:
                with anyio.CancelScope(shield=True):
                    await end_run(inner, run_id, kept)
            except Exception:
                continue


def new_inner_id(ctx: ToolContext) -> str:
    """
    Return an id that no run has which stands in this one: models give the same id to calls of several steps.
    """
    resources, id = ctx.scope.resources, f"{ctx.run_id}:{ctx.tool_call_id}"
    begun: set[str] = resources.setdefault(_BEGUN, set())
    if id in begun or RESUMED in resources:  # a call that went on with the run may have begun one before
        id = f"{id}#{new_id()}"
    begun.add(id)
    return id


async def end_run(inner: Inner, run_id: str, kept: JournalStore | None) -> None:
    """
    End a suspended run, and those inside it; one that is known nowhere, or has ended, is left.

    Raises ``RunAlreadyClaimed`` where somebody goes on with it.
    """
    store = store_of(inner.agent, kept)
    row = await store.row(run_id)
    if row is None or row.status != "suspended":
        return
    if row.kind == "agent":
        await end_waiting(inner.agent, row, kept)
        return
    runtime = runtime_in(inner.agent, store)
    if inner.workflow is not None:
        runtime.registry.add(inner.workflow)
    await runtime.cancel(run_id)


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
                await end_run(inner_of(call, agent.tools, agent), call.inner_run, kept)
    except BaseException:
        await claim.release()
        raise
    await claim.settle("cancelled")
