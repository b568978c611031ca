"""
Abandoning: what waits elsewhere for a step is ended with the run that the step stands in.
"""

from __future__ import annotations

from contextlib import suppress

from procession.runtime.durable.rows import KeptNode
from procession.runtime.durable.targets import leaf_at
from procession.runtime.records import Records
from procession.storage.base import JournalStore
from procession.workflows.plan import Leaf, Plan

__all__ = ["abandon_all"]


async def abandon_all(plan: Plan, run_id: str, records: Records, store: JournalStore | None) -> None:
    """
    End what waits for those steps in *records* of a run that has ended which gave no output.

    What cannot be ended, because it is held or a store fails, stays as it is: the run's own end stands.
    """
    for path, record in list(records.items()):
        if record.stop is None:
            continue
        leaf = leaf_at(plan, path) if isinstance(record.node, KeptNode) else record.node
        if isinstance(leaf, Leaf) and leaf.step.abandon is not None:
            with suppress(Exception):
                await leaf.step.abandon(f"{run_id}:{path}", store)
