"""
Waited: whether an arm of a stream had to wait for anything.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

__all__ = ["Waited"]


class Waited:
    """
    Awaits a coroutine and notes whether it had to wait for anything.
    """

    __slots__ = ("_coroutine", "suspended")

    def __init__(self, coroutine: Any) -> None:
        self._coroutine = coroutine
        self.suspended = False

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self._coroutine.__await__()
        try:
            waiting = next(inner)
        except StopIteration as done:
            return done.value
        self.suspended = True
        while True:
            try:
                sent = yield waiting
            except GeneratorExit:
                inner.close()
                raise
            except BaseException as error:
                try:
                    waiting = inner.throw(error)
                except StopIteration as done:
                    return done.value
            else:
                try:
                    waiting = inner.send(sent)
                except StopIteration as done:
                    return done.value
