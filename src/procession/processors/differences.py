"""
Differences: what a hook made of its payload, for whoever looks on.

A payload is changed in place, so one that is to be compared is forked before: that costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from procession.messages.message import Message, SystemMessage
from procession.messages.message_list import MessageList
from procession.messages.shapes import is_sequence
from procession.processors.payload import HookPayload

__all__ = ["Difference", "FieldChange", "MessageChange", "difference_of", "messages_changed"]


class MessageChange(NamedTuple):
    """
    One message that is not what it was.
    """

    change: Literal["added", "removed", "changed"]
    before: Message | SystemMessage | None
    after: Message | SystemMessage | None


class FieldChange(NamedTuple):
    """
    One field of a payload that is not what it was; of a sequence the entries from number *at* on that differ.
    """

    before: Any
    after: Any
    at: int | None = None


class Difference(NamedTuple):
    """
    What a hook made of its payload.
    """

    messages: Sequence[MessageChange]
    fields: Mapping[str, FieldChange]

    def __bool__(self) -> bool:
        """
        Whether there is any.
        """
        return bool(self.messages or self.fields)


def difference_of(payload: HookPayload, base: HookPayload) -> Difference:
    """
    Return what leads from *base*, a fork of *payload* as it was, to *payload* as it is.

    >>> from procession.processors.payloads import InputPayload
    >>> payload = InputPayload(MessageList("Hello"))
    >>> before = payload.fork()
    >>> payload.message_list.replace(payload.messages[0].with_text("Good day"))
    >>> [(one.change, one.before.text, one.after.text) for one in difference_of(payload, before).messages]
    [('changed', 'Hello', 'Good day')]
    """
    fields: dict[str, FieldChange] = {}
    for name in payload.changeable:
        before, after = getattr(base, name), getattr(payload, name)
        if before is not after:
            change = _field(before, after)
            if change is not None:
                fields[name] = change
    return Difference(messages_changed(base.message_list, payload.message_list), fields)


def messages_changed(before: MessageList, after: MessageList) -> list[MessageChange]:
    """
    Return the messages in which two lists differ, system messages first; that a message has moved is no change.
    """
    made: list[MessageChange] = []
    if before.system_messages is not after.system_messages:
        gone = [one for one in before.system_messages if one not in after.system_messages]
        new = [one for one in after.system_messages if one not in before.system_messages]
        made += [MessageChange("removed", one, None) for one in gone]
        made += [MessageChange("added", None, one) for one in new]
    if before.version == after.version:
        return made
    known = {message.id: message for message in before.view()}
    for message in after.view():
        was = known.pop(message.id, None)
        if was is None:
            made.append(MessageChange("added", None, message))
        elif was is not message and was.parts != message.parts:
            made.append(MessageChange("changed", was, message))
    made += [MessageChange("removed", message, None) for message in known.values()]
    return made


def _field(before: Any, after: Any) -> FieldChange | None:
    if is_sequence(before) and is_sequence(after):
        start, most = 0, min(len(before), len(after))
        while start < most and _same(before[start], after[start]):
            start += 1
        end = 0
        while end < most - start and _same(before[-1 - end], after[-1 - end]):
            end += 1
        was, now = before[start : len(before) - end], after[start : len(after) - end]
        return FieldChange(tuple(was), tuple(now), start) if len(was) or len(now) else None
    return None if _same(before, after) else FieldChange(before, after)


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        return bool(one == other)
    except Exception:  # of a value that cannot be compared: it may have changed
        return False
