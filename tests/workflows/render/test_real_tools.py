"""
Drawings, read by the tools that they are for.

Graphviz is no Python package: `apt-get install graphviz`, then `make pictures`.
"""

import re
import shutil
import subprocess
from html import unescape
from typing import Any

import pytest
from tests.workflows.render.sample import everything, explicit, guards
from tests.workflows.render.test_svg import NASTY, deep, fifty, hundred, long, plain

from procession import run_sync
from procession.workflows.render.changes import draw_changes
from procession.workflows.render.draw import draw
from procession.workflows.workflow import create_workflow


def nasty() -> Any:
    """Make steps whose ids mean something to diagram languages."""
    made = create_workflow("end")
    for id in NASTY:
        made.then(plain(id))
    return made  # not committed: some of them are refused there


def rendered(text: str) -> str:
    """Return what Mermaid itself makes of *text*, as SVG."""
    mermaidx: Any = pytest.importorskip("mermaidx", reason="pip install mermaidx")
    made: str = mermaidx.render(text).svg()
    return made


def test_mermaid_shows_every_id_as_it_is() -> None:
    """GRA-003: Mermaid's own parser reads what ids make of it, and shows labels verbatim."""
    svg = rendered(draw(nasty(), "mermaid"))
    shown = [unescape(each) for each in re.findall(r'class="nodeLabel"><p>(.*?)</p>', svg, re.DOTALL)]
    assert shown == ["start", *NASTY, "end"]


def test_mermaid_reads_every_kind_of_node() -> None:
    """Shapes, containers, conditions, styles, the overlay of a run and its legend are Mermaid."""
    workflow = everything()
    svg = rendered(draw(workflow, "mermaid", run=run_sync(workflow, "hello"), show_types=True))
    assert "failed" in svg and "legend" in svg


def test_mermaid_reads_changes() -> None:
    """So are two graphs in one."""
    from tests.workflows.render.test_changes import after, before

    assert "removed" in rendered(draw_changes(before(), after(), "mermaid"))


@pytest.mark.slow
@pytest.mark.parametrize("make", [nasty, everything, guards, explicit, deep, fifty, hundred, long])
def test_graphviz_reads_it(make: Any) -> None:
    """GRA-003: Graphviz draws what it is given without a word, and shows labels verbatim."""
    dot = shutil.which("dot")
    if dot is None:
        pytest.skip("apt-get install graphviz")
    done = subprocess.run([dot, "-Tsvg"], input=draw(make(), "dot"), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    if make is nasty:
        shown = [unescape(each) for each in re.findall(r"<text[^>]*>(.*?)</text>", done.stdout)]
        assert shown == ["start", *NASTY, "end"]
