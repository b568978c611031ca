"""
DrawOptions: how a graph is drawn.
"""

from __future__ import annotations

from typing import Literal

from procession.messages.value import Value
from procession.workflows.render.svg_style import Theme

__all__ = ["DrawOptions"]


class DrawOptions(Value, kw_only=True):
    """
    How a graph is drawn.
    """

    width: int | None = None
    """Columns that a line of text may take; ``None`` for as many as it needs."""
    unicode: bool = True
    """Whether lines and marks may be drawn with characters outside ASCII."""
    depth: int | None = None
    """How many levels of nested workflows are drawn open; ``None`` for all, but an agent inside another workflow stays
    closed."""
    direction: Literal["TB", "LR"] = "TB"
    """From top to bottom, or from left to right."""
    show_hooks: bool = True
    """Whether the hooks of processors are shown."""
    show_types: bool = False
    """Whether the types of what flows are shown."""
    max_label: int = 60
    """Columns after which a label is cut."""

    theme: Theme = "auto"
    """Of pictures: ``light``, ``dark``, or what whoever looks at them prefers; a PNG has one look, and is light then."""
    scale: float = 2.0
    """How many dots of a PNG a pixel of the drawing takes each way."""

    def opens(self, kind: str, level: int) -> bool:
        """
        Return whether what is nested at *level* (from 1) in a node of *kind* is drawn.
        """
        if self.depth is not None:
            return level <= self.depth
        return kind != "agent"
