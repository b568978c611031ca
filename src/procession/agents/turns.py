"""
Turns: what becomes of a call while another one runs on the same thread of the same resource.

Two answers to one conversation at a time would each miss the other's messages.  The calls of one runtime, in one event
loop, take turns: they queue, are refused, or take the place of those before them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Literal, TypeAlias, TypeVar

import anyio

from procession.errors import RunCancelled, ThreadBusy
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.steps.event_loop import cancel_scope, running_loop

__all__ = ["LINES", "THREAD_POLICIES", "ThreadPolicy", "in_turn"]

Out = TypeVar("Out")

ThreadPolicy: TypeAlias = Literal["queue", "reject", "cancel_previous"]
"""Wait for the calls before this one, raise ``ThreadBusy``, or cancel them."""

THREAD_POLICIES = ("queue", "reject", "cancel_previous")

_Key: TypeAlias = tuple[Runtime, object, str, str]

LINES: dict[_Key, deque[_Turn]] = {}
"""Those who have a turn or wait for one, by runtime, event loop, resource and thread; the first has it."""


class _Turn:
    """
    The turn of one call.
    """

    __slots__ = ("cut", "key", "moved", "over", "scope")

    def __init__(self, key: _Key) -> None:
        self.key = key
        self.moved: anyio.Event | None = None
        """Set when the call may look again: those before it have gone, or it is cut."""
        self.scope: anyio.CancelScope | None = None
        """What it runs in, once it has its turn."""
        self.cut = False
        self.over = False

    def cancel(self) -> None:
        """
        Another call takes its place.
        """
        self.cut = True
        if self.scope is not None:
            self.scope.cancel()
        self.wake()

    def wake(self) -> None:
        if self.moved is not None:
            self.moved.set()

    def leave(self) -> None:
        """
        Let the next one have its turn.
        """
        self.over = True
        line = LINES.get(self.key)
        if line is None or self not in line:
            return
        first = line[0] is self
        line.remove(self)
        if not line:
            del LINES[self.key]
        elif first:
            line[0].wake()

    async def come_up(self, unwanted: AbortSignal | None = None) -> None:
        """
        Wait until all who came before have gone, or nobody wants it any more.

        Raises ``RunCancelled`` where a later call took this one's place.
        """
        line = LINES[self.key]
        while line[0] is not self and not self.cut and not (unwanted is not None and unwanted.aborted):
            self.moved = anyio.Event()
            await self.moved.wait()
        if self.cut:
            raise _cut()

    def push_in(self) -> None:
        """
        Have the turn although those before have not stopped.
        """
        line = LINES[self.key]
        while line[0] is not self:
            line.popleft()
        import structlog

        structlog.get_logger("procession").warning("the previous call on the thread did not stop in time")


_held: ContextVar[tuple[_Turn, ...]] = ContextVar("held", default=())
"""The turns within which this is happening: a call from inside a run on the same thread is part of that run."""


async def in_turn(
    runtime: Runtime,
    resource: str,
    thread: str,
    policy: ThreadPolicy,
    work: Callable[[], Awaitable[Out]],
    unwanted: AbortSignal | None = None,
) -> Out:
    """
    Do *work* when it is this call's turn on the thread; at once where it turns out *unwanted*, since it does nothing then.

    Raises ``ThreadBusy`` where *policy* says ``reject`` and somebody is before it, and ``RunCancelled`` where a later
    call took its place.
    """
    held = _held.get()
    key = (runtime, running_loop(), resource, thread)
    if any(turn.key == key and not turn.over for turn in held):
        return await work()
    line = LINES.setdefault(key, deque())
    if line and policy == "reject":
        raise ThreadBusy("another call is running on this thread", thread=thread, hint='thread_policy="queue" waits')
    before = tuple(line)
    turn = _Turn(key)
    line.append(turn)
    try:
        if before and policy == "cancel_previous":
            for other in before:
                other.cancel()
            with anyio.move_on_after(runtime.grace) as limit:
                await turn.come_up()
            if limit.cancelled_caught:
                turn.push_in()
        elif before:
            await _wanted(turn, unwanted)
        if unwanted is not None and unwanted.aborted:
            turn.leave()
            return await work()
        token = _held.set((*held, turn))
        try:
            with cancel_scope() as turn.scope:
                return await work()
        finally:
            _held.reset(token)
        raise _cut()
    finally:
        turn.leave()


async def _wanted(turn: _Turn, unwanted: AbortSignal | None) -> None:
    """
    Wait for the *turn*, or until the call is *unwanted*.
    """

    def wake(reason: str | None) -> None:
        turn.wake()

    if unwanted is not None:
        unwanted.listen(wake)
    try:
        await turn.come_up(unwanted)
    finally:
        if unwanted is not None:
            unwanted.forget(wake)


def _cut() -> RunCancelled:
    return RunCancelled("a later call on the same thread took the place of this one")
