"""Stores for tests that every kind of store must pass."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.storage.journals import Clock

from procession.storage.base import JournalStore
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal


@pytest.fixture
def clock() -> Clock:
    """Return the clock of the store."""
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "sqlite-full"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[JournalStore]:
    """Yield an empty store."""
    if request.param == "memory":
        yield InMemoryJournal(clock=clock)
    else:
        synchronous: Any = "full" if request.param == "sqlite-full" else "normal"
        async with SQLiteJournal(tmp_path / "runs.db", synchronous=synchronous, clock=clock) as made:
            yield made
