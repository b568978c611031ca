"""
Unsaved: a turn that was answered and could not be saved.
"""

from __future__ import annotations

from procession.errors import StoreError
from procession.messages.value import Value

__all__ = ["UNSAVED", "Unsaved"]

UNSAVED = "unsaved"
"""Where in ``scope.resources`` it stands that a turn could not be saved."""


class Unsaved(Value, kw_only=True):
    """
    What a call's result says of its turn where the store failed.
    """

    thread: str
    reason: StoreError
    """What the store failed with; the error of a store that is not ours is its ``__cause__``."""
    messages: int
    """How many messages are not in the store."""
    waiting: bool
    """Whether they wait in this process until the store is back; where they do not, they are lost."""
