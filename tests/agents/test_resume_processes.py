"""Runs that outlive their process: real processes on one file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = str(Path(__file__).with_name("suspended_program.py"))


def begin(*arguments: str) -> subprocess.Popen[str]:
    """Start the program."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def outcome(process: subprocess.Popen[str], text: str | None = None) -> Any:
    """Wait for the program's end and return what it printed."""
    out, _ = process.communicate(text, timeout=50)
    assert process.returncode == 0
    return json.loads(out.splitlines()[-1])


def test_a_run_goes_on_in_another_process(tmp_path: Path) -> None:
    """The second process runs the asking tool alone, with its arguments and its answer (SUS-005)."""
    file, counts = str(tmp_path / "runs.db"), tmp_path / "counts"
    begun = outcome(begin("start", file, str(counts)))
    assert begun["status"] == "suspended"
    assert counts.read_text().split() == ["look", "asked"]
    result = outcome(begin("resume", file, str(counts), begun["run_id"]))
    assert result == {
        "status": "completed",
        "text": "Let me see. Charged.",
        "told": ["seen 1", "charged 5: True"],
        "steps": 2,
    }
    assert counts.read_text().split() == ["look", "asked", "resumed", "charged"]


def test_of_two_processes_one_wins(tmp_path: Path) -> None:
    """Two processes resume one run at the same time: the tool charges once, the loser is told (SUS-001)."""
    file, counts = str(tmp_path / "runs.db"), tmp_path / "counts"
    begun = outcome(begin("start", file, str(counts)))
    racers = [begin("race", file, str(counts), begun["run_id"]) for _ in range(2)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    results = [outcome(racer) for racer in racers]
    assert sorted(result.get("lost", False) for result in results) == [False, True]
    assert counts.read_text().split().count("charged") == 1
