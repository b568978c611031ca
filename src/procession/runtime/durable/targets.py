"""
Targets: which of the steps that wait is meant, and what its answer must be.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from procession.errors import ResumeError, RunAlreadyClaimed, SchemaError
from procession.runtime.records import Record
from procession.steps.codec import codec_of
from procession.steps.result import Suspended
from procession.steps.schema import schema_of
from procession.workflows.plan import Capped, Choice, Dag, Each, Fork, Leaf, Loop, Nested, Plan, PlanNode

__all__ = ["answer_tree", "choose", "leaf_at", "node_at"]


def choose(
    run_id: str,
    open: Mapping[str, Suspended],
    step: str | None,
    label: str | None,
    *,
    records: Mapping[str, Record],
    labels: Collection[str] = (),
) -> str:
    """
    Return the path of the step that is meant, among those that wait.

    *step* is its path or its id, *label* what it waits under; with neither there must be one alone.  *records* are those
    of the run, *labels* under which an answer was given.

    Raises ``RunAlreadyClaimed`` where what is meant has its answer, ``ResumeError``, naming what waits, where it is
    something else.
    """
    if step is not None and label is None and step not in open and _is_step(records.get(step)):
        raise RunAlreadyClaimed(f"run {run_id}: {step!r} waits for no answer any more")
    if label is not None and label in labels and not any(stop.label == label for stop in open.values()):
        raise RunAlreadyClaimed(f"run {run_id}: the question under the label {label!r} has been answered")
    waiting = tuple(f"{path} (label {stop.label!r})" if stop.label else path for path, stop in open.items())
    if label is not None:
        found = [path for path, stop in open.items() if stop.label == label]
        wanted = f"under the label {label!r}"
    elif step is not None:
        found = [step] if step in open else [path for path in open if _id(path) == step or path.startswith(step + "[")]
        wanted = f"at {step!r}"
    else:
        found = list(open)
        wanted = ""
    if len(found) == 1:
        return found[0]
    if found:
        raise ResumeError(
            f"run {run_id}: {len(found)} steps wait{' ' + wanted if wanted else ''}: {', '.join(waiting)}",
            run_id=run_id,
            waiting=tuple(open),
            hint="say which: resume(..., step=path), or label=",
        )
    raise ResumeError(
        f"run {run_id}: nothing waits {wanted}".rstrip(),
        run_id=run_id,
        waiting=tuple(open),
        hint=f"what waits: {', '.join(waiting) or 'nothing'}",
    )


def _is_step(record: Record | None) -> bool:
    return record is not None and record.kind not in (Each.kind, Loop.kind)  # what may stand for any of its items


def _id(path: str) -> str:
    return path.rpartition("/")[2].partition("[")[0]


def leaf_at(plan: Plan, path: str) -> Leaf | None:
    """
    Return the step at *path*, or ``None`` where the plan has none: one that a step calls itself.
    """
    found = node_at(plan.nodes, path)
    return found if isinstance(found, Leaf) else None


def node_at(nodes: Sequence[PlanNode], path: str, prefix: str = "") -> PlanNode | None:
    """
    Return the node at *path*, among *nodes* and what they contain, which stand at *prefix*.
    """
    found: PlanNode | None
    for node in nodes:
        at = prefix + node.key
        if isinstance(node, Capped):
            found = node_at(node.fallback or (), path, node.place(prefix)[1]) or node_at(node.nodes, path, prefix)
            if found is not None:
                return found
            continue
        if at == path:
            return node
        found = None
        match node:
            case Nested() if path.startswith(at + "/"):
                found = node_at(node.plan.nodes, path, at + "/")
            case Fork() | Choice():
                inside = [arm.nodes for arm in node.arms]
                if node.map is not None:
                    inside.append((node.map,))
                found = _first(inside, path, prefix)
            case Dag():
                found = _first([item.nodes for item in node.items], path, prefix)
            case Each() | Loop() if path.startswith(at + "["):
                end = path.index("]", len(at)) + 1
                found = node_at(node.body, path, path[:end])
            case _:
                pass
        if found is not None:
            return found
    return None


def _first(several: Sequence[Sequence[PlanNode]], path: str, prefix: str) -> PlanNode | None:
    for nodes in several:
        found = node_at(nodes, path, prefix)
        if found is not None:
            return found
    return None


def answer_tree(answer: Any, leaf: Leaf | None, path: str) -> Any:
    """
    Return *answer* as the journal keeps it, once it fits what the step waits for: strictly, ``"no"`` is no ``False``.

    Raises ``SchemaError`` where it does not fit, ``UntypedValue`` where it cannot be kept.
    """
    wanted = leaf.step.resume_type if leaf is not None else None
    codec, where = codec_of(wanted), f"answer to step {path!r}"
    schema = schema_of(wanted)
    if schema is not None:
        try:
            answer = schema.validate_strictly(answer, where=where)
        except SchemaError:
            answer = schema.validate_json(_as_json(answer, wanted, where, path), where=where)
    return codec.encode(answer, where=where, path=path)


def _as_json(answer: Any, wanted: Any, where: str, path: str) -> str:
    """
    Return *answer* as JSON says it, not by the wanted type: that would write what is of another as if it were of that.
    """
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return json.dumps(to_jsonable_python(answer, by_alias=True), ensure_ascii=False)
    except (PydanticSerializationError, ValueError):
        raise SchemaError(
            f"{where} is of type {type(answer).__name__}", path=path, hint=f"it must be {wanted!r}, or JSON for it"
        ) from None
