"""Scenarios that nobody recorded: what they expect follows from a rule, which they name."""

import json
import re
from pathlib import Path

import pytest
from tests.conformance.report import text_report
from tests.conformance.runner import run_file
from tests.conformance.scenario import HERE, Json, find_scenarios

DERIVED = HERE / "derived"
RULES = HERE.parents[1] / "docs" / "decisions" / "rules.md"
SCENARIOS = find_scenarios(DERIVED)


def key(path: Path) -> str:
    """Return ``area/name``."""
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", SCENARIOS, ids=key)
def test_what_happens_is_what_the_rule_says(path: Path) -> None:
    """Each runs as it expects, to the letter: neither a patch nor a rule of the comparer changes what it expects."""
    outcome = run_file(path, DERIVED / "no patches")
    assert outcome.status == "match", text_report([outcome])


@pytest.mark.parametrize("path", SCENARIOS, ids=key)
def test_what_is_left_out_is_missed(path: Path, tmp_path: Path) -> None:
    """A scenario that expects less than what happens differs."""
    trace: Json = json.loads(path.read_text("utf-8"))
    expected = trace["expected"]
    expected["timeline" if "timeline" in expected else "output"].pop()
    altered = tmp_path / path.parent.name / path.name
    altered.parent.mkdir()
    altered.write_text(json.dumps(trace), "utf-8")
    assert run_file(altered, DERIVED / "no patches").status == "differ"


def test_each_says_where_it_comes_from() -> None:
    """Each is marked as derived, says what it shows, and names rules that there are."""
    known = set(re.findall(r"^\| (D\d+) \|", RULES.read_text("utf-8"), re.MULTILINE))
    for path in SCENARIOS:
        trace: Json = json.loads(path.read_text("utf-8"))
        assert f"{trace['area']}/{trace['name']}" == key(path)
        assert trace["verdict"] == "derived", path
        assert trace["description"], path
        rules = trace["decided_by"].split(", ")
        assert rules and set(rules) <= known, path
