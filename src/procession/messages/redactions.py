"""
Redactions: whether what the branches hid is still hidden in the list that a map picked (D25).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from procession.messages.patch import Edited, Patch, Redaction, redactions_of, value_at
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

    *base* is the list that the branches were forked from.  A message that *picked* does not have hides everything.
    """
    found: list[DroppedRedaction] = []
    for branch, patch in patches.items():
        for change in patch.changes:
            if not isinstance(change, Edited) or not change.redacts:
                continue
            before, now = base.get_by_id(change.id), picked.get_by_id(change.id)
            if before is None or now is None:
                continue
            hidden = change.apply(before)
            if now is hidden:
                continue
            for redaction in redactions_of(change, before):
                if _shows(now, redaction, before, hidden):
                    found.append(DroppedRedaction(branch, redaction))
    return found


def _shows(now: Message, redaction: Redaction, before: Message, hidden: Message) -> bool:
    if len(redaction.text) < _TELLING:
        return bool(value_at(now, redaction.path) == value_at(before, redaction.path))
    return _count(now, redaction.text) > _count(hidden, redaction.text)


def _count(message: Message, text: str) -> int:
    return sum(found.count(text) for found in texts_in([message.parts, message.metadata]))
