"""HTML: a page in one file that needs no script and no network to be read."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.workflows.render.sample import everything, explicit, guards, shout

from procession.runtime.runtime import run_sync
from procession.workflows.render.draw import draw
from procession.workflows.render.svg_style import DARK, LIGHT
from procession.workflows.workflow import create_workflow

VOID = {"meta", "input", "br", "link", "img"}


class Page(HTMLParser):
    """What is in a page: its tags, what its links lead to, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.words = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = dict(attrs)
        self.attributes |= found.keys()
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [found["href"] or ""] if "href" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.parametrize("make", [everything, guards, explicit])
def test_a_page_needs_nothing_else(make: Any) -> None:
    """There is no script, no handler, nothing to load, and the page forbids it all but its own style."""
    text = draw(make(), "html")
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "base"} & set(page.tags)
    assert not [name for name in page.attributes if name.startswith("on") or name == "src"]
    assert all(link.startswith("#") for link in page.links)
    assert "url(" not in text.replace("url(#arrow", "") and "@import" not in text
    assert "default-src 'none'; style-src 'unsafe-inline'" in text


@pytest.mark.parametrize("make", [everything, guards, explicit])
def test_nodes_lead_to_what_is_known_of_them(make: Any) -> None:
    """Each node of the picture is a link to its details, which are in the page once; places and schemas are there."""
    page = Page(draw(make(), "html"))
    assert len(page.ids) == len(set(page.ids))
    shown = [link[1:] for link in page.links]
    details = [id for id in page.ids if re.fullmatch(r"n\d+", id)]
    assert details and set(details) <= set(shown)
    assert page.tags.count("details") == len(details) + 1


def test_details() -> None:
    """Path, description, types and schema of a step are told, and what became of it in a run."""
    workflow = create_workflow("w", str).then(shout).commit()
    page = Page(draw(workflow, "html", run=run_sync(workflow, "hello")))
    assert "Say it loud." in page.words and '"type": "string"' in page.words and "✓" in page.words
    assert "test_html.py" in page.words or "sample.py" in page.words


def test_what_is_written_in_a_name_is_text() -> None:
    """Markup in names, descriptions and ids is shown as it is."""
    nasty = "<script>alert(1)<\\script>"
    page = Page(draw(create_workflow(nasty, str, description="<b>&amp;").then(shout).commit(), "html"))
    assert "script" not in page.tags and "b" not in page.tags
    assert nasty in page.words and "<b>&amp;" in page.words


def test_themes() -> None:
    """The page follows whoever reads it, or has one theme; so has the picture."""
    workflow = create_workflow("w", str).then(shout).commit()
    auto = draw(workflow, "html")
    assert auto.count("@media (prefers-color-scheme:dark)") == 2 and 'content="light dark"' in auto
    dark = draw(workflow, "html", theme="dark")
    assert "@media" not in dark and f"--page:{DARK['page']}" in dark and LIGHT["page"] + ";" not in dark
    assert 'name="color-scheme" content="dark"' in dark
