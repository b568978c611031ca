"""Stores for tests that every kind of store must pass."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.storage import postgres_stores, vector_stores
from tests.storage.conversations import KINDS, Conversations, made
from tests.storage.journals import RUN, RUNS, Clock
from tests.storage.other_process import OtherProcess, in_turns
from tests.storage.postgres_server import PostgresServer
from tests.storage.small_disks import can_be_made

from procession.storage.base import JournalStore
from procession.storage.cipher import new_key
from procession.storage.file_sink import FileSink
from procession.storage.memory import InMemoryJournal
from procession.storage.records import Records
from procession.storage.sealed_journal import SealedJournal
from procession.storage.sqlite import commits
from procession.storage.sqlite.journal import SQLiteJournal
from procession.storage.sqlite.vector_extension import extension


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what cannot be here, whatever were installed."""
    never = {id(item) for item in items if isinstance(item, pytest.Function) and _cannot_be(item)}
    config.hook.pytest_deselected(items=[item for item in items if id(item) in never])
    items[:] = [item for item in items if id(item) not in never]


def _cannot_be(item: pytest.Function) -> bool:
    """Return whether that is a store in Postgres on trio, sqlite-vec on a Python without it, or a disk that takes root."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    kinds = {value for value in params.values() if isinstance(value, str)}  # other tests' values are no words of ours
    return (
        ("trio" in kinds and any(kind.startswith(("postgres", "pgvector")) for kind in kinds))
        or ("sqlite-vec" in kinds and extension() is None)
        or ("small_disk" in item.fixturenames and not can_be_made())
    )


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Yield a running PostgreSQL."""
    yield from postgres_stores.started()


@pytest.fixture(scope="session")
def pgvector_server() -> Iterator[PostgresServer]:
    """Yield a running PostgreSQL that has pgvector."""
    yield from vector_stores.postgres_with_vectors()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """Yield a server that the test may stop."""
    yield from postgres_stores.started()


@pytest.fixture
def clock() -> Clock:
    """Return the clock of the store."""
    return Clock()


@pytest.fixture(scope="session")
def other_process() -> Iterator[OtherProcess]:
    """Yield a process that works on the same files."""
    made = OtherProcess()
    yield made
    made.end()


@pytest.fixture(
    params=["memory", "sqlite", "two-processes", "sealed", pytest.param("postgres", marks=pytest.mark.service)]
)
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[JournalStore]:
    """Yield an empty store; that of two processes does each call in the other one than the call before."""
    if request.param == "memory":
        yield InMemoryJournal(clock=clock)
        return
    if request.param == "postgres":
        async with postgres_stores.made_journal(request.getfixturevalue("postgres_server"), clock) as runs:
            yield runs
        return
    path = str(tmp_path / "runs.db")
    async with SQLiteJournal(path, clock=clock) as journal:
        if request.param == "sqlite":
            yield journal
        elif request.param == "sealed":
            key = new_key() if find_spec("cryptography") is not None else None
            yield SealedJournal(journal, Records(key=key, sink=FileSink(tmp_path / "kept"), limit=5))
        else:
            yield in_turns(journal, request.getfixturevalue("other_process"), path, clock)


@pytest.fixture(params=KINDS)
async def conversations(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[Conversations]:
    """Yield an empty store of conversations, of every kind."""
    async with made(request.param, tmp_path, clock, request.getfixturevalue) as each:
        yield each


@pytest.fixture
def no_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everyone wait for a round of the loop, also who writes alone; to be asked for before the store."""
    monkeypatch.setattr(commits, "_ALONE", 0.0)


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[SQLiteJournal]:
    """Yield a store with five runs, each held by its own id."""
    async with SQLiteJournal(tmp_path / "runs.db") as journal:
        for run_id in RUNS:
            await journal.add(RUN.replace(run_id=run_id), token=run_id, seconds=30)
        yield journal
