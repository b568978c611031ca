"""Runs that outlive their process: real processes on one file."""

from __future__ import annotations

import json
import signal
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
    results = race(file, counts, begun["run_id"])
    assert sorted(result.get("lost", False) for result in results) == [False, True]
    assert counts.read_text().split().count("charged") == 1


def test_of_two_processes_none_meets_the_second_question(tmp_path: Path) -> None:
    """Two equal answers from two processes: one brings the tool to its second question, none answers that."""
    file, counts = str(tmp_path / "runs.db"), tmp_path / "counts"
    begun = outcome(begin("start-sign", file, str(counts)))
    results = race(file, counts, begun["run_id"])
    assert sorted(results, key=str) == [{"lost": True}, {"status": "suspended", "waits": ["c2#2"]}]
    assert outcome(begin("resume", file, str(counts), begun["run_id"])) == {"lost": True}
    assert not counts.exists()


def race(file: str, counts: Path, run_id: str) -> list[Any]:
    """Resume a run in two processes at the same time and return what both say."""
    racers = [begin("race", file, str(counts), run_id) for _ in range(2)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    return [outcome(racer) for racer in racers]


def test_a_process_that_is_killed_in_the_middle_of_a_resume(tmp_path: Path) -> None:
    """It has charged and dies while it ships: another one gets the same answers, and ships without charging again."""
    file, counts = str(tmp_path / "runs.db"), tmp_path / "counts"
    begun = outcome(begin("start-two", file, str(counts)))
    assert begun["status"] == "suspended"
    killed = begin("die", file, str(counts), begun["run_id"])
    killed.communicate(timeout=50)
    assert killed.returncode == -signal.SIGKILL
    assert counts.read_text().split() == ["asked", "resumed", "charged", "shipping"]
    assert outcome(begin("resume", file, str(counts), begun["run_id"])) == {"lost": True}  # it may be alive still
    result = outcome(begin("after", file, str(counts), begun["run_id"]))
    assert result == {"status": "completed", "text": "Charged.", "told": ["charged 5: True", "shipped"], "steps": 2}
    assert counts.read_text().split() == ["asked", "resumed", "charged", "shipping", "shipping"]
