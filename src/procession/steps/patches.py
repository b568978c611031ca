"""
Patches: what a step changed in a value that can be forked, as JSON, and done again on what the step was given.
"""

from __future__ import annotations

from typing import Any

from procession.errors import MessageError, SchemaError, UntypedValue
from procession.steps.codec import codec_of
from procession.steps.forkable import Keepable

__all__ = ["decode_patch", "encode_patch"]

_HINT = "of a payload, messages and plain data can be kept: make tools and models in the step that needs them"


def encode_patch(value: Keepable, base: Any, *, where: str, path: str | None = None) -> Any:
    """
    Return what a step made of *base* as plain JSON types; *base* is a fork that was made before the step ran.

    >>> from procession.messages.message_list import MessageList
    >>> messages = MessageList("Where is my parcel?")
    >>> before = messages.fork()
    >>> messages.add_system("Be kind.")
    >>> data = encode_patch(messages, before, where="output of step 'x'")
    >>> [one.text for one in decode_patch(before, data, where="output of step 'x'").system_messages]
    ['Be kind.']

    Neither the messages that stayed as they were are in it, nor what was removed or hidden.  Raises ``UntypedValue``,
    which names the field, where a change could not be read again.
    """
    try:
        return codec_of(None).encode(value.changes_since(base), where=where, path=path)
    except UntypedValue as error:
        raise UntypedValue(error.message, path=path, hint=_HINT) from None


def decode_patch(base: Any, data: Any, *, where: str, path: str | None = None) -> Any:
    """
    Change *base*, what the step was given, in place as the step did, and return it.

    Raises ``SchemaError`` where *data* is no patch, or was made of another state: then nothing is changed.
    """
    changes = codec_of(None).decode(data, where=where, path=path)
    try:
        return base.redo(changes)
    except (MessageError, AttributeError, KeyError, IndexError, TypeError) as error:
        reason = error.message if isinstance(error, MessageError) else f"it holds no changes of a {type(base).__name__}"
        raise SchemaError(
            f"{where} cannot be done again: {reason}", path=path, hint="a step before it may have changed since"
        ) from None
