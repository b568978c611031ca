"""
Sources: where a message of a list comes from, as one small number per message.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, get_args

from procession.errors import MessageError

__all__ = [
    "CONTEXT",
    "INPUT",
    "MEMORY",
    "RESPONSE",
    "SOURCES",
    "UNSAVED",
    "Source",
    "flag_of",
    "mask_of",
    "names_of",
    "table_of",
]

Source = Literal["memory", "input", "response", "context"]
"""
``memory`` was remembered, ``input`` came with the call, ``response`` is this turn's answer, ``context`` is shown to
the model and never stored.
"""

SOURCES: tuple[Source, ...] = get_args(Source)
MEMORY, INPUT, RESPONSE, CONTEXT, UNSAVED = 1, 2, 4, 8, 16
"""One bit each.  ``UNSAVED`` is set on input and response messages until they are drained to a store."""

_FLAGS: dict[str, int] = {
    "memory": MEMORY,
    "input": INPUT | UNSAVED,
    "user": INPUT | UNSAVED,
    "response": RESPONSE | UNSAVED,
    "context": CONTEXT,
}


def flag_of(source: str) -> int:
    """
    Return the bits of a message that is added with *source* (``user`` is another word for ``input``).

    Raises ``MessageError`` for an unknown source.
    """
    try:
        return _FLAGS[source]
    except KeyError:
        raise MessageError(f"unknown source {source!r}", hint=f"a source is one of {', '.join(SOURCES)}") from None


@lru_cache(maxsize=64)
def mask_of(sources: tuple[str, ...]) -> int:
    """
    Return the bits that a message of one of *sources* has; 0 stands for all messages (no source, or ``all``).
    """
    mask = 0
    for source in sources:
        if source == "all":
            return 0
        mask |= flag_of(source) & ~UNSAVED
    return mask


@lru_cache(maxsize=32)
def table_of(mask: int, unsaved: bool = False) -> bytes:
    """
    Return the table with which ``bytes.translate`` marks (1) the messages that have a bit of *mask*.

    With *unsaved* they must have the bit ``UNSAVED`` too.
    """
    return bytes(1 if flags & mask and (not unsaved or flags & UNSAVED) else 0 for flags in range(256))


def names_of(flags: int) -> list[Source]:
    """
    Return the sources of a message with *flags*: memory before input before response before context.
    """
    return [source for bit, source in enumerate(SOURCES) if flags & 1 << bit]
