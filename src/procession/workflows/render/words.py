"""
What drawings say in words about settings of nodes and groups.
"""

from __future__ import annotations

from collections.abc import Iterator

from procession.workflows.render.text import hook_names
from procession.workflows.spec import GroupSpec, NodeSpec

__all__ = ["SUSPENDABLE", "group_settings", "node_settings", "type_name"]

SUSPENDABLE = frozenset({"step", "processor", "tool", "agent", "hook"})
"""Kinds of nodes that say themselves that they may suspend; of a workflow, the steps inside say it."""


def group_settings(group: GroupSpec) -> Iterator[str]:
    """
    Yield how a container works, where that is not what it does anyway.
    """
    options = group.options or {}
    if group.merge is not None and group.kind == "parallel":
        yield f"merge={group.merge}"
    for name in ("on_block", "on_failure"):
        if options.get(name) == "wait":
            yield f"{name}=wait"
    if options.get("mode") == "first":
        yield "first match"
    if options.get("on_no_match") == "skip":
        yield "none: pass on"
    if group.concurrency is not None:
        yield f"concurrency={group.concurrency}"
    if options.get("on_error") == "collect":
        yield "failures collected"
    if "max_iterations" in options:
        yield f"at most {options['max_iterations']}"


def node_settings(node: NodeSpec) -> Iterator[str]:
    """
    Yield what a node is restricted to, how it is tried again and what it may take.
    """
    if node.on:
        yield f"on {hook_names(node.on)}"
    if node.retry is not None:
        yield f"{node.retry.get('max_attempts', 1)} attempts"
    if node.timeout is not None:
        yield f"timeout {node.timeout:g}s"
    if node.budget is not None:
        yield f"budget {' '.join(f'{name}={value}' for name, value in node.budget.items())}"


def type_name(ref: str | None) -> str:
    """
    Return the name of a schema in a drawing, or a question mark where there is none.
    """
    return (ref or "").rpartition("-")[0] or "?"
