"""
RunCalls: runs of workflows that were begun over HTTP, each id once.
"""

from __future__ import annotations

import re
from typing import Any, Final

import anyio

from procession.errors import InputError, RequestRefused
from procession.runtime.run import Run
from procession.server.going import Going
from procession.server.service import Service

__all__ = ["RunCall", "RunCalls", "run_id_given", "taken"]

_GOOD_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class RunCall:
    """
    A run that goes on without the request that began it.

    Where the server ends before the run, it is broken off: a runtime with a store gives it back, for another process to
    take it up.
    """

    def __init__(self, service: Service, run: Run[Any, Any], value: Any, same: str) -> None:
        self.same = same
        """What was asked, in short."""
        self.over = False
        self.alone = False
        """Whether it goes on where nobody waits for it."""
        self._run = run
        self._value = value
        self._waiting = 0
        self._error: Exception | None = None
        self._begun = anyio.Event()
        self._ended = anyio.Event()
        service.detach(self._drive)

    async def _drive(self, going: Going) -> None:
        going.signal.listen(lambda reason: going.scope.cancel())
        try:
            await self._run.start(self._value)
        except Exception as error:
            self._error = error
        finally:
            self.over = True
            self._ended.set()

    async def begun(self) -> None:
        """
        Wait until the run has begun.

        Raises what kept it from beginning: ``UntypedValue``, ``RunError`` for an id that the store has.
        """
        with self._run.events() as events:
            async for _ in events:
                break
        if self._error is not None:
            raise self._error

    async def wait(self) -> None:
        """
        Wait for the end of the run; where the last who waits leaves before, and everybody did, the run is cancelled.
        """
        self._waiting += 1
        try:
            await self._ended.wait()
        finally:
            self._waiting -= 1
            if not self._waiting and not self.over and not self.alone:
                self._run.cancel()


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

    def begin(self, run: Run[Any, Any], value: Any, same: str) -> RunCall:
        """
        Begin a run.

        Raises ``RequestRefused`` where too much goes on, and while the server drains.
        """
        call = self._calls[run.id] = RunCall(self._service, run, value, same)
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
        f"run {run_id} was asked something else",
        status=409,
        reason="run-id-taken",
        hint="send the same body again to join it, or take a new run_id",
    )
