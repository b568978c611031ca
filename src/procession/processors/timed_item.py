"""
TimedItem: a processor in a stream chain that says itself what lets go of the text it holds: the clock, or other chunks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from procession.messages.chunks import Chunk, TextDelta
from procession.processors.adapter import HookCaller
from procession.processors.payloads import OutputStreamPayload
from procession.processors.stream_items import ProcessorItem
from procession.steps.scope import RequestScope

__all__ = ["TimedItem", "has_clock", "is_timed"]


def has_clock(owner: object) -> bool:
    """
    Whether *owner* lets go of held text although no chunk comes.
    """
    return callable(getattr(owner, "due_output_stream", None))


def is_timed(owner: object) -> bool:
    """
    Whether *owner* says more of when it lets go than that a block ends.
    """
    return has_clock(owner) or callable(getattr(owner, "flushes_before", None))


class TimedItem(ProcessorItem):
    """
    One processor with ``due_output_stream(ctx)``, ``flushes_before(chunk)``, or both.
    """

    __slots__ = ("_due", "_flushes_before", "has_clock")

    def __init__(self, caller: HookCaller, payload: OutputStreamPayload, scope: RequestScope, path: str) -> None:
        super().__init__(caller, payload, scope, path)
        self.has_clock = has_clock(caller.owner)
        self._due: Callable[[Any], float | None] | None = getattr(caller.owner, "due_output_stream", None)
        self._flushes_before: Callable[[Chunk], bool] | None = getattr(caller.owner, "flushes_before", None)

    def must_release(self, chunk: Chunk) -> bool:
        """
        Ask the processor, too, about chunks that end no block of its own.
        """
        if super().must_release(chunk):
            return True
        if self._block is None or self._flushes_before is None or type(chunk) is TextDelta:
            return False
        return self._flushes_before(chunk)

    def due(self) -> float:
        """
        Return when what is held goes on by itself, on the event loop's clock; infinity where that is never.
        """
        due = self._due(self.ctx) if self._due is not None else None
        return due if due is not None else math.inf
