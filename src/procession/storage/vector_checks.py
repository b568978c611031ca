"""
What every store of vectors refuses.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from procession.errors import InputError, StoreError
from procession.storage.nearest import FLOAT_BYTES, unit
from procession.storage.vectors import VectorItem

__all__ = ["check_deletion", "check_lengths", "checked_units"]


def checked_units(index: str, items: Sequence[VectorItem]) -> list[bytes]:
    """
    Return the items' vectors, each of length one.

    Raises ``InputError`` for one without a direction, ``StoreError`` where they are of different lengths.
    """
    units = [unit(item.vector, f"the vector of message {item.message_id!r}") for item in items]
    for one in units:
        check_lengths(index, len(one) // FLOAT_BYTES, len(units[0]) // FLOAT_BYTES)
    return units


def check_lengths(index: str, given: int, known: int) -> None:
    """
    Raise ``StoreError`` where a vector of *given* numbers meets an index of vectors with *known*.
    """
    if given != known:
        raise StoreError(
            f"index {index!r} has vectors of {known} numbers, and this one has {given}",
            hint="give each embedder an index of its own",
        )


def check_deletion(
    resource_id: str | None, thread_id: str | None, message_ids: Collection[str] | None, index: str | None
) -> None:
    """
    Raise ``InputError`` unless it is said what is to be deleted.
    """
    if resource_id is thread_id is index is None:
        raise InputError("it is not said which vectors are to be deleted", hint="name a resource, a thread or an index")
    if message_ids is not None and thread_id is None:
        raise InputError("messages are to be deleted of a thread that is not named", hint="name the thread as well")
