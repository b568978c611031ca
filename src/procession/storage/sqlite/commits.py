"""
Commits: what many write at a time becomes one commit, by the first of them, on the event loop.

A hop to a thread costs five times what the commit of a small row does.  So whoever writes first leads: it lets the loop
go round once, so that others join, then commits for all of them.  It goes to a thread, and is waited for, where the
commit would make the loop wait: for the disk, for another process or thread, for much to be written.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import anyio
import anyio.lowlevel

from procession.errors import StoreError
from procession.steps.event_loop import running_loop
from procession.storage.sqlite.connection import Connection, Write
from procession.storage.sqlite.in_thread import in_thread

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Commits"]

Out = TypeVar("Out")

_MOST = 50
"""Writes that are committed on the loop at a time, for less than a millisecond."""

_MOST_PAGES = 256
"""And how much of the log they may fill."""

_MOST_ALONE = 4096 * (_MOST_PAGES - 3)
"""The same in bytes, for one write."""

_ALONE = 0.002
"""Seconds for which one who writes alone goes on without a round of the loop: a fifth of what a run takes for itself."""

_SLOW = 0.005
"""Seconds that a commit on the loop may take: where one takes longer the disk is slow, or the machine is busy."""

_PATIENCE = 3
"""How many slow commits, one after the other, are the disk's."""

_PENANCE = 100
"""How many commits go to a thread then."""


class _Part:
    """
    What is one commit.
    """

    __slots__ = ("_ended", "_pages", "writes")

    def __init__(self, first: Write) -> None:
        self.writes = [first]
        self._pages = first.pages
        self._ended: anyio.Event | None = None

    def takes(self, one: Write) -> bool:
        """
        Add *one*, unless the loop could not bear so much at a time: what is too large for it stands alone.
        """
        if len(self.writes) == _MOST or self._pages + one.pages > _MOST_PAGES:
            return False
        self.writes.append(one)
        self._pages += one.pages
        return True

    def add(self, one: Write) -> None:
        """
        Add *one*, however much there is.
        """
        self.writes.append(one)

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
    Whose turn it is in one event loop: the commits that are being made, and those that gather meanwhile.
    """

    __slots__ = ("committing", "gathering")

    def __init__(self) -> None:
        self.gathering: list[_Part] | None = None
        self.committing: list[_Part] | None = None


class Commits:
    """
    The commits of one connection, from any number of event loops.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._turns: WeakKeyDictionary[object, _Turn] = WeakKeyDictionary()
        """By event loop."""
        self._is_full = connection.synchronous == "full"
        self._alone_until = 0.0
        self._slow = 0
        """How many of the last commits on the loop were slow."""
        self._in_thread = 0
        """How many commits are still to be done in a thread for that."""

    async def write(
        self,
        work: Callable[[sqlite3.Connection], Out],
        size: int = 0,
        *,
        is_one: bool = False,
        then: Callable[[Out], Awaitable[None]] | None = None,
    ) -> Out:
        """
        Do *work*, which writes about *size* bytes, within a commit, and return what it returns, once that has ended.

        *is_one* says that it is one statement, which is a commit by itself.  Raises ``StoreError`` where it could not be
        committed.  Who is cancelled waits for the end of the commit, and of what is to be done *then*, once it is made.
        """
        interrupted: BaseException | None = None
        one = Write(work, size, is_one)
        if not (self._is_alone(size) and self._connection.commit_now((one,))):
            turn = self._turn()
            gathering = turn.gathering
            if gathering is None:
                gathering = turn.gathering = [_Part(one)]
                interrupted = await self._lead(turn, gathering)
            else:
                interrupted = await self._joined(gathering, one).until_ended()
        result: Out = one.result
        if then is not None and one.failure is None:
            try:
                with anyio.CancelScope(shield=True):
                    await then(result)
            except Exception:
                if interrupted is None:
                    raise
        if interrupted is not None:
            raise interrupted
        if one.failure is not None:
            raise one.failure
        return result

    def execute_now(self, statement: str, values: Sequence[Any], size: int) -> int | None:
        """
        Execute one *statement*, which is a commit by itself, while nobody else writes, and return how many rows it wrote.

        ``None``, and nothing is written, where it would have to wait, and where it fails: :meth:`write` says why.
        """
        return self._connection.execute_now(statement, values, size) if self._is_alone(size) else None

    def _turn(self) -> _Turn:
        loop = running_loop()
        assert loop is not None
        turn = self._turns.get(loop)
        if turn is None:
            turn = self._turns[loop] = _Turn()
        return turn

    def _is_alone(self, size: int) -> bool:
        """
        Whether nobody else has written of late, so that the loop need not go round for *size* bytes: for two milliseconds,
        then it does.
        """
        return time.perf_counter() < self._alone_until and size <= _MOST_ALONE

    def _joined(self, gathering: list[_Part], one: Write) -> _Part:
        last = gathering[-1]
        if self._is_full:  # in a thread: the fewer commits the better
            last.add(one)
        elif not last.takes(one):
            last = _Part(one)
            gathering.append(last)
        return last

    async def _lead(self, turn: _Turn, own: list[_Part]) -> BaseException | None:
        """
        Let others join, commit for all, and return what cancelling has raised meanwhile.
        """
        try:
            interrupted = await _to_the_end(anyio.lowlevel.checkpoint)
            while turn.committing is not None:
                interrupted = await turn.committing[-1].until_ended() or interrupted
            turn.committing, turn.gathering = own, None
            for part in own:
                if part is not own[0]:  # the loop goes round between two commits
                    interrupted = await _to_the_end(anyio.lowlevel.checkpoint) or interrupted
                if self._connection.checkpoint_is_due:
                    interrupted = await _to_the_end(in_thread, self._connection.checkpoint) or interrupted
                interrupted = await _to_the_end(self._commit, part.writes) or interrupted
                part.end()
        finally:
            if turn.gathering is own:
                turn.gathering = None
            if turn.committing is own:
                turn.committing = None
            for part in own:
                part.end()
        return interrupted

    async def _commit(self, writes: Sequence[Write]) -> None:
        connection = self._connection
        self._alone_until = 0.0
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


async def _to_the_end(step: Callable[..., Awaitable[Any]], *arguments: Any) -> BaseException | None:
    """
    Await *step*, and return what cancelling has raised behind it.
    """
    try:
        await step(*arguments)
    except anyio.get_cancelled_exc_class() as error:
        return error
    return None
