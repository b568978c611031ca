"""
KeepingStore: a message store that says what one step made of it, and does that again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from procession.errors import MessageError
from procession.messages.changes import Changes, Hidden, Rewritten, rewriting, size_of, spans_of
from procession.messages.edits import apply_edits
from procession.messages.patch import Added
from procession.messages.patching_store import PatchingStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from procession.messages.edits import RedactedSpans
    from procession.messages.message import Message
    from procession.messages.message_store import MessageStore

__all__ = ["KeepingStore"]

_NO_CHANGES = Changes()


class KeepingStore(PatchingStore):
    """
    What a run keeps of its steps: their changes, and never the whole history (D30).
    """

    __slots__ = ()

    def changes_since(self, base: MessageStore) -> Changes:
        """
        Return what leads from *base*, a fork of this list or what it was forked from, to this list.

        >>> from procession.messages.message_list import MessageList
        >>> messages = MessageList("My number is 555-0100.")
        >>> before = messages.fork()
        >>> messages.replace(messages.view()[0].with_text("My number is hidden."), redacted=True)
        >>> changes = messages.changes_since(before)
        >>> [edit.splices[0].text for edit in changes.rewritten[0].edits]
        ['hidden']
        >>> before.redo(changes).view()[0].text
        'My number is hidden.'
        """
        if self.version == base.version and self._owner == base._owner:
            return _NO_CHANGES
        theirs = {message.id: at for at, message in enumerate(base.view())}
        mine = self._items[: self._length]
        rewritten: list[Rewritten] = []
        added: list[Added] = []
        stayed: list[int] = []
        for at, message in enumerate(mine):
            was = theirs.pop(message.id, -1)
            if was < 0:
                added.append(Added(message, self._flags[at], mine[at - 1].id if at else None))
                continue
            stayed.append(was)
            if message is not base._items[was] or self._flags[at] != base._flags[was]:
                rewritten.append(rewriting(base._items[was], message, self._flags[at]))
        if self._log is not None and len(rewritten) > 1:
            # In the order in which they were changed first: of several conflicts a merge names the one that comes first.
            place = {message_id: number for number, message_id in enumerate(self._log)}
            rewritten.sort(key=lambda one: place.get(one.id, len(place)))
        return Changes(
            tuple(theirs),
            tuple(rewritten),
            tuple(added),
            tuple([message.id for message in mine]) if stayed != sorted(stayed) else None,
            self._system if self._system != base._system else None,
            self._newly_hidden(base),
            self._owner if self._owner != base._owner else None,
        )

    def _newly_hidden(self, base: MessageStore) -> tuple[Hidden, ...]:
        if self._redacted is base._redacted or self._redacted is None:
            return ()
        known = base._redacted or {}
        found: list[Hidden] = []
        for message_id, note in self._redacted.items():
            if note is not known.get(message_id):
                before, after, redacted = note
                # As in ``diff``: spans hold for one step only; after several, every difference counts as hidden.
                whole = before is base.get_by_id(message_id) and after is self.get_by_id(message_id)
                found.append(Hidden(message_id, spans_of(redacted) if whole else None))
        return tuple(found)

    def redo(self, changes: Changes) -> Self:
        """
        Change this list as *changes* say, in place, and return it; a fork notes them as if the step had made them here.

        Raises ``MessageError`` where this is not the state that they were made in.
        """
        before = {one.id: self._known(one.id) for one in changes.rewritten}
        before |= {message_id: self._known(message_id) for message_id in changes.removed}
        made = [self._rewritten(one, before[one.id]) for one in changes.rewritten]
        # Nothing is changed before everything is found.
        order = self._order_after(changes)
        for one, message in zip(changes.rewritten, made, strict=True):
            self._put(self._position(one.id), message, one.flags)
        if changes.removed:
            self._cut(sorted(map(self._position, changes.removed)))
        for new in changes.added:
            self._append(new.message, new.flags)
        self._disordered = False
        if order != [message.id for message in self.view()]:
            at = [self._position(message_id) for message_id in order]
            self._arrange([self._items[one] for one in at], bytearray(self._flags[one] for one in at))
        if changes.system is not None:
            self._set_system(changes.system)
        if changes.owner is not None:
            self._owner = changes.owner
        if self._log is not None:
            for hidden in changes.hidden:
                self._note_hidden(hidden, before)
        return self

    def _known(self, message_id: str) -> Message:
        found = self.get_by_id(message_id)
        if found is None:
            raise MessageError(
                f"there is no message {message_id!r} to change", hint="redo changes in the state they were made in"
            )
        return found

    def _rewritten(self, change: Rewritten, before: Message) -> Message:
        if size_of(before) != change.size:
            raise MessageError(
                f"message {change.id!r} is not what it was when it was changed",
                hint="redo changes in the state they were made in",
            )
        return change.whole if change.whole is not None else apply_edits(before, change.edits)

    def _order_after(self, changes: Changes) -> list[str]:
        """
        Return the ids in the order in which they stand once *changes* are made.
        """
        removed = set(changes.removed)
        stayed = [message.id for message in self.view() if message.id not in removed]
        behind = {one.after: one.id for one in changes.added}
        if changes.order is not None:
            if sorted(changes.order) != sorted([*stayed, *behind.values()]):
                raise MessageError("other messages are here", hint="redo changes in the state they were made in")
            return list(changes.order)
        order: list[str] = []
        for message_id in (None, *stayed):
            if message_id is not None:
                order.append(message_id)
            while (message_id := behind.pop(message_id, None)) is not None:
                order.append(message_id)
        if behind:
            raise MessageError(
                "a message was added behind one that is not here", hint="redo changes in the state they were made in"
            )
        return order

    def _note_hidden(self, hidden: Hidden, before: Mapping[str, Message]) -> None:
        now = self.get_by_id(hidden.id)
        was = before.get(hidden.id, now)
        if was is not None:
            redacted: RedactedSpans = dict(hidden.spans) if hidden.spans is not None else True  # type: ignore[assignment]
            self._hides()[hidden.id] = (was, now if now is not None else was, redacted)
