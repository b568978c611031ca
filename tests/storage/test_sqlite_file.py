"""The file of a SQLite journal: whose it is, what else may be in it, and files of other versions."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.agents.suspending import told
from tests.storage.journals import RUN, entry, known

from procession.agents.agent import Agent
from procession.errors import DefinitionError, RunAlreadyClaimed, StoreError
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.sqlite.journal import SQLiteJournal
from procession.storage.sqlite.schema import VERSION
from procession.testing.fake_model import FakeModel
from procession.tools.context import ToolContext
from procession.tools.tool import tool
from procession.workflows.workflow import create_workflow

VERSION_1 = Path(__file__).with_name("data") / "runs_v1.db"
"""Made by procession 0.2.0: the run ``waits`` of an agent, one that was held, and one of each end."""

VERSION_2 = VERSION_1.with_name("runs_v2.db")
"""Made by procession 0.4.0: the same, and the run ``asks`` of a workflow; ``waits`` is of ada's thread t1."""


async def test_a_file_outlives_its_store(tmp_path: Path) -> None:
    """What one store wrote, another one of the same file reads; a closed store opens again."""
    path = tmp_path / "runs.db"
    async with SQLiteJournal(path) as first:
        await first.add(RUN, token="me", seconds=30)
        await first.write("r", "me", [entry(0)])
    async with SQLiteJournal(path) as second:
        assert known(await second.row("r")) == known(RUN)
        assert await second.entries("r") == [entry(0)]
        assert known(await first.row("r")) == known(RUN)
        await first.aclose()


async def test_the_file_is_private(tmp_path: Path) -> None:
    """A new file, and what stands beside it, can be read by its owner alone."""
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        await store.add(RUN)
        modes = {name: stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in os.listdir(tmp_path)}
    assert modes == {"runs.db": 0o600, "runs.db-wal": 0o600, "runs.db-shm": 0o600}


async def test_what_is_deleted_is_overwritten(tmp_path: Path) -> None:
    """Once a run has ended, or was deleted, and the file was closed, its content is nowhere in it."""
    path = tmp_path / "runs.db"
    async with SQLiteJournal(path) as store:
        await store.add(RUN.replace(data="SECRET of the run" * 1000), token="me", seconds=30)
        await store.add(RUN.replace(run_id="gone", data="SECRET too"), token="me", seconds=30)
        await store.write("gone", "me", [entry(seq, "SECRET of a row" * 99) for seq in range(9)], release=True)
        await store.write("r", "me", status="success", data=None)
        await store.delete("gone")
    assert os.listdir(tmp_path) == ["runs.db"]
    assert b"SECRET" not in path.read_bytes()


async def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    """A file of a newer version is refused, with the versions named, by reads and writes, and left as it is."""
    path = tmp_path / "runs.db"
    async with SQLiteJournal(path) as store:
        await store.add(RUN)
    with sqlite3.connect(path) as made:
        made.execute("UPDATE procession_schema SET version = 99")
    made.close()
    async with SQLiteJournal(path) as store:
        with pytest.raises(StoreError, match="newer version.*99"):
            await store.row("r")
        with pytest.raises(StoreError, match=r"newer version.*update procession"):
            await store.add(RUN)


async def test_a_file_that_is_none(tmp_path: Path) -> None:
    """A file that is no database, one in a folder that does not exist, and a folder itself are named."""
    (tmp_path / "notes.txt").write_text("no database at all, but a text that is long enough")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "notes.txt", tmp_path / "nowhere" / "runs.db", tmp_path / "folder"):
        async with SQLiteJournal(path) as store:
            with pytest.raises(StoreError, match=path.name):
                await store.add(RUN)
            with pytest.raises(StoreError, match=path.name):
                await store.row("r")


async def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever becomes the working directory before the first use, or before the next one, it is the same file."""
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    store = SQLiteJournal("runs.db")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert await store.add(RUN)
    await store.aclose()
    monkeypatch.chdir(tmp_path)
    assert known(await store.row("r")) == known(RUN)
    await store.aclose()
    assert [os.listdir(tmp_path / name) for name in ("here", "elsewhere")] == [["runs.db"], []]


async def test_other_tables_may_stand_in_the_file(tmp_path: Path) -> None:
    """The journal has tables of its own and touches no others."""
    path = tmp_path / "app.db"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE orders (id INTEGER)")
        made.execute("INSERT INTO orders VALUES (7)")
    made.close()
    async with SQLiteJournal(path) as store:
        assert await store.add(RUN)
    with sqlite3.connect(path) as made:
        assert made.execute("SELECT id FROM orders").fetchall() == [(7,)]
    made.close()


async def test_a_store_is_not_used_across_a_fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that a forked process has inherited is refused: two processes on one would harm the file."""
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        await store.add(RUN, token="me", seconds=30)
        with monkeypatch.context() as patch:
            patch.setattr("procession.storage.sqlite.connection.os.getpid", lambda: -1)
            with pytest.raises(StoreError, match="forked"):
                await store.row("r")
            with pytest.raises(StoreError, match="forked"):
                await store.write("r", "me", [entry(0)])
        assert known(await store.row("r")) == known(RUN)
        assert await store.entries("r") == []


async def test_a_forked_process_waits_for_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forked while a thread of the other process worked on the file, it is refused all the same, and closes nothing."""
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        await store.add(RUN, token="me", seconds=30)
        with monkeypatch.context() as patch:
            patch.setattr("procession.storage.sqlite.connection.os.getpid", lambda: -1)
            with store._connection._lock, anyio.fail_after(20):  # pyright: ignore[reportPrivateUsage]
                with pytest.raises(StoreError, match="forked"):
                    await store.row("r")
                with pytest.raises(StoreError, match="forked"):
                    await store.write("r", "me", [entry(0)])
                await store.aclose()
        assert known(await store.row("r")) == known(RUN)


def test_an_unknown_durability_is_refused(tmp_path: Path) -> None:
    """A word that SQLite would take for something else is refused where it is given."""
    off: Any = "off"
    with pytest.raises(DefinitionError, match="'off'.*full"):
        SQLiteJournal(tmp_path / "runs.db", synchronous=off)


async def test_a_file_of_the_first_version_becomes_one_of_this(tmp_path: Path) -> None:
    """Runs of 0.2 are there with the words of now for their ends, and a claim that somebody had still counts."""
    path = shutil.copy(VERSION_1, tmp_path / "runs.db")
    for _ in range(2):
        async with SQLiteJournal(path, clock=lambda: 1764500001.0) as store:
            rows = {row.run_id: row for row in await store.runs()}
            assert {name: row.status for name, row in rows.items()} == {
                "held": "suspended",
                "failed": "failed",
                "blocked": "blocked",
                "aborted": "cancelled",
                "completed": "success",
                "waits": "suspended",
            }
            assert list(rows) == ["held", "failed", "blocked", "aborted", "completed", "waits"]
            assert {(row.owner, row.kind) for row in rows.values()} == {("till", "agent")}
            assert {row.created_at for row in rows.values()} == {1764500000.0}
            assert [name for name, row in rows.items() if row.claimed] == ["held"]
            assert await store.claim("held", "another", 30) is None
            assert await store.claim("held", "somebody", 30) is not None
    with sqlite3.connect(path) as made:
        names = {name for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert names == {"procession_schema", "procession_runs", "procession_entries", "procession_graphs"}
        assert made.execute("SELECT version FROM procession_schema").fetchall() == [(VERSION,)]
    made.close()


async def test_a_file_of_the_second_version_becomes_one_of_this(tmp_path: Path) -> None:
    """Runs of 0.4 stay as they are, and a suspended one of an agent is of the thread that its call named."""
    path = shutil.copy(VERSION_2, tmp_path / "runs.db")
    with sqlite3.connect(path) as made:
        before = made.execute("SELECT run_id, data FROM procession_runs ORDER BY number").fetchall()
    made.close()
    for _ in range(2):
        async with SQLiteJournal(path, clock=lambda: 1764500003.0) as store:
            rows = await store.runs()
            assert [(row.run_id, row.status, row.resource_id, row.thread_id) for row in reversed(rows)] == [
                ("waits", "suspended", "ada", "t1"),
                ("asks", "suspended", "ada", None),
                ("held", "suspended", None, None),
                ("success", "success", None, None),
                ("failed", "failed", None, None),
                ("blocked", "blocked", None, None),
                ("cancelled", "cancelled", None, None),
            ]
            assert [row.run_id for row in rows if row.claimed] == ["held"]
            assert [row.created_at for row in reversed(rows)] == [1764500000.0 + second for second in range(7)]
            assert [(row.seq, row.path) for row in await store.entries("asks")] == [(0, "draft"), (1, "approve")]
            assert [row.run_id for row in await store.runs(thread_id="t1")] == ["waits"]
    with sqlite3.connect(path) as made:
        assert made.execute("SELECT run_id, data FROM procession_runs ORDER BY number").fetchall() == before
        new = {name for (name,) in made.execute("SELECT name FROM sqlite_master")}
        assert made.execute("SELECT version FROM procession_schema").fetchall() == [(VERSION,)]
    made.close()
    async with SQLiteJournal(tmp_path / "new.db") as store:
        assert await store.runs() == []
    with sqlite3.connect(tmp_path / "new.db") as made:
        assert {name for (name,) in made.execute("SELECT name FROM sqlite_master")} == new
    made.close()


async def test_a_run_of_a_workflow_goes_on_after_the_second_version(tmp_path: Path) -> None:
    """A workflow that asked under 0.4 takes the answer, and goes on from what it had done."""

    @step
    async def draft(ctx: StepContext[str]) -> str:
        raise AssertionError("it was done under 0.4")

    @step
    async def approve(ctx: StepContext[str]) -> str:
        return f"{ctx.input}: {await ctx.suspend('ok?')}"

    flow = create_workflow("flow", str).then(draft).then(approve).commit()
    path = shutil.copy(VERSION_2, tmp_path / "runs.db")
    async with SQLiteJournal(path) as store:
        runtime = Runtime(store)
        runtime.registry.add(flow)
        assert (await runtime.resume("asks", "yes")).output == "draft of a letter: yes"


async def test_a_run_that_was_suspended_under_the_first_version_goes_on(tmp_path: Path) -> None:
    """The answer meets the question that was asked under 0.2, once."""
    path = shutil.copy(VERSION_1, tmp_path / "runs.db")

    @tool
    def charge(amount: int, ctx: ToolContext) -> str:
        """Charge."""
        return f"charged {amount}: {ctx.suspend({'charge': amount}, resume_schema=bool)}"

    async with SQLiteJournal(path) as store:
        model = FakeModel(["Charged."])
        agent = Agent("till", model=model, tools=[charge], runtime=Runtime(store))
        result = await agent.resume("waits", {"c1": True})
        assert (result.status, result.text) == ("completed", "Let me see. Charged.")
        assert told(model.requests[0]) == ["charged 5: True"]
        for run_id in ("waits", "completed"):
            with pytest.raises(RunAlreadyClaimed, match="ended as completed"):
                await agent.resume(run_id, {"c1": True})


async def test_a_change_of_version_is_all_or_nothing(tmp_path: Path) -> None:
    """Where the change fails, the file is as it was, and the version before still reads it."""
    path = shutil.copy(VERSION_1, tmp_path / "runs.db")
    with sqlite3.connect(path) as made:
        made.execute("UPDATE procession_runs SET status = 'nonsense' WHERE run_id = 'failed'")
    made.close()
    async with SQLiteJournal(path) as store:
        with pytest.raises(StoreError, match="CHECK"):
            await store.runs()
    with sqlite3.connect(path) as made:
        assert made.execute("SELECT version FROM procession_schema").fetchall() == [(1,)]
        assert made.execute("SELECT count(*) FROM procession_runs WHERE status = 'completed'").fetchall() == [(1,)]
    made.close()


async def test_a_process_of_the_first_version_cannot_write_its_words(tmp_path: Path) -> None:
    """One that still has the file open while another one changes it is refused: no run comes to an unknown end."""
    path = shutil.copy(VERSION_1, tmp_path / "runs.db")
    with sqlite3.connect(path) as old:
        async with SQLiteJournal(path) as store:
            assert await store.row("waits") is not None
            with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
                old.execute("UPDATE procession_runs SET status = 'completed' WHERE run_id = 'waits'")
    old.close()
