"""
CacheStore: the port of what is kept for a while, and may be forgotten at any time.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["CacheStore"]


class CacheStore(Protocol):
    """
    Keeps texts under keys until their time is over.

    A store may forget an entry at any time; it never hands over one that was kept under another key, or whose time is over.
    Keys and values are ASCII texts.  A method that cannot do what it should raises, best a ``StoreError``: whoever uses
    a cache goes on without it.
    """

    async def get(self, key: str) -> str | None:
        """
        Return what is kept under *key*, or ``None``.
        """
        ...

    async def set(self, key: str, value: str, *, ttl: float) -> None:
        """
        Keep *value* under *key* for *ttl* seconds, in place of what was there.
        """
        ...

    async def delete(self, key: str) -> bool:
        """
        Forget what is kept under *key*; ``False`` where nothing was.
        """
        ...

    async def clear(self, prefix: str = "") -> int:
        """
        Forget everything whose key begins with *prefix*, and return how much that was, about.
        """
        ...
