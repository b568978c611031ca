"""
Patch: what one fork of a message list changed, as a value that can be stored, merged and applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from procession.messages.edits import (
    Edit,
    Path,
    Put,
    RedactedSpans,
    Take,
    TextEdit,
    apply_edits,
    diff_message,
)
from procession.messages.splices import hidden_text
from procession.messages.texts import texts_in
from procession.messages.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from procession.messages.message import Message, SystemMessage

__all__ = ["Added", "Change", "Edited", "Patch", "Redaction", "Removed", "SystemChange"]


class Added(Value):
    """
    A new *message* with its source *flags*, behind the message *after* (``None``: in front of all).
    """

    message: Message
    flags: int
    after: str | None

    @property
    def id(self) -> str:
        """
        The message's id.
        """
        return self.message.id


class Removed(Value):
    """
    The message *id* is gone.  With *redacts* a guard took it out, or had hidden something of it before.
    """

    id: str
    redacts: bool = False


class Edited:
    """
    The message *id* is another one now.  Its edits are found when somebody asks, since a lone change needs none.
    """

    __slots__ = ("_edits", "after", "before", "flags", "id", "redacted")

    def __init__(
        self,
        id: str,
        flags: int | None,
        *,
        before: Message | None = None,
        after: Message | None = None,
        redacted: RedactedSpans | None = None,
        edits: Sequence[Edit] | None = None,
    ) -> None:
        self.id = id
        self.flags = flags
        """The message's source flags, or ``None`` where they stayed."""
        self.before = before
        self.after = after
        self.redacted = redacted
        self._edits = tuple(edits) if edits is not None else None

    @property
    def edits(self) -> tuple[Edit, ...]:
        """
        The change, place by place.
        """
        if self._edits is None:
            assert self.before is not None and self.after is not None
            self._edits = diff_message(self.before, self.after, self.redacted)
        return self._edits

    @property
    def redacts(self) -> bool:
        """
        Whether any of it hides something.
        """
        if self._edits is None:
            return bool(self.redacted)
        return any(_is_redaction(edit) for edit in self._edits)

    def apply(self, message: Message) -> Message:
        """
        Return *message* with this change.
        """
        if message is self.before and self.after is not None:
            return self.after
        return apply_edits(message, self.edits)

    def __repr__(self) -> str:
        return f"Edited({self.id!r}, edits={list(self.edits)!r})"


Change: TypeAlias = Added | Removed | Edited


class SystemChange(Value):
    """
    The system messages before and after.
    """

    before: tuple[SystemMessage, ...]
    after: tuple[SystemMessage, ...]


class Redaction(NamedTuple):
    """
    One text that was hidden: of which message, where, and what it said.
    """

    message_id: str
    path: Path
    start: int
    end: int
    text: str


class Patch:
    """
    The changes of one fork, each about a message of its own.  False when nothing changed.
    """

    __slots__ = ("changes", "system")

    def __init__(self, changes: Sequence[Change] = (), system: SystemChange | None = None) -> None:
        self.changes = tuple(changes)
        self.system = system

    def __bool__(self) -> bool:
        return bool(self.changes) or self.system is not None

    def __repr__(self) -> str:
        return f"Patch({list(self.changes)!r}, system={self.system!r})"

    @property
    def redacts(self) -> bool:
        """
        Whether the patch hides something.
        """
        return any(isinstance(change, Edited) and change.redacts for change in self.changes)

    @property
    def redactions(self) -> list[Redaction]:
        """
        What the patch hides.  A patch from storage does not know the hidden texts: theirs are empty.
        """
        found: list[Redaction] = []
        for change in self.changes:
            if isinstance(change, Edited) and change.redacts:
                found += redactions_of(change, change.before)
        return found


def redactions_of(change: Edited, before: Message | None) -> Iterator[Redaction]:
    """
    Yield what *change* hides of the message *before* it.
    """
    for edit in change.edits:
        if isinstance(edit, TextEdit):
            text = value_at(before, edit.path) if before is not None else None
            for splice in edit.splices:
                if splice.kind != "redact":
                    continue
                if not isinstance(text, str):
                    yield Redaction(change.id, edit.path, splice.start, splice.end, "")
                    continue
                start, end = hidden_text(text, splice)
                if end > start:
                    yield Redaction(change.id, edit.path, start, end, text[start:end])
        elif isinstance(edit, (Put, Take)) and edit.kind == "redact" and before is not None:
            kept = texts_in(edit.value) if isinstance(edit, Put) else []
            for text in texts_in(value_at(before, edit.path)):
                if text and text not in kept:
                    yield Redaction(change.id, edit.path, 0, len(text), text)


def value_at(message: Message, path: Path) -> Any:
    """
    Return what stands at *path*, or ``None``.
    """
    value: Any = message.parts if isinstance(path[0], int) else message
    for key in path:
        try:
            value = getattr(value, str(key)) if isinstance(value, Value) else value[key]
        except (AttributeError, IndexError, KeyError, TypeError):
            return None
    return value


def _is_redaction(edit: Edit) -> bool:
    if isinstance(edit, TextEdit):
        return any(splice.kind == "redact" for splice in edit.splices)
    return edit.kind == "redact"


EMPTY_PATCH = Patch()
"""Nothing changed."""
