"""
Sizes: how much room text and shapes take in an SVG, in pixels.

The text is set in a monospaced font, so that its width is known without measuring it.
"""

from __future__ import annotations

from procession.workflows.render.flat import Dot
from procession.workflows.render.text import cell_width

__all__ = ["BAR", "CELL", "LINE", "dot_lines", "dot_size", "is_bar", "text_size", "wrap"]

CELL = 7.3
"""Width of one column at 12 px; the widest of the usual monospaced fonts takes 7.23."""
LINE = 16.0
BAR = 8.0
"""Thickness of forks and joins."""
ROUND = 48.0
"""Diameter of start and end."""

_SIDES = {
    "map": 46.0, "sleep": 46.0, "foreach": 46.0, "agent": 40.0, "tool": 40.0,
    "workflow": 36.0,
}  # fmt: skip


def wrap(text: str, columns: int) -> list[str]:
    """
    Return *text* in lines of at most *columns*, broken at blanks; a word that is longer, behind a sign in it.

    >>> wrap("when len(text) > 3", 9)
    ['when', 'len(text)', '> 3']
    """
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cell_width(joined) <= columns:
            line = joined
            continue
        if line:
            lines.append(line)
        while cell_width(word) > columns:
            taken = next(end for end in range(len(word), 0, -1) if cell_width(word[:end]) <= columns or end == 1)
            signs = [end for end in range(taken // 2, taken) if word[end] in "-_:./,("]
            taken = signs[-1] + 1 if signs else taken
            lines.append(word[:taken])
            word = word[taken:]
        line = word
    return [*lines, line] if line or not lines else lines


def text_size(lines: list[str]) -> tuple[float, float]:
    """
    Return width and height of *lines*.
    """
    return max((cell_width(line) for line in lines), default=0) * CELL, len(lines) * LINE


def is_bar(dot: Dot) -> bool:
    """
    Return whether *dot* is drawn as a bar, which has no text.
    """
    return dot.node.kind in ("fork", "join")


def dot_lines(dot: Dot) -> list[str]:
    """
    Return the lines of text that stand in *dot*.
    """
    if is_bar(dot):
        return []
    columns = 22 if dot.node.kind in ("decision", "loop") else 38
    return [line for text in dot.lines for line in wrap(text, columns)]


def dot_size(dot: Dot) -> tuple[float, float]:
    """
    Return width and height of the shape round the text of *dot*.

    A bar has its thickness both ways: it is as long as what it joins.
    """
    if is_bar(dot):
        return BAR, BAR
    width, height = text_size(dot_lines(dot))
    if dot.node.kind in ("decision", "loop"):  # a rhombus has room for the text where w / W + h / H <= 1
        tall = 2 * height + 14
        return max(width / (1 - height / tall) + 12, 70.0), tall
    if dot.node.kind in ("start", "end"):
        return ROUND, ROUND
    return max(width + _SIDES.get(dot.node.kind, 26.0), 70.0), height + 16
