"""
A graph as PNG: the picture of the SVG in dots, with a font that comes with it.
"""

from __future__ import annotations

import re
from pathlib import Path

from procession.errors import InputError
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import Overlay
from procession.workflows.render.svg import svg
from procession.workflows.spec import GraphSpec

__all__ = ["png"]

FONT = Path(__file__).with_name("fonts") / "DejaVuSansMono.ttf"
FAMILY = '"DejaVu Sans Mono"'

# What the font certainly has, so that no other is looked for: Latin, Greek, Cyrillic, and the signs of drawings.
IN_FONT = re.compile(
    "[\t\n -~\u00a0-\u01c3\u038e-\u03a1\u03a3-\u03ce\u0400-\u045f\u2010-\u2023\u2026\u2190-\u2213\u2241-\u2269\u228d-\u22a5\u2500-\u262f\u270c-\u2727]*"
)

SIDE = 16_000
AREA = 50_000_000
"""How many dots a picture may have: four bytes each are held while it is made."""
_READABLE = 0.25
"""Below this scale no text can be read."""
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


def png(spec: GraphSpec, marks: Overlay | None = None, options: DrawOptions | None = None) -> bytes:
    """
    Return *spec* as a PNG of ``options.scale`` dots for each pixel of the SVG, of fewer where it would be too large.

    The same graph gives the same bytes with the same version of resvg, as long as its text is in Latin, Greek or Cyrillic
    letters: for others, fonts of this machine are used.

    Raises ``InputError`` where resvg or fast-sugiyama is not installed, for a scale that is no number above zero, and
    where the drawing is too large for a picture in dots.
    """
    options = options if options is not None else DrawOptions()
    if options.theme == "auto":
        options = options.replace(theme="light")
    try:
        import resvg_py
    except ModuleNotFoundError:
        raise InputError(
            "a drawing as png needs resvg, which is not installed", hint="pip install 'procession[draw]'"
        ) from None
    text = svg(spec, marks, options, fonts=FAMILY)
    return resvg_py.svg_to_bytes(
        svg_string=text,
        zoom=_zoom(text, options.scale),
        font_files=[str(FONT)],
        skip_system_fonts=IN_FONT.fullmatch(text) is not None,
        monospace_family=FAMILY.strip('"'),
    )


def _zoom(text: str, scale: float) -> float:
    """
    Return how many dots a pixel takes each way: *scale*, or as many as there is room for.
    """
    found = _SIZE.search(text)
    assert found is not None  # every SVG of ours says how large it is
    width, height = float(found[1]), float(found[2])
    zoom: float = min(scale, SIDE / max(width, height), (AREA / (width * height)) ** 0.5)
    if zoom < min(scale, _READABLE):
        raise InputError(
            f"the drawing is too large for a png: {width:.0f} by {height:.0f} pixels",
            hint="draw it as svg or html, or close nested workflows with depth=",
        )
    return zoom
