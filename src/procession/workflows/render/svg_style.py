"""
The colours of an SVG, light and dark.

The palette is that of Okabe and Ito, which people with any kind of colour blindness can tell apart; where a colour says
something, a sign, a word or the look of a line says it as well.
"""

from __future__ import annotations

__all__ = ["STYLE"]

_LIGHT = {
    "page": "#ffffff", "ink": "#1b1f24", "soft": "#57606a", "line": "#57606a", "shape": "#ffffff", "rim": "#57606a",
    "box": "#f4f6f8", "frame": "#afb8c1", "bar": "#24292f",
    "good": "#d0e6f5", "good-rim": "#0072b2", "bad": "#f6d3bd", "bad-rim": "#d55e00",
    "stop": "#fbe5b8", "stop-rim": "#b87400", "off": "#eeeeee", "off-rim": "#777777",
    "wait": "#f0d9e8", "wait-rim": "#b05c8f", "busy": "#cfeee4", "busy-rim": "#00795a",
    "back": "#f7f4c2", "back-rim": "#8a7c00",
}  # fmt: skip

_DARK = {
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
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--ink);\
text-anchor:middle}
.name,.title,.key{text-anchor:start}
.name{font-weight:600}
.title,.label text{fill:var(--soft)}
.page,.behind{fill:var(--page)}
.behind.inside{fill:var(--box)}
.shape{fill:var(--shape);stroke:var(--rim);stroke-width:1.3}
.line{stroke:var(--rim);stroke-width:1.3}
.fork .shape,.join .shape{fill:var(--bar);stroke:none}
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


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())


def _status(name: str) -> str:
    colour, look = _STATUS[name]
    rim = "off-rim" if colour == "page" else f"{colour}-rim"
    return f".{name}:not(.fork) .shape{{fill:var(--{colour});stroke:var(--{rim});{look}}}"


def _scoped(rules: str) -> str:
    """
    Return *rules* for this drawing alone: in a page that contains it, everything else keeps its look.
    """
    lines = [line for line in rules.strip().split("\n") if line]
    made: list[str] = []
    for line in lines:
        selectors, _, rest = line.partition("{")
        made.append(",".join(f".procession-graph {each}" for each in selectors.split(",")) + "{" + rest)
    return "\n".join(made)


STYLE = (
    "\n.procession-graph{" + _variables(_LIGHT) + "}\n"
    "@media (prefers-color-scheme:dark){.procession-graph{"
    + _variables(_DARK)
    + "}}\n"
    + _scoped(_RULES)
    + "\n"
    + _scoped("\n".join(_status(name) for name in _STATUS))
    + "\n"
)
