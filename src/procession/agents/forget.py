"""
Forget: what an agent, and all that it works with, keeps of a resource or of one of its threads is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from procession.agents.caller import Caller
from procession.agents.forget_files import files_of
from procession.agents.inner_kinds import AgentExecute, WorkflowExecute
from procession.agents.turns import LINES
from procession.errors import RunNotFound, StoreError
from procession.messages.value import Value
from procession.processors.chain import is_workflow
from procession.processors.memory.deleting import Tally, check_owner, delete_kept, stores_of
from procession.storage.base import JournalStore
from procession.tools.tool import Tool
from procession.workflows.workflow import Workflow

__all__ = ["Forgotten", "forget"]

_LISTS = ("input_processors", "output_processors", "error_processors")


class Forgotten(Value, kw_only=True):
    """
    How much was deleted of what is kept of a resource, or of one of its threads.
    """

    threads: int = 0
    """With their messages, their notes, and what waited to be embedded."""
    vectors: int = 0
    cache_entries: int = 0
    """Answers of models, and verdicts of guards; of a thread all of its resource's, which cannot be told apart."""
    files: int = 0
    """Of an ``AttachmentUploader``; of a thread those that no other thread of the resource names."""
    runs: int = 0
    unsaved_turns: int = 0
    """Turns that waited in this process for a store that had failed."""
    left: tuple[str, ...] = ()
    """What may still be there, and why, for people to read."""


async def forget(agent: Caller, resource: str, thread: str | None) -> Forgotten:
    """
    Delete what *agent* keeps, see ``Agent.forget``.
    """
    check_owner(resource, thread)
    tally = Tally()
    agents, processors = _reached(agent, tally)
    for key, line in list(LINES.items()):
        if key[2] == resource and thread in (None, key[3]):  # of other agents, too: they may share a store with these
            tally.left.append(f"{len(line)} calls on thread {key[3]!r} are under way, and save their turns")
    for processor in processors:
        if hasattr(processor, "forget_owner"):
            await tally.attempt("cache_entries", processor.id, partial(processor.forget_owner, resource, thread))
            tally.left += getattr(processor, "forgets_not", ())
    stores = stores_of([*processors, *[one.memory for one in agents if one.memory is not None]])
    files = await files_of(processors, stores, resource, thread, tally)
    undeleted = await delete_kept(stores, resource, thread, tally)
    if files is not None:  # behind the messages: none is to name a file that is gone
        await tally.attempt("files", "sinks", partial(files.delete, undeleted))
    for store in {id(one.runtime.store): one.runtime.store for one in agents}.values():
        await tally.attempt("runs", type(store).__name__, partial(_delete_runs, store, resource, thread, tally))
    counts = {name: tally.count(name) for name in Forgotten.__fields__ if name != "left"}
    forgotten = Forgotten(**counts, left=tuple(tally.left))
    tally.check(forgotten)
    return forgotten


async def _delete_runs(store: JournalStore, resource: str, thread: str | None, tally: Tally) -> int:
    deleted = 0
    last: str | None = None
    while True:
        try:
            rows = await store.runs(resource_id=resource, thread_id=thread, after=last)
        except RunNotFound:  # the one that was left has gone by now
            last = None
            continue
        if not rows:
            return deleted
        for row in rows:
            try:
                is_gone = await store.delete(row.run_id)
            except StoreError as error:
                if await _is_there(store, row.run_id):
                    raise
                is_gone = True
                tally.fail("runs", type(store).__name__, error)  # of what it kept elsewhere
            if is_gone:
                deleted += 1
            elif await _is_there(store, row.run_id):
                last = row.run_id
                asked = await store.request_cancel(row.run_id)
                will_end = asked and row.kind == "workflow"  # whoever resumes an agent's run is not told
                tally.left.append(f"run {row.run_id} is held by somebody{', and was asked to end' if will_end else ''}")


async def _is_there(store: JournalStore, run_id: str) -> bool:
    try:
        return await store.row(run_id) is not None
    except StoreError:  # it cannot be read
        return True


def _reached(agent: Caller, tally: Tally) -> tuple[list[Caller], list[Any]]:
    """
    Return *agent* and all agents that it calls, as tools and in workflows, and the processors of all of them, each once.
    """
    agents: dict[int, Caller] = {}
    processors: dict[int, Any] = {}
    waiting: list[Any] = [agent]
    while waiting:
        one = waiting.pop()
        if is_workflow(one):
            for kind, owner in _in_workflow(one):
                if kind == "agent":
                    waiting.append(owner)
                else:
                    processors[id(owner)] = owner
        elif id(one) not in agents:
            agents[id(one)] = one
            waiting += [*one.pipelines_of().workflows, *_tools_of(one)]
            for name in (*_LISTS, "tools"):
                if callable(getattr(one, name)):
                    tally.left.append(
                        f"{name} of agent {one.id!r} depend on the request: what they keep is not known here"
                    )
    return list(agents.values()), list(processors.values())


def _in_workflow(workflow: Workflow[Any, Any]) -> Iterator[tuple[str, Any]]:
    for step in workflow.walk_steps():
        if step.kind in ("agent", "processor"):
            yield step.kind, step.owner
        elif step.kind == "tool":
            yield from (("agent", inner) for inner in _inside(step.owner))


def _tools_of(agent: Caller) -> Iterator[Any]:
    tools: Any = agent.tools if not callable(agent.tools) else {}
    for each in tools.values():
        yield from _inside(each)


def _inside(tool: Any) -> Iterator[Any]:
    """
    Yield the agent or the workflow that *tool* is, if it is one.
    """
    execute = tool.execute if isinstance(tool, Tool) else None
    if isinstance(execute, AgentExecute | WorkflowExecute):
        yield execute.args[0]
