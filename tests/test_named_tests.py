"""Pages name tests, and they exist."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "failure.md"
ROW = re.compile(r"^\|(?!---| What )(?P<cells>.*)\|$", re.MULTILINE)
NAMED = re.compile(r"\[`(?P<test>test_\w+)`\]\((?P<file>[^)]+\.py)\)")
HELD = re.compile(r"^ \[`(?P<test>test_\w+)`\]\((?P<file>[^)]+\.py)\) $")


def test_each_failure_names_a_test() -> None:
    """Each row of the tables of docs/failure.md ends with a link to a test."""
    wrong: list[str] = []
    rows = [match["cells"].split("|") for match in ROW.finditer(PAGE.read_text("utf-8"))]
    for row in rows:
        held = HELD.match(row[-1])
        if held is None:
            wrong.append(f"no test: {row[0]}")
    assert len(rows) > 30
    assert wrong == []


def test_each_test_that_a_page_names_exists() -> None:
    """Wherever a page names a test and links a file, the file defines it."""
    wrong: list[str] = []
    for page in sorted(DOCS.rglob("*.md")):
        for named in NAMED.finditer(page.read_text("utf-8")):
            source = (page.parent / named["file"]).read_text("utf-8")
            if not re.search(rf"^(?:async )?def {named['test']}\(", source, re.MULTILINE):
                wrong.append(f"{page.name}: {named['test']}")
    assert wrong == []
