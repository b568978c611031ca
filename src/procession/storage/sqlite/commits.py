"""
Commits: what many write at a time becomes one commit, by the first of them, on the event loop.

A hop to a thread costs five times what the commit of a small row does.  So whoever writes first leads: it lets the loop
go round once, so that others join, then commits for all of them.  It goes to a thread, and is waited for, where the
commit would make the loop wait: for the disk, for another process or thread, for much to be written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

import anyio
import anyio.lowlevel
from anyio.lowlevel import RunVar

from procession.errors import StoreError
from procession.storage.sqlite.connection import Connection, Write
from procession.storage.sqlite.in_thread import in_thread

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Commits"]

Out = TypeVar("Out")

_MOST = 100
"""Writes that are committed on the loop at a time, for about a millisecond."""

_MOST_PAGES = 256
"""And how much of the log they may fill."""

_ALONE = 0.001
"""Seconds for which one who writes alone goes on without a round of the loop."""

_SLOW = 0.005
"""Seconds that a commit on the loop may take: where one takes longer the disk is slow, or the machine is busy."""

_PATIENCE = 3
"""How many slow commits, one after the other, are the disk's."""

_PENANCE = 100
"""How many commits go to a thread then."""


class _Pass:
    """
    What is committed at a time.
    """

    __slots__ = ("_ended", "writes")

    def __init__(self, first: Write) -> None:
        self.writes = [first]
        self._ended: anyio.Event | None = None

    async def until_ended(self) -> BaseException | None:
        """
        Wait for the end, whoever cancels, and return what that has raised meanwhile.
        """
        ended = self._ended = self._ended or anyio.Event()
        try:
            await ended.wait()
        except anyio.get_cancelled_exc_class() as error:
            interrupted = error
        else:
            return None
        with anyio.CancelScope(shield=True):
            while not ended.is_set():
                with suppress(anyio.get_cancelled_exc_class()):  # asyncio's own: no shield keeps it off
                    await ended.wait()
        return interrupted

    def end(self) -> None:
        """
        Tell those who wait; whatever was not committed fails.
        """
        for one in self.writes:
            if not one.has_ended:
                one.fail(StoreError("the write was broken off before it was committed"))
        if self._ended is not None:
            self._ended.set()


class _Turn:
    """
    The passes of one event loop: at most one is being committed, and one more gathers meanwhile.
    """

    __slots__ = ("committing", "gathering")

    def __init__(self) -> None:
        self.gathering: _Pass | None = None
        self.committing: _Pass | None = None


_TURNS: RunVar[WeakKeyDictionary[Commits, _Turn]] = RunVar("procession_sqlite_turns")


class Commits:
    """
    The commits of one connection, from any number of event loops.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._is_full = connection.synchronous == "full"
        self._alone_until = 0.0
        self._slow = 0
        """How many of the last commits on the loop were slow."""
        self._in_thread = 0
        """How many commits are still to be done in a thread for that."""

    async def write(self, work: Callable[[sqlite3.Connection], Out], size: int = 0, *, is_one: bool = False) -> Out:
        """
        Do *work*, which writes about *size* bytes, within a commit, and return what it returns, once that has ended.

        *is_one* says that it is one statement, which is a commit by itself.  Raises ``StoreError`` where it could not be
        committed.  Who is cancelled waits for the end of the commit.
        """
        one = Write(work, size, is_one)
        if not (self._is_alone(one) and self._connection.commit_now((one,))):
            turn = self._turn()
            gathering = turn.gathering
            if gathering is None:
                gathering = turn.gathering = _Pass(one)
                interrupted = await self._lead(turn, gathering)
            else:
                gathering.writes.append(one)
                interrupted = await gathering.until_ended()
            if interrupted is not None:
                raise interrupted
        if one.failure is not None:
            raise one.failure
        result: Out = one.result
        return result

    def _turn(self) -> _Turn:
        turns: WeakKeyDictionary[Commits, _Turn] | None = _TURNS.get(None)
        if turns is None:
            turns = WeakKeyDictionary()
            _TURNS.set(turns)
        turn = turns.get(self)
        if turn is None:
            turn = turns[self] = _Turn()
        return turn

    def _is_alone(self, one: Write) -> bool:
        """
        Whether nobody else has written of late, so that the loop need not go round for *one*: for a millisecond, then
        it does.
        """
        return time.perf_counter() < self._alone_until and one.pages <= _MOST_PAGES

    async def _lead(self, turn: _Turn, own: _Pass) -> BaseException | None:
        """
        Let others join, commit for all, and return what cancelling has raised meanwhile.
        """
        interrupted: BaseException | None = None
        try:
            try:
                await anyio.lowlevel.checkpoint()
            except anyio.get_cancelled_exc_class() as error:
                interrupted = error
            while turn.committing is not None:
                interrupted = await turn.committing.until_ended() or interrupted
            turn.committing, turn.gathering = own, None
            for part in _parts(own.writes, self._is_full):
                try:
                    await self._commit(part)
                except anyio.get_cancelled_exc_class() as error:  # raised behind the commit
                    interrupted = error
        finally:
            if turn.gathering is own:
                turn.gathering = None
            if turn.committing is own:
                turn.committing = None
            own.end()
        return interrupted

    async def _commit(self, writes: Sequence[Write]) -> None:
        connection = self._connection
        self._alone_until = 0.0
        if connection.checkpoint_is_due:
            await in_thread(connection.checkpoint)
        if self._in_thread == 0 and not self._is_full and writes[0].pages <= _MOST_PAGES:
            begun = time.perf_counter()
            if connection.commit_now(writes):
                now = time.perf_counter()
                self._slow = self._slow + 1 if now - begun > _SLOW else 0
                if self._slow == _PATIENCE:
                    self._slow, self._in_thread = 0, _PENANCE
                elif len(writes) == 1:
                    self._alone_until = now + _ALONE
                return
        self._in_thread = max(0, self._in_thread - 1)
        await in_thread(partial(connection.commit, writes))


def _parts(writes: Sequence[Write], whole: bool) -> Iterator[Sequence[Write]]:
    """
    Yield *writes* in parts that the loop can bear; what is too large for it stands alone.
    """
    if whole or len(writes) == 1:
        yield writes
        return
    part: list[Write] = []
    pages = 0
    for one in writes:
        pages += one.pages
        if part and (len(part) == _MOST or pages > _MOST_PAGES):
            yield part
            part, pages = [], one.pages
        part.append(one)
    yield part
