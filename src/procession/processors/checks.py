"""
Checks: what ``commit()`` can tell of a workflow because it knows the hooks of processors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from procession.errors import Finding, Fix
from procession.processors.hooks import HOOK_NAMES, Hook, nearest_hook
from procession.workflows.nodes import ForeachNode, LoopNode, MapNode, Node, Pick, StepNode

__all__ = ["check_hooks"]

STREAM = Hook.OUTPUT_STREAM.value


def check_hooks(workflow: Any) -> Iterator[Finding]:
    """
    Find hooks that nobody has, and nodes that a workflow of processors cannot run in a stream.
    """
    before: Node | None = None
    streams = workflow.kind == "processor" and any(
        STREAM in child.step.hooks for node in workflow.nodes for child in node.children
    )
    for node in workflow.nodes:
        for child in (node,) if isinstance(node, StepNode) else node.children:
            if child.on is not None and (workflow.kind == "processor" or child.step.hooks & HOOK_NAMES):
                yield from _unknown(child)
        if streams and not isinstance(node, StepNode):
            yield from _misplaced(node, before)
        before = node


def _unknown(child: StepNode) -> Iterator[Finding]:
    for name in sorted((child.on or frozenset()) - HOOK_NAMES):
        near = nearest_hook(name)
        yield Finding(
            "unknown-hook",
            f"{child.id!r} is to take part in {name!r}, which is no hook",
            hint=f"did you mean {near!r}?" if near else f"the hooks are {', '.join(sorted(HOOK_NAMES))}",
            steps=(child.id,),
            source=child.source,
            fix=Fix("refer", step=child.id, to=near, code=f'on=["{near}"]') if near else None,
        )


def _misplaced(node: Node, before: Node | None) -> Iterator[Finding]:
    if isinstance(node, LoopNode | ForeachNode) or node.kind == "sleep":
        yield Finding(
            "hook-never-runs",
            f"a {node.kind} ({node.id!r}) has no place in a stream, and a processor here has {STREAM}",
            severity="warning",
            hint="keep such nodes in a workflow of their own, without a processor of chunks",
            steps=(node.id,),
            source=node.source,
        )
    elif isinstance(node, MapNode) and isinstance(node.function, Pick) and not _forks(before):
        yield Finding(
            "invalid-map-placement",
            f"{node.id!r} picks {node.function.step_id!r} where there are no branches, which no stream can",
            severity="warning",
            hint="put the pick right after .parallel() or .branch()",
            steps=(node.id,),
            source=node.source,
        )


def _forks(node: Node | None) -> bool:
    return node is not None and node.kind in ("parallel", "branch")
