"""How the tables in Postgres come about: ``make services`` runs what needs the server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from tests.storage.conversations import said, texts
from tests.storage.postgres_server import PostgresServer
from tests.storage.postgres_stores import fresh_schema

from procession.errors import StoreError
from procession.storage.notes import Note, NoteKey

pytest.importorskip("sqlalchemy", reason="pip install 'procession[postgres]'")

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, text

from procession.storage.postgres import migrations
from procession.storage.postgres.journal import PostgresJournal
from procession.storage.postgres.store import PostgresStore
from procession.storage.postgres.tables import METADATA, VERSION, VERSION_TABLE
from procession.storage.postgres.upgrade import TableVersion, upgrade_tables

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection


def versions() -> list[str]:
    """Return every version of the tables there has been, the first one first."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__path__[0])))
    found = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    return found[::-1]


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio: the driver runs nowhere else."""
    return "asyncio"


@pytest.fixture
async def empty(postgres_server: PostgresServer) -> AsyncIterator[PostgresStore]:
    """Yield a store without tables."""
    async with PostgresStore(postgres_server.url, schema=fresh_schema()) as store:
        yield store


async def execute(store: PostgresStore, statement: str) -> None:
    """Execute a statement in the schema of a store, whatever its tables are."""
    connection = store._connection  # pyright: ignore[reportPrivateUsage]

    async def work(made: AsyncConnection) -> None:
        await made.execute(text(f'SET LOCAL search_path TO "{connection.schema}"'))
        await made.execute(text(statement))

    await connection.define(work)


def test_the_last_migration_is_the_version_that_is_needed() -> None:
    """Versions are numbers that grow, one line of them, and the code needs the last one."""
    assert versions()[-1] == VERSION
    assert versions() == [f"{number:04}" for number in range(1, len(versions()) + 1)]


@pytest.mark.service
async def test_tables_are_what_statements_take_them_for(empty: PostgresStore) -> None:
    """What the migrations make and what the statements name is the same."""
    await empty.upgrade()
    connection = empty._connection  # pyright: ignore[reportPrivateUsage]

    named = MetaData()
    for each in METADATA.sorted_tables:
        each.to_metadata(named, schema=str(connection.schema))

    def is_ours(name: str | None, kind: str, _: Any) -> bool:
        return name == connection.schema if kind == "schema" else name != VERSION_TABLE

    def differences(made: Connection) -> Any:
        options = {"include_name": is_ours, "include_schemas": True}
        return compare_metadata(MigrationContext.configure(made, opts=options), named)

    assert await connection.define(lambda made: made.run_sync(differences)) == []


@pytest.mark.service
async def test_without_tables_the_command_is_named(empty: PostgresStore) -> None:
    """Nothing makes tables by the way: the error says what does, and once it was done the store works."""
    for _ in range(2):
        with pytest.raises(StoreError, match="no tables of procession.*procession db upgrade"):
            await empty.save("t", "ada", [said("Hi")])
    with pytest.raises(StoreError, match="procession db upgrade"):
        await empty.thread("t")
    assert await empty.table_version() == TableVersion(None)
    assert await empty.upgrade() == TableVersion(None)
    await empty.save("t", "ada", [said("Hi")])
    assert (await empty.table_version()).is_current


@pytest.mark.service
async def test_tables_of_an_earlier_version_are_refused(empty: PostgresStore) -> None:
    """The error says what is there, what is needed and the command."""
    await empty.upgrade()
    await execute(empty, f"UPDATE {VERSION_TABLE} SET version_num = '0000'")
    with pytest.raises(StoreError, match=f"of version 0000, and this one needs {VERSION}.*procession db upgrade"):
        await empty.thread("t")


@pytest.mark.service
async def test_tables_of_a_newer_version_are_refused(empty: PostgresStore) -> None:
    """Neither is read or written what nobody here knows, nor is it upgraded."""
    await empty.upgrade()
    await execute(empty, f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    for ask in (empty.thread("t"), empty.save("t", "ada", [said("Hi")]), empty.upgrade()):
        with pytest.raises(StoreError, match="newer version, 9999.*update procession"):
            await ask


@pytest.mark.service
@pytest.mark.parametrize("version", versions())
async def test_each_version_that_was_released_can_be_upgraded(
    postgres_server: PostgresServer, empty: PostgresStore, version: str
) -> None:
    """What was saved in tables of each version is there afterwards; versions that come are tested by themselves."""
    connection = empty._connection  # pyright: ignore[reportPrivateUsage]
    await upgrade_tables(connection, version)
    await execute(
        empty,
        "INSERT INTO procession_threads (id, resource_id, created_at, updated_at, title)"
        " VALUES ('t', 'ada', now(), now(), '\"Parcels\"')",
    )
    await execute(
        empty,
        "INSERT INTO procession_messages (thread_id, id, moment, body) VALUES ('t', 'm', 0, "
        """'{"$type":"Message","role":"user","parts":[{"$type":"TextPart","text":"Hi"}],"id":"m","""
        """"created_at":{"$time":"1970-01-01T00:00:00+00:00"}}')""",
    )
    await execute(
        empty,
        "INSERT INTO procession_notes (resource_id, kind, version, body) VALUES ('ada', 'k', 1, '\"Likes tulips\"')",
    )
    await execute(empty, "INSERT INTO procession_indexes (name) VALUES ('i')")
    await execute(empty, "INSERT INTO procession_to_index (thread_id, message_id, index_name) VALUES ('t', 'm', 'i')")
    await execute(
        empty,
        "INSERT INTO procession_runs (run_id, owner, kind, status, graph_hash, created_at, updated_at, claimed_until,"
        " cancel_requested, data) VALUES ('r', 'agent', 'agent', 'suspended', '', 1, 1, 0, false, '{}')",
    )
    await execute(
        empty,
        "INSERT INTO procession_entries (run_id, seq, kind, path, attempt, data) VALUES ('r', 0, 'step', 'a', 1, '42')",
    )
    assert await empty.upgrade() == TableVersion(version)
    assert await empty.note(NoteKey(kind="k", resource_id="ada")) == Note("Likes tulips", 1)
    assert [item.message.text for item in await empty.take("i", limit=9, seconds=0)] == ["Hi"]
    async with PostgresJournal(postgres_server.url, schema=connection.schema) as journal:
        assert [(row.run_id, row.status, row.data) for row in await journal.runs()] == [("r", "suspended", None)]
        assert [(row.path, row.data) for row in await journal.entries("r")] == [("a", "42")]
    thread = await empty.thread("t", resource_id="ada")
    assert thread is not None
    assert thread.title == "Parcels"
    assert texts(await empty.messages("t", resource_id="ada")) == ["Hi"]
    assert await empty.upgrade() == TableVersion(VERSION)


@pytest.mark.service
async def test_several_that_upgrade_at_once(postgres_server: PostgresServer) -> None:
    """One of them does it, and the others find it done."""
    schema = fresh_schema()
    found: list[TableVersion] = []

    async def upgrade() -> None:
        async with PostgresStore(postgres_server.url, schema=schema) as store:
            found.append(await store.upgrade())

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(upgrade)
    assert sorted(str(each.found) for each in found) == [VERSION] * 5 + ["None"]


@pytest.mark.service
async def test_an_upgrade_that_fails_leaves_nothing(empty: PostgresStore) -> None:
    """All of it is one transaction."""
    await execute(empty, f'CREATE SCHEMA "{empty._connection.schema}"')  # pyright: ignore[reportPrivateUsage]
    await execute(empty, "CREATE TABLE procession_to_index (other int)")
    with pytest.raises(StoreError):
        await empty.upgrade()
    assert await empty.table_version() == TableVersion(None)
    await execute(empty, "DROP TABLE procession_to_index")
    assert await empty.upgrade() == TableVersion(None)


@pytest.mark.service
@pytest.mark.timeout(180)
def test_the_command_says_and_does_it(postgres_server: PostgresServer) -> None:
    """``procession db``, from several processes at once: status is 1, upgrade is 0, and status is 0."""
    pytest.importorskip("typer", reason="pip install 'procession[cli]'")
    where = ["--store", postgres_server.url, "--schema", fresh_schema(), "--json"]

    def begun(command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "procession", "db", command, *where], stdout=subprocess.PIPE)

    def told(process: subprocess.Popen[bytes]) -> tuple[int, str | None, bool]:
        said = json.loads(process.communicate(timeout=50)[0])
        return process.returncode, said["found"], said["current"]

    assert told(begun("status")) == (1, None, False)
    both = [begun("upgrade") for _ in range(3)]
    assert sorted(map(told, both), key=str) == [(0, VERSION, True), (0, VERSION, True), (0, None, True)]
    assert told(begun("status")) == (0, VERSION, True)


@pytest.mark.service
async def test_who_may_not_make_tables_is_told_so(postgres_server: PostgresServer, empty: PostgresStore) -> None:
    """A user with the rights of the docs serves, and does not upgrade; without rights the error says that."""
    await empty.upgrade()
    schema = empty._connection.schema  # pyright: ignore[reportPrivateUsage]
    await execute(empty, "DROP ROLE IF EXISTS server")
    await execute(empty, "CREATE ROLE server LOGIN")
    url = postgres_server.url.replace("procession@", "server@")
    try:
        async with PostgresStore(url, schema=schema) as store:
            with pytest.raises(StoreError, match="may not do that"):
                await store.thread("t")
            await execute(empty, f'GRANT USAGE ON SCHEMA "{schema}" TO server')
            await execute(empty, f'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "{schema}" TO server')
            await store.save("t", "ada", [said("Hi")], title="Mine", indexes=["i"])
            assert [each.message.text for each in await store.take("i", limit=9, seconds=9)] == ["Hi"]
            assert await store.delete_resource("ada") == 1
        async with PostgresStore(url, schema=fresh_schema()) as store:
            with pytest.raises(StoreError, match="may not do that"):
                await store.upgrade()
    finally:
        await execute(empty, "DROP OWNED BY server")
        await execute(empty, "DROP ROLE server")
