"""The site of the docs: what the pages' links become, and that it asks nobody."""

import importlib
import importlib.util
import logging
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("material", reason="make install")
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    """Load what the site is made with."""
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / ".site" / "hooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, in which every warning is an error, and return where it is."""
    os.environ["NO_MKDOCS_2_WARNING"] = "true"  # of the theme, about the future of MkDocs
    from mkdocs.commands.build import build
    from mkdocs.utils import CountHandler

    settings: Any = importlib.import_module("mkdocs.config")

    counted = CountHandler()
    counted.setLevel(logging.WARNING)
    logging.getLogger("mkdocs").addHandler(counted)
    target = tmp_path_factory.mktemp("site")
    try:
        build(settings.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(target), strict=False))
    finally:
        logging.getLogger("mkdocs").removeHandler(counted)
    assert counted.get_counts() == []
    return target


@pytest.mark.parametrize(
    ("page", "link", "made"),
    [
        ("agents.md", "[a](../src/procession/ids.py)", "[a](source/src/procession/ids.py.txt)"),
        ("builtins/pii.md", "[a](../../tests/conftest.py)", "[a](../source/tests/conftest.py.txt)"),
        ("agents.md", "[`detect/`](../src/procession/processors/detect)", "`detect/`"),
        ("agents.md", "[a](../README.md#why)", "[a](index.md#why)"),
        ("index.md", "[a](docs/guards.md#streams)", "[a](guards.md#streams)"),
        ("agents.md", "[a](guards.md#streams)", "[a](guards.md#streams)"),
        ("agents.md", "[a](https://example.org)", "[a](https://example.org)"),
        ("agents.md", "[a](../src/nowhere.py)", "[a](../src/nowhere.py)"),
        ("agents.md", "[a](../../../etc/passwd)", "[a](../../../etc/passwd)"),
    ],
)
def test_what_links_become(hooks: ModuleType, page: str, link: str, made: str) -> None:
    """Files open in the site, folders become their text, pages stay pages; what is outside or nowhere stays as it is."""
    match = hooks.LINK.search(link)
    assert match is not None
    assert hooks.in_site(page, match) == made


def test_marks_and_code_stay_apart(hooks: ModuleType) -> None:
    """The marks of a block's opening line go; what stands in the block is not touched."""

    class Page:
        file = type("File", (), {"src_uri": "agents.md"})

    block = "```python no-run\n[a](../README.md)\n```\n[a](../README.md)\n"
    told: Any = hooks.on_page_markdown(block, page=Page(), config=None, files=None)
    assert told == "```python\n[a](../README.md)\n```\n[a](index.md)\n"


@pytest.mark.filterwarnings("default")
def test_the_site_asks_nobody(site: Path) -> None:
    """No page loads a script, a style, a font or a picture from elsewhere, and what the pages link is there."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > 90
    loaded = re.compile(r"<(?:script|img|iframe|link)[^>]*(?:src|href)=\"((?:https?:)?//[^\"]*)\"")
    assert {address for page in pages for address in loaded.findall(page.read_text("utf-8"))} == set()
    # For a drawing of Mermaid the theme would fetch what draws it.
    assert [page.name for page in pages if 'class="mermaid"' in page.read_text("utf-8")] == []
    styles = "".join(sheet.read_text("utf-8") for sheet in site.rglob("*.css"))
    assert re.findall(r"url\([\"']?(?:https?:)?//[^)]*\)|@import[^;]*//", styles) == []
    assert (site / "source" / "src" / "procession" / "ids.py.txt").is_file()
    assert (site / "search" / "search_index.json").is_file()
