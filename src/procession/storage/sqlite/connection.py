"""
Connection: one SQLite file, opened at its first use, and who may use it at the moment.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from procession.errors import StoreError
from procession.storage.sqlite.in_thread import in_thread
from procession.storage.sqlite.schema import Family, prepare_tables

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Connection", "Synchronous", "Write"]

Out = TypeVar("Out")

Synchronous = Literal["normal", "full"]
"""When what was written is on the disk itself: soon, or before the call returns."""

PATIENCE = 30.0
"""Seconds for which a process waits while others write."""

_CHECKPOINT = 1000
"""Pages after which what stands in the log is taken into the file: about 4 MB."""

_LONG_LOG = 16 * _CHECKPOINT
"""Pages after which other processes that read or write are waited for, so that the log begins anew."""

_FOR_OTHERS = 0.1
"""Seconds for which they are: this process writes nothing meanwhile."""


def pages_of(size: int) -> int:
    """
    Return how many pages a write of *size* bytes adds to the log, about.
    """
    return 2 + (size + 3000) // 4096


class Write:
    """
    Something to be written, and what came of it.
    """

    __slots__ = ("failure", "has_ended", "is_one", "pages", "result", "work")

    def __init__(self, work: Callable[[sqlite3.Connection], Any], size: int, is_one: bool) -> None:
        self.work = work
        self.is_one = is_one
        """Whether it is one statement, which is a commit by itself."""
        self.pages = pages_of(size)
        """How much it adds to the log, about."""
        self.has_ended = False
        self.result: Any = None
        self.failure: StoreError | None = None

    def fail(self, failure: StoreError) -> None:
        """
        End it with what went wrong.
        """
        self.has_ended, self.failure = True, failure


class Connection:
    """
    A connection to the file at *path*, opened when it is first used.

    The tables are the library's own, so that the file may hold others.  What is deleted is overwritten.  One lock says
    who uses it: threads wait for it, an event loop never does.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Synchronous = "normal",
        tables: Sequence[str] = (),
        families: Sequence[Family] = (),
    ) -> None:
        self.path = os.fspath(path)
        self.file = self.path if self.path in ("", ":memory:") else os.path.abspath(self.path)
        """Where it is, whatever becomes the working directory until it is opened, or opened again."""
        self._tables = tables
        """Statements that make further tables where there are none."""
        self._families = families
        """Further tables that have versions of their own."""
        self.synchronous: Synchronous = synchronous
        self._lock = threading.Lock()
        self._open: sqlite3.Connection | None = None
        self._process = 0
        self._log = 0
        """Pages written since the log was last taken into the file."""
        self._log_is_long = False

    async def read(self, work: Callable[[sqlite3.Connection], Out]) -> Out:
        """
        Do *work*, which only reads, in a worker thread and return what it returns.

        Raises ``StoreError`` where the file cannot be used.
        """
        return await in_thread(partial(self._read, work))

    async def close(self) -> None:
        """
        Close the file; the next use opens it again.
        """
        await in_thread(self._close)

    def commit_now(self, writes: Sequence[Write]) -> bool:
        """
        Commit *writes* unless that would have to wait; ``False``, and nothing is written, where it would.
        """
        if self._is_of_another_process or not self._lock.acquire(blocking=False):
            return False
        try:
            if self._open is None:
                return False  # opening may wait
            self._transact(self._opened(), writes)
        except Exception as error:
            if _is_busy(error):
                return False
            self._fail(writes, error)
        finally:
            self._lock.release()
        return True

    def execute_now(self, statement: str, values: Sequence[Any], size: int) -> int | None:
        """
        Execute one *statement*, which is a commit by itself, and return how many rows it wrote.

        ``None``, and nothing is written, where it would have to wait or has failed: whoever commits the same says why.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            made = self._open
            if made is None or self._process != os.getpid():
                return None
            rows = made.execute(statement, values).rowcount
            self._log += pages_of(size)
            return rows
        except Exception:
            return None
        finally:
            self._lock.release()

    def commit(self, writes: Sequence[Write]) -> None:
        """
        Commit *writes*, waiting as long as it takes others to write; what fails is said in each of them.
        """
        try:
            self._need_this_process()
            with self._lock, _patience(self._opened(), PATIENCE) as made:
                self._transact(made, writes)
        except Exception as error:
            self._fail(writes, error)

    @property
    def checkpoint_is_due(self) -> bool:
        """
        Whether the log has become long enough to be taken into the file.
        """
        return self._log >= _CHECKPOINT

    def checkpoint(self) -> None:
        """
        Take the log into the file.  Where others are in the way, or it fails, the next time does it.
        """
        import sqlite3

        with suppress(sqlite3.Error, StoreError):
            self._need_this_process()
            self._take_log()

    def _take_log(self) -> None:
        with self._lock:
            self._log = 0
            with _patience(self._opened(), _FOR_OTHERS if self._log_is_long else 0.0) as made:
                mode = "RESTART" if self._log_is_long else "PASSIVE"
                self._log_is_long = made.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()[1] > _LONG_LOG

    def _read(self, work: Callable[[sqlite3.Connection], Out]) -> Out:
        import sqlite3

        self._need_this_process()
        with self._lock:
            try:
                with _patience(self._opened(), PATIENCE) as made:
                    return work(made)
            except (sqlite3.Error, UnicodeError, OverflowError) as error:  # what no file can hold is in none, either
                raise self._unusable(error) from error

    def _transact(self, made: sqlite3.Connection, writes: Sequence[Write]) -> None:
        try:
            _all_or_nothing(made, writes)
        except Exception as error:
            if len(writes) == 1 or _is_of_the_file(error):
                raise
            for one in writes:  # it is one's fault: the others are not to suffer from it
                self._transact_one(made, one)
        self._log += sum([one.pages for one in writes])

    def _transact_one(self, made: sqlite3.Connection, one: Write) -> None:
        try:
            _all_or_nothing(made, (one,))
        except Exception as error:
            self._fail((one,), error)

    def _fail(self, writes: Sequence[Write], error: Exception) -> None:
        for one in writes:
            if not one.has_ended:
                one.fail(self._unusable(error))

    def _unusable(self, error: Exception) -> StoreError:
        if isinstance(error, StoreError):
            return StoreError(error.message, hint=error.hint)
        failure = StoreError(f"the store {self.path!r} cannot be used: {error}")
        failure.__cause__ = error
        return failure

    def _close(self) -> None:
        if self._is_of_another_process:  # which goes on with it
            return
        with self._lock:
            if self._open is not None:
                self._open.close()
            self._open = None

    @property
    def _is_of_another_process(self) -> bool:
        return self._open is not None and self._process != os.getpid()

    def _need_this_process(self) -> None:
        """
        Raise ``StoreError`` where the connection is another process's, whose thread may have the lock, for good here.
        """
        if self._is_of_another_process:
            raise StoreError(
                f"the store {self.path!r} was opened before this process was forked",
                hint="make the store, or use it first, in the process that works with it",
            )

    def _opened(self) -> sqlite3.Connection:
        if self._open is not None:
            self._need_this_process()
            return self._open
        import sqlite3

        if self.file != ":memory:" and not os.path.exists(self.file):
            try:  # what was said in a run is private: nobody else on this machine need read it
                os.close(os.open(self.file, os.O_CREAT | os.O_RDWR, 0o600))
            except OSError as error:
                raise StoreError(f"the store {self.path!r} cannot be made: {error.strerror}") from error
        if os.path.isdir(self.file):
            raise StoreError(f"the store {self.path!r} is a directory", hint="name a file")
        made = sqlite3.connect(self.file, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            _patiently(lambda: made.execute("PRAGMA journal_mode = WAL"))
            made.execute(f"PRAGMA synchronous = {self.synchronous}")
            made.execute("PRAGMA secure_delete = ON")
            made.execute("PRAGMA wal_autocheckpoint = 0")
            prepare_tables(made, self.path, self._tables, self._families)
            made.execute("PRAGMA busy_timeout = 0")
        except BaseException:
            made.close()
            raise
        self._open, self._process = made, os.getpid()
        return made


def _all_or_nothing(made: sqlite3.Connection, writes: Sequence[Write]) -> None:
    if len(writes) == 1 and writes[0].is_one:
        writes[0].result = writes[0].work(made)
        writes[0].has_ended = True
        return
    made.execute("BEGIN IMMEDIATE")  # no other process writes before the commit
    try:
        for one in writes:
            one.result = one.work(made)
        made.execute("COMMIT")
    except BaseException:
        if made.in_transaction:  # a full disk ends it by itself
            made.execute("ROLLBACK")
        raise
    for one in writes:
        one.has_ended = True


@contextmanager
def _patience(made: sqlite3.Connection, seconds: float) -> Generator[sqlite3.Connection]:
    """
    Wait in here, for *seconds* at most, while others write.
    """
    made.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
    try:
        yield made
    finally:
        made.execute("PRAGMA busy_timeout = 0")


def _is_busy(error: Exception) -> bool:
    code: int = getattr(error, "sqlite_errorcode", None) or 0
    return code & 0xFF in (5, 6)  # SQLITE_BUSY and SQLITE_LOCKED, with all that is said more exactly


def _is_of_the_file(error: Exception) -> bool:
    """
    Return whether *error* would meet any other write as well, as a full disk does.
    """
    import sqlite3

    return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError


def _patiently(work: Callable[[], Any]) -> None:
    """
    Do what SQLite refuses at once, instead of waiting, while another process does the same.
    """
    import sqlite3

    until = time.monotonic() + PATIENCE
    while True:
        try:
            work()
            return
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
