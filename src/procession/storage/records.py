"""
Records: how what is kept stands in a store.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Records"]


class Records:
    """
    How texts stand in a store: here as they are.

    *scope* is the resource whose text it is, *name* says where it stands, such as ``message:<thread>:<id>``: what is read
    under another name than it was written is refused where that can be told.
    """

    is_plain = True
    """Whether every text stands as it is, so that nobody need ask."""

    async def write(self, text: str, *, scope: str, name: str) -> str:
        """
        Return what stands in the store for *text*.

        Raises ``StoreError`` where it cannot be kept.
        """
        return text

    async def read(self, stored: str, *, scope: str, name: str) -> str:
        """
        Return the text that *stored* stands for.

        Raises ``StoreError`` where it cannot be read, or is not what was written there.
        """
        return stored

    async def forget(self, stored: Iterable[str], *, scope: str) -> None:
        """
        Delete what is kept elsewhere for what stood in the store, and stands there no longer.
        """
