"""
StructuredRun: what became of the structured output in one run.
"""

from __future__ import annotations

from typing import Any

from procession.agents.structured import StructuredOutput

__all__ = ["StructuredRun"]


class StructuredRun:
    """
    What is wanted now, and what came of it; there is none where no structured output is asked for.
    """

    __slots__ = ("object", "replaced", "used_fallback", "wanted", "warnings")

    def __init__(self, wanted: StructuredOutput | None) -> None:
        self.wanted = wanted
        """What the last attempt was asked for: ``process_input_step`` may change it (D7)."""
        self.object: Any = None
        self.used_fallback = False
        self.warnings: tuple[str, ...] = ()
        self.replaced = False
        """Whether a processor gave the answer itself, so that no further model may be asked (D36)."""
