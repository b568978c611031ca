"""
draw(): one door to all the ways of drawing a workflow.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args, overload

from procession.errors import InputError
from procession.workflows.describe import Describable, graph_spec
from procession.workflows.render.ascii import tree
from procession.workflows.render.boxes import boxes
from procession.workflows.render.dot import dot
from procession.workflows.render.html import html
from procession.workflows.render.mermaid import mermaid
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import Overlay, Ran, overlay
from procession.workflows.render.png import png
from procession.workflows.render.serving import serving
from procession.workflows.render.svg import svg
from procession.workflows.render.svg_style import Theme
from procession.workflows.render.text import json_text
from procession.workflows.spec import GraphSpec

__all__ = ["FORMATS", "DrawFormat", "TextFormat", "draw", "draw_spec"]

TextFormat: TypeAlias = Literal["ascii", "boxes", "mermaid", "dot", "svg", "html", "json"]
"""What a drawing may be as text."""
DrawFormat: TypeAlias = TextFormat | Literal["png"]

FORMATS: tuple[DrawFormat, ...] = (*get_args(TextFormat), "png")

_RENDERERS = {"ascii": tree, "boxes": boxes, "mermaid": mermaid, "dot": dot, "svg": svg, "html": html}
_CHOICES = {"theme": get_args(Theme), "direction": ("TB", "LR")}


@overload
def draw(
    workflow: Describable | GraphSpec,
    format: Literal["png"],
    *,
    run: Ran | None = None,
    width: int | None = None,
    **options: Any,
) -> bytes: ...
@overload
def draw(
    workflow: Describable | GraphSpec,
    format: TextFormat = "ascii",
    *,
    run: Ran | None = None,
    width: int | None = None,
    **options: Any,
) -> str: ...
@overload
def draw(
    workflow: Describable | GraphSpec,
    format: DrawFormat,
    *,
    run: Ran | None = None,
    width: int | None = None,
    **options: Any,
) -> str | bytes: ...
def draw(
    workflow: Describable | GraphSpec,
    format: DrawFormat = "ascii",
    *,
    run: Ran | None = None,
    width: int | None = None,
    **options: Any,
) -> str | bytes:
    """
    Return a drawing of *workflow*: text that ends with a line break, or the bytes of a ``png``.

    The same graph gives the same drawing.  ``ascii`` is an indented tree of at most *width* columns, ``boxes`` are boxes
    and arrows for a terminal, ``mermaid`` and ``dot`` are diagram languages, ``svg`` and ``png`` are pictures, ``html`` is
    a page with one, ``json`` is the graph as data.  With *run*, each node says what became of it and how long that took,
    and the edges that the run followed stand out.  Further options are those of ``DrawOptions``.

    Raises ``InputError`` for a format or an option that does not exist, and where ``boxes``, ``svg``, ``png`` or ``html``
    lack a package that they need, with the command that installs it.

    >>> from procession.workflows.workflow import create_workflow
    >>> workflow = create_workflow("twice", int).map(lambda n: 2 * n, id="double").commit()
    >>> print(draw(workflow), end="")
    twice (workflow)
    └─ map: 2 * n
    """
    spec = workflow if isinstance(workflow, GraphSpec) else graph_spec(workflow)
    if format not in FORMATS:
        raise InputError(f"no drawing is called {format!r}", hint=f"there are {', '.join(FORMATS)}")
    made = _options(width=width, **options)
    shown = spec if format == "json" else serving(spec)  # data has all that is there, and the hash of that
    marks = overlay(run, shown)
    return png(shown, marks, made) if format == "png" else draw_spec(shown, format, marks, made)


def _options(**options: Any) -> DrawOptions:
    for name, value in options.items():
        if name not in DrawOptions.__fields__:
            raise InputError(f"drawings have no option {name!r}", hint=f"there are {', '.join(DrawOptions.__fields__)}")
        if name in _CHOICES and value not in _CHOICES[name]:
            raise InputError(f"no {name} is called {value!r}", hint=f"there are {', '.join(_CHOICES[name])}")
    made = DrawOptions(**options)
    if not made.scale > 0:
        raise InputError(f"scale={made.scale!r} is no size", hint="it is a number above zero: 2 by default")
    return made


def draw_spec(spec: GraphSpec, format: TextFormat, marks: Overlay, options: DrawOptions) -> str:
    """
    Return a drawing of *spec* with *marks* laid over it.
    """
    if format != "json":
        return _RENDERERS[format](spec, marks, options)
    content = spec.to_dict()
    if marks.nodes or marks.edges:
        content["run"] = marks.to_dict()
    return json_text(content)
