"""
Going: a call while it goes on, which ends early where nobody waits for it, its time is over, or the server ends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from procession.errors import RequestRefused
from procession.steps.abort import AbortSignal

__all__ = ["GRACE", "Going", "cancelled", "gone"]

GRACE = 10.0
"""How many seconds a call that was told to end may take for it before it is cancelled."""


class Going:
    """
    A call while it goes on.
    """

    __slots__ = ("because", "scope", "signal")

    def __init__(self) -> None:
        self.signal = AbortSignal()
        """Is set once the answer is not wanted any longer: what looks at it ends by itself, and keeps what is due."""
        self.scope = anyio.CancelScope()
        """What the call runs in."""
        self.because: RequestRefused | None = None
        """Why it was told to end."""

    def end(self, because: RequestRefused, *, grace: float = GRACE) -> None:
        """
        Tell the call to end, and cancel it where it has not after *grace* seconds.
        """
        if self.because is None:
            self.because = because
            self.scope.deadline = anyio.current_time() + grace
            self.signal.abort(because.message)

    async def attend(
        self,
        work: Callable[[], Awaitable[None]],
        leaves: Callable[[], Awaitable[None]],
        *,
        seconds: float,
        grace: float,
    ) -> None:
        """
        Do *work*, which is told to end where *leaves* returns, and after so many *seconds*.

        Raises what *work* raises, and ``RequestRefused`` where it was told to end and had to be cancelled.
        """
        failed: Exception | None = None
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                with anyio.move_on_after(seconds) as limit:
                    await leaves()
                self.end(_late(seconds) if limit.cancelled_caught else gone(), grace=grace)

            group.start_soon(watch)
            try:
                with self.scope:
                    await work()
            except Exception as error:  # not out of the group, which would wrap it
                failed = error
            group.cancel_scope.cancel()
        if failed is not None:
            raise failed
        if self.scope.cancelled_caught and self.because is not None:
            raise self.because


def gone() -> RequestRefused:
    """
    Return why a call ends whose client has left.
    """
    return RequestRefused("the client has left", status=499, reason="client-left")


def cancelled() -> RequestRefused:
    """
    Return why a call ends whose run somebody has cancelled.
    """
    return RequestRefused("the run was cancelled", status=499, reason="run-cancelled")


def _late(seconds: float) -> RequestRefused:
    return RequestRefused(
        f"the call took longer than {seconds:g} seconds",
        status=504,
        reason="timeout",
        hint="App(limits=Limits(seconds=...))",
    )
