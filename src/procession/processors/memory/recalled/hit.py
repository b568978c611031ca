"""
RecallHit: a message that is like what was sought.
"""

from __future__ import annotations

from procession.messages.message import Message
from procession.messages.value import Value
from procession.storage.threads import Thread

__all__ = ["RecallHit"]


class RecallHit(Value):
    """
    A message that is like what was sought, where it stands, and how much it is alike.
    """

    thread: Thread
    message: Message
    score: float
    """The cosine of the angle between the vectors: 1 for the same direction, 0 for nothing in common."""
