"""
InMemoryCacheStore: a cache that lasts as long as the object, and never grows beyond its bounds.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from procession.errors import DefinitionError

__all__ = ["InMemoryCacheStore"]


class InMemoryCacheStore:
    """
    A ``CacheStore`` in memory: what was not asked for the longest is pushed out by what is new.

    It may be used from any number of threads and event loops.

    >>> import anyio
    >>> async def main() -> str | None:
    ...     store = InMemoryCacheStore(max_entries=100)
    ...     await store.set("k", "v", ttl=60)
    ...     return await store.get("k")
    >>> anyio.run(main)
    'v'
    """

    def __init__(
        self,
        *,
        max_entries: int = 1000,
        max_bytes: int = 64 * 1024 * 1024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Keep at most *max_entries*, and at most *max_bytes* of keys and values together.

        Raises ``DefinitionError`` for bounds that are none.
        """
        for name, bound in (("max_entries", max_entries), ("max_bytes", max_bytes)):
            if type(bound) is not int or bound < 1:
                raise DefinitionError(f"{name} is {bound!r}", hint="give a count of at least 1")
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[float, str]] = OrderedDict()
        """Until when, and what; the one that was asked for last stands last."""
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, key: str) -> str | None:
        """
        Return what is kept under *key*, or ``None``.
        """
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            until, value = found
            if until <= self._clock():
                self._forget(key)
                return None
            self._kept.move_to_end(key)
            return value

    async def set(self, key: str, value: str, *, ttl: float) -> None:
        """
        Keep *value* under *key* for *ttl* seconds.  What is larger than the whole store is not kept.
        """
        with self._lock:
            self._forget(key)
            now = self._clock()
            size = len(key) + len(value)
            if not now + ttl > now or size > self._max_bytes:
                return
            self._kept[key] = (now + ttl, value)
            self._bytes += size
            while len(self._kept) > self._max_entries or self._bytes > self._max_bytes:
                self._forget(next(iter(self._kept)))
            while self._kept[oldest := next(iter(self._kept))][0] <= now:  # nobody asks for it: its time is over
                self._forget(oldest)

    async def delete(self, key: str) -> bool:
        """
        Forget what is kept under *key*; ``False`` where nothing was.
        """
        with self._lock:
            return self._forget(key)

    async def clear(self, prefix: str = "") -> int:
        """
        Forget everything whose key begins with *prefix*, and return how much that was.
        """
        with self._lock:
            gone = [key for key in self._kept if key.startswith(prefix)]
            for key in gone:
                self._forget(key)
            return len(gone)

    def _forget(self, key: str) -> bool:
        found = self._kept.pop(key, None)
        if found is None:
            return False
        self._bytes -= len(key) + len(found[1])
        return True
