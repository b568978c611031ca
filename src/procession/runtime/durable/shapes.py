"""
Shapes: how the values of a workflow's nodes are kept as JSON.

The types come from annotations: a step's output, a map's result.  A container's value is made of those of what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, cast

from procession.errors import UntypedValue
from procession.messages.shapes import is_items
from procession.steps.codec import Codec, codec_of
from procession.steps.item_error import ItemError
from procession.steps.patches import decode_patch, encode_patch
from procession.workflows.plan import Capped, Choice, Dag, Each, Fork, Leaf, Loop, Map, Nested, Pause, Plan, PlanNode

__all__ = ["codec_for", "decode_value", "encode_output", "encode_value", "shape_of", "untyped"]

_MOST = 4096
"""How many nodes are known at a time."""


def untyped() -> Codec:
    """
    Return the codec of values that no annotation speaks of.
    """
    return codec_of(None)


@lru_cache(maxsize=1024)
def _result_codec(function: Callable[..., Any]) -> Codec:
    from procession.workflows.typeflow import function_types

    return codec_of(function_types(function)[1])


def codec_for(node: PlanNode) -> Codec:
    """
    Return the codec of what a step or a map gives.
    """
    if isinstance(node, Leaf):
        return codec_of(node.step.output_type)
    if isinstance(node, Map) and node.function is not None:
        try:
            return _result_codec(node.function)
        except TypeError:  # a callable that cannot be hashed
            return untyped()
    return untyped()


class Shape:
    """
    What is known of how the output of one node is kept.
    """

    __slots__ = ("codec", "node", "where")

    def __init__(self, node: PlanNode) -> None:
        self.node = node
        self.codec = codec_for(node)
        self.where = f"output of {node.kind} {node.id!r}"


_shapes: dict[int, Shape] = {}


def shape_of(node: PlanNode) -> Shape:
    """
    Return how the output of *node* is kept, found once.
    """
    known = _shapes.get(id(node))
    if known is None:
        if len(_shapes) >= _MOST:
            _shapes.clear()
        known = _shapes[id(node)] = Shape(node)  # the node is kept, so that its id stays its own
    return known


def encode_value(codec: Codec, value: Any, base: Any, *, where: str, path: str, own: bool = False) -> Any:
    """
    Return *value* as JSON knows it; one that can be forked as what has changed since *base*, or whole without one.

    *own* says that a value that can be forked is another object than the step was given.

    Raises ``UntypedValue`` where it could not be read again as what it is.
    """
    if base is not None and type(value) is type(base) and hasattr(value, "changes_since"):
        kept = {"patch": encode_patch(value, base, where=where, path=path)}
        return {**kept, "own": True} if own else kept
    return {"out": codec.encode(value, where=where, path=path)}


def decode_value(codec: Codec, kept: Mapping[str, Any], base: Any, *, where: str, path: str) -> Any:
    """
    Return what :func:`encode_value` was given.
    """
    if "patch" in kept:
        given = base.fork() if kept.get("own") else base
        return decode_patch(given, kept["patch"], where=where, path=path)
    return codec.decode(kept.get("out"), where=where, path=path)


def encode_output(plan: Plan, value: Any) -> Any:
    """
    Return the output of a whole workflow as JSON knows it, by the types of the nodes that it comes from.
    """
    return _encode(plan.nodes, value, f"output of {plan.id!r}")


def _encode(nodes: Sequence[PlanNode], value: Any, where: str) -> Any:
    while nodes and isinstance(nodes[-1], Pause):
        nodes = nodes[:-1]
    last = nodes[-1] if nodes else None
    match last:
        case Leaf() | Map():
            return codec_for(last).encode(value, where=where)
        case Nested():
            return _encode(last.plan.nodes, value, where)
        case Loop():
            return _encode(last.body, value, where)
        case Capped():
            return _either(last, value, where)
        case Each() if is_items(value):
            return _each(last.body, value, where)
        case Fork() | Choice():
            if last.map is not None:
                return codec_for(last.map).encode(value, where=where)
            return _by_id({arm.id: arm.nodes for arm in last.arms}, value, where)
        case Dag():
            ends = {last.items[sink].id: last.items[sink].nodes for sink in last.sinks}
            if len(ends) == 1:
                return _encode(next(iter(ends.values())), value, where)
            return _by_id(ends, value, where)
        case _:
            return untyped().encode(value, where=where)


def _either(node: Capped, value: Any, where: str) -> Any:
    """
    Return the output of what has a budget as JSON knows it: its own, or what stands in its place.
    """
    if node.fallback:
        with suppress(UntypedValue):
            return _encode(node.fallback, value, where)
    if node.budget.on_exceed != "block":
        with suppress(UntypedValue):
            return untyped().encode(value, where=where)
    return _encode(node.nodes, value, where)


def _each(body: Sequence[PlanNode], items: Sequence[Any], where: str) -> list[Any]:
    made: list[Any] = []
    for index, item in enumerate(items):
        at = f"{where}[{index}]"
        made.append(untyped().encode(item, where=at) if type(item) is ItemError else _encode(body, item, at))
    return made


def _by_id(arms: Mapping[str, Sequence[PlanNode]], value: Any, where: str) -> Any:
    if not isinstance(value, dict) or not value.keys() <= arms.keys():
        return untyped().encode(value, where=where)
    outputs = cast("dict[str, Any]", value)
    return {id: _encode(arms[id], output, f"{where}[{id!r}]") for id, output in outputs.items()}
