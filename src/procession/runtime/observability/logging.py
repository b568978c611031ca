"""
Logging: what the engine says to an operator.  No text of a payload is ever logged.
"""

from __future__ import annotations

from procession.runtime.records import Record
from procession.steps.result import Stop

__all__ = ["log_stop"]


def log_stop(run_id: str, record: Record, stop: Stop) -> None:
    """
    Log.
    """
