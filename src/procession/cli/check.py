"""
``procession check``: what is wrong with a target's workflow.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from procession.cli.target import load_target, workflow_of
from procession.errors import Finding, WorkflowDefinitionError
from procession.workflows.workflow import Workflow
from procession.workflows.workflow import check as find

__all__ = ["Checked", "check"]


class Checked:
    """
    What was found in one target.
    """

    def __init__(self, name: str, findings: Sequence[Finding], steps: int = 0) -> None:
        self.name = name
        self.findings = tuple(sorted(findings, key=lambda finding: finding.severity))  # errors before warnings
        self.steps = steps

    @property
    def errors(self) -> int:
        """
        How many findings are errors.
        """
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def as_json(self) -> str:
        """
        Return this as one line of JSON.
        """
        findings = [
            {
                "code": each.code, "severity": each.severity, "message": each.message, "steps": list(each.steps),
                "hint": each.hint, "fix": str(each.fix) if each.fix is not None else None, "source": each.source,
            }
            for each in self.findings
        ]  # fmt: skip
        told = {"workflow": self.name, "ok": not self.errors, "steps": self.steps, "findings": findings}
        return json.dumps(told, ensure_ascii=False)

    def __str__(self) -> str:
        lines = [str(finding) for finding in self.findings]
        if self.errors:
            lines.append(f"{self.name}: {_count(self.errors, 'error')}, {_count(self._warnings, 'warning')}")
        elif self.findings:
            lines.append(f"{self.name}: no errors, {_count(self._warnings, 'warning')} in {_count(self.steps, 'step')}")
        else:
            lines.append(f"{self.name}: nothing wrong in {_count(self.steps, 'step')}")
        return "\n".join(lines)

    @property
    def _warnings(self) -> int:
        return len(self.findings) - self.errors


def check(target: str) -> Checked:
    """
    Return the findings of what *target* names, nested workflows included.

    Raises ``TargetError`` where it names nothing.
    """
    try:
        workflow = workflow_of(load_target(target), inside=True)
    except WorkflowDefinitionError as error:  # it was committed while it was imported
        return Checked(error.workflow_id, error.findings)
    findings = [*find(workflow)]
    if any(finding.code == "self-reference" for finding in findings):  # its steps have no end
        return Checked(workflow.id, findings)
    steps = 0
    for step in workflow.walk_steps():
        steps += 1
        body: Any = step.body
        if isinstance(body, Workflow):
            known = {str(found) for found in findings}
            findings += [each for each in find(cast("Any", body)) if str(each) not in known]
    return Checked(workflow.id, findings, steps)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
