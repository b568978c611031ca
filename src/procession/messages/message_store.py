"""
MessageStore: the memory of a message list, shared between forks and copied when one of them changes it.

Messages stand in an append-only list next to a length.  A fork takes references to both; whoever wants to change
what others can see copies the references first.  Only one holder may append to a shared list: the one that was
forked, never a fork, because forks may run in threads.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import compress, count
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from procession.errors import MessageError
from procession.messages.edits import RedactedSpans
from procession.messages.message import Message, SystemMessage
from procession.messages.sources import INPUT, RESPONSE, UNSAVED, Source, mask_of, names_of, table_of
from procession.messages.window import Window

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["MessageStore"]

Redaction: TypeAlias = tuple[Message, Message, RedactedSpans]
"""A message before and after, and what of the text before was hidden."""

_SHARED, _TAIL, _SOLE = 0, 1, 2
"""How the list is held: by others too; by others too, but only this one appends; by nobody else."""

_TICK = timedelta(microseconds=1)
_next_version = count(1).__next__
_NO_CHANGE: dict[str, tuple[Message | None, int]] = {}
_new = object.__new__


class MessageStore:
    """
    Messages with their sources, the system messages, and what has changed since the fork.
    """

    __slots__ = (
        "_base_redacted", "_base_system", "_base_version", "_disordered", "_flags", "_hold", "_index", "_index_shared",
        "_items", "_length", "_log", "_newest", "_owner", "_redacted", "_redacted_shared", "_system", "_views", "version",
    )  # fmt: skip

    _items: list[Message]
    _length: int
    _flags: bytearray
    _hold: int
    _index: dict[str, int] | None
    """Position by id, for every message; may hold more than that, so a hit is checked."""
    _index_shared: bool
    _newest: datetime | None
    _disordered: bool
    """Whether messages were appended out of the order of their times."""
    _system: tuple[SystemMessage, ...]
    """Untagged ones first, then the tagged, each in the order in which they were added."""
    _owner: tuple[str | None, str | None]
    _log: dict[str, tuple[Message | None, int]] | None
    """What stood at an id at the fork, for every id touched since; ``None`` for a list that is no fork."""
    _redacted: dict[str, Redaction] | None
    """What was hidden last, by message id, in this list and in those it was forked from that are forks themselves."""
    _redacted_shared: bool
    _base_redacted: dict[str, Redaction] | None
    """What had been hidden at the fork."""
    _base_system: tuple[SystemMessage, ...]
    _base_version: int
    _views: dict[int, Window[Message]] | None
    version: int
    """A token that is different after every change, and equal in a fork that changed nothing."""

    def __init__(self, *, thread_id: str | None = None, resource_id: str | None = None) -> None:
        self._items, self._length, self._flags = [], 0, bytearray()
        self._hold = _SOLE
        self._index, self._index_shared = {}, False
        self._newest, self._disordered = None, False
        self._system = ()
        self._owner = (thread_id, resource_id)
        self._log = None
        self._redacted, self._redacted_shared, self._base_redacted = None, False, None
        self._base_system = ()
        self._base_version = 0
        self._views = None
        self.version = _next_version()

    @property
    def thread_id(self) -> str | None:
        """
        The thread that the messages belong to, if any.
        """
        return self._owner[0]

    @property
    def resource_id(self) -> str | None:
        """
        The resource (a user, say) that the thread belongs to, if any.
        """
        return self._owner[1]

    # --- reading ---------------------------------------------------------------

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Message]:
        return iter(self.view())

    def view(self, *sources: str) -> Sequence[Message]:
        """
        Return the messages of *sources* (all without any, or with ``all``), in list order, as a read-only snapshot.

        The cost does not depend on the number of messages where those of *sources* stand next to each other.
        A message keeps its source when it is saved; ``unsaved`` knows which ones are not.
        """
        mask = mask_of(sources) if sources else 0
        views = self._views
        if views is None:
            views = self._views = {}
        elif (known := views.get(mask)) is not None:
            return known
        if self._hold == _SOLE:
            self._hold = _TAIL
        made = views[mask] = self._window(table_of(mask)) if mask else Window(self._items, 0, self._length)
        return made

    def unsaved(self, *sources: str) -> Sequence[Message]:
        """
        Return the messages of *sources* (input and response without any) that have not been drained to a store.
        """
        mask = mask_of(sources) if sources else INPUT | RESPONSE
        if self._hold == _SOLE:
            self._hold = _TAIL
        return self._window(table_of(mask or 15, unsaved=True))

    def get_by_id(self, message_id: str) -> Message | None:
        """
        Return the message with this id.
        """
        position = self._position(message_id)
        return self._items[position] if position >= 0 else None

    def source_of(self, message_id: str) -> Source | None:
        """
        Return where the message with this id comes from; of several the first of memory, input, response, context.
        """
        position = self._position(message_id)
        return next(iter(names_of(self._flags[position])), None) if position >= 0 else None

    @property
    def system_messages(self) -> tuple[SystemMessage, ...]:
        """
        All system messages: the untagged ones, then the tagged ones, each in the order in which they were added.
        """
        return self._system

    def _window(self, table: bytes) -> Window[Message]:
        flags = self._flags if len(self._flags) == self._length else self._flags[: self._length]
        marks = flags.translate(table)
        wanted = marks.count(1)
        start = marks.find(1)
        if wanted == 0:
            return Window(self._items, 0, 0)
        if marks.rfind(1) - start + 1 == wanted:
            return Window(self._items, start, start + wanted)
        return Window(list(compress(self._items, marks)), 0, wanted)

    def _position(self, message_id: str) -> int:
        index = self._index
        if index is None:
            index = self._index = {message.id: at for at, message in enumerate(self._items[: self._length])}
            self._index_shared = False
        at = index.get(message_id, -1)
        if 0 <= at < self._length and self._items[at].id == message_id:
            return at
        return -1

    # --- changing --------------------------------------------------------------

    def _own(self) -> None:
        """
        Make the list this one's alone, so that what stands in it can be changed.
        """
        if self._hold == _SHARED:
            self._index_shared = True
        self._items = self._items[: self._length]
        self._flags = self._flags[: self._length]
        self._hold = _SOLE

    def _changed(self) -> None:
        self._views = None
        self.version = _next_version()

    def _touch(self, message_id: str, before: Message | None, flags: int) -> None:
        log = self._log
        if log is None:
            return
        if log is _NO_CHANGE:
            log = self._log = {}
        log.setdefault(message_id, (before, flags))

    def _hides(self) -> dict[str, Redaction]:
        """
        Return the notes of what was hidden, to be written to.
        """
        if self._redacted is None or self._redacted_shared:
            self._redacted = {} if self._redacted is None else self._redacted.copy()
            self._redacted_shared = False
        return self._redacted

    def _stamp(self) -> datetime:
        """
        Return the time now, or a moment after the newest message where a clock lags behind.
        """
        now = datetime.now(UTC)
        newest = self._newest
        return now if newest is None or now > newest else newest + _TICK

    def _append(self, message: Message, flags: int) -> None:
        """
        Put *message*, whose id is new, at the end; ``_disordered`` tells whether a sort is due.
        """
        if self._hold == _SHARED or len(self._items) != self._length:
            self._own()
        if self._log is not None:
            self._touch(message.id, None, 0)
        if self._index is not None:
            if self._index_shared:
                self._index = self._index.copy()
                self._index_shared = False
            self._index[message.id] = self._length
        self._items.append(message)
        self._flags.append(flags)
        self._length += 1
        if self._newest is None or message.created_at >= self._newest:
            self._newest = message.created_at
        else:
            self._disordered = True
        self._views = None
        self.version = _next_version()

    def _put(self, position: int, message: Message, flags: int, redacted: RedactedSpans | None = None) -> None:
        """
        Put *message* in place of the one at *position*, which has the same id.
        """
        if self._hold != _SOLE:
            self._own()
        if self._log is not None:
            before = self._items[position]
            self._touch(message.id, before, self._flags[position])
            if redacted:
                self._hides()[message.id] = (before, message, redacted)
        self._items[position] = message
        self._flags[position] = flags
        self._views = None
        self.version = _next_version()

    def _cut(self, positions: Sequence[int]) -> list[Message]:
        """
        Take out the messages at *positions* (ascending) and return them.
        """
        if self._hold != _SOLE:
            self._own()
        items, flags = self._items, self._flags
        gone = [items[position] for position in positions]
        for position in reversed(positions):
            self._touch(items[position].id, items[position], flags[position])
            del items[position], flags[position]
        self._index = None
        self._length = len(items)
        self._newest = items[-1].created_at if items else None
        self._changed()
        return gone

    def _arrange(self, items: list[Message], flags: bytearray) -> None:
        """
        Take *items* with their *flags* as the whole list, in this order; which ids are new or gone is the caller's to log.
        """
        self._items, self._flags, self._length = items, flags, len(items)
        self._hold = _SOLE
        self._index = None
        self._newest = max((message.created_at for message in items), default=None)
        self._disordered = False
        self._changed()

    def _sort(self) -> None:
        """
        Put the messages in the order of their times; those of one time keep their order.
        """
        times = [message.created_at for message in self._items[: self._length]]
        order = sorted(range(self._length), key=times.__getitem__)
        items, flags = self._items, self._flags
        self._arrange([items[at] for at in order], bytearray(flags[at] for at in order))

    def _set_system(self, system: tuple[SystemMessage, ...]) -> None:
        if system != self._system:
            self._system = system
            self._changed()

    # --- forks -----------------------------------------------------------------

    def fork(self) -> Self:
        """
        Return a copy that changes on its own and remembers what it changes.

        Takes the same time for ten messages and for ten thousand.
        """
        if self._hold == _SOLE:
            self._hold = _TAIL
        made = _new(type(self))
        made._items = self._items
        made._length = self._length
        made._flags = self._flags
        made._hold = _SHARED
        made._index = self._index
        made._index_shared = True
        made._newest = self._newest
        made._disordered = False
        made._system = made._base_system = self._system
        made._owner = self._owner
        made._base_version = self.version
        made._log = _NO_CHANGE
        made._redacted = made._base_redacted = self._redacted
        made._redacted_shared = self._redacted_shared = True
        made._views = None
        made.version = self.version
        return made

    def adopt_state(self, other: MessageStore) -> None:
        """
        Become what *other*, a fork of this list, is now.  *other* may go on on its own.

        Raises ``MessageError`` where *other* belongs to another thread.
        """
        if other is self:
            return
        if other._owner != self._owner:
            raise MessageError(
                f"a list of thread {other.thread_id!r} cannot stand for one of thread {self.thread_id!r}",
                hint="adopt a fork of the same list",
            )
        if other.version == self.version:
            return
        if self._log is not None:
            self._log_adoption(other)
        if other._items is not self._items:
            self._items, self._flags = other._items, other._flags
            self._index, self._index_shared = other._index, other._index_shared
            self._hold = _TAIL if other._hold != _SHARED else _SHARED
            other._hold, other._index_shared = _SHARED, True
        self._length, self._newest = other._length, other._newest
        self._system = other._system
        self._views = None
        self.version = other.version

    def _log_adoption(self, other: MessageStore) -> None:
        """
        Note every message in which *other* differs.
        """
        if other._redacted is not None and other._redacted is not self._redacted:
            known = self._redacted or {}
            news = {one: it for one, it in other._redacted.items() if known.get(one) is not it}
            if news:
                self._hides().update(news)
        if other._log is not None and other._base_version == self.version:
            for message_id, (before, flags) in other._log.items():
                self._touch(message_id, before, flags)
            return
        theirs = dict(zip((m.id for m in other._items[: other._length]), range(other._length), strict=True))
        for at in range(self._length):
            message, flags = self._items[at], self._flags[at]
            there = theirs.pop(message.id, -1)
            if there < 0 or other._items[there] is not message or other._flags[there] != flags:
                self._touch(message.id, message, flags)
        for message_id in theirs:
            self._touch(message_id, None, 0)

    def __copy__(self) -> Self:
        return self.fork()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.fork()

    def drain_unsaved(self) -> list[Message]:
        """
        Return the input and response messages that have not been drained before, for a store to keep.
        """
        found = self._window(table_of(INPUT | RESPONSE, unsaved=True))
        drained = list(found)
        if drained:
            if self._hold != _SOLE:
                self._own()
            keep = bytes(flags & ~UNSAVED for flags in range(256))
            for message in drained if self._log is not None else ():
                self._touch(message.id, message, self._flags[self._position(message.id)])
            self._flags = self._flags.translate(keep)
            self._changed()
        return drained
