"""
LoadedTools: which tools each thread has loaded, for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from procession.errors import ProcessorDefinitionError
from procession.steps.scope import RequestScope

__all__ = ["LoadedTools"]

_KEY = "loaded"


class LoadedTools:
    """
    Names by thread and resource: a thread of another resource is another thread (D35).  A request without both has names
    of its own, which end with it.
    """

    __slots__ = ("_clock", "_id", "_threads", "_ttl")

    def __init__(self, processor_id: str, ttl: float, clock: Callable[[], float]) -> None:
        self._id = processor_id
        self._ttl = _seconds(ttl)
        self._clock = clock
        self._threads: dict[tuple[str, str], tuple[float, dict[str, None]]] = {}
        """The names, and when they were last asked for; the thread that was asked for longest ago comes first."""

    def of(self, scope: RequestScope) -> Collection[str]:
        """
        Return the names of the thread that *scope* serves, in the order in which they were loaded.
        """
        thread = _thread_of(scope)
        if thread is None:
            return tuple(scope.state(self._id).get(_KEY, ()))
        self._forget(self._clock())
        return tuple(self._names(thread)) if thread in self._threads else ()

    def add(self, scope: RequestScope, names: Iterable[str]) -> None:
        """
        Keep *names* for that thread.
        """
        thread = _thread_of(scope)
        kept: dict[str, None] = scope.state(self._id).setdefault(_KEY, {}) if thread is None else self._names(thread)
        kept.update(dict.fromkeys(names))

    def _names(self, thread: tuple[str, str]) -> dict[str, None]:
        now = self._clock()
        _, names = self._threads.pop(thread, (now, {}))
        self._threads[thread] = (now, names)
        return names

    def _forget(self, now: float) -> None:
        while self._threads:
            thread, (used, _) = next(iter(self._threads.items()))
            if now - used < self._ttl:
                return
            del self._threads[thread]


def _thread_of(scope: RequestScope) -> tuple[str, str] | None:
    use = scope.resources.get("memory")  # set where the call names a thread and whose it is
    return (use.resource_id, use.thread_id) if use is not None else None


def _seconds(ttl: Any) -> float:
    if isinstance(ttl, (int, float)) and not isinstance(ttl, bool) and ttl > 0:
        return ttl
    raise ProcessorDefinitionError(f"ToolSearch has ttl={ttl!r}", hint="give seconds above 0")
