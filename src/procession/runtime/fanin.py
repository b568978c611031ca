"""
Fan-in: what goes on after branches, and the maps that say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from procession.errors import MergeConflict, RunError
from procession.runtime.events import Note
from procession.runtime.executor import fail, is_awaitable
from procession.runtime.mapped import made_of_fields
from procession.runtime.records import Record
from procession.runtime.state import RunState, Walk
from procession.steps.forkable import MergePolicy
from procession.workflows.plan import Map, PlanNode

__all__ = ["is_forkable", "merged", "run_map"]


def is_forkable(value: object) -> bool:
    """
    Return whether *value* is a ``Forkable``, by its class alone.
    """
    kind = type(value)
    return hasattr(kind, "adopt") and hasattr(kind, "fork") and hasattr(kind, "merge")


async def merged(
    node: PlanNode, policy: MergePolicy, value: Any, outputs: Mapping[str, Any], run: RunState, path: str, detail: bool
) -> Any:
    """
    Return what goes on after branches without a map: one value where it can be forked, else the mapping.
    """
    conflicts: tuple[str, ...] = ()
    failed: BaseException | None = None
    made: Any = None
    try:
        if is_forkable(value):
            made = value.merge(outputs, policy)
        elif callable(policy):
            made = policy(value, outputs)
        else:
            return outputs
        if is_awaitable(made):
            made = await made
    except MergeConflict as error:
        failed, conflicts = error, error.branches
    except BaseException as error:
        return fail(run, node, path, error)
    if detail:
        name = policy if isinstance(policy, str) else getattr(policy, "__name__", "function")
        payload = {"policy": name, "branches": tuple(outputs), "conflicts": conflicts}
        run.append(Note("merge.applied", run.now(), path, node.id, 1, payload))
    return made if failed is None else fail(run, node, path, failed)


async def run_map(node: Map, value: Any, run: RunState, prefix: str, walk: Walk, detail: bool, base: Any = None) -> Any:
    """
    Run a map over *value*; *base* is what branches before it were given.
    """
    path = prefix + node.key
    base = value if base is None else base
    record: Record | None = None
    journal = run.journal if node.pick is None and not is_forkable(base) else None
    if journal is not None and (known := run.records.get(path)) is not None and known.status == "success":
        try:
            return journal.recall(known, node, value)
        except Exception as error:
            return fail(run, node, path, error)
    if detail:
        record = run.records[path] = Record(node, path, run.now(), value)
        run.append(record)
    try:
        if node.function is not None:
            output = node.function(value)
            if is_awaitable(output):
                output = await output
        elif node.fields is not None:
            output = await made_of_fields(node, value, run, prefix)
        else:
            output = _picked(node, value, run, prefix, path)
        if is_forkable(base):
            output = base.adopt(value, output, allow_drop=node.allow_drop)
        if journal is not None and record is not None:
            await journal.completed(run, record, output)
    except BaseException as error:
        return fail(run, node, path, error, record)
    return output if record is None else run.done(record, output)


def _picked(node: Map, value: Any, run: RunState, prefix: str, path: str) -> Any:
    wanted = node.pick
    assert wanted is not None
    if isinstance(value, dict) and wanted in value:
        return cast("dict[str, Any]", value)[wanted]
    found = run.records.get(prefix + wanted)
    if found is None or found.status != "success":
        raise RunError(
            f"map {node.id!r} picks {wanted!r}, which has no output here",
            path=path,
            hint="its arm of a branch may not have run: give the branch a default, or map with a function",
        )
    return found.output
