"""
draw(): one door to all the ways of drawing a workflow.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from procession.errors import InputError
from procession.workflows.describe import Describable, graph_spec
from procession.workflows.render.ascii import tree
from procession.workflows.render.boxes import boxes
from procession.workflows.render.dot import dot
from procession.workflows.render.mermaid import mermaid
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import Overlay, Ran, overlay
from procession.workflows.render.svg import svg
from procession.workflows.render.text import json_text
from procession.workflows.spec import GraphSpec

__all__ = ["FORMATS", "DrawFormat", "draw", "draw_spec"]

DrawFormat: TypeAlias = Literal["ascii", "boxes", "mermaid", "dot", "svg", "json"]

FORMATS: tuple[DrawFormat, ...] = ("ascii", "boxes", "mermaid", "dot", "svg", "json")

_RENDERERS = {"ascii": tree, "boxes": boxes, "mermaid": mermaid, "dot": dot, "svg": svg}


def draw(
    workflow: Describable | GraphSpec,
    format: DrawFormat = "ascii",
    *,
    run: Ran | None = None,
    width: int | None = None,
    **options: Any,
) -> str:
    """
    Return a drawing of *workflow* as text that ends with a line break; the same graph gives the same text.

    ``ascii`` is an indented tree of at most *width* columns, ``boxes`` are boxes and arrows for a terminal,
    ``mermaid`` and ``dot`` are diagram languages, ``svg`` is a picture, ``json`` is the graph as data.  With *run*, each
    node says what became of it and how long that took, and the edges that the run followed stand out.  Further
    options are those of ``DrawOptions``.

    Raises ``InputError`` for a format or an option that does not exist, and where ``boxes`` or ``svg`` lack the package
    they need, with the command that installs it.

    >>> from procession.workflows.workflow import create_workflow
    >>> workflow = create_workflow("twice", int).map(lambda n: 2 * n, id="double").commit()
    >>> print(draw(workflow), end="")
    twice (workflow)
    └─ map: 2 * n
    """
    spec = workflow if isinstance(workflow, GraphSpec) else graph_spec(workflow)
    if format not in FORMATS:
        raise InputError(f"no drawing is called {format!r}", hint=f"there are {', '.join(FORMATS)}")
    unknown = [name for name in options if name not in DrawOptions.__fields__]
    if unknown:
        raise InputError(
            f"drawings have no option {unknown[0]!r}", hint=f"there are {', '.join(DrawOptions.__fields__)}"
        )
    return draw_spec(spec, format, overlay(run, spec), DrawOptions(width=width, **options))


def draw_spec(spec: GraphSpec, format: DrawFormat, marks: Overlay, options: DrawOptions) -> str:
    """
    Return a drawing of *spec* with *marks* laid over it.
    """
    if format != "json":
        return _RENDERERS[format](spec, marks, options)
    content = spec.to_dict()
    if marks.nodes or marks.edges:
        content["run"] = marks.to_dict()
    return json_text(content)
