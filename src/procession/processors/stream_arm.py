"""
StreamArm: one arm of a branch in a stream chain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from procession.processors.payloads import OutputStreamPayload
from procession.processors.stream_items import Item

__all__ = ["StreamArm"]


class StreamArm:
    """
    One arm: its items, the payload by which a map sees it, and the condition under which it runs.
    """

    __slots__ = ("condition", "holds", "items", "payload", "redacts", "step_id")

    def __init__(
        self,
        step_id: str,
        items: list[Item],
        payload: OutputStreamPayload,
        *,
        condition: Callable[[Any], Any] | None = None,
        redacts: bool = False,
    ) -> None:
        self.step_id = step_id
        self.items = items
        self.payload = payload
        self.condition = condition
        self.redacts = redacts
        self.holds = any(item.holds for item in items)

    def nested(self, make: Callable[[Sequence[Item]], list[Item]]) -> StreamArm:
        """
        Return this arm for nested streams, with the items that *make* makes of its own.
        """
        return StreamArm(self.step_id, make(self.items), self.payload, condition=self.condition, redacts=self.redacts)
