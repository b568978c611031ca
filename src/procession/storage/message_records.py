"""
Message records: messages, and what is known of a thread, as the texts that stand in a store.

What is read is not trusted: whoever can write the database writes rows too.  It is read as JSON, of which nothing is
imported or called, and is what it must be, or is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, get_args

from procession.errors import StoreError
from procession.messages.message import Message
from procession.messages.parts import Part
from procession.messages.serial import from_json, to_json
from procession.storage.records import can_stand

__all__ = ["message_of", "message_text", "metadata_of", "metadata_text"]

_PARTS = get_args(Part)


def message_text(message: Message) -> str:
    """
    Return a message as JSON, which begins with ``{``, and which every store can keep.

    Raises ``MessageError`` for what cannot be written as JSON, naming it.
    """
    return _storable(to_json(message))


def message_of(text: object, *, thread_id: str, message_id: str) -> Message:
    """
    Return the message that *text* is.

    Raises ``StoreError``, naming the message and quoting nothing of it, where *text* is no message, or another one.
    """
    where = f"message {message_id!r} of thread {thread_id!r}"
    made = _read(text, where)
    if not isinstance(made, Message) or made.id != message_id or not _is_sound(made):
        raise _corrupt(where)
    return made


def metadata_text(metadata: Mapping[str, Any]) -> str:
    """
    Return the metadata of a thread as JSON, which begins with ``{``, and which every store can keep.

    Raises ``MessageError`` for what cannot be written as JSON, naming it.
    """
    return _storable(to_json(dict(metadata)))


def metadata_of(text: object, *, thread_id: str) -> dict[str, Any]:
    """
    Return the metadata that *text* is.

    Raises ``StoreError``, naming the thread, where it is none.
    """
    where = f"the metadata of thread {thread_id!r}"
    made = _read(text, where)
    if type(made) is not dict:
        raise _corrupt(where)
    return made  # pyright: ignore[reportUnknownVariableType]


def _storable(text: str) -> str:
    if can_stand(text):
        return text
    return text.encode("utf-8", "backslashreplace").decode()  # JSON has another word for half of a character


def _read(text: object, where: str) -> Any:
    try:
        if isinstance(text, str):
            return from_json(text)
    except Exception as error:  # whatever somebody has put there
        raise _corrupt(where) from error
    raise _corrupt(where)


def _is_sound(message: Any) -> bool:
    return (
        isinstance(message.created_at, datetime)
        and isinstance(message.metadata, Mapping | None)
        and all(_is_sound_part(part) for part in message.parts)
    )


def _is_sound_part(part: Any) -> bool:
    return isinstance(part, _PARTS) and isinstance(getattr(part, "text", ""), str)


def _corrupt(where: str) -> StoreError:
    return StoreError(
        f"{where} is corrupt: what stands in the store is no such thing",
        hint="restore it from a backup, or delete it",
    )
