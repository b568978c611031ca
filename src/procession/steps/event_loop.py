"""
The event loop, whichever it is: what is cheaper said to asyncio itself, and what anyio has no word for.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from procession.errors import RunError

if TYPE_CHECKING:
    import asyncio

__all__ = ["asyncio_loop", "begin_task", "cancel_scope", "poster", "run_to_end", "running_loop"]

Out = TypeVar("Out")


def asyncio_loop() -> asyncio.AbstractEventLoop | None:
    """
    Return the running asyncio event loop, or ``None`` on trio.
    """
    asyncio = sys.modules.get("asyncio")
    try:
        return asyncio.get_running_loop() if asyncio is not None else None
    except RuntimeError:
        return None


_scope_type: type[anyio.CancelScope] | None = None


def cancel_scope() -> anyio.CancelScope:
    """
    Return a new cancel scope.  On asyncio its class is looked up once, which saves a third of its cost.
    """
    global _scope_type
    if asyncio_loop() is None:
        return anyio.CancelScope()
    if _scope_type is None:
        _scope_type = type(anyio.CancelScope())
    return _scope_type()


def running_loop() -> object | None:
    """
    Return what stands for the event loop that this is called in, the same object each time; ``None`` outside of one.
    """
    loop = asyncio_loop()
    if loop is not None:
        return loop
    trio = sys.modules.get("trio")
    try:
        token: object = trio.lowlevel.current_trio_token() if trio is not None else None
    except RuntimeError:
        return None
    return token


def poster() -> Callable[[Callable[[], None]], None]:
    """
    Return what lets other threads have a function called in the present event loop; one that is over calls nothing.
    """
    loop: Any = running_loop()
    post: Any = loop.call_soon_threadsafe if asyncio_loop() is not None else loop.run_sync_soon

    def posted(function: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # what both say of a loop that is over
            post(function)

    return posted


def run_to_end(main: Callable[[], Awaitable[Out]], *, name: str, instead: str, backend: str = "asyncio") -> Out:
    """
    Run *main* in an event loop of its own, for a door *name* that plain code calls.

    Raises ``RunError`` where an event loop is running in this thread already, saying what to do *instead*.
    """
    if running_loop() is not None:
        raise RunError(f"{name}() was called inside a running event loop", hint=f"there, {instead}")
    return anyio.run(main, backend=backend)


def begin_task(
    work: Callable[..., Any], *args: Any, loop: asyncio.AbstractEventLoop | None, context: Context | None = None
) -> asyncio.Task[None] | None:
    """
    Begin ``work(*args)`` in a task of the event loop, which no task group waits for: a system task where that is trio.

    *loop* is asyncio's, or ``None`` for trio.  The task has *context*, or a copy of the current one.  *work* must not
    raise.
    """
    if loop is not None:
        return loop.create_task(work(*args), context=context)
    import trio

    trio.lowlevel.spawn_system_task(work, *args, context=context if context is not None else copy_context())
    return None
