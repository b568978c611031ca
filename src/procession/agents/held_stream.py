"""
HeldStream: what is on its way to the reader, held until the guards beside the model call have passed.

It takes the place of the run's ``emit`` and ``on_chunk`` and is gone once everything has been let go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from procession.agents.callbacks import tell_callback
from procession.agents.state import LoopState
from procession.messages.chunks import Chunk

__all__ = ["HeldStream"]


class HeldStream:
    """
    Holds chunks in the order in which they came, each for the callback, the reader or both.

    What is held is an answer at most, since the model is asked once before the guards have passed.
    """

    __slots__ = ("_dropped", "_emit", "_flows", "_held", "_letting_go", "_mark", "_on_chunk", "_own", "_scope")

    def __init__(self, state: LoopState) -> None:
        self._scope = state.scope
        self._emit = state.emit
        self._on_chunk = state.on_chunk
        self._held: deque[tuple[bool, Chunk]] = deque()
        self._mark = 0
        self._letting_go = False
        self._dropped = False
        self._flows: anyio.Event | None = None
        """Set once all is let go; made where chunks are let go."""
        self._own: tuple[Callable[[Chunk], Any], Callable[[Chunk], Any]] = (self._take, self._tell)
        if state.emit is not None:
            state.emit = self._own[0]
        if state.on_chunk is not None:
            state.on_chunk = self._own[1]

    def mark(self) -> None:
        """
        What comes from now on is the answer: :meth:`forget` forgets it.
        """
        self._mark = len(self._held)

    def forget(self) -> None:
        """
        Forget the answer so far.
        """
        while len(self._held) > self._mark:
            self._held.pop()

    async def let_go(self, state: LoopState) -> None:
        """
        Take what is held to the reader; what comes meanwhile waits behind it.
        """
        self._letting_go = True
        self._flows = anyio.Event()
        while self._held:
            told, chunk = self._held.popleft()
            if told:
                assert self._on_chunk is not None
                await tell_callback(self._on_chunk, chunk, self._scope)
            else:
                assert self._emit is not None
                waiting = self._emit(chunk)
                if waiting is not None:
                    await waiting
        self._give_back(state)
        self._flows.set()

    def drop(self, state: LoopState) -> None:
        """
        Nobody gets what is held, nor what a model that does not stop may still say.
        """
        self._dropped = True
        self._held.clear()
        state.emit, state.on_chunk = self._emit, self._on_chunk  # also past what was put round them meanwhile

    def _give_back(self, state: LoopState) -> None:
        emit, tell = self._own
        if state.emit is emit:
            state.emit = self._emit
        if state.on_chunk is tell:
            state.on_chunk = self._on_chunk

    def _take(self, chunk: Chunk) -> Awaitable[None] | None:
        if self._flows is not None and self._flows.is_set():  # the model call that is under way still knows this one
            return self._emit(chunk) if self._emit is not None else None
        return self._keep(False, chunk)

    def _tell(self, chunk: Chunk) -> Any:
        if self._flows is not None and self._flows.is_set():
            return self._on_chunk(chunk) if self._on_chunk is not None else None
        return self._keep(True, chunk)

    def _keep(self, told: bool, chunk: Chunk) -> Awaitable[None] | None:
        if self._dropped:
            return None
        self._held.append((told, chunk))
        return self._flows.wait() if self._letting_go and self._flows is not None else None
