"""
Forking: what of a run stays true for another one that goes its own way from some step on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import anyio

from procession.errors import ResumeError, RunError, StoreError
from procession.ids import new_id
from procession.messages.shapes import is_items
from procession.runtime.durable.going_on import Revive, row_of
from procession.runtime.durable.holding import LEASE, save_graph
from procession.runtime.durable.journal import Journal
from procession.runtime.durable.ledger import Ledger
from procession.runtime.durable.rows import (
    ANSWERED,
    COMPLETED,
    MEMOIZED,
    RETRIED,
    STOPPED,
    from_json,
    read_rows,
    run_data,
    to_json,
)
from procession.runtime.durable.shapes import codec_for, encode_value, untyped
from procession.runtime.durable.targets import node_at
from procession.runtime.run import Run
from procession.runtime.walk import plan_of
from procession.steps.scope import GRACE
from procession.storage.base import JournalRow
from procession.workflows.plan import (
    Capped,
    Choice,
    Dag,
    Each,
    Fork,
    Loop,
    Nested,
    Pause,
    Plan,
    PlanNode,
)

__all__ = ["fork_run", "kept_rows"]


def kept_rows(plan: Plan, rows: Sequence[JournalRow], at: str | None, outputs: Mapping[str, Any]) -> list[JournalRow]:
    """
    Return the *rows* of a run that hold for one forked *at* a path: all but those of that step and what follows it, with
    *outputs* in place of what they have.

    Without *at* all that was completed is kept, so that the new run begins where the old one stopped.

    Raises ``ResumeError`` where the run has no such step, or no such output.
    """
    cut = _Cut(at) if at is not None else None
    if cut is not None:
        if not cut.sequence(plan.nodes, ""):
            raise ResumeError(f"workflow {plan.id!r} has no step at {at!r}", hint=f"its steps: {', '.join(cut.seen)}")
        for inside in cut.inside:
            if not any(row.path.startswith(inside) for row in rows):
                raise ResumeError(f"the run has not come to {inside!r}", hint="rounds and items are counted from 0")
        rows = [row for row in rows if not cut.covers(row.path)]
    kept = _completed(rows)
    for path, value in outputs.items():
        kept = _replaced(plan, kept, path, value)
    if cut is not None:
        cut.refuse_other_arms(kept)
    return kept


def _completed(rows: Sequence[JournalRow]) -> list[JournalRow]:
    done = {row.path for row in rows if row.kind == COMPLETED}
    kept: list[JournalRow] = []
    for row in rows:
        if row.kind in (COMPLETED, ANSWERED, MEMOIZED) and row.path in done:
            kept.append(row)
        elif row.kind in (STOPPED, RETRIED) and row.path not in done:
            data = from_json(row, f"row {row.seq} of its journal")
            if not data.get("settled"):
                row = row.replace(kind=RETRIED, data=to_json({**data, "uncounted": True}))
            kept.append(row)
    return kept


async def fork_run(
    ledger: Ledger,
    run_id: str,
    at: str | None,
    revive: Revive,
    definition: Callable[[str], Any],
    *,
    outputs: Mapping[str, Any],
    new_run_id: str | None,
) -> Run[Any, Any]:
    """
    Write down a new run that goes its own way from *at* on, and return it.

    It is ``pending`` until all that it goes on from is written down.

    Raises ``RunNotFound``, ``ResumeError`` where there is no such step or no such output, ``RunError`` where the new id is
    used already, ``UntypedValue`` where a replaced output cannot be kept.
    """
    row = await row_of(ledger, run_id)
    workflow = definition(row.owner)
    plan = plan_of(workflow, None)
    rows = kept_rows(plan, await ledger.store.entries(run_id), at, outputs)
    made_id, token = new_run_id or new_id(), new_id()
    made = row.replace(
        run_id=made_id,
        status="pending",
        data=to_json({"input": run_data(row).get("input")}),
        graph_hash=await save_graph(ledger, workflow),
        parent_run_id=run_id,
        forked_at=at,
    )
    rows = [each.replace(seq=seq) for seq, each in enumerate(rows)]
    journal = Journal(ledger.store, made_id, token, seq=len(rows))
    run = revive(made, read_rows(rows), journal)
    try:
        added = await ledger.store.add(made, token=token, seconds=LEASE)
        if added:
            await journal.end("running", made.data, rows, release=False)
    except BaseException:
        with anyio.move_on_after(GRACE, shield=True), suppress(StoreError):
            if await ledger.store.write(made_id, token, release=True):  # it is ours
                await ledger.store.delete(made_id)
        raise
    if not added:
        raise RunError(f"the store has a run {made_id!r} already", hint="give another new_run_id=")
    return run


def _replaced(plan: Plan, rows: list[JournalRow], path: str, value: Any) -> list[JournalRow]:
    """
    Return *rows* in which the output at *path* is *value*.
    """
    node = node_at(plan.nodes, path)
    for index, row in enumerate(rows):
        if row.path == path and row.kind == COMPLETED and not isinstance(node, Pause):
            if isinstance(node, Choice):
                value = _choice(node, path, value)
            codec = codec_for(node) if node is not None else untyped()
            data = from_json(row, f"row {row.seq} of its journal")
            data = {key: each for key, each in data.items() if key not in ("patch", "own")}
            data |= encode_value(codec, value, None, where=f"output of {path!r}", path=path)
            return [*rows[:index], row.replace(data=to_json(data)), *rows[index + 1 :]]
    raise ResumeError(
        f"{path!r} has no output before the fork that could be replaced",
        hint=f"those that have one: {', '.join(row.path for row in rows if row.kind == COMPLETED)}",
    )


def _choice(node: Choice, path: str, value: Any) -> list[Any]:
    arms = [arm.id for arm in node.arms]
    if not is_items(value) or not all(each in arms for each in value):
        raise ResumeError(f"what branch {path!r} has chosen is a list of its arms: {', '.join(arms)}")
    return list(value)


class _Cut:
    """
    The paths that no longer hold, once the step at *at* is to run again.
    """

    def __init__(self, at: str) -> None:
        self.at = at
        self.gone: list[str] = []
        self.rounds: list[tuple[str, int]] = []
        """Loops, and the first of their rounds that does not hold."""
        self.inside: list[str] = []
        """The rounds and items that the step stands in."""
        self.arms: list[tuple[str, str]] = []
        """The branches that it stands in, each with the id of the arm."""
        self.seen: list[str] = []

    def covers(self, path: str) -> bool:
        if self.at.startswith((path + "/", path + "[")):  # what lies around it has not ended, either
            return True
        if any(path == each or path.startswith((each + "/", each + "[")) for each in self.gone):
            return True
        return any(
            path.startswith(loop + "[") and int(path[len(loop) + 1 :].partition("]")[0]) >= first
            for loop, first in self.rounds
        )

    def refuse_other_arms(self, rows: Sequence[JournalRow]) -> None:
        """
        Raise ``ResumeError`` where the step stands in an arm that its branch, by *rows*, has not taken.
        """
        for row in rows:
            for path, arm in self.arms:
                if (
                    row.path == path
                    and row.kind == COMPLETED
                    and arm not in from_json(row, f"row {row.seq} of its journal")["out"]
                ):
                    raise ResumeError(
                        f"{self.at!r} stands in an arm that {path!r} did not take",
                        hint=f"outputs={{{path!r}: [{arm!r}]}} has it taken",
                    )

    def sequence(self, nodes: Sequence[PlanNode], prefix: str) -> bool:
        """
        Note what is gone in nodes that follow each other; return whether the step is among them.
        """
        found = False
        for node in nodes:
            if found:
                self.drop(node, prefix)
            else:
                found = self.node(node, prefix)
        return found

    def node(self, node: PlanNode, prefix: str) -> bool:
        path = prefix + node.key
        if path and not path.endswith("/"):
            self.seen.append(path)
        if path == self.at and path != prefix:
            self.drop(node, prefix)
            return True
        match node:
            case Nested():
                return self.sequence(node.plan.nodes, path + "/")
            case Capped():
                found = self.sequence(node.nodes, prefix)
                if found:
                    self.gone += node.marks(prefix)
                return found or self.sequence(node.fallback or (), node.place(prefix)[1])
            case Fork() | Choice():
                hit = [arm.id for arm in node.arms if self.sequence(arm.nodes, prefix)]
                if isinstance(node, Choice):
                    self.arms += ((path, arm) for arm in hit)
                found = bool(hit)
                if found and node.map is not None:
                    self.gone.append(prefix + node.map.key)
                elif not found and node.map is not None and prefix + node.map.key == self.at:
                    self.gone.append(self.at)
                    return True
                return found
            case Dag():
                return self.graph(node, prefix)
            case Each() | Loop() if self.at.startswith(path + "["):
                index, closed, _ = self.at[len(path) + 1 :].partition("]")
                if not (closed and index.isdecimal()):
                    return False
                inner = f"{path}[{index}]"
                self.inside.append(inner)
                if isinstance(node, Loop):
                    self.rounds.append((path, int(index) + 1))
                if self.at == inner:
                    self.gone.append(inner)
                    return True
                return self.sequence(node.body, inner)
            case _:
                return False

    def graph(self, node: Dag, prefix: str) -> bool:
        hit = [index for index, item in enumerate(node.items) if self.sequence(item.nodes, prefix)]
        for index in hit:  # grows while it is read
            hit += [fed for fed in node.items[index].feeds if fed not in hit]
        for index in hit[1:]:
            for inner in node.items[index].nodes:
                self.drop(inner, prefix)
        return bool(hit)

    def drop(self, node: PlanNode, prefix: str) -> None:
        self.gone.append(prefix + node.key)
        if isinstance(node, Fork | Choice):
            for arm in node.arms:
                for inner in arm.nodes:
                    self.drop(inner, prefix)
            if node.map is not None:
                self.gone.append(prefix + node.map.key)
        elif isinstance(node, Dag):
            for item in node.items:
                for inner in item.nodes:
                    self.drop(inner, prefix)
