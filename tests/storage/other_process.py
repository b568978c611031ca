"""
A process that does on a store in a SQLite file what it is told, line by line, and says what came of it.

Each line is a pickle in hex: the store's class, the path, the time, the method, its arguments.  For tests only.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any, TypeVar

import anyio
from tests.storage.journals import Clock

from procession.storage.sqlite.journal import SQLiteJournal
from procession.storage.sqlite.store import SQLiteStore

Store = TypeVar("Store", SQLiteJournal, SQLiteStore)


class OtherProcess:
    """The process, as the tests see it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.storage.other_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def call(self, *what: Any) -> Any:
        """Have a method called there, and return or raise what it did."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(pickle.dumps(what).hex() + "\n")
        stdin.flush()
        result, error = pickle.loads(bytes.fromhex(stdout.readline()))
        if error is not None:
            raise error
        return result

    def end(self) -> None:
        """End it."""
        self._process.communicate(timeout=50)


class InTurns:
    """A store whose calls are done by this process and another one in turns, on one file."""

    def __init__(self, here: SQLiteJournal | SQLiteStore, there: OtherProcess, path: str, clock: Clock) -> None:
        self._here = here
        self._there = there
        self._path = path
        self._clock = clock
        self._calls = 0

    def __getattr__(self, name: str) -> Any:
        """Return a method of the port."""
        if name.startswith("_"):
            raise AttributeError(name)

        async def method(*args: Any, **kwargs: Any) -> Any:
            self._calls += 1
            if self._calls % 2:
                return await getattr(self._here, name)(*args, **kwargs)
            return self._there.call(type(self._here), self._path, self._clock.now, name, args, kwargs)

        return method


async def serve() -> None:
    """Do what the lines say."""
    clock = Clock()
    opened: tuple[Any, str] | None = None
    store: SQLiteJournal | SQLiteStore | None = None
    for line in sys.stdin:
        kind, path, clock.now, name, args, kwargs = pickle.loads(bytes.fromhex(line))
        if store is None or (kind, path) != opened:
            if store is not None:
                await store.aclose()
            store, opened = kind(path, clock=clock), (kind, path)
        try:
            answer: Any = (await getattr(store, name)(*args, **kwargs), None)
        except Exception as error:
            answer = (None, type(error)(str(error)))
        sys.stdout.write(pickle.dumps(answer).hex() + "\n")
        sys.stdout.flush()
    if store is not None:
        await store.aclose()


def in_turns(here: Store, there: OtherProcess, path: str, clock: Clock) -> Store:
    """Return a store of two processes."""
    made: Any = InTurns(here, there, path, clock)
    return made  # type: ignore[no-any-return]


if __name__ == "__main__":
    anyio.run(serve)
