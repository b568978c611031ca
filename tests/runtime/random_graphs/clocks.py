"""
Clocks: event loops in which nobody waits for time to pass, and whose order a seed decides.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, TypeVar

import anyio
import trio
import trio.testing

__all__ = ["BACKENDS", "play"]

BACKENDS = ["asyncio", "trio"]
T = TypeVar("T")


class _NoWait(selectors.SelectSelector):
    """A selector that never waits: where nothing is ready, it puts the clock of its loop forward instead."""

    ahead = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """Return what is ready now."""
        found = super().select(0)
        if not found and timeout is None:
            raise RuntimeError("everything waits, and nothing will ever happen")
        if not found and timeout:
            self.ahead += timeout
        return found


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only where nothing else is to do."""

    def __init__(self) -> None:
        self._no_wait = _NoWait()
        super().__init__(self._no_wait)

    def time(self) -> float:
        """Return the seconds that have been waited for."""
        return self._no_wait.ahead


def play(backend: str, main: Callable[[], Awaitable[T]], seed: int = 0) -> T:
    """Run *main* in an event loop of its own, in which *seed* decides what the event loop may decide."""
    if backend == "asyncio":
        return anyio.run(main, backend="asyncio", backend_options={"loop_factory": _Loop})
    inner: Any = trio._core._run  # pyright: ignore
    before, inner._ALLOW_DETERMINISTIC_SCHEDULING = inner._ALLOW_DETERMINISTIC_SCHEDULING, True
    known = inner._r.getstate()
    inner._r.setstate(Random(seed).getstate())
    try:
        clock = trio.testing.MockClock(autojump_threshold=0)
        return anyio.run(main, backend="trio", backend_options={"clock": clock})
    finally:
        inner._ALLOW_DETERMINISTIC_SCHEDULING = before
        inner._r.setstate(known)
