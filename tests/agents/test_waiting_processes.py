"""Agents in workflows and workflows in agents that wait, and outlive their process: real processes on one file."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = str(Path(__file__).with_name("waiting_program.py"))

shapes = pytest.mark.parametrize("shape", ["step", "tool"])


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(
        [sys.executable, "-W", "error", PROGRAM, *arguments], capture_output=True, text=True, timeout=100, check=False
    )


def outcome(*arguments: str) -> Any:
    """Return what the program printed."""
    ran = program(*arguments)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@shapes
def test_what_waits_goes_on_in_another_process(shape: str, tmp_path: Path) -> None:
    """The second process has the file alone: steps and tools that were done are not done again."""
    file, counts = str(tmp_path / "runs.db"), tmp_path / "counts"
    begun = outcome(shape, "start", file, str(counts), "r1")
    assert begun == {"status": "suspended", "told": None, "waits": ["p1", "p2"]}
    assert counts.read_text().split() == ["look"]
    ended = outcome(shape, "resume", file, str(counts), "r1")
    assert ended == {"status": "success" if shape == "step" else "completed", "told": "DONE.", "waits": []}
    assert counts.read_text().split() == ["look", "charged", "shipping", "end"]


@shapes
def test_a_process_that_is_killed_in_the_middle_of_an_answer(shape: str, tmp_path: Path) -> None:
    """It has charged and dies while it ships: another one goes on with the same answer, and charges nobody again."""
    file, counts = str(tmp_path / "runs.db"), tmp_path / "counts"
    outcome(shape, "start", file, str(counts), "r1")
    killed = program(shape, "die", file, str(counts), "r1")
    assert killed.returncode == -signal.SIGKILL
    assert counts.read_text().split() == ["look", "charged", "shipping"]
    ended = outcome(shape, "restart" if shape == "step" else "after", file, str(counts), "r1")
    assert ended == {"status": "success" if shape == "step" else "completed", "told": "DONE.", "waits": []}
    assert counts.read_text().split() == ["look", "charged", "shipping", "shipping", "end"]
