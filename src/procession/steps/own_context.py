"""
OwnContext: something awaited in place, with context variables of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, TypeVar

__all__ = ["OwnContext"]

T = TypeVar("T")


class OwnContext(Generic[T]):
    """
    Awaits *coroutine* in the task that awaits this, with a copy of that task's context variables: it sees what was set
    before, and what it sets nobody else sees.

    >>> from contextvars import ContextVar
    >>> import anyio
    >>> tenant = ContextVar("tenant", default="nobody")
    >>> async def inner():
    ...     tenant.set("acme")
    >>> async def outer():
    ...     await OwnContext(inner())
    ...     return tenant.get()
    >>> anyio.run(outer)
    'nobody'
    """

    __slots__ = ("_coroutine",)

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, T]:
        context = copy_context()
        coroutine = self._coroutine
        step: Callable[[], Any] = partial(coroutine.send, None)
        while True:
            try:
                waiting = context.run(step)
            except StopIteration as done:
                result: T = done.value
                return result
            try:
                sent = yield waiting
            except GeneratorExit:
                context.run(coroutine.close)
                raise
            except BaseException as error:
                step = partial(coroutine.throw, error)
            else:
                step = partial(coroutine.send, sent)
