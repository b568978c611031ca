"""
A graph as a page: one file with the picture, what is known of each node, and the tree; no script, no network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from procession.workflows.render.ascii import tree
from procession.workflows.render.flat import Dot, flatten
from procession.workflows.render.options import DrawOptions
from procession.workflows.render.overlay import Overlay
from procession.workflows.render.svg import svg
from procession.workflows.render.svg_style import FONTS, variables
from procession.workflows.render.text import clean, hook_names
from procession.workflows.render.words import node_settings, type_name
from procession.workflows.spec import GraphSpec

__all__ = ["html"]

_ZOOMS = (("fit", "Fit"), ("50", "50 %"), ("100", "100 %"), ("200", "200 %"))

_PAGE = f"""
body{{margin:0;background:var(--page);color:var(--ink);font:14px/1.5 system-ui,sans-serif}}
header,main{{padding:12px 20px}}
h1{{font-size:18px;margin:0}}
h2{{font-size:15px;margin:20px 0 8px}}
p{{margin:4px 0;color:var(--soft)}}
.zoom{{margin:0 0 0 20px;accent-color:var(--good-rim)}}
.zoom+label{{margin-right:4px}}
.canvas{{margin:8px 20px;max-height:80vh;overflow:auto;border:1px solid var(--frame);border-radius:6px}}
.canvas svg{{display:block;margin:0 auto}}
.canvas a:focus-visible .shape{{stroke-width:4}}
#zoom-fit:checked~.canvas svg{{max-width:100%;max-height:78vh}}
details{{border:1px solid var(--frame);border-radius:6px;background:var(--box);margin:4px 0;padding:4px 12px}}
details:target{{outline:3px solid var(--good-rim)}}
summary{{cursor:pointer}}
summary .kind{{color:var(--soft)}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:6px 0}}
dt{{color:var(--soft)}}
dd{{margin:0;overflow-wrap:anywhere}}
pre{{overflow:auto;font:12px {FONTS};margin:6px 0}}
""".strip()


def html(spec: GraphSpec, marks: Overlay | None = None, options: DrawOptions | None = None) -> str:
    """
    Return *spec* as an HTML page that needs nothing else, ending with a line break.

    The picture is moved by scrolling and shown in four sizes; each of its nodes leads to what is known of it below.

    Raises ``InputError`` where fast-sugiyama, which lays the picture out, is not installed.
    """
    options = options if options is not None else DrawOptions()
    marks = marks if marks is not None else Overlay()
    kind = "processor workflow" if spec.kind == "processor" else "workflow"
    name = escape(f"{clean(spec.workflow_id)} ({kind})")
    picture = svg(spec, marks, options, linked=True).rstrip()
    width = float(picture.split('width="', 1)[1].split('"', 1)[0])
    schemas = dict(spec.schemas)
    for inner in spec.workflows.values():
        schemas |= inner.schemas
    dots = [dot for dot in flatten(spec, marks, options).dots() if dot.node.kind not in ("start", "end", "join")]
    scheme = "light dark" if options.theme == "auto" else options.theme
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width">',
        f'<meta name="color-scheme" content="{scheme}">',
        f"<title>{name}</title>",
        f"<style>\n{variables(':root', options.theme)}{_PAGE}",
        *(
            f"#zoom-{part}:checked~.canvas svg{{width:{width * int(part) / 100:.0f}px;height:auto}}"
            for part, _ in _ZOOMS[1:]
        ),
        "</style>",
        "</head>",
        "<body>",
        f"<header><h1>{name}</h1>",
        *([f"<p>{escape(clean(spec.description))}</p>"] if spec.description else []),
        "</header>",
        *(_zoom(part, label) for part, label in _ZOOMS),
        f'<div class="canvas" tabindex="0" role="region" aria-label="The picture">\n{picture}\n</div>',
        "<main>",
        f"<h2>{len(dots)} nodes</h2>" if len(dots) != 1 else "<h2>1 node</h2>",
        *(line for dot in dots for line in _node(dot, schemas)),
        "<h2>As text</h2>",
        f"<details><summary>The tree</summary><pre>{escape(tree(spec, marks, options.replace(width=None)))}</pre></details>",
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _zoom(part: str, label: str) -> str:
    checked = " checked" if part == "100" else ""
    return f'<input type="radio" name="zoom" class="zoom" id="zoom-{part}"{checked}><label for="zoom-{part}">{label}</label>'


def _node(dot: Dot, schemas: Mapping[str, Any]) -> Iterator[str]:
    node = dot.node
    mark = dot.lines[-1] if dot.mark is not None else ""
    told = f' <span class="kind">{node.kind}</span>' + (f" {escape(mark)}" if mark else "")
    yield f'<details id="{dot.name}"><summary>{escape(dot.lines[0])}{told}</summary><dl>'
    rows = {
        "path": clean(node.path),
        "description": clean(node.description),
        "hooks": hook_names(node.hooks),
        "mutates": "messages" if node.mutates else "",
        "settings": ", ".join(node_settings(node)),
        "defined in": clean("{file}:{line}".format(**node.source)) if node.source is not None else "",
    }
    for name, text in rows.items():
        if text:
            yield f"<dt>{name}</dt><dd>{escape(text)}</dd>"
    refs = {"takes": node.input_schema_ref, "returns": node.output_schema_ref}
    refs |= dict(zip(("asks", "waits for"), node.asking_refs, strict=True))
    for name, ref in refs.items():
        if ref is not None:
            yield f"<dt>{name}</dt><dd>{escape(clean(type_name(ref)))}{_schema(schemas.get(ref))}</dd>"
    yield "</dl></details>"


def _schema(content: Any) -> str:
    return f"<pre>{escape(json.dumps(content, ensure_ascii=False, indent=2))}</pre>" if content is not None else ""
