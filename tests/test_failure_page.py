"""docs/failure.md names tests, and they exist."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "failure.md"
ROW = re.compile(r"^\|(?!---| What )(?P<cells>.*)\|$", re.MULTILINE)
HELD = re.compile(r"^ \[`(?P<test>test_\w+)`\]\((?P<file>[^)]+\.py)\) $")


def test_each_row_names_a_test_that_exists() -> None:
    """Each row of the page's tables ends with a link to a test, which is defined in the file that the link opens."""
    wrong: list[str] = []
    rows = [match["cells"].split("|") for match in ROW.finditer(PAGE.read_text("utf-8"))]
    for row in rows:
        held = HELD.match(row[-1])
        if held is None:
            wrong.append(f"no test: {row[0]}")
        elif not re.search(rf"^(?:async )?def {held['test']}\(", (PAGE.parent / held["file"]).read_text("utf-8"), re.M):
            wrong.append(f"no such test: {held['test']}")
    assert len(rows) > 30
    assert wrong == []
