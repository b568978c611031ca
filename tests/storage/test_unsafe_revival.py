"""What somebody who can write the database puts in a row of a run is data: nothing of it is imported or called."""

from __future__ import annotations

import json
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from procession.errors import ProcessionError
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.sqlite.journal import SQLiteJournal
from procession.workflows.workflow import create_workflow


class Evil:
    """Makes the marker where it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return Path.touch, (self.marker,)


@step
async def draft(ctx: StepContext[str]) -> str:
    """Write something."""
    return f"draft of {ctx.input}"


@step
async def approve(ctx: StepContext[str]) -> str:
    """Ask a person."""
    return f"{ctx.input}: {await ctx.suspend('ok?')}"


FLOW = create_workflow("flow", str).then(draft).then(approve).commit()


def payloads(marker: Path) -> list[Any]:
    """Return what an attacker may write in place of a snapshot."""
    return [
        pickle.dumps(Evil(marker)),
        pickle.dumps(Evil(marker), protocol=0).decode("latin-1"),
        json.dumps({"__class__": "os.system", "args": [f"touch {marker}"]}),
        json.dumps({"$type": "os.system", "args": [f"touch {marker}"]}),
        json.dumps({"$pickle": pickle.dumps(Evil(marker)).hex()}),
    ]


@pytest.mark.parametrize("table", ["procession_runs", "procession_entries"])
@pytest.mark.parametrize("number", range(5))
async def test_a_snapshot_runs_nothing(tmp_path: Path, table: str, number: int) -> None:
    """SEC-007: a pickle, and JSON that names a function, in place of a snapshot are refused as corrupt; the marker is not there."""
    marker, path = tmp_path / "MARKER", tmp_path / "runs.db"
    async with SQLiteJournal(path) as store:
        assert (await Runtime(store).run(FLOW, "letter", run_id="r")).status == "suspended"
    with sqlite3.connect(path) as made:
        changed = made.execute(f"UPDATE {table} SET data = ? WHERE data IS NOT NULL", (payloads(marker)[number],))
        assert changed.rowcount > 0
    made.close()
    async with SQLiteJournal(path) as store:
        runtime = Runtime(store)
        with pytest.raises(ProcessionError):
            (await runtime.resume("r", "yes", workflow=FLOW)).unwrap()
    assert not marker.exists()
