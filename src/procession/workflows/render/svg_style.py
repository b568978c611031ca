"""
The colours of an SVG, light and dark.

The palette follows that of Okabe and Ito, darkened until the rims of any two states are far apart with any kind of
colour blindness, which a test computes.  Where a colour says something, a sign, a word or the look of a line says it as
well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

__all__ = ["DARK", "FONTS", "LIGHT", "Theme", "style", "variables"]

Theme: TypeAlias = Literal["auto", "light", "dark"]
"""``auto`` is what whoever looks at it prefers; a picture of dots is light then."""

FONTS = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace'
"""What text is set in: the first of these that a machine has."""

LIGHT: Mapping[str, str] = {
    "page": "#ffffff", "ink": "#1b1f24", "soft": "#57606a", "line": "#57606a", "shape": "#ffffff", "rim": "#57606a",
    "box": "#f4f6f8", "frame": "#afb8c1", "bar": "#24292f",
    "good": "#d0e6f5", "good-rim": "#0072b2", "bad": "#f6d3bd", "bad-rim": "#871402",
    "stop": "#fbe5b8", "stop-rim": "#c27e09", "off": "#eeeeee", "off-rim": "#777777",
    "wait": "#f0d9e8", "wait-rim": "#91246e", "busy": "#cfeee4", "busy-rim": "#036643",
    "back": "#f7f4c2", "back-rim": "#786901",
}  # fmt: skip

DARK: Mapping[str, str] = {
    "page": "#0d1117", "ink": "#e6edf3", "soft": "#9ea7b3", "line": "#9ea7b3", "shape": "#22272e", "rim": "#9ea7b3",
    "box": "#161b22", "frame": "#444c56", "bar": "#cdd9e5",
    "good": "#0b3552", "good-rim": "#56b4e9", "bad": "#55260b", "bad-rim": "#ff8c4a",
    "stop": "#4a3405", "stop-rim": "#e69f00", "off": "#2b3036", "off-rim": "#8b949e",
    "wait": "#4a2439", "wait-rim": "#e29cc4", "busy": "#063d2e", "busy-rim": "#2fc79a",
    "back": "#3f3a06", "back-rim": "#f0e442",
}  # fmt: skip

_STATUS = {
    "success": ("good", ""),
    "failed": ("bad", "stroke-width:3"),
    "blocked": ("stop", "stroke-width:3"),
    "cancelled": ("off", "stroke-dasharray:6 3"),
    "suspended": ("wait", "stroke-width:2.5"),
    "running": ("busy", "stroke-dasharray:2 2"),
    "bailed": ("back", ""),
    "skipped": ("page", "stroke-dasharray:1 3"),
    "added": ("good", "stroke-width:3"),
    "removed": ("bad", "stroke-dasharray:6 3"),
    "changed": ("stop", "stroke-width:2.5"),
}

_RULES = """
text{fill:var(--ink);text-anchor:middle}
.name,.title,.key{text-anchor:start}
.name{font-weight:600}
.title,.label text{fill:var(--soft)}
.page,.behind{fill:var(--page)}
.behind.inside{fill:var(--box)}
.shape{fill:var(--shape);stroke:var(--rim);stroke-width:1.3}
.line{stroke:var(--rim);stroke-width:1.3}
.empty .shape{stroke-dasharray:3 3}
.empty text{fill:var(--soft)}
.box{fill:var(--box);stroke:var(--frame)}
.box.group{stroke-dasharray:5 3}
.box.inner{fill:none}
.edge{fill:none;stroke:var(--line);stroke-width:1.3}
.edge.back{stroke-dasharray:5 4}
.edge.ran,.edge.added{stroke:var(--good-rim);stroke-width:3}
.edge.removed{stroke:var(--bad-rim);stroke-width:2;stroke-dasharray:6 3}
marker path{fill:var(--line)}
.arrow-ran path,.arrow-added path{fill:var(--good-rim)}
.arrow-removed path{fill:var(--bad-rim)}
"""


_BARS = ".fork .shape,.join .shape{fill:var(--bar);stroke:none}"
"""Behind the states: a bar has the colour of a bar whatever became of it."""


def style(theme: Theme = "auto", fonts: str = FONTS) -> str:
    """
    Return the style sheet of a drawing whose text is set in *fonts*.

    With ``auto`` it has both themes, and whoever shows it chooses.  With one of them every colour is written out where
    it is used: many programs that read SVG know no variables.
    """
    rules = _scoped(
        "\n".join([f"text{{font:12px {fonts}}}", _RULES.strip(), *(_status(name) for name in _STATUS), _BARS])
    )
    if theme == "auto":
        return f"\n{variables('.procession-graph')}{rules}\n"
    colours = LIGHT if theme == "light" else DARK
    return "\n" + re.sub(r"var\(--([a-z-]+)\)", lambda found: colours[found[1]], rules) + "\n"


def variables(selector: str, theme: Theme = "auto") -> str:
    """
    Return rules that give what *selector* chooses the colours of *theme* as variables.
    """
    light, dark = (f"{selector}{{{_variables(colours)}}}" for colours in (LIGHT, DARK))
    if theme != "auto":
        return f"{light if theme == 'light' else dark}\n"
    return f"{light}\n@media (prefers-color-scheme:dark){{{dark}}}\n"


def _variables(colours: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())


def _status(name: str) -> str:
    colour, look = _STATUS[name]
    rim = "off-rim" if colour == "page" else f"{colour}-rim"
    return f".{name} .shape{{fill:var(--{colour});stroke:var(--{rim});{look}}}"


def _scoped(rules: str) -> str:
    """
    Return *rules* for this drawing alone: in a page that contains it, everything else keeps its look.
    """
    made: list[str] = []
    for line in rules.split("\n"):
        selectors, _, rest = line.partition("{")
        made.append(",".join(f".procession-graph {each}" for each in selectors.split(",")) + "{" + rest)
    return "\n".join(made)
