"""
Abandoning: what waits elsewhere for a step is ended with the run that the step stands in.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from procession.runtime.durable.ledger import Ledger
from procession.runtime.durable.rows import KeptNode, read_rows
from procession.runtime.durable.targets import leaf_at
from procession.runtime.records import Records
from procession.runtime.walk import plan_of
from procession.storage.base import JournalStore
from procession.workflows.plan import Capped, Leaf, Plan

__all__ = ["abandon_all", "delete_run"]


async def abandon_all(plan: Plan, run_id: str, records: Records, store: JournalStore | None) -> None:
    """
    End what waits for those steps in *records* of a run that has ended which gave no output.

    What cannot be ended, because it is held or a store fails, stays as it is: the run's own end stands.
    """
    for path, record in list(records.items()):
        node = record.node
        if isinstance(node, Capped):  # something stands in its place, and not the output of its step
            node = node.nodes[0]
        elif record.stop is None:
            continue
        leaf = leaf_at(plan, path) if isinstance(node, KeptNode) else node
        if isinstance(leaf, Leaf) and leaf.step.abandon is not None:
            with suppress(Exception):
                await leaf.step.abandon(f"{run_id}:{path}", store)


async def delete_run(ledger: Ledger, run_id: str, known: Callable[[str], Any]) -> bool:
    """
    Remove a run, and end what waits for its steps where its workflow is *known*; ``False`` where nothing was removed.
    """
    row = await ledger.store.row(run_id)
    if row is None:
        return False
    workflow = known(row.owner) if row.status == "suspended" and row.kind == "workflow" else None
    rows = await ledger.store.entries(run_id) if workflow is not None else ()
    if not await ledger.store.delete(run_id):
        return False
    if workflow is not None:
        await abandon_all(plan_of(workflow, None), run_id, read_rows(rows).records, ledger.given)
    return True
