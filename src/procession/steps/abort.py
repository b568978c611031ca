"""
AbortSignal: how whoever made a request says that its answer is no longer wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import anyio

__all__ = ["AbortSignal"]


class AbortSignal:
    """
    Says that an answer is no longer wanted: give it to a call, and ``abort()`` it at any time, also before the call.

    One signal may be given to several calls; it is set once and for all.

    >>> signal = AbortSignal()
    >>> signal.aborted
    False
    >>> signal.abort("the user left")
    >>> signal.aborted, signal.reason
    (True, 'the user left')

    Like everything of an event loop it belongs to its thread: from another one, call
    ``anyio.from_thread.run_sync(signal.abort)``, or the loop's ``call_soon_threadsafe``.  To read ``aborted`` is safe
    anywhere.
    """

    __slots__ = ("_event", "_listeners", "aborted", "reason")

    def __init__(self) -> None:
        self.aborted = False
        """Whether the answer is no longer wanted."""
        self.reason: str | None = None
        """What was said when it was aborted."""
        self._event: anyio.Event | None = None
        self._listeners: list[Callable[[str | None], None]] = []

    def abort(self, reason: str | None = None) -> None:
        """
        Say that the answer is no longer wanted; the first reason stands.
        """
        if self.aborted:
            return
        self.aborted = True
        self.reason = reason
        if self._event is not None:
            self._event.set()
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener(reason)

    async def wait(self) -> None:
        """
        Wait until it is aborted.
        """
        if self.aborted:
            return
        if self._event is None:
            from anyio import Event  # definitions do without it

            self._event = Event()
        await self._event.wait()

    def listen(self, listener: Callable[[str | None], None]) -> None:
        """
        Call *listener* with the reason once it is aborted; at once where it is already.
        """
        if self.aborted:
            listener(self.reason)
        else:
            self._listeners.append(listener)

    def forget(self, listener: Callable[[str | None], None]) -> None:
        """
        Call *listener* no longer.
        """
        if listener in self._listeners:
            self._listeners.remove(listener)

    def __repr__(self) -> str:
        return f"AbortSignal(aborted={self.aborted})"
