"""
Later: work that need not hold up an answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextvars import copy_context
from typing import Any

import anyio

from procession.steps.own_task import OwnTask
from procession.steps.scope import RequestScope
from procession.steps.signals import Signal

__all__ = ["do_later", "later"]


def _log_failed(function: Callable[..., Any], error: BaseException) -> None:
    """
    Say that background work failed; what the error says may be private and is left out.
    """
    import structlog

    name = getattr(function, "__qualname__", type(function).__name__)
    structlog.get_logger("procession").warning("background work failed", function=name, error=type(error).__name__)


async def do_later(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """
    Do ``function(*args)``, plain or async; that it fails is logged, and changes nothing.
    """
    try:
        made: object = function(*args)
        if isinstance(made, Awaitable):
            await made
    except (Exception, Signal) as error:  # a verdict comes too late to decide anything
        _log_failed(function, error)


def later(scope: RequestScope, function: Callable[..., Any], *args: Any) -> None:
    """
    Do ``function(*args)`` without holding up the answer: in the open runtime's group, else before the call returns.
    """
    if scope.background is None or not scope.background.start(function, *args):
        scope.pending.append(_Later(function, args))


class _Later:
    """
    Such work where no runtime is open: done, with the context variables of who left it, by whoever awaits this.
    """

    __slots__ = ("_args", "_context", "_function")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._function = function
        self._args = args
        self._context = copy_context()

    def __await__(self) -> Generator[Any, Any, None]:
        return self._done().__await__()

    async def _done(self) -> None:
        task = OwnTask(lambda: do_later(self._function, self._args), self._context)
        try:
            await task.wait()
        except BaseException:
            task.cancel()
            with anyio.CancelScope(shield=True):
                await task.wait()
            raise
        task.outcome()
