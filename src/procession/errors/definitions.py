"""
Errors of what was built wrongly: raised before anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, TypeAlias

from procession.errors.base import ProcessionError

__all__ = [
    "DefinitionError", "Finding", "Fix", "FixAction", "ProcessorDefinitionError", "ToolDefinitionError",
    "WorkflowDefinitionError",
]  # fmt: skip

FixAction: TypeAlias = Literal["rename", "refer", "add", "pick", "remove", "option", "annotate"]
"""
What a :class:`Fix` does: give a step another id, name another step, add a call, pick another output, take something
away, say an option, or change an annotation.
"""


class DefinitionError(ProcessionError):
    """
    Something was built wrongly.
    """

    code: ClassVar[str] = "definition"


class Fix:
    """
    A change that mends what was found, for programs that make changes; ``code`` shows it as it would be written.

    >>> str(Fix("rename", step="clean", to="clean-2", code='clean.renamed("clean-2")'))
    'clean.renamed("clean-2")'
    """

    __slots__ = ("action", "code", "step", "to")

    def __init__(self, action: FixAction, *, code: str, step: str | None = None, to: str | None = None) -> None:
        self.action: FixAction = action
        self.code = code
        """What to write, on one line."""
        self.step = step
        """The id of the step, map or container that it concerns."""
        self.to = to
        """The id that is to stand there, where there is one."""

    def __str__(self) -> str:
        return self.code

    def __repr__(self) -> str:
        return f"Fix({self.action!r}, step={self.step!r}, to={self.to!r}, code={self.code!r})"


class Finding:
    """
    One thing that ``commit()`` found: an error or a warning, where it is and what to do about it.
    """

    __slots__ = ("code", "fix", "hint", "message", "severity", "source", "steps")

    def __init__(
        self,
        code: str,
        message: str,
        *,
        severity: Literal["error", "warning"] = "error",
        hint: str | None = None,
        steps: Sequence[str] = (),
        source: str | None = None,
        fix: Fix | None = None,
    ) -> None:
        self.code = code
        """Stable name of the check."""
        self.message = message
        self.severity: Literal["error", "warning"] = severity
        self.hint = hint
        self.steps = tuple(steps)
        """Ids of the steps involved."""
        self.source = source
        """File and line of the definition, if known."""
        self.fix = fix
        """The change that mends it, where that is mechanical."""

    @property
    def file(self) -> str | None:
        """
        The file of the definition, if known.
        """
        return self.source.rpartition(":")[0] if self.source else None

    @property
    def line(self) -> int | None:
        """
        The line of the definition, from 1, if known.
        """
        number = self.source.rpartition(":")[2] if self.source else ""
        return int(number) if number.isdecimal() else None

    def __str__(self) -> str:
        lines = [f"{self.severity}: {self.code}: {self.message}" + (f" [{self.source}]" if self.source else "")]
        if self.hint:
            lines.append(f"    hint: {self.hint}")
        if self.fix is not None:
            lines.append(f"    fix:  {self.fix}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Finding({self.code!r}, {self.message!r}, severity={self.severity!r})"


class WorkflowDefinitionError(DefinitionError):
    """
    A workflow that cannot work; ``findings`` lists everything that was found, errors first, warnings included.
    """

    code: ClassVar[str] = "workflow-definition"

    def __init__(self, workflow_id: str, findings: Sequence[Finding]) -> None:
        ordered = sorted(findings, key=lambda finding: finding.severity)  # "error" comes before "warning"
        errors = sum(finding.severity == "error" for finding in findings)
        counted = _count(errors, "error")
        if errors < len(findings):
            counted += f" and {_count(len(findings) - errors, 'warning')}"
        shown = "\n".join(f"  {line}" for finding in ordered for line in str(finding).splitlines())
        super().__init__(f"workflow {workflow_id!r} has {counted}:\n{shown}")
        self.workflow_id = workflow_id
        self.findings = tuple(ordered)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
