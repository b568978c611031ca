"""
The shapes of an SVG: one for each kind of node.
"""

from __future__ import annotations

from collections.abc import Iterator

from procession.workflows.render.layout import Rect

__all__ = ["number", "shape"]

SLANT = 12.0


def number(value: float) -> str:
    """
    Return a number for an SVG, with one decimal at most: the same on every machine.

    >>> number(12.0), number(0.25), number(-0.01)
    ('12', '0.2', '0')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def shape(kind: str, rect: Rect) -> Iterator[str]:
    """
    Yield the shape of a node of *kind* that fills *rect*.
    """
    left, top, right, bottom = rect.x, rect.y, rect.x + rect.width, rect.y + rect.height
    middle, level = rect.x + rect.width / 2, rect.y + rect.height / 2
    match kind:
        case "start" | "end":
            yield _circle(middle, level, rect.width / 2)
            if kind == "end":
                yield _circle(middle, level, rect.width / 2 - 3)
        case "processor":
            yield _box(rect, 12.0)
        case "agent":
            yield _box(rect, rect.height / 2)
        case "tool":
            yield _box(rect, 0.0)
            yield f'<path class="line" d="M{number(left + 7)} {number(top)}V{number(bottom)}"/>'
            yield f'<path class="line" d="M{number(right - 7)} {number(top)}V{number(bottom)}"/>'
        case "workflow":
            yield _box(rect, 4.0)
            yield _box(Rect(left + 3, top + 3, rect.width - 6, rect.height - 6), 3.0)
        case "decision" | "loop":
            yield _polygon([(middle, top), (right, level), (middle, bottom), (left, level)])
        case "map":
            yield _polygon([(left + SLANT, top), (right, top), (right - SLANT, bottom), (left, bottom)])
        case "foreach":
            yield _polygon([(left, top), (right, top), (right - SLANT, bottom), (left + SLANT, bottom)])
        case "sleep":
            yield _polygon(
                [
                    (left + SLANT, top), (right - SLANT, top), (right, level), (right - SLANT, bottom),
                    (left + SLANT, bottom), (left, level),
                ]
            )  # fmt: skip
        case "fork" | "join":
            yield _box(rect, 3.0)
        case _:
            yield _box(rect, 3.0)


def _box(rect: Rect, corner: float) -> str:
    round = f' rx="{number(corner)}"' if corner else ""
    return (
        f'<rect class="shape" x="{number(rect.x)}" y="{number(rect.y)}" width="{number(rect.width)}"'
        f' height="{number(rect.height)}"{round}/>'
    )


def _circle(x: float, y: float, radius: float) -> str:
    return f'<circle class="shape" cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"/>'


def _polygon(points: list[tuple[float, float]]) -> str:
    return f'<polygon class="shape" points="{" ".join(f"{number(x)},{number(y)}" for x, y in points)}"/>'
