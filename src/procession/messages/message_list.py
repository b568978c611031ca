"""
MessageList: the messages of one run, where they come from, and everything that may be done to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeAlias

from procession.errors import MessageError
from procession.ids import new_id
from procession.messages import combine
from procession.messages.convert import Incoming, read_messages
from procession.messages.documents import DocumentsWords
from procession.messages.message import Message, SystemMessage
from procession.messages.parts import Parts, TextPart, ToolCallPart
from procession.messages.sources import INPUT, MEMORY, RESPONSE, UNSAVED, flag_of, mask_of, names_of, table_of

if TYPE_CHECKING:
    from procession.messages.edits import RedactedSpans

__all__ = ["MessageList"]

SystemInput: TypeAlias = str | SystemMessage | Mapping[str, Any]
"""A text, a system message, or one in a form of the documents."""
_LIVE = INPUT | RESPONSE
_TICK = timedelta(microseconds=1)


class MessageList(DocumentsWords):
    """
    Messages in the order of their times, each with a source, and the system messages beside them.

    Messages are values: whoever changes one puts a new value with the same id in its place.  A fork costs a fraction
    of a microsecond; what it changed is a patch.

    >>> messages = MessageList("Where is my parcel?")
    >>> messages.add({"role": "assistant", "content": "On its way."}, "response")
    >>> [(message.role, messages.source_of(message.id)) for message in messages]
    [('user', 'input'), ('assistant', 'response')]
    >>> branch = messages.fork()
    >>> branch.replace(messages.view("input")[0].with_text("Where is it?"))
    >>> messages.latest_user_text(), branch.latest_user_text()
    ('Where is my parcel?', 'Where is it?')
    """

    __slots__ = ()

    def __init__(
        self,
        messages: Any = None,
        *,
        source: str = "input",
        thread_id: str | None = None,
        resource_id: str | None = None,
    ) -> None:
        super().__init__(thread_id=thread_id, resource_id=resource_id)
        if messages is not None:
            self.add(messages, source)

    def __repr__(self) -> str:
        shown = [f"{message.role}: {message.text!r}" for message in self.view()[-3:]]
        more = f"{self._length - 3} more, " if self._length > 3 else ""
        return f"<MessageList of {self._length}: {more}{', '.join(shown)}>"

    # --- adding ----------------------------------------------------------------

    def add(self, messages: Any, source: str = "input", *, merge: bool = True) -> None:
        """
        Add messages: a text (a user's), a message or mapping in one of the documents' forms, or a sequence of these.

        A message whose id is known replaces the known one, or is merged into it where both are an assistant's.  An
        assistant's message right behind another one goes on in that one.  *merge* false switches both off.  The list
        is ordered by time; what has no time of its own gets one later than all others, or before what follows it in
        the same call.  Role ``system`` goes to ``add_system``, unless it comes from memory.

        Raises ``MessageError`` for what cannot be read, an unknown role or source, and another thread's messages.
        """
        flags = flag_of(source)
        if type(messages) is str:  # what most calls of an agent begin with; there is nothing to read, merge or sort
            thread_id, resource_id = self._owner
            said = Message(
                "user", (TextPart(messages),), created_at=self._stamp(), thread_id=thread_id, resource_id=resource_id
            )
            self._append(said, flags)
            return
        # All is read before anything is added: what cannot be read leaves the list as it was.
        given = list(read_messages(messages))
        try:
            for incoming, bound in zip(given, _bounds(given), strict=True):
                if not isinstance(incoming, SystemMessage):
                    self._add_one(self._admitted(incoming, flags, bound), flags, merge)
                elif not flags & MEMORY:
                    self.add_system(incoming)
            if flags & MEMORY:
                self._answer_recalled()
        finally:
            if self._disordered:
                self._sort()

    def _admitted(self, incoming: Incoming, flags: int, bound: datetime | None) -> Message:
        """
        Check that a message belongs here, and give it what it lacks: of a time, one before *bound*.
        """
        message = incoming.message
        changes: dict[str, Any] = {}
        for field, ours in zip(("thread_id", "resource_id"), self._owner, strict=True):
            theirs = getattr(message, field)
            if ours is None or theirs == ours:
                continue
            if theirs is None:
                changes[field] = ours
            elif not flags & MEMORY:
                raise MessageError(
                    f"message {message.id!r} has the {field} {theirs!r}, this list is of {ours!r}",
                    hint="leave the field out, or add it to a list of its own",
                )
        time = message.created_at
        if time.tzinfo is None:
            time = time.replace(tzinfo=UTC)
        if not incoming.timed or (incoming.fluid and not flags & MEMORY):
            position = self._position(message.id)
            if position >= 0:
                time = self._items[position].created_at
            elif not incoming.timed:
                time = self._stamp()
            elif self._newest is not None and time <= self._newest:
                time = self._newest + _TICK
            if bound is not None and position < 0 and time >= bound:
                time = bound - _TICK
        if time is not message.created_at:
            changes["created_at"] = time
        return message.replace(**changes) if changes else message

    def _add_one(self, message: Message, flags: int, merge: bool) -> None:
        position = self._position(message.id)
        if position >= 0:
            self._add_known(position, message, flags, merge)
            return
        if merge and message.role in ("assistant", "tool") and self._length:
            if self._disordered:
                self._sort()
            if self._add_outcomes(message, flags):
                return
            latest = self._items[self._length - 1]
            if not flags & MEMORY and combine.can_join(latest, message):
                position = self._length - 1
                self._put(position, combine.joined(latest, message), self._marked(position, flags))
                return
        self._append(message, flags)

    def _add_outcomes(self, message: Message, flags: int) -> bool:
        """
        Hand a message of role ``tool`` to the calls that it answers; tells whether it had nothing else.
        """
        if message.role != "tool" or not message.parts:
            return False
        found = True
        for part in message.parts:
            found = isinstance(part, ToolCallPart) and self._update_call(part, flags, None) and found
        return found

    def _answer_recalled(self) -> None:
        """
        Hand messages of role ``tool`` that came before the calls they answer, as a client's do, to the calls.
        """
        waiting = [at for at in range(self._length) if self._items[at].role == "tool" and self._flags[at] & _LIVE]
        done = [at for at in waiting if self._add_outcomes(self._items[at], self._flags[at] & ~MEMORY)]
        if done:
            self._cut(done)

    def _add_known(self, position: int, message: Message, flags: int, merge: bool) -> None:
        known, was = self._items[position], self._flags[position]
        if combine.is_sealed(known) and known != message:
            more = combine.beyond_seal(known, message)
            if more:
                self._append(message.replace(id=new_id(), parts=Parts(more), created_at=self._stamp()), flags)
            return
        if flags & MEMORY:
            if was & MEMORY:
                return
            made = combine.recalled(message, known, is_response=bool(was & RESPONSE)) if was & _LIVE else message
            self._put(position, known if made == known else made, was | MEMORY)
            if made.created_at != known.created_at:
                self._disordered = True
            return
        if merge and (known == message or (known.role == message.role == "assistant")):
            made = known if known == message else combine.joined(known, message)
            self._put(position, made, self._marked(position, flags))
            return
        self._put(position, message, flags)
        if message.created_at != known.created_at:
            self._disordered = True

    def _marked(self, position: int, flags: int) -> int:
        """
        Return the flags of a message that one with *flags* was merged into: a response is nothing else.
        """
        return flags if flags & RESPONSE else self._flags[position] | flags

    # --- changing --------------------------------------------------------------

    def remove(self, ids: Iterable[str], *, redacted: bool = False) -> list[Message]:
        """
        Take the messages with these *ids* out and return them; unknown ids are passed over.

        *redacted* is for guards: no merge of parallel branches brings back what they said.
        """
        wanted = (ids,) if isinstance(ids, str) else ids
        positions = sorted({at for at in map(self._position, wanted) if at >= 0})
        gone = self._cut(positions) if positions else []
        if redacted:
            self._hides().update({one.id: (one, one, True) for one in gone})
        return gone

    def replace(self, message: Message, source: str | None = None, *, redacted: RedactedSpans | None = None) -> None:
        """
        Put *message* in place of the one with its id.  It keeps its place, and its source unless *source* is given.

        *redacted* is for guards: what was hidden, as spans of the old text by part, ``{0: [(5, 8, "[PHONE]")]}``, by
        path, or ``True`` for all that is different.  No merge of parallel branches brings it back.

        Raises ``MessageError`` where no message has this id.
        """
        position = self._position(message.id)
        if position < 0:
            raise MessageError(f"there is no message {message.id!r} to replace", hint="use add(...) for a new one")
        flags = self._flags[position] if source is None else flag_of(source)
        known = self._items[position]
        if message is known and flags == self._flags[position]:
            return
        self._put(position, message, flags, redacted)
        if message.created_at != known.created_at:
            self._sort()

    def replace_all(self, messages: Iterable[Message]) -> None:
        """
        Put each of *messages* in place of the one with its id, and those whose time changed where they belong now.

        Raises ``MessageError`` where no message has one of the ids.
        """
        moved = False
        for message in messages:
            position = self._position(message.id)
            if position < 0:
                raise MessageError(f"there is no message {message.id!r} to replace", hint="use add(...) for a new one")
            moved = moved or message.created_at != self._items[position].created_at
            self._put(position, message, self._flags[position])
        if moved:
            self._sort()

    # --- system messages -------------------------------------------------------

    def system(self, tag: str | None = None) -> tuple[SystemMessage, ...]:
        """
        Return the system messages of *tag*; the untagged ones without.
        """
        return tuple([one for one in self._system if one.tag == tag])

    def add_system(self, messages: SystemInput | Sequence[SystemInput], tag: str | None = None) -> None:
        """
        Add system messages under *tag* (a ``SystemMessage`` may have one of its own), except those that are there.
        """
        given = (messages,) if isinstance(messages, (str, SystemMessage, Mapping)) else messages
        made = [_as_system(one, tag) for one in given]
        self._set_system(_by_tag((*self._system, *made)))

    def replace_system(self, messages: Iterable[SystemInput]) -> None:
        """
        Let *messages* take the place of the untagged ones, and of the tagged ones whose tag they have (D23).
        """
        made = [_as_system(one, None) for one in messages]
        tags = {one.tag for one in made} | {None}
        self._set_system(_by_tag((*made, *(one for one in self._system if one.tag not in tags))))

    def reset_untagged_system(self, messages: Iterable[SystemMessage]) -> None:
        """
        Let the untagged ones of *messages* be the untagged system messages; tagged ones stay.
        """
        kept = (one for one in self._system if one.tag is not None)
        self._set_system(_by_tag((*(one for one in messages if one.tag is None), *kept)))

    def clear_system(self, tag: str | None = None) -> None:
        """
        Drop the system messages of *tag*; the untagged ones without.
        """
        self._set_system(tuple(one for one in self._system if one.tag != tag))

    # --- as data ---------------------------------------------------------------

    def copied(self, *sources: str) -> list[Message]:
        """
        Return the messages of *sources*, all without any, as a list of the caller's own; unlike a view it makes no later
        change copy what it shows.
        """
        items = self._items[: self._length]
        mask = mask_of(sources)
        return list(compress(items, self._flags.translate(table_of(mask)))) if mask else items

    def state(self) -> dict[str, Any]:
        """
        Return what the list is made of, for ``serial`` to write: messages, the sources of each, system messages, owner.
        """
        sources = [[*names_of(flags), "unsaved"] if flags & UNSAVED else names_of(flags) for flags in self._flags]
        return {
            "messages": list(self.view()),
            "sources": sources[: self._length],
            "system": list(self._system),
            "thread_id": self._owner[0],
            "resource_id": self._owner[1],
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> MessageList:
        """
        Return the list whose ``state`` this is.
        """
        made = cls(thread_id=state["thread_id"], resource_id=state["resource_id"])
        for message, names in zip(state["messages"], state["sources"], strict=True):
            flags = 0
            for name in names:
                flags |= UNSAVED if name == "unsaved" else flag_of(name) & ~UNSAVED
            made._append(message, flags)
        made._disordered = False
        made._set_system(tuple(state["system"]))
        return made

    # --- the documents' words --------------------------------------------------

    def remove_by_ids(self, ids: Iterable[str]) -> list[Message]:
        """
        Take messages out: the documents' word for ``remove``.
        """
        return self.remove(ids)

    def latest_user_text(self) -> str | None:
        """
        Return the text of the newest user message.
        """
        for at in range(self._length - 1, -1, -1):
            if self._items[at].role == "user":
                return self._items[at].text
        return None


def _bounds(given: Sequence[Incoming | SystemMessage]) -> Sequence[datetime | None]:
    """
    Return for each message the time before which it stands: of what is *given* with it and has a time, but follows it.
    """
    bounds: list[datetime | None] = []
    bound: datetime | None = None
    for one in reversed(given):
        bounds.append(bound)
        if isinstance(one, SystemMessage):
            continue
        if one.timed and not one.fluid:
            time = one.message.created_at
            time = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
            bound = time if bound is None else min(bound, time)
        elif bound is not None:
            bound -= _TICK
    bounds.reverse()
    return bounds


def _as_system(message: SystemInput, tag: str | None) -> SystemMessage:
    if isinstance(message, SystemMessage):
        return message if message.tag is not None or tag is None else SystemMessage(message.text, tag)
    if isinstance(message, str):
        return SystemMessage(message, tag)
    for incoming in read_messages(message):
        if isinstance(incoming, SystemMessage):
            return _as_system(incoming, tag)
        return SystemMessage(incoming.message.text, tag)
    raise MessageError(f"{type(message).__name__} is no system message", hint="give a text or a SystemMessage")


def _by_tag(messages: Iterable[SystemMessage]) -> tuple[SystemMessage, ...]:
    """
    Put untagged messages first and leave out what is there twice.
    """
    return tuple(sorted(dict.fromkeys(messages), key=lambda one: one.tag is not None))
