"""
Finder: what has been found in one workflow so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Literal

from procession.errors import Finding, Fix
from procession.workflows.definition import WorkflowDefinition
from procession.workflows.nodes import Node

__all__ = ["Finder", "near"]


class Finder:
    """
    Collects findings, each with the place where its node was added.
    """

    def __init__(self, workflow: WorkflowDefinition) -> None:
        self.workflow = workflow
        self.findings: list[Finding] = []

    @cached_property
    def ids(self) -> frozenset[str]:
        """
        The ids of all nodes and of what they contain.
        """
        nodes = self.workflow.nodes
        return frozenset(each for node in nodes for each in (node.id, *(child.id for child in node.children)))

    def say(
        self,
        code: str,
        message: str,
        node: Node | None,
        hint: str,
        *,
        steps: Sequence[str] = (),
        severity: Literal["error", "warning"] = "error",
        fix: Fix | None = None,
    ) -> None:
        """
        Note a finding at *node*, or at the workflow itself.
        """
        concerned = steps or ((node.id,) if node is not None else ())
        source = node.source if node is not None else self.workflow.source
        self.findings.append(
            Finding(code, message, severity=severity, hint=hint, steps=concerned, source=source, fix=fix)
        )


def near(name: str, names: Iterable[str]) -> str | None:
    """
    Return the name that *name* was probably meant to be, or ``None``.
    """
    found = get_close_matches(name, list(names), 1)
    return found[0] if found else None
