"""
Timed answer: while the model says nothing, processors let go by the clock what they hold back of the text.

One task for a model call, which sleeps until something is due; runs without such a processor have none.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

import anyio

from procession.agents.state import Attempt, LoopState
from procession.messages.chunks import Chunk
from procession.steps.signals import Signal

if TYPE_CHECKING:
    from procession.processors.stream import StreamChain

__all__ = ["timed_answer"]

Take = Callable[[LoopState, Attempt, AsyncIterator[Chunk]], Awaitable[bool]]
"""Takes an answer in, and tells whether it was read to its end."""


async def timed_answer(state: LoopState, attempt: Attempt, stream: AsyncIterator[Chunk], take: Take) -> bool:
    """
    Let *take* take the answer in, and between its chunks what is due go on; tells what *take* tells.

    Raises what *take* raises, or what the processors behind say of the text that went on by itself.
    """
    assert state.chain is not None
    alarm = _Alarm(state, attempt, state.chain)
    raised: BaseException | None = None
    whole = False
    async with anyio.create_task_group() as group:
        group.start_soon(alarm.run)
        turns = alarm.turns(stream)
        try:
            with alarm.reading:
                whole = await take(state, attempt, turns)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # not to be wrapped by the group
            raised = error
        finally:
            group.cancel_scope.cancel()
            await turns.aclose()
    if alarm.raised is not None:
        raise alarm.raised
    if raised is not None:
        raise raised
    return whole


class _Alarm:
    """
    What goes off once something is due, and who has the chain: one chunk, or what goes on by itself, never both.
    """

    __slots__ = ("_attempt", "_chain", "_due", "_sleep", "_state", "_turn", "raised", "reading")

    def __init__(self, state: LoopState, attempt: Attempt, chain: StreamChain) -> None:
        self._state = state
        self._attempt = attempt
        self._chain = chain
        self._turn = anyio.Lock(fast_acquire=True)
        self._due = math.inf
        self._sleep: anyio.CancelScope | None = None
        self.reading = anyio.CancelScope()
        """What is cancelled where the rest of the answer is not wanted."""
        self.raised: BaseException | None = None

    async def turns(self, stream: AsyncIterator[Chunk]) -> AsyncGenerator[Chunk, None]:
        """
        Pass the model's stream on; from a chunk to the next one asked for, and from the last one on, it has the chain.
        """
        async for chunk in stream:
            await self._turn.acquire()
            yield chunk
            self._set()
            self._turn.release()
        await self._turn.acquire()

    async def run(self) -> None:
        """
        Let go what is due whenever something is, until cancelled or the answer is not wanted any more.
        """
        while True:
            with anyio.CancelScope(deadline=self._due) as self._sleep:
                await anyio.sleep_forever()
            async with self._turn:
                try:
                    await self._let_go()
                except (Exception, Signal) as error:
                    self.raised = error
                if self.raised is not None or self._state.scope.replacement is not None:
                    self.reading.cancel()
                    return

    async def _let_go(self) -> None:
        for chunk in await self._chain.let_go():
            self._attempt.collector.add(chunk)
            await self._state.send(chunk)
        self._due = self._chain.due()

    def _set(self) -> None:
        due = self._chain.due()
        if due != self._due:
            self._due = due
            if self._sleep is not None:
                self._sleep.deadline = due
