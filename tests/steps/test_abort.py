"""The abort signal by itself."""

from __future__ import annotations

import anyio

from procession.messages.message_list import MessageList
from procession.processors.contexts import InputContext
from procession.processors.payloads import InputPayload
from procession.processors.processor import Processor
from procession.steps.abort import AbortSignal
from procession.steps.scope import RequestScope
from procession.tools.context import ToolContext


def test_the_first_reason_stands() -> None:
    """A signal is set once, and its first reason stands."""
    signal = AbortSignal()
    assert (signal.aborted, signal.reason) == (False, None)
    signal.abort("enough")
    signal.abort("again")
    assert (signal.aborted, signal.reason) == (True, "enough")


async def test_waiting() -> None:
    """``wait`` returns once the signal is set, also where that was before."""
    signal = AbortSignal()
    waited: list[str] = []

    async def wait() -> None:
        await signal.wait()
        waited.append("waited")

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        assert waited == []
        signal.abort()
    await signal.wait()
    assert waited == ["waited", "waited"]


def test_listeners_are_told_once() -> None:
    """Who listens is told once, at once where it is too late, and never again after ``forget``."""
    signal, told = AbortSignal(), list[str | None]()

    def never(reason: str | None) -> None:
        raise AssertionError

    signal.listen(told.append)
    signal.listen(never)
    signal.forget(never)
    signal.forget(never)
    signal.abort("enough")
    signal.abort()
    signal.listen(told.append)
    assert told == ["enough", "enough"]


def test_hooks_and_tools_see_the_signal_of_their_request() -> None:
    """``ctx.abort_signal`` is one signal in the hooks and tools of a request, made when it is first asked for."""
    scope = RequestScope()
    assert scope.abort_signal is None
    seen = ToolContext(scope=scope).abort_signal
    assert InputContext(InputPayload(MessageList()), scope, Processor(id="p")).abort_signal is seen is scope.abort
