"""
RunCalls: runs of workflows that were begun over HTTP, each id once.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio

from procession.errors import InputError, RequestRefused
from procession.runtime.run import Run
from procession.server.going import Going, gone
from procession.server.service import Service

__all__ = ["RunCall", "RunCalls", "run_id_given", "taken"]

_GOOD_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class RunCall:
    """
    A run that goes on without the request that began it.

    Where the server ends before the run, it is broken off: a runtime with a store gives it back, for another process to
    take it up.
    """

    def __init__(
        self, service: Service, make: Callable[[], Awaitable[tuple[Run[Any, Any], Any]]], same: str = ""
    ) -> None:
        """
        Begin the run that *make* returns with its input; it is awaited where the run has its place, so that no run is taken
        up or answered that could not go on then.

        Raises ``RequestRefused`` where too much goes on, and while the server drains.
        """
        self.same = same
        """What was asked, in short."""
        self.over = False
        self.alone = False
        """Whether it goes on where nobody waits for it."""
        self._make = make
        self._run: Run[Any, Any] | None = None
        self._waiting = 0
        self._error: Exception | None = None
        self._made = anyio.Event()
        self._ended = anyio.Event()
        self._going = service.detach(self._drive)

    async def _drive(self, going: Going) -> None:
        going.signal.listen(lambda reason: going.scope.cancel())
        try:
            self._run, value = await self._make()
            self._made.set()
            await self._run.start(value)
        except Exception as error:
            self._error = error
        finally:
            self.over = True
            self._made.set()
            self._ended.set()

    async def made(self) -> Run[Any, Any]:
        """
        Wait until the run is there, and return it.

        Raises what kept it from being made.
        """
        await self._made.wait()
        if self._run is not None:
            return self._run
        if self._error is not None:
            raise self._error
        raise RequestRefused("the run has not begun", status=503, reason="draining", after=1)

    async def begun(self) -> None:
        """
        Wait until the run has begun.

        Raises what kept it from beginning: ``UntypedValue``, ``RunError`` for an id that the store has.
        """
        with (await self.made()).events() as events:
            async for _ in events:
                break
        if self._error is not None:
            raise self._error

    async def wait(self) -> None:
        """
        Wait for the end of the run; where the last who waits leaves before, and everybody did, the run is cancelled.

        Raises what kept it from being made.
        """
        self._waiting += 1
        try:
            await self.made()
            await self._ended.wait()
        finally:
            self._waiting -= 1
            if not self._waiting and not self.over and not self.alone:
                if self._run is not None:
                    self._run.cancel()
                else:
                    self._going.end(gone())


class RunCalls:
    """
    The runs that were begun over HTTP, by their ids.
    """

    def __init__(self, service: Service, remembered: int) -> None:
        self._service = service
        self._remembered = remembered
        self._calls: dict[str, RunCall] = {}

    def get(self, run_id: str, same: str) -> RunCall | None:
        """
        Return the run of that id, if it was begun here.

        Raises ``RequestRefused`` where something else was asked by that id.
        """
        call = self._calls.get(run_id)
        if call is not None and call.same != same:
            raise taken(run_id)
        return call

    def begin(self, run_id: str, make: Callable[[], tuple[Run[Any, Any], Any]], same: str) -> RunCall:
        """
        Begin the run that *make* returns with its input.

        Raises what *make* raises, and ``RequestRefused`` where too much goes on, and while the server drains.
        """
        self._service.refuse_full()  # first: a run that is made is one that is known
        made = make()

        async def given() -> tuple[Run[Any, Any], Any]:
            return made

        call = self._calls[run_id] = RunCall(self._service, given, same)
        over = [id for id, each in self._calls.items() if each.over]
        for id in over[: max(0, len(self._calls) - self._remembered)]:
            del self._calls[id]
        return call


def run_id_given(run_id: str) -> str:
    """
    Return the id that a caller gave its run.

    Raises ``InputError`` for one that could not stand in a path.
    """
    if not _GOOD_ID.fullmatch(run_id) or run_id.strip(".") == "":
        raise InputError("the run_id cannot be one", hint="1 to 128 letters, digits and . _ : -")
    return run_id


def taken(run_id: str) -> RequestRefused:
    """
    Return the error of an id by which something else was asked.
    """
    return RequestRefused(
        f"run {run_id} was asked something else, or before this server was started",
        status=409,
        reason="run-id-taken",
        hint=f"the same body joins a run of this server; else take a new run_id, or see GET /api/runs/{run_id}",
    )
