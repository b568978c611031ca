"""
Violation: what a guard found, and what became of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from procession.messages.value import Value

__all__ = ["GuardOutcome", "OnViolation", "Violation"]

GuardOutcome = Literal["allowed", "modified", "blocked", "would_block", "warned", "skipped", "error", "timeout"]
"""What became of what a guard looked at (D36).  Never ``allowed`` for what was not looked at."""


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


OnViolation: TypeAlias = Callable[[Violation], Awaitable[None] | None]
"""Told once per tripwire and once per hook call in which another strategy found something; it changes nothing (D13)."""
