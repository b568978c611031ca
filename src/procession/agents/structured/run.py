"""
StructuredRun: what became of the structured output in one run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from procession.models.structured_output import StructuredOutput

if TYPE_CHECKING:
    from procession.processors.text_guard import TextGuard

__all__ = ["StructuredRun"]


class StructuredRun:
    """
    What is wanted now, and what came of it; there is none where no structured output is asked for.
    """

    __slots__ = ("guards", "object", "replaced", "used_fallback", "wanted", "warnings")

    def __init__(self, wanted: StructuredOutput | None, guards: Sequence[TextGuard] = ()) -> None:
        self.wanted = wanted
        """What the last attempt was asked for: ``process_input_step`` may change it (D7)."""
        self.guards = guards
        """The text guards that stand in the stream."""
        self.object: Any = None
        self.used_fallback = False
        self.warnings: tuple[str, ...] = ()
        self.replaced = False
        """Whether a processor gave the answer itself, so that no further model may be asked (D36)."""

    def is_guarded(self, *, inside: bool) -> bool:
        """
        Whether text guards look at an answer that is to be JSON itself: those of this run, or of another one that it is
        *inside* of, which takes the answer for a text.
        """
        return (inside or bool(self.guards)) and self.wanted is not None and self.wanted.model is None
