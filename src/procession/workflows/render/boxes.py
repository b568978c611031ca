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

_BACKSLASH = "\ue000"
"""For private use: labels write it out, so that none contains it."""


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
    # termaid breaks lines at \\n alone, also where that is what a label says: a backslash goes by another sign.
    source = mermaid(spec, marks, options).replace("<br/>", "\\n").replace("#92;", _BACKSLASH)
    drawn = termaid.render(source, use_ascii=not options.unicode, padding_x=2, padding_y=0, gap=4)
    drawn = drawn.replace(_BACKSLASH, "\\")
    text = drawn if options.unicode else drawn.encode("ascii", "backslashreplace").decode()
    dots = "…" if options.unicode else "..."
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    return "\n".join(line if options.width is None else cut(line, options.width, dots=dots) for line in lines) + "\n"
