"""
PromptMemo: what the clients of models make of a run's prompts, kept from one call to the next.
"""

from __future__ import annotations

from typing import Any

__all__ = ["PromptMemo"]


class PromptMemo:
    """
    A place for each format to keep what it made of the last prompt.

    It belongs to the run and ends with it, so nothing of one conversation outlives it or is seen by another.
    """

    __slots__ = ("kept",)

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        """By the name of the format."""

    def __repr__(self) -> str:
        return "PromptMemo()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PromptMemo)  # what is kept saves time, and says nothing that the prompt does not

    def __hash__(self) -> int:
        return hash(PromptMemo)
