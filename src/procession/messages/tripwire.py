"""
TripwireInfo: why a processor stopped a run or sent a step back.
"""

from __future__ import annotations

from typing import Any

from procession.messages.value import Value

__all__ = ["TripwireInfo"]


class TripwireInfo(Value):
    """
    Why a processor stopped a run or sent a step back.
    """

    reason: str
    retry: bool = False
    metadata: Any = None
    processor_id: str | None = None
    message: str | None = None
    """What the user is shown."""
