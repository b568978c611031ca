"""
A graph as Mermaid text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from procession.workflows.render.flat import Box, Dot, Item, Line, flatten, legend_of
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import Overlay, legend_text
from procession.workflows.render.sizes import wrap
from procession.workflows.render.svg_style import LIGHT
from procession.workflows.render.text import cell_width
from procession.workflows.spec import GraphSpec

__all__ = ["mermaid"]

_SHAPES = {
    "step": ("[", "]"),
    "hook": ("[", "]"),
    "model": ("[", "]"),
    "processor": ("(", ")"),
    "agent": ("([", "])"),
    "tool": ("[[", "]]"),
    "workflow": ("[[", "]]"),
    "map": ("[/", "/]"),
    "sleep": ("{{", "}}"),
    "decision": ("{", "}"),
    "loop": ("{", "}"),
    "foreach": ("[/", "\\]"),
    "fork": ("[", "]"),
    "join": ("[", "]"),
    "start": ("((", "))"),
    "end": ("((", "))"),
}

WORD = 28
"""Columns after which a word is broken."""

# What a label may not contain: ``#`` opens an entity, the rest ends or formats a label.
_ENTITIES = {ord(char): f"#{ord(char)};" for char in '#&"`<>[]{}|\\%;'}


def _state(colour: str, look: str = "") -> str:
    return f"fill:{LIGHT[colour]},stroke:{LIGHT[f'{colour}-rim']},color:#000000{look}"


# Colours that people with any kind of colour blindness can tell apart; the text says the same.
_CLASSES = {
    "bar": "fill:#333333,stroke:#333333,color:#ffffff",
    "empty": f"stroke-dasharray:3 3,color:{LIGHT['soft']}",
    "success": _state("good"),
    "failed": _state("bad", ",stroke-width:3px"),
    "blocked": _state("stop", ",stroke-width:3px"),
    "cancelled": _state("off", ",stroke-dasharray:6 3"),
    "suspended": _state("wait"),
    "running": _state("busy"),
    "bailed": _state("back"),
    "skipped": f"fill:#ffffff,stroke:{LIGHT['off-rim']},color:{LIGHT['soft']}",
    "added": _state("good", ",stroke-width:3px"),
    "removed": _state("bad", ",stroke-dasharray:6 3"),
    "changed": _state("stop", ",stroke-width:2px"),
}

_LINKS = {
    "ran": f"stroke:{LIGHT['good-rim']},stroke-width:3px",
    "added": f"stroke:{LIGHT['good-rim']},stroke-width:3px",
    "removed": f"stroke:{LIGHT['bad-rim']},stroke-width:2px",
}

# Colour alone says nothing to some: a changed edge has a sign.
_SIGNS = {"added": "+ ", "removed": "- "}


def mermaid(spec: GraphSpec, marks: Overlay | None = None, options: DrawOptions | None = None) -> str:
    """
    Return *spec* as a Mermaid flowchart, ending with a line break.
    """
    options = options if options is not None else DrawOptions()
    flat = flatten(spec, marks or Overlay(), options)
    lines = [f"flowchart {options.direction}"]
    lines += _items(flat.items, 1)
    lines += [_arrow(line) for line in flat.lines]
    lines += _link_styles(flat.lines)
    used: dict[str, list[str]] = {}
    legend = legend_of(flat)
    if legend:
        lines.append('  subgraph legend ["legend"]')
        for index, mark in enumerate(legend):
            lines.append(f'    k{index}["{_escape(legend_text(mark, plain=not options.unicode))}"]')
            used.setdefault(mark.status, []).append(f"k{index}")
        lines.append("  end")
    for dot in flat.dots():
        for name in _classes(dot):
            used.setdefault(name, []).append(dot.name)
    for name, look in _CLASSES.items():
        if name in used:
            lines.append(f"  classDef {name} {look}")
            lines.append(f"  class {','.join(used[name])} {name}")
    return "\n".join(lines) + "\n"


def _arrow(line: Line) -> str:
    arrow = "-.->" if line.kind == "back" or line.mark == "removed" else "==>" if line.mark == "ran" else "-->"
    text = f"{_SIGNS.get(line.mark or '', '')}{line.label}"
    label = f'|"{_escape(text)}"|' if text else ""
    return f"  {line.source} {arrow}{label} {line.target}"


def _link_styles(lines: tuple[Line, ...]) -> Iterator[str]:
    """
    Yield a style for the edges of each mark; edges go by their number.
    """
    for mark, look in _LINKS.items():
        numbers = [str(index) for index, line in enumerate(lines) if line.mark == mark]
        if numbers:
            yield f"  linkStyle {','.join(numbers)} {look}"


def _items(items: Iterable[Item], level: int) -> Iterator[str]:
    indent = "  " * level
    for item in items:
        if isinstance(item, Box):
            yield f'{indent}subgraph {item.name} ["{_escape(item.label)}"]'
            yield from _items(item.items, level + 1)
            yield f"{indent}end"
        else:
            left, right = _SHAPES[item.node.kind]
            yield f'{indent}{item.name}{left}"{"<br/>".join(_lines(item))}"{right}'


def _lines(dot: Dot) -> Iterator[str]:
    """
    Yield the lines of a label; Mermaid breaks a long one at blanks, but leaves long words hanging over its shape.
    """
    for text in dot.lines:
        long = any(cell_width(word) > WORD for word in text.split(" "))
        yield from (_escape(line) for line in (wrap(text, WORD) if long else [text]))


def _classes(dot: Dot) -> Iterator[str]:
    if dot.node.kind in ("fork", "join"):
        yield "bar"
    if dot.node.placeholder:
        yield "empty"
    if dot.mark is not None and dot.mark.status in _CLASSES:
        yield dot.mark.status


def _escape(text: str) -> str:
    return text.translate(_ENTITIES) or " "
