"""
draw(): one door to all the ways of drawing a workflow.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from procession.errors import InputError
from procession.workflows.describe import Describable, graph_spec
from procession.workflows.render.ascii import tree
from procession.workflows.render.dot import dot
from procession.workflows.render.mermaid import mermaid
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import Ran, overlay
from procession.workflows.spec import GraphSpec

__all__ = ["FORMATS", "DrawFormat", "draw"]

DrawFormat: TypeAlias = Literal["ascii", "mermaid", "dot", "json"]

FORMATS: tuple[DrawFormat, ...] = ("ascii", "mermaid", "dot", "json")


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

    ``ascii`` is an indented tree of at most *width* columns, ``mermaid`` and ``dot`` are diagram languages, ``json``
    is the graph as data.  With *run*, each node says what became of it and how long that took.  Further options are
    those of ``DrawOptions``.

    Raises ``InputError`` for a format that does not exist.

    >>> from procession.workflows.workflow import create_workflow
    >>> workflow = create_workflow("twice", int).map(lambda n: 2 * n, id="double").commit()
    >>> print(draw(workflow), end="")
    twice (workflow)
    └─ map: 2 * n
    """
    spec = workflow if isinstance(workflow, GraphSpec) else graph_spec(workflow)
    if format == "json":
        return spec.to_json(indent=2) + "\n"
    renderers = {"ascii": tree, "mermaid": mermaid, "dot": dot}
    if format not in renderers:
        raise InputError(f"no drawing is called {format!r}", hint=f"there are {', '.join(FORMATS)}")
    return renderers[format](spec, overlay(run, spec), DrawOptions(width=width, **options))
