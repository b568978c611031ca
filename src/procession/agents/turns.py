"""
Turns: what becomes of a call while another one runs on the same thread of the same resource.

Two answers to one conversation at a time would each miss the other's messages.  The calls of one runtime, in one event
loop, take turns: they queue, are refused, or take the place of those before them.  What a call says that had to wait
stands behind what those before it have said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias, TypeVar

import anyio

from procession.errors import ThreadBusy
from procession.messages.message_list import MessageList
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.steps.event_loop import running_loop

__all__ = ["LINES", "THREAD_POLICIES", "ThreadPolicy", "in_turn"]

Out = TypeVar("Out")

ThreadPolicy: TypeAlias = Literal["queue", "reject", "cancel_previous"]
"""Wait for the calls before this one, raise ``ThreadBusy``, or abort them."""

THREAD_POLICIES = ("queue", "reject", "cancel_previous")

_Key: TypeAlias = tuple[Runtime, object, str, str]

LINES: dict[_Key, deque[_Turn]] = {}
"""Those who have a turn or wait for one, by runtime, event loop, resource and thread; the first has it."""


class _Turn:
    """
    The turn of one call.
    """

    __slots__ = ("_give_up", "cut", "key", "moved", "over", "since")

    def __init__(self, key: _Key, give_up: Callable[[str], None]) -> None:
        self.key = key
        self.since = datetime.now(UTC)
        """When it came."""
        self._give_up = give_up
        self.moved: anyio.Event | None = None
        """Set when the call may look again: those before it have gone, or it is cut."""
        self.cut = False
        self.over = False

    def cancel(self) -> None:
        """
        Another call takes its place.
        """
        self.cut = True
        self._give_up(f"a later call on thread {self.key[-1]!r} took the place of this one")
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
        """
        line = LINES[self.key]
        while line[0] is not self and not self.cut and not (unwanted is not None and unwanted.aborted):
            self.moved = anyio.Event()
            await self.moved.wait()

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
    give_up: Callable[[str], None],
    messages: MessageList,
    unwanted: AbortSignal | None = None,
) -> Out:
    """
    Do *work* on *messages* when it is this call's turn on the thread; at once where it turns out *unwanted*, or where a
    later call took its place, of which *give_up* is told: it does nothing then.

    Raises ``ThreadBusy`` where *policy* says ``reject`` and somebody is before it.
    """
    held = _held.get()
    key = (runtime, running_loop(), resource, thread)
    if any(turn.key == key and not turn.over for turn in held):
        return await work()
    line = LINES.setdefault(key, deque())
    if line and policy == "reject":
        raise ThreadBusy("another call is running on this thread", thread=thread, hint='thread_policy="queue" waits')
    before = tuple(line)
    turn = _Turn(key, give_up)
    line.append(turn)
    try:
        if before and policy == "cancel_previous":
            for other in before:
                other.cancel()
            with anyio.move_on_after(runtime.grace) as limit:
                await _wanted(turn, unwanted)
            if limit.cancelled_caught:
                turn.push_in()
        elif before:
            await _wanted(turn, unwanted)
        if turn.cut or (unwanted is not None and unwanted.aborted):
            turn.leave()
            return await work()
        if before:
            _put_behind(messages, before[0].since)
        token = _held.set((*held, turn))
        try:
            return await work()
        finally:
            _held.reset(token)
    finally:
        turn.leave()


def _put_behind(messages: MessageList, since: datetime) -> None:
    """
    Let what the call says be said now: what came *since* the first call before it came would stand before its answer.
    """
    now = datetime.now(UTC)
    late = [message for message in messages.view("input") if message.created_at >= since]
    messages.replace_all(
        message.replace(created_at=now + place * timedelta(microseconds=1)) for place, message in enumerate(late)
    )


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
