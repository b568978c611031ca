"""
Changes: what one step made of a message list, as a value that is kept in its place and done again.

Unlike a patch, which is merged with others, changes lead from one state to exactly one other, and so they say the
order of the messages where it is another.  Nothing of what they took away is in them: neither a message that was
removed nor a text that was hidden.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from procession.messages.edits import Edit, Path, apply_edits, diff_message
from procession.messages.patch import Added
from procession.messages.texts import texts_in
from procession.messages.value import Value

if TYPE_CHECKING:
    from procession.messages.edits import RedactedSpans
    from procession.messages.message import Message, SystemMessage

__all__ = ["Changes", "Hidden", "Rewritten", "rewriting", "size_of", "spans_of"]


class Rewritten(Value):
    """
    The message *id* is another one now: by *edits* of one whose texts had *size* characters together, or as a *whole*.
    """

    id: str
    flags: int
    size: int
    edits: tuple[Edit, ...] = ()
    whole: Message | None = None


class Hidden(Value):
    """
    Something of the message *id* was hidden: *spans* by place, with what stands there now, or all that is different.
    """

    id: str
    spans: tuple[tuple[int | Path, tuple[tuple[int, int, str], ...]], ...] | None = None


class Changes(Value):
    """
    What one step changed: messages *removed*, *rewritten*, and *added*, each behind the one it stands behind.

    *owner* is the thread and the resource of a list that is another's, *order* has all ids where those that stayed changed places, *system* all system messages where any changed.
    """

    removed: tuple[str, ...] = ()
    rewritten: tuple[Rewritten, ...] = ()
    added: tuple[Added, ...] = ()
    order: tuple[str, ...] | None = None
    system: tuple[SystemMessage, ...] | None = None
    hidden: tuple[Hidden, ...] = ()
    owner: tuple[str | None, str | None] | None = None


def rewriting(before: Message, after: Message, flags: int) -> Rewritten:
    """
    Return how *before* becomes *after*, by its edits where they say all of it.
    """
    edits = diff_message(before, after)
    if _is_exactly(apply_edits(before, edits), after):
        return Rewritten(after.id, flags, size_of(before), edits)
    return Rewritten(after.id, flags, size_of(before), (), after)


def size_of(message: Message) -> int:
    """
    Return how many characters the texts of *message* have together.
    """
    return sum(map(len, texts_in([message.parts, message.metadata])))


def spans_of(redacted: RedactedSpans) -> Any:
    """
    Return what a guard declared, as ``Hidden`` holds it: ``None`` where everything different was hidden.
    """
    if redacted is True or redacted is False:
        return None
    return tuple((place, tuple((start, end, text) for start, end, text in spans)) for place, spans in redacted.items())


def _is_exactly(made: Any, wanted: Any) -> bool:
    """
    Whether *made* is *wanted* down to the types, which are not what ``==`` asks for: ``1 == True == 1.0``.
    """
    return made is wanted or (type(made) is type(wanted) and repr(made) == repr(wanted))
