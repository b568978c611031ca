"""A real disk that is full: no file may grow for a while, and then it may again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import anyio.to_thread
import pytest

pytest.importorskip("resource", reason="no limits of files on this system")


async def test_a_full_disk_takes_no_answer_and_no_turn(tmp_path: Path, anyio_backend_name: str) -> None:
    """
    Calls complete and say what is not saved; what waits is part of the conversation, and is in the file once there is room.
    """
    command = [sys.executable, "-m", "tests.agents.full_disk_program", str(tmp_path / "memory.db"), anyio_backend_name]
    ran = await anyio.to_thread.run_sync(
        lambda: subprocess.run(command, timeout=60, check=False, capture_output=True, text=True)
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    seen = json.loads(ran.stdout)
    assert all(status == "completed" and length == 20_000 for status, length, _ in seen["told"])
    unsaved = [what for _, _, what in seen["told"] if what is not None]
    assert [(messages, waiting) for messages, waiting, _ in unsaved] == [(2, True)] * 3
    assert "memory.db" in unsaved[0][2]  # the reason names the store
    turns = len(seen["told"])
    assert turns > 3  # the first ones were saved
    assert seen["seen"] == [str(number) for number in range(turns - 3, turns)]
    assert (seen["waiting"], seen["left"]) == (3, 0)
    assert seen["kept"] == [said for number in range(turns) for said in (str(number), "yyyyy")]
