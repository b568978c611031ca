"""
Breath: when runs let others have their turn that never wait for anything themselves.
"""

from __future__ import annotations

import threading

__all__ = ["BREATH", "breath"]

BREATH = 0.010
"""Seconds after which a run that never waits lets others have their turn."""


class _Breath(threading.local):
    """
    When a run of this thread last did so: many short runs in a row must do so as well as a long one.
    """

    at = 0.0


breath = _Breath()
