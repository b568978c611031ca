"""
ResultNotes: what a provider said beside a tool's result, which often repeats what the tool found.

Signatures and ids among it are good byte for byte or not at all: where a guard is to hide some of it, all of it goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ResultNotes"]


class ResultNotes:
    """
    The ``provider_metadata`` of one result.  All branches have the same object: what one of them drops stays dropped,
    whatever they are merged to (D26).
    """

    __slots__ = ("value",)

    def __init__(self, value: Mapping[str, Any]) -> None:
        self.value: Mapping[str, Any] | None = value
        """The metadata as they came, or ``None`` once a guard dropped them."""

    def drop(self) -> None:
        """
        Keep them from readers, messages and later prompts.
        """
        self.value = None
