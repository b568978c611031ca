"""
Development mode: warnings of hooks that work only by chance.

It is on with ``Runtime(development=True)`` for the agents of that runtime, and with the environment variable
``PROCESSION_DEV=1``, or ``python -X dev``, for every processor.  It is looked up when a processor becomes a step, so that
it costs nothing where it is off.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from time import perf_counter
from typing import Any

from procession.processors.hooks import Hook
from procession.processors.log import log_once

__all__ = ["developing", "in_development", "watched"]

SLOW = 0.05
"""Seconds for which a hook may keep the event loop from everything else (D6)."""

_asked: ContextVar[bool] = ContextVar("asked", default=False)


@contextmanager
def developing(on: bool) -> Generator[None]:
    """
    Make the steps of processors in development mode where it is *on*.
    """
    token = _asked.set(on or _asked.get())
    try:
        yield
    finally:
        _asked.reset(token)


def in_development() -> bool:
    """
    Whether processors that become steps now are watched.
    """
    return _asked.get() or sys.flags.dev_mode or os.environ.get("PROCESSION_DEV", "") not in ("", "0")


def watched(
    owner: Any, hook: Hook, method: Callable[[Any], Any], *, is_async: bool, blocking: bool
) -> Callable[[Any], Any]:
    """
    Return a hook that warns where it holds up the event loop, and where it writes to its processor.
    """

    def tell_slow() -> None:
        kind = "an async" if is_async else "a plain"
        advice = "call what blocks in a thread: anyio.to_thread.run_sync" if is_async else "set blocking = True"
        log_once(owner.id, f"{kind} hook took over 50 ms: {advice}", hook=hook.value)

    def tell_written(before: Mapping[str, Any]) -> None:
        after = _attributes(owner)
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                log_once(
                    owner.id, f"a hook wrote to self.{name}, which all requests share: use ctx.state", hook=hook.value
                )

    @wraps(method)
    def call(ctx: Any) -> Any:
        before = _attributes(owner)
        began = perf_counter()
        try:
            return method(ctx)
        finally:
            if not blocking and perf_counter() - began > SLOW:
                tell_slow()
            tell_written(before)

    @wraps(method)
    async def call_async(ctx: Any) -> Any:
        before = _attributes(owner)
        try:
            return await _Timed(method(ctx), tell_slow)
        finally:
            tell_written(before)

    return call_async if is_async else call


def _attributes(owner: Any) -> dict[str, Any]:
    """
    Return what stands for the attributes of *owner*: which object, and for what holds others, how many.
    """
    return {
        name: (id(value), len(value) if isinstance(value, (list, dict, set, bytearray)) else 0)  # pyright: ignore[reportUnknownArgumentType]
        for name, value in getattr(owner, "__dict__", {}).items()
    }


class _Timed:
    """
    An awaitable that measures how long it goes on between two moments at which others have their turn.
    """

    __slots__ = ("_tell", "_waiting")

    def __init__(self, waiting: Awaitable[Any], tell: Callable[[], None]) -> None:
        self._waiting = waiting
        self._tell = tell

    def __await__(self) -> Generator[Any, Any, Any]:
        inner: Any = self._waiting.__await__()
        value: Any = None
        error: BaseException | None = None
        while True:
            began = perf_counter()
            try:
                asked = inner.send(value) if error is None else inner.throw(error)
            except StopIteration as end:
                return end.value
            finally:
                if perf_counter() - began > SLOW:
                    self._tell()
            value = error = None
            try:
                value = yield asked
            except GeneratorExit:
                inner.close()
                raise
            except BaseException as raised:
                error = raised
