"""
Outbox: the turns that one store could not take, until it is back.

They wait in this process, in order, and within bounds.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import anyio

from procession.errors import DefinitionError, InputError, MessageError, StoreError
from procession.messages.message import Message
from procession.messages.serial import to_data
from procession.messages.value import Value
from procession.steps.scope import Background
from procession.storage.threads import ThreadStore

__all__ = ["Outbox", "TurnToSave", "log_unsaved", "outbox_of"]

MAX_TURNS = 1000
MAX_BYTES = 64_000_000
FIRST_PAUSE = 0.5
"""Seconds until a store that failed is tried again in the background; each pause is twice as long as the one before."""
LONGEST_PAUSE = 60.0
_PATIENCE = 10.0
"""Seconds that a read or a save waits for what has to be saved before it."""
_TRIES = 3
"""How many threads may fail before the store is left alone; those that failed last are the last to be tried again."""
GIVE_UP = 600.0
"""Seconds for which a turn is tried that the store refuses while it takes others: behind it waits its thread."""
_LAST_TRY = 2.0
"""Seconds that a runtime which closes gives what still waits."""


class ToSave(Protocol):
    """
    Something that goes to a store, in one step.  What is of one thread goes there in order.
    """

    @property
    def thread_id(self) -> str: ...

    @property
    def resource_id(self) -> str: ...

    @property
    def messages(self) -> Sequence[Message]:
        """
        The messages among it.
        """
        ...

    @property
    def size(self) -> int:
        """
        About how many bytes it takes.
        """
        ...

    async def save(self, store: Any, within: float | None) -> None:
        """
        Save it, or raise what the store raises: ``InputError`` or ``MessageError`` where it can never be saved.
        """
        ...


class TurnToSave(Value, kw_only=True):
    """
    What of a turn goes to the store, in one step.
    """

    thread_id: str
    resource_id: str
    messages: Sequence[Message]
    title: str | None = None
    metadata: Mapping[str, Any] | None = None
    indexes: Sequence[str] = ()

    async def save(self, store: ThreadStore, within: float | None) -> None:
        """
        Save it, or raise what the store raises; ``TimeoutError`` where that takes longer than so many seconds.
        """
        with anyio.fail_after(within):
            await store.save(
                self.thread_id,
                self.resource_id,
                self.messages,
                title=self.title,
                metadata=self.metadata,
                indexes=self.indexes,
            )

    @property
    def size(self) -> int:
        """
        About how many bytes it takes.
        """
        return sum(len(json.dumps(to_data(message), default=str)) for message in self.messages)


class _Waiting:
    """
    One turn that waits.
    """

    __slots__ = ("failed", "since", "size", "turn")

    def __init__(self, turn: ToSave, size: int) -> None:
        self.turn = turn
        self.size = size
        self.since = time.monotonic()
        self.failed = self.since
        """When the store refused it last."""


class Outbox:
    """
    The turns that wait for one store, the oldest first.
    """

    def __init__(
        self,
        *,
        max_turns: int = MAX_TURNS,
        max_bytes: int = MAX_BYTES,
        pause: float = FIRST_PAUSE,
        give_up: float = GIVE_UP,
    ) -> None:
        self.max_turns = max_turns
        self.max_bytes = max_bytes
        self.pause = pause
        self.give_up = give_up
        self._waiting: deque[_Waiting] = deque()
        self._took = 0.0
        """When the store took something last."""
        self._lock = threading.Lock()  # the calls of several event loops may share a store
        self._retrying = False

    def __len__(self) -> int:
        return len(self._waiting)

    def of(self, thread_id: str, resource_id: str) -> list[Message]:
        """
        Return the messages of a thread that wait, oldest first; the latest of each id.
        """
        found: dict[str, Message] = {}
        for turn in [entry.turn for entry in list(self._waiting)]:
            if (turn.thread_id, turn.resource_id) == (thread_id, resource_id):
                found.update((message.id, message) for message in turn.messages)
        return list(found.values())

    def of_resource(self, resource_id: str) -> list[tuple[str, Message]]:
        """
        Return the messages of a resource that wait, each with its thread's id.
        """
        return [
            (turn.thread_id, message)
            for turn in [entry.turn for entry in list(self._waiting)]
            if turn.resource_id == resource_id
            for message in turn.messages
        ]

    async def save(self, store: ThreadStore, turn: ToSave, within: float | None) -> None:
        """
        Save *turn* behind those that wait; raises what the store raises.
        """
        if self._waiting:
            await self.flush(store)
            if any(entry.turn.thread_id == turn.thread_id for entry in list(self._waiting)):
                raise StoreError(f"{type(store).__name__} has yet to take an earlier turn of the thread")
            await turn.save(store, within)
            self._took = time.monotonic()
        else:
            await turn.save(store, within)

    def hold(self, turn: ToSave) -> bool:
        """
        Let *turn* wait; ``False`` where there is no room for it.
        """
        try:
            size = turn.size
        except (MessageError, TypeError, ValueError, RecursionError):  # no store could take it
            return False
        waiting = list(self._waiting)
        if len(waiting) >= self.max_turns or sum(entry.size for entry in waiting) + size > self.max_bytes:
            return False
        self._waiting.append(_Waiting(turn, size))
        return True

    async def flush(self, store: ThreadStore) -> int:
        """
        Save what waits, in order, and return how many turns still do.
        """
        if self._waiting:
            with anyio.move_on_after(_PATIENCE):
                async with self._alone():
                    await self._flush(store)
        return len(self._waiting)

    async def forget(self, resource_id: str, thread_id: str | None) -> int:
        """
        Drop the turns of a resource that wait, or of one of its threads, and return how many there were.
        """
        if not self._waiting:
            return 0
        async with self._alone():
            gone = [
                entry
                for entry in self._waiting
                if entry.turn.resource_id == resource_id and thread_id in (None, entry.turn.thread_id)
            ]
            for entry in gone:
                self._waiting.remove(entry)
        return len(gone)

    async def _flush(self, store: ThreadStore) -> None:
        stuck: set[str] = set()
        for entry in self._by_turns():
            turn = entry.turn
            if turn.thread_id in stuck:
                continue
            try:
                await turn.save(store, _PATIENCE)
            except (
                InputError,
                MessageError,
            ) as error:  # such as a thread that somebody else has by now: it never goes there
                self._lose(entry, error)
            except Exception as error:
                if self._took > entry.failed and time.monotonic() - entry.since >= self.give_up:
                    self._lose(entry, error)
                    continue
                entry.failed = time.monotonic()
                stuck.add(turn.thread_id)
                if len(stuck) == _TRIES:
                    return
            else:
                self._took = time.monotonic()
                self._waiting.remove(entry)

    def _by_turns(self) -> list[_Waiting]:
        """
        Return what waits, thread by thread in order; first the threads that were tried longest ago.
        """
        waiting = list(self._waiting)
        tried: dict[str, float] = {}
        for entry in waiting:
            tried.setdefault(entry.turn.thread_id, entry.failed)
        return sorted(waiting, key=lambda entry: tried[entry.turn.thread_id])

    def _lose(self, entry: _Waiting, error: Exception) -> None:
        self._waiting.remove(entry)
        log_unsaved("a turn that waited was refused, and is lost", turns=1, error=type(error).__name__)

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None, None]:
        while not self._lock.acquire(blocking=False):  # noqa: ASYNC110 - an event is one event loop's, the lock is all loops'
            await anyio.sleep(0.005)
        try:
            yield
        finally:
            self._lock.release()

    def keep_trying(self, store: ThreadStore, background: Background | None) -> None:
        """
        Save what waits in the *background* of an open runtime, with growing pauses, until all is saved.
        """
        if background is not None and not self._retrying:
            self._retrying = background.start(self._try_on, store)

    async def _try_on(self, store: ThreadStore) -> None:
        pause = self.pause
        try:
            while self._waiting:
                await anyio.sleep(pause)
                await self.flush(store)
                pause = min(pause * 2, LONGEST_PAUSE)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(_LAST_TRY, shield=True):
                await self.flush(store)
            if self._waiting:
                log_unsaved("the runtime closed before its turns were saved", turns=len(self._waiting))
            raise
        finally:
            self._retrying = False


_OUTBOXES: WeakKeyDictionary[Any, Outbox] = WeakKeyDictionary()


def outbox_of(store: ThreadStore) -> Outbox:
    """
    Return the outbox of *store*, which all that use the same object share.

    Raises ``DefinitionError`` for a store that cannot be told from another one.
    """
    try:
        found = _OUTBOXES.get(store)
        if found is None:
            found = _OUTBOXES.setdefault(store, Outbox())
    except TypeError as error:
        raise DefinitionError(
            f"{type(store).__name__} has no hash, or no weak references",
            hint="a store is an object of its own: a dataclass with eq=False, and not with slots alone",
        ) from error
    return found


def log_unsaved(event: str, **fields: Any) -> None:
    """
    Say what became of turns, without what was said in them.
    """
    import structlog

    structlog.get_logger("procession").warning(event, **fields)
