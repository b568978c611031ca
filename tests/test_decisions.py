"""Every rule that code, documents and superseded traces cite can be looked up."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "docs" / "decisions" / "rules.md"
RULE = re.compile(r"\bD[1-9]\d?\b")
READ = (
    ("src", "*.py"),
    ("tests", "*.py"),
    ("examples", "*.py"),
    ("bench", "*.py"),
    ("docs", "*.md"),
    ("tests/conformance/superseded", "*.json"),
)


@pytest.mark.parametrize(("folder", "kind"), READ)
def test_every_cited_rule_has_a_row(folder: str, kind: str) -> None:
    """A number such as D17 is a row of docs/decisions/rules.md."""
    rows = set(re.findall(r"^\| (D\d+) \|", RULES.read_text("utf-8"), re.MULTILINE))
    for path in sorted((ROOT / folder).rglob(kind)):
        unknown = set(RULE.findall(path.read_text("utf-8"))) - rows
        assert not unknown, f"{path.relative_to(ROOT)} cites {', '.join(sorted(unknown))}"
