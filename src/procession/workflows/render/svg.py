"""
A graph as SVG: one file that needs nothing else, no script, no font, no network.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from procession.workflows.render.flat import flatten, legend_of
from procession.workflows.render.layout import Picture, PlacedBox, PlacedDot, Rect, Route, layout
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import Mark, Overlay, legend_text
from procession.workflows.render.sizes import CELL, LINE, dot_lines, is_bar, text_size
from procession.workflows.render.svg_shapes import number, shape
from procession.workflows.render.svg_style import FONTS, style
from procession.workflows.render.text import clean
from procession.workflows.spec import GraphSpec

__all__ = ["svg"]

MARGIN = 16.0
HEAD = 30.0
"""Room for the name of the graph."""


def svg(
    spec: GraphSpec,
    marks: Overlay | None = None,
    options: DrawOptions | None = None,
    *,
    fonts: str = FONTS,
    linked: bool = False,
) -> str:
    """
    Return *spec* as an SVG document, ending with a line break; its text is set in *fonts*.

    With *linked*, each node leads to the element of the page around it that has the node's name, ``n0`` and so on, as id.

    Raises ``InputError`` where fast-sugiyama, which lays it out, is not installed.
    """
    options = options if options is not None else DrawOptions()
    flat = flatten(spec, marks if marks is not None else Overlay(), options)
    picture = layout(flat, options.direction, unicode=options.unicode)
    legend = list(_legend(legend_of(flat), picture, plain=not options.unicode))
    kind = "processor workflow" if spec.kind == "processor" else "workflow"
    title = f"{clean(spec.workflow_id)} ({kind})"
    wide = max(picture.width, text_size([title])[0], *(right for _, right in legend), 0.0) + 2 * MARGIN
    high = picture.height + HEAD + 2 * MARGIN + (LINE + 24 if legend else 0)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="procession-graph" role="img" width="{number(wide)}"'
        f' height="{number(high)}" viewBox="0 0 {number(wide)} {number(high)}">',
        f"<title>{escape(title)}</title>",
        f"<style>{style(options.theme, fonts)}</style>",
        "<defs>",
        *(_arrow_head(name) for name in ("arrow", "arrow-ran", "arrow-added", "arrow-removed")),
        "</defs>",
        f'<rect class="page" width="{number(wide)}" height="{number(high)}"/>',
        f'<text class="name" x="{number(MARGIN)}" y="{number(MARGIN + 12)}">{escape(title)}</text>',
        f'<g transform="translate({number((wide - picture.width) / 2)} {number(MARGIN + HEAD)})">',
        *(line for box in picture.boxes for line in _box(box)),
        *(_edge(route) for route in sorted(picture.routes, key=lambda route: route.mark is not None)),
        *(line for box in picture.boxes for line in _box_title(box)),
        *(line for route in picture.routes for line in _edge_label(route)),
        *(line for placed in picture.dots for line in _dot(placed, linked=linked)),
        "</g>",
    ]
    if legend:
        lines.append(f'<g transform="translate({number(MARGIN)} {number(picture.height + HEAD + MARGIN + 20)})">')
        lines += [line for line, _ in legend]
        lines.append("</g>")
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _dot(placed: PlacedDot, *, linked: bool) -> Iterator[str]:
    dot, rect = placed.dot, placed.rect
    names = ["node", dot.node.kind]
    if dot.node.placeholder:
        names.append("empty")
    if dot.mark is not None:
        names.append(dot.mark.status)
    tag = f'a href="#{dot.name}"' if linked else "g"
    yield f'<{tag} class="{" ".join(names)}">'
    told = clean(dot.node.path or dot.node.label)
    if dot.node.description:
        told += f": {clean(dot.node.description)}"
    yield f"<title>{escape(told)}</title>"
    yield from shape(dot.node.kind, rect)
    if not is_bar(dot):
        yield from _text(dot_lines(dot), rect)
    yield f"</{tag[0]}>"


def _box(placed: PlacedBox) -> Iterator[str]:
    rect = placed.rect
    kind = "nested" if placed.box.kind in ("workflow", "agent", "tool", "step") else "group"
    yield f'<rect class="box {kind}" {_place(rect)} rx="8"/>'
    if kind == "nested":  # a double border
        yield f'<rect class="box inner" {_place(Rect(rect.x + 3, rect.y + 3, rect.width - 6, rect.height - 6))} rx="6"/>'


def _box_title(placed: PlacedBox) -> Iterator[str]:
    rect = placed.rect
    width, height = text_size([placed.title])
    behind = Rect(rect.x + 10, rect.y + 8, width + 8, height + 2)
    yield f'<rect class="behind inside" {_place(behind)}/>'
    yield f'<text class="title" x="{number(rect.x + 14)}" y="{number(rect.y + 20)}">{escape(placed.title)}</text>'


def _edge(route: Route) -> str:
    names = ["edge", *(["back"] if route.back else []), *([route.mark] if route.mark is not None else [])]
    head = f"arrow-{route.mark}" if route.mark is not None else "arrow"
    arrow = f' marker-end="url(#{head})"' if route.arrow else ""
    steps = [letter + " ".join(f"{number(x)} {number(y)}" for x, y in points) for letter, points in route.path]
    return f'<path class="{" ".join(names)}" d="{"".join(steps)}"{arrow}/>'


def _edge_label(route: Route) -> Iterator[str]:
    rect = route.label_rect
    if rect is None:
        return
    yield f'<rect class="behind{" inside" if route.inside else ""}" {_place(rect)}/>'
    yield '<g class="label">'
    yield from _text(list(route.label), rect)
    yield "</g>"


def _text(lines: list[str], rect: Rect) -> Iterator[str]:
    """
    Yield *lines* of text in the middle of *rect*.
    """
    top = rect.y + rect.height / 2 - len(lines) * LINE / 2
    for index, line in enumerate(lines):
        y = top + index * LINE + 12
        yield f'<text x="{number(rect.x + rect.width / 2)}" y="{number(y)}">{escape(line)}</text>'


def _legend(legend: tuple[Mark, ...], picture: Picture, *, plain: bool) -> Iterator[tuple[str, float]]:
    """
    Yield each entry of the legend and where it ends.
    """
    at = 0.0
    for mark in legend:
        text = legend_text(mark, plain=plain)
        width, _ = text_size([text])
        yield (
            f'<g class="node step {mark.status}"><rect class="shape" x="{number(at)}" y="-11" width="14" height="14"'
            f' rx="2"/><text class="key" x="{number(at + 20)}" y="0">{escape(text)}</text></g>',
            at + 20 + width,
        )
        at += 20 + width + 2 * CELL


def _arrow_head(name: str) -> str:
    return (
        f'<marker id="{name}" class="{name}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8"'
        ' markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z"/></marker>'
    )


def _place(rect: Rect) -> str:
    return f'x="{number(rect.x)}" y="{number(rect.y)}" width="{number(rect.width)}" height="{number(rect.height)}"'
