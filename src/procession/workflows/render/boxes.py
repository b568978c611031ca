"""
A graph as boxes and arrows for a terminal, drawn by termaid from the Mermaid text.
"""

from __future__ import annotations

from procession.errors import InputError
from procession.workflows.render.mermaid import mermaid
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import Overlay
from procession.workflows.render.text import cut
from procession.workflows.spec import GraphSpec

__all__ = ["boxes"]


def boxes(spec: GraphSpec, marks: Overlay | None = None, options: DrawOptions | None = None) -> str:
    """
    Return *spec* as boxes and arrows made of characters, ending with a line break; a line that is too wide is cut.

    Raises ``InputError`` where termaid is not installed.
    """
    options = options if options is not None else DrawOptions()
    try:
        import termaid
    except ImportError:
        raise InputError("drawing boxes needs the package termaid", hint="pip install 'procession[draw]'") from None
    drawn = termaid.render(
        mermaid(spec, marks, options), use_ascii=not options.unicode, padding_x=2, padding_y=0, gap=2
    )
    text = drawn if options.unicode else drawn.encode("ascii", "backslashreplace").decode()
    dots = "…" if options.unicode else "..."
    lines = [line.rstrip() for line in text.rstrip().split("\n")]
    return "\n".join(line if options.width is None else cut(line, options.width, dots=dots) for line in lines) + "\n"
