"""
Violation: what a guard found, and what became of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from procession.messages.value import Value

__all__ = ["GuardOutcome", "GuardReport", "OnViolation", "Violation"]

GuardOutcome = Literal["allowed", "modified", "blocked", "would_block", "warned", "skipped", "error", "timeout"]
"""
What became of what a guard looked at (D36).

``allowed`` nothing was found, ``skipped`` it was not asked; ``modified`` something was hidden, dropped, answered in the
model's place or sent back; ``would_block`` is a monitor's; with ``error`` and ``timeout`` it could not check.
"""


class Violation(Value):
    """
    What a guard found in one hook call.

    ``message`` is its reason, ``detail`` the metadata that it gave.
    """

    processor_id: str
    message: str
    detail: Any = None
    outcome: GuardOutcome = "blocked"
    hook: str = ""
    step_number: int | None = None
    sent_back: bool = False
    """Whether a verdict sent the step back, and the model answered anew, rather than stopped the run."""


class GuardReport(Value):
    """
    What a guard came to at one hook in a whole run: the strictest of its outcomes there.
    """

    processor_id: str
    hook: str
    outcome: GuardOutcome


OnViolation: TypeAlias = Callable[[Violation], Awaitable[None] | None]
"""Told once per tripwire and once per hook call in which another strategy found something; it changes nothing (D13)."""
