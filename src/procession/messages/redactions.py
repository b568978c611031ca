"""
Redactions: whether what the branches hid is still hidden in the list that a map picked (D25).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from procession.messages.patch import Edited, Patch, Redaction, Removed, redactions_of, value_at
from procession.messages.texts import texts_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from procession.messages.message import Message
    from procession.messages.message_store import MessageStore

__all__ = ["DroppedRedaction", "dropped_redactions"]

_TELLING = 3
"""A hidden text of fewer characters occurs by chance, so that only its own place is looked at."""


class DroppedRedaction(NamedTuple):
    """
    A redaction that is not in force any more, and the branch that made it.
    """

    branch: str
    redaction: Redaction


def dropped_redactions(
    base: MessageStore, patches: Mapping[str, Patch], picked: MessageStore
) -> list[DroppedRedaction]:
    """
    Return those redactions of *patches* (by branch) that *picked* undoes: the hidden text still occurs there.

    *base* is the list that the branches were forked from.  What was hidden of a message that *picked* does not have is
    sought in the messages that it has besides.
    """
    found: list[DroppedRedaction] = []
    for branch, patch in patches.items():
        for change in patch.changes:
            if isinstance(change, Removed) and change.redacts:
                found += [DroppedRedaction(branch, one) for one in _brought_back(base, change.id, picked)]
            if not isinstance(change, Edited) or not change.redacts:
                continue
            before, now = base.get_by_id(change.id), picked.get_by_id(change.id)
            if before is None:
                continue
            if now is None:
                hides = [one for one in redactions_of(change, before) if len(one.text) >= _TELLING]
                found += [DroppedRedaction(branch, one) for one in hides if _said_anew(base, one.text, picked)]
                continue
            hidden = change.apply(before)
            if now is hidden:
                continue
            for redaction in redactions_of(change, before):
                if _shows(now, redaction, before, hidden):
                    found.append(DroppedRedaction(branch, redaction))
    return found


def _brought_back(base: MessageStore, message_id: str, picked: MessageStore) -> list[Redaction]:
    """
    Return the texts of a message that was hidden as a whole which *picked* shows.
    """
    before = base.get_by_id(message_id)
    if before is None:
        return []
    now = picked.get_by_id(message_id)
    return [
        Redaction(message_id, (), 0, len(text), text)
        for text in texts_in(before.parts)
        if len(text) >= _TELLING and ((now is not None and _count(now, text)) or _said_anew(base, text, picked))
    ]


def _said_anew(base: MessageStore, text: str, picked: MessageStore) -> bool:
    return any(_count(one, text) for one in picked.view() if base.get_by_id(one.id) is None)


def _shows(now: Message, redaction: Redaction, before: Message, hidden: Message) -> bool:
    if len(redaction.text) < _TELLING:
        return bool(value_at(now, redaction.path) == value_at(before, redaction.path))
    return _count(now, redaction.text) > _count(hidden, redaction.text)


def _count(message: Message, text: str) -> int:
    return sum(found.count(text) for found in texts_in([message.parts, message.metadata]))
