"""
``procession runs``: runs of a store, looked at and gone on with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from procession.cli.logs import log_to_stderr
from procession.cli.questions import Question, only
from procession.cli.store import open_runtime
from procession.cli.target import Target, agent_in, load_target, workflow_of
from procession.cli.told import Told, one_line, row_data, tell_agent, tell_kept, tell_result
from procession.errors import InputError, RunNotFound
from procession.messages.value import Value
from procession.runtime.runtime import Runtime
from procession.storage.base import FINAL, RunRow

__all__ = ["Page", "cancel_run", "fork_run", "list_runs", "resume_run", "show_run"]


class Page(Value, kw_only=True):
    """
    Some runs of a store, the newest first.
    """

    rows: Sequence[RunRow]
    after: str | None = None
    """The id to go on from where there may be more."""

    @property
    def as_json(self) -> str:
        """
        Return this as one line of JSON.
        """
        return one_line({"runs": [row_data(row) for row in self.rows], "next": self.after})


async def list_runs(
    store: str | None,
    *,
    workflow: str | None,
    statuses: Sequence[str],
    resource: str | None,
    after: str | None,
    limit: int,
) -> Page:
    """
    Return runs of a store, the newest first.

    Raises ``InputError`` where there is no store, and ``DefinitionError`` for a status that there is not.
    """
    async with open_runtime(store) as runtime:
        chosen: Any = list(statuses) or None
        rows = await runtime.list(workflow, status=chosen, resource_id=resource, after=after, limit=limit)
    return Page(rows=rows, after=rows[-1].run_id if len(rows) == limit else None)


async def show_run(store: str | None, run_id: str, target: str | None) -> Told:
    """
    Return how a run stands; with a *target*, its payloads are read by the types of that.

    Raises ``RunNotFound``.
    """
    found = load_target(target) if target is not None else None
    async with open_runtime(store, agent_in(found) if found is not None else None) as runtime:
        row = await _row(runtime, run_id)
        if row.kind == "agent":
            return tell_agent(row)
        return tell_kept(await runtime.get(run_id, workflow=_same(found, row) if found is not None else None))


async def resume_run(store: str | None, target: str, run_id: str, question: Question) -> Told:
    """
    Answer a run that waits, and return how it ended this time.

    Raises what resuming raises: ``RunNotFound``, ``ResumeError``, ``SchemaError``, ``RunAlreadyClaimed``, ``GraphChanged``.
    """
    answer = question.value
    found = load_target(target)
    agent = agent_in(found)
    log_to_stderr()
    async with open_runtime(store, agent) as runtime:
        row = await _row(runtime, run_id)
        if row.status in FINAL:
            another = "procession runs fork TARGET RUN --at STEP goes another way" if row.kind != "agent" else None
            raise InputError(f"run {run_id} has ended: it is {row.status}", hint=another)
        if row.kind == "agent":
            if agent is None:
                raise InputError(f"run {run_id} is one of an agent, and {target} is none", hint="name the agent")
            calls = await agent.suspended(run_id, resource=row.resource_id)
            asked = question.step or only([call.question_id for call in calls], run_id)
            for call in calls:
                if call.question_id == asked:
                    answer = question.to_approval(call.kind, answer)
            ended = await agent.resume(run_id, {asked: answer}, resource=row.resource_id, raise_on_tripwire=False)
            return tell_agent(await _row(runtime, run_id), ended)
        workflow = _same(found, row)
        step, answer = question.to_step(answer, (await runtime.get(run_id, workflow=workflow)).waiting, run_id)
        result = await runtime.resume(run_id, answer, step=step, label=question.label, workflow=workflow)
        return tell_result(result, workflow.id)


async def cancel_run(store: str | None, run_id: str, target: str | None) -> Told:
    """
    Cancel a run wherever it is, and return how it stands; with a *target*, the runs of agents that wait in it end as well.

    Raises ``RunNotFound``, and ``InputError`` where it has ended.
    """
    found = load_target(target) if target is not None else None
    agent = agent_in(found) if found is not None else None
    async with open_runtime(store, agent) as runtime:
        row = await _row(runtime, run_id)
        if row.status in FINAL:
            raise InputError(f"run {run_id} has ended: it is {row.status}")
        if row.kind == "agent":
            if agent is None:
                raise InputError(f"run {run_id} is one of agent {row.owner!r}", hint="name it: --target TARGET")
            await agent.cancel(run_id, resource=row.resource_id)
            return tell_agent(await _row(runtime, run_id))
        if found is not None:
            runtime.registry.add(_same(found, row))
        await runtime.cancel(run_id)
        return tell_kept(await runtime.get(run_id))


async def fork_run(
    store: str | None, target: str, run_id: str, *, at: str | None, outputs: Mapping[str, Any], new_run_id: str | None
) -> Told:
    """
    Run again from a step as a new run, and return how that ended; the old run stays as it is.

    Raises ``RunNotFound``, ``ResumeError`` where there is no such step, and ``InputError`` for the run of an agent.
    """
    found = load_target(target)
    log_to_stderr()
    async with open_runtime(store, agent_in(found)) as runtime:
        row = await _row(runtime, run_id)
        if row.kind == "agent":
            raise InputError(
                f"run {run_id} is one of an agent by itself, which cannot be forked",
                hint="run the agent as a step of a workflow: procession run TARGET --text ... --store ...",
            )
        workflow = _same(found, row)
        result = await runtime.fork(run_id, at, outputs=outputs, new_run_id=new_run_id, workflow=workflow)
        return tell_result(result, workflow.id)


async def _row(runtime: Runtime, run_id: str) -> RunRow:
    row = await runtime.store.row(run_id)
    if row is None:
        near = await runtime.list(limit=3)
        hint = (
            f"the last ones are {', '.join(each.run_id for each in near)}" if near else "there are no runs in the store"
        )
        raise RunNotFound(f"there is no run {run_id}", hint=hint)
    return row


def _same(found: Target, row: RunRow) -> Any:
    workflow = workflow_of(found)
    if workflow.id != row.owner:
        raise InputError(
            f"run {row.run_id} is one of {row.owner!r}, not of {workflow.id!r}",
            hint="name the target that it is one of",
        )
    return workflow
