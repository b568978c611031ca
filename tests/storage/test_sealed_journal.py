"""Runs whose content is encrypted, or stands in a sink: nothing of it is in the file, and nothing is left when they go."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.agents.suspending import asker, asking, go_on
from tests.storage.journals import RUN, entry
from tests.storage.test_sqlite_store_records import Sink

from procession.errors import StoreError
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.cipher import KEY_VARIABLE, new_key
from procession.storage.file_sink import FileSink
from procession.storage.records import Records
from procession.storage.sealed_journal import SealedJournal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.workflows.workflow import create_workflow

needs_cryptography = pytest.mark.skipif(
    find_spec("cryptography") is None, reason="needs cryptography: pip install 'procession[encryption]'"
)


def everything(folder: Path) -> bytes:
    """Return what stands in all files of *folder*."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def names(folder: Path) -> list[str]:
    """Return the names of all files of *folder*."""
    return [path.name for path in folder.rglob("*") if path.is_file()]


@step
async def draft(ctx: StepContext[str]) -> str:
    """Write something."""
    return f"draft of {ctx.input}"


@step
async def approve(ctx: StepContext[str]) -> str:
    """Ask a person."""
    return f"{ctx.input}: {await ctx.suspend('ok?')}"


FLOW = create_workflow("flow", str).then(draft).then(approve).commit()


@needs_cryptography
@pytest.mark.parametrize("limit", [None, 10])
async def test_what_runs_say_is_not_in_the_file(tmp_path: Path, limit: int | None) -> None:
    """A suspended agent and a workflow go on from what is encrypted, and at no time is a word of theirs on the disk."""
    async with SQLiteJournal(tmp_path / "runs.db") as file:
        journal = SealedJournal(file, Records(key=new_key(), sink=FileSink(tmp_path / "kept"), limit=limit))
        runtime = Runtime(journal)
        agent, _ = asker(asking({"q": "TULIPSECRET?"}), runtime=runtime)
        result = await agent.generate("My TULIPSECRET", resource="ada", thread="t")
        assert b"TULIPSECRET" not in everything(tmp_path)
        seen = await go_on(agent, "generate", result.run_id, {"c1": True}, resource="ada", thread="t")
        assert seen.error is None
        run = runtime.create_run(FLOW, run_id="f")
        assert (await run.start("a TULIPSECRET")).status == "suspended"
        assert (await runtime.resume("f", "yes")).output == "draft of a TULIPSECRET: yes"
        assert b"TULIPSECRET" not in everything(tmp_path)
        assert await runtime.delete("f")
        assert await runtime.delete(result.run_id)
    assert names(tmp_path) == ["runs.db"]


async def test_objects_go_with_what_refers_to_them(tmp_path: Path) -> None:
    """Data that is written anew, a write that was refused, a run that is known, and one that is deleted leave no object."""
    kept = tmp_path / "kept"

    def objects() -> int:
        return len(names(kept))

    async with SQLiteJournal(tmp_path / "runs.db") as file:
        journal = SealedJournal(file, Records(sink=FileSink(kept), limit=5))
        assert await journal.add(RUN.replace(data="the first data"), token="me", seconds=30)
        assert not await journal.add(RUN.replace(data="the second data"))
        assert objects() == 1
        assert await journal.write("r", "me", [entry(0, "a long row"), entry(1, "a")], data="the third data")
        assert objects() == 2
        assert not await journal.write("r", "you", [entry(2, "a long row")], data="the fourth data")
        assert objects() == 2
        assert await journal.write("r", "me", data=None, release=True)
        assert objects() == 1
        assert await journal.delete("r")
        assert objects() == 0


async def test_a_sink_that_fails_takes_no_run_along(tmp_path: Path) -> None:
    """What was replaced and stays in the sink is no failure of the run; of a write that did not come about nothing stays."""
    sink = Sink(tmp_path / "kept")
    async with SQLiteJournal(tmp_path / "runs.db") as file:
        journal = SealedJournal(file, Records(sink=sink, limit=5))
        assert await journal.add(RUN.replace(data="the first data"), token="me", seconds=30)
        sink.refusals = 1
        assert await journal.write("r", "me", data="the second data")
        sink.puts = 1
        with pytest.raises(StoreError, match="no room"):
            await journal.write("r", "me", [entry(0, "a long row")], data="the third data")
        row = await journal.row("r")
        assert row is not None
        assert row.data == "the second data"
        assert len(names(sink.directory)) == 2  # with the one that could not be deleted


async def test_a_run_whose_sink_is_not_given_tells_what_stays(tmp_path: Path) -> None:
    """Whoever deletes a run without the sink that it was written to is told of what is still in that."""
    async with SQLiteJournal(tmp_path / "runs.db") as file:
        records = Records(sink=FileSink(tmp_path / "kept"), limit=5)
        await SealedJournal(file, records).add(RUN.replace(data="the first data"))
        with pytest.raises(StoreError, match="1 large records are still in their sink"):
            await SealedJournal(file, Records()).delete("r")


@needs_cryptography
async def test_a_row_of_another_run_is_refused(tmp_path: Path) -> None:
    """SEC-007: what was copied from one run to another, or changed, is refused; so is reading without the key."""
    import sqlite3

    path = tmp_path / "runs.db"
    async with SQLiteJournal(path) as file:
        journal = SealedJournal(file, Records(key=new_key()))
        for run_id in ("r", "s"):
            await journal.add(RUN.replace(run_id=run_id, data=f"of {run_id}"), token="me", seconds=30)
            await journal.write(run_id, "me", [entry(0, f"row of {run_id}")])
    with sqlite3.connect(path) as made:
        made.execute("UPDATE procession_runs SET data = (SELECT data FROM procession_runs WHERE run_id = 's')")
        made.execute("UPDATE procession_entries SET data = (SELECT data FROM procession_entries WHERE run_id = 's')")
    made.close()
    async with SQLiteJournal(path) as file:
        journal = SealedJournal(file, journal.records)
        assert [row.data for row in await journal.entries("s")] == ["row of s"]
        calls: list[Any] = [journal.row, journal.entries]
        for call in calls:
            with pytest.raises(StoreError, match="changed, or copied"):
                await call("r")
            with pytest.raises(StoreError, match=KEY_VARIABLE):
                await getattr(SealedJournal(file, Records()), call.__name__)("s")
