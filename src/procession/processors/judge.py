"""
Judge: one guard of a group that looks at a whole block, at the same time as the others (D27).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import anyio

from procession.messages.text.spans import Region, Span
from procession.processors.asking_guard import AskingGuard
from procession.processors.contexts import OutputStreamContext
from procession.processors.hold_back import pieces_of
from procession.processors.text_guard import TextGuard
from procession.processors.time_limit import within
from procession.steps.signals import Signal
from procession.steps.stray import is_failure

__all__ = ["Judge", "detected_in", "judged", "look_and_report", "regions_in"]

Look: TypeAlias = Callable[[Any, OutputStreamContext, str], Awaitable[Sequence[Region]]]


async def regions_in(guard: TextGuard, ctx: OutputStreamContext, text: str) -> Sequence[Region]:
    """
    Return what *guard* finds in *text*, by itself and by asking.
    """
    return await guard.regions_in(ctx, text)


async def detected_in(guard: AskingGuard, ctx: OutputStreamContext, text: str) -> Sequence[Region]:
    """
    Return what the detector of *guard* finds in *text*.
    """
    return await guard.detected_in(ctx, text)


class Judge:
    """
    A guard with a context of its own, and what came of asking it.
    """

    __slots__ = ("_ctx", "_raised", "guard", "regions")

    def __init__(self, ctx: OutputStreamContext, guard: TextGuard) -> None:
        self.guard = guard
        self.regions: Sequence[Region] = ()
        """What it found."""
        self._ctx = ctx.apart()
        self._ctx.speak_for(guard)
        self._raised: BaseException | None = None

    async def look_at(self, text: str, others: anyio.CancelScope, look: Look = regions_in) -> None:
        """
        Ask the guard about *text*, and cancel the *others* where it decides or fails so that the run stops.
        """
        guard, ctx = self.guard, self._ctx
        try:
            self.regions = await within(guard.timeout, ctx, lambda: look(guard, ctx, text))
        except BaseException as raised:
            if not (isinstance(raised, Signal) or is_failure(raised)):
                raise
            self._raised = raised
            if isinstance(raised, Signal) or guard.on_error != "skip":
                others.cancel()

    def tell(self, ctx: OutputStreamContext, text: str) -> None:
        """
        Report in *ctx* what was found where that changes nothing, or raise what the guard raised.
        """
        if self._raised is not None:
            ctx.verdict = self._ctx.verdict
            raise self._raised
        if self.guard.passes and self.regions:
            self.guard.settle(ctx, pieces_of(text, self.regions), {"phase": ctx.hook.value})

    def spans(self) -> list[Span]:
        """
        Return what was found where that changes something, as this guard's.
        """
        if self.guard.passes:
            return []
        return [span.replace(source=self.guard.id) for region in self.regions for span in region.members]


async def look_and_report(ctx: OutputStreamContext, guard: TextGuard, text: str) -> None:
    """
    Report in *ctx* what a *guard* that changes nothing finds in *text*.
    """
    regions = await guard.regions_in(ctx, text)
    if regions:
        guard.settle(ctx, pieces_of(text, regions), {"phase": ctx.hook.value})


async def judged(
    ctx: OutputStreamContext, guards: Sequence[TextGuard], text: str, look: Look = regions_in
) -> list[Judge]:
    """
    Ask all *guards* about *text* at the same time, and return them with what came of it, in their order; *look* is what
    each is asked.
    """
    judges = [Judge(ctx, guard) for guard in guards]
    async with anyio.create_task_group() as group:
        for judge in judges:
            group.start_soon(judge.look_at, text, group.cancel_scope, look)
    return judges
