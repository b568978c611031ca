"""
Errors of what was built wrongly: raised before anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from procession.errors.base import ProcessionError

__all__ = ["DefinitionError", "Finding", "ProcessorDefinitionError", "ToolDefinitionError", "WorkflowDefinitionError"]


class DefinitionError(ProcessionError):
    """
    Something was built wrongly.
    """

    code: ClassVar[str] = "definition"


class Finding:
    """
    One thing that ``commit()`` found: an error or a warning, where it is and what to do about it.
    """

    __slots__ = ("code", "hint", "message", "severity", "source", "steps")

    def __init__(
        self,
        code: str,
        message: str,
        *,
        severity: Literal["error", "warning"] = "error",
        hint: str | None = None,
        steps: Sequence[str] = (),
        source: str | None = None,
    ) -> None:
        self.code = code
        """Stable name of the check."""
        self.message = message
        self.severity = severity
        self.hint = hint
        self.steps = tuple(steps)
        """Ids of the steps involved."""
        self.source = source
        """File and line of the definition, if known."""

    def __str__(self) -> str:
        place = f" [{self.source}]" if self.source else ""
        hint = f"\n    hint: {self.hint}" if self.hint else ""
        return f"{self.severity}: {self.code}: {self.message}{place}{hint}"

    def __repr__(self) -> str:
        return f"Finding({self.code!r}, {self.message!r}, severity={self.severity!r})"


class WorkflowDefinitionError(DefinitionError):
    """
    A workflow that cannot work; ``findings`` lists everything that was found, warnings included.
    """

    code: ClassVar[str] = "workflow-definition"

    def __init__(self, workflow_id: str, findings: Sequence[Finding]) -> None:
        errors = [finding for finding in findings if finding.severity == "error"]
        super().__init__(
            f"workflow {workflow_id!r} has {len(errors)} error{'s' if len(errors) != 1 else ''}:\n"
            + "\n".join(f"  {finding}" for finding in findings)
        )
        self.workflow_id = workflow_id
        self.findings = tuple(findings)


class ProcessorDefinitionError(DefinitionError):
    """
    An object that is no processor, a hook that does not exist, or two processors with one id.
    """

    code: ClassVar[str] = "processor-definition"


class ToolDefinitionError(DefinitionError):
    """
    A function that cannot be a tool.
    """

    code: ClassVar[str] = "tool-definition"
