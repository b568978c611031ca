"""Every built-in processor has its page in docs/builtins, and what the page says of its options is true."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import procession
from procession.processors.processor import Processor

ROOT = Path(__file__).resolve().parent.parent
ROOM = Path(procession.__file__).parent / "processors"
PAGES = ROOT / "docs" / "builtins"
FOLDERS = ("guardrails", "utility", "cache", "recovery", "memory")
SECTIONS = ("## When to use it", "## What it guarantees", "## What it cannot do", "## Where it differs from Mastra")


def processors_in(folder: str, module: str) -> list[type[Processor]]:
    """Return the processors that a module defines; the documents' other names for one come after it."""
    loaded = importlib.import_module(f"procession.processors.{folder}.{module}")
    return [
        value
        for value in vars(loaded).values()
        if inspect.isclass(value)
        and value.__module__ == loaded.__name__
        and issubclass(value, Processor)
        and any(name.startswith("process_") for name in dir(value))
    ]


BUILT_INS = {
    file.stem: found
    for folder in FOLDERS
    for file in sorted((ROOM / folder).glob("*.py"))
    if (found := processors_in(folder, file.stem))
}
"""The built-in processors, by the name of the module and of the page."""

each_page = pytest.mark.parametrize("name", sorted(BUILT_INS))


def page(name: str) -> str:
    """Return the text of a page."""
    return (PAGES / f"{name}.md").read_text("utf-8")


def options_told(text: str) -> list[str]:
    """Return the names in the first column of the page's table of options."""
    table = re.search(r"^\| Option \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert table is not None, "a page has a table of options"
    cells = [row.split("|")[1] for row in table[1].splitlines()]
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


@each_page
def test_each_built_in_has_a_page_of_the_same_form(name: str) -> None:
    """A page is named after its processor and its file, begins with an example, and has the four sections in their order."""
    text = page(name)
    [processor, *_] = BUILT_INS[name]
    assert text.startswith(f"# {processor.__name__}\n")
    places = [text.find(f"\n{section}\n") for section in SECTIONS]
    assert -1 not in places
    assert places == sorted(places)
    assert "\n```python\n" in text[: places[0]]
    assert f"/{name}.py)" in text


@each_page
def test_tables_of_options_are_true(name: str) -> None:
    """Each option of the table is a parameter, and each parameter is in the table; ``id`` and ``on_violation`` may be left out."""
    [processor, *_] = BUILT_INS[name]
    parameters = set(inspect.signature(processor).parameters)
    told = options_told(page(name))
    assert sorted(told) == sorted(set(told))
    assert set(told) - parameters == set()
    assert parameters - set(told) - {"id", "on_violation"} == set()


def test_the_list_of_built_ins_is_complete() -> None:
    """The table of docs/builtins names every processor once, links its page, and is in the order of the alphabet."""
    rows = re.findall(r"^\| \[(\w+)\]\((\w+)\.md\) \| \S", page("README"), re.MULTILINE)
    assert rows == [(found[0].__name__, name) for name, found in sorted(BUILT_INS.items(), key=by_name)]
    assert {file.stem for file in PAGES.glob("*.md")} == {*BUILT_INS, "README", "figures"}


def by_name(entry: tuple[str, list[type[Processor]]]) -> str:
    """Return what a processor is sorted by."""
    return entry[1][0].__name__
