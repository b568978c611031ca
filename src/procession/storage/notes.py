"""
NoteStore: the port of what a memory has written down beside the conversations.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from procession.messages.value import Value

__all__ = ["Note", "NoteKey", "NoteStore"]


class NoteKey(Value, kw_only=True):
    """
    Which note: of what kind, of whom, and of which thread if it is not of all of them.
    """

    kind: str
    """What it is, such as ``working-memory``."""
    resource_id: str
    thread_id: str | None = None


class Note(Value):
    """
    A text, and how often it has been written.
    """

    text: str
    version: int
    """Counts from 1."""


@runtime_checkable
class NoteStore(Protocol):
    """
    Keeps one text under each key.  Each method is atomic, also between processes that use one store.

    Every method raises ``StoreError`` where the store cannot be used.
    """

    async def note(self, key: NoteKey) -> Note | None:
        """
        Return what is written under *key*, or ``None``.
        """
        ...

    async def put_note(self, key: NoteKey, text: str, *, version: int) -> Note | None:
        """
        Write *text* in place of that *version*, 0 where there was none; ``None`` where somebody else wrote meanwhile.
        """
        ...

    async def delete_note(self, key: NoteKey) -> bool:
        """
        Forget what is written under *key*; ``False`` where nothing is.
        """
        ...
