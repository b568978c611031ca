"""Stores that fail, hang or are slow where a test says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from procession.storage.base import JournalStore
from procession.storage.memory import InMemoryJournal

Fault = Callable[..., Awaitable[None]]
"""Is awaited before a call of the store, with its arguments: it may raise, or take its time."""


class Faulty:
    """A store before whose methods of a name something happens."""

    def __init__(self, store: JournalStore, **faults: Fault) -> None:
        self._store = store
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        """Return a method of the port."""

        async def method(*args: Any, **kwargs: Any) -> Any:
            fault = self._faults.get(name)
            if fault is not None:
                await fault(*args, **kwargs)
            return await getattr(self._store, name)(*args, **kwargs)

        return method


def faulty(store: JournalStore, **faults: Fault) -> Any:
    """Return *store* with *faults*, by the names of its methods."""
    return Faulty(store, **faults)


def failing(*numbers: int, error: type[Exception]) -> Fault:
    """Return a fault that raises *error* in the calls of these *numbers*, from 1."""
    calls = 0

    async def fault(*args: Any, **kwargs: Any) -> None:
        nonlocal calls
        calls += 1
        if calls in numbers:
            raise error("the disk is gone")

    return fault


def left_by_a_dead_process(store: InMemoryJournal, clock: Callable[[], float]) -> InMemoryJournal:
    """Return a store as it is now, as another process finds it; what is written from now on is not in it."""
    left = InMemoryJournal(clock=clock)
    for name in ("_rows", "_ended", "_graphs", "_claims"):
        setattr(left, name, dict(getattr(store, name)))
    left._entries = {run: dict(rows) for run, rows in store._entries.items()}  # pyright: ignore[reportPrivateUsage]
    return left
