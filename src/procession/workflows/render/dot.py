"""
A graph as Graphviz DOT text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from procession.workflows.render.flat import Box, Dot, Item, Line, flatten, legend_of
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import Mark, Overlay, legend_text
from procession.workflows.render.sizes import wrap
from procession.workflows.render.svg_style import LIGHT
from procession.workflows.spec import GraphSpec

__all__ = ["dot"]

_SHAPES: Mapping[str, Mapping[str, str]] = {
    "step": {"shape": "box"},
    "hook": {"shape": "box"},
    "model": {"shape": "box"},
    "processor": {"shape": "box", "style": "rounded"},
    "agent": {"shape": "ellipse"},
    "tool": {"shape": "component"},
    "workflow": {"shape": "box", "peripheries": "2"},
    "map": {"shape": "parallelogram", "margin": "0,0"},
    "sleep": {"shape": "hexagon"},
    "decision": {"shape": "diamond"},
    "loop": {"shape": "diamond"},
    "foreach": {"shape": "trapezium"},
    "fork": {"shape": "box", "style": "filled", "fillcolor": "#333333", "fontcolor": "#ffffff", "height": "0.2"},
    "join": {"shape": "box", "style": "filled", "fillcolor": "#333333", "fontcolor": "#ffffff", "height": "0.2"},
    "start": {"shape": "circle"},
    "end": {"shape": "doublecircle"},
}

_COLOURS = {
    "success": LIGHT["good-rim"],
    "failed": LIGHT["bad-rim"],
    "blocked": LIGHT["stop-rim"],
    "cancelled": LIGHT["off-rim"],
    "suspended": LIGHT["wait-rim"],
    "running": LIGHT["busy-rim"],
    "bailed": LIGHT["back-rim"],
    "skipped": LIGHT["off-rim"],
    "added": LIGHT["good-rim"],
    "removed": LIGHT["bad-rim"],
    "changed": LIGHT["stop-rim"],
}
_EDGES: Mapping[str, Mapping[str, str]] = {
    "ran": {"color": LIGHT["good-rim"], "penwidth": "2.5"},
    "added": {"color": LIGHT["good-rim"], "penwidth": "2.5"},
    "removed": {"color": LIGHT["bad-rim"], "style": "dashed"},
}
_SIGNS = {"added": "+ ", "removed": "- "}


def dot(spec: GraphSpec, marks: Overlay | None = None, options: DrawOptions | None = None) -> str:
    """
    Return *spec* as a DOT digraph, ending with a line break.
    """
    options = options if options is not None else DrawOptions()
    flat = flatten(spec, marks or Overlay(), options)
    lines = [
        f"digraph {_quote(spec.workflow_id)} {{",
        f'  graph [rankdir="{options.direction}", fontname="Helvetica", labeljust="l"]',
        '  node [fontname="Helvetica"]',
        '  edge [fontname="Helvetica"]',
        *_items(flat.items, 1),
        *_legend(legend_of(flat), options),
        *(_edge(line, options.direction) for line in flat.lines),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _items(items: Iterable[Item], level: int) -> Iterator[str]:
    indent = "  " * level
    for item in items:
        if isinstance(item, Box):
            yield f"{indent}subgraph cluster_{item.name} {{"
            yield f"{indent}  label={_quote(item.label)}"
            yield from _items(item.items, level + 1)
            yield f"{indent}}}"
        else:
            yield f"{indent}{item.name} [{_attributes(_look(item))}]"


def _legend(legend: tuple[Mark, ...], options: DrawOptions) -> Iterator[str]:
    if not legend:
        return
    yield "  subgraph cluster_legend {"
    yield '    label="legend"'
    for index, mark in enumerate(legend):
        text = legend_text(mark, plain=not options.unicode)
        look = {"label": text, "shape": "box", "color": _COLOURS.get(mark.status, LIGHT["off-rim"]), "penwidth": "2"}
        yield f"    k{index} [{_attributes(look)}]"
    yield "  }"


def _look(item: Dot) -> dict[str, str]:
    look = {"label": _broken(item.lines, 38), **_SHAPES[item.node.kind]}
    if item.node.placeholder:
        look["style"] = f"{look['style']},dashed" if "style" in look else "dashed"
    if item.mark is not None and item.mark.status in _COLOURS:
        look["color"] = _COLOURS[item.mark.status]
        look["penwidth"] = "2"
    return look


def _edge(line: Line, direction: str) -> str:
    text = f"{_SIGNS.get(line.mark or '', '')}{line.label}"
    look = {"label": _broken([text], 28)} if text else {}
    look |= _EDGES.get(line.mark or "", {})
    if line.kind == "back":
        look["style"] = "dashed"
        look["constraint"] = "false"
        look["tailport"] = look["headport"] = "e" if direction == "TB" else "s"  # beside what leads on
    return f"  {line.source} -> {line.target}" + (f" [{_attributes(look)}]" if look else "")


def _broken(lines: Iterable[str], columns: int) -> str:
    return "\n".join(line for text in lines for line in wrap(text, columns))


def _attributes(look: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={_quote(value)}" for name, value in look.items())


def _quote(text: str) -> str:
    # Graphviz reads HTML entities also in plain labels.
    escaped = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
