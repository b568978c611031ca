"""
Moments: times as whole numbers, by which what is kept stands in order.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["moment_of", "time_of"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def moment_of(time: datetime) -> int:
    """
    Return *time* as microseconds since 1970, exactly; one without a zone counts as UTC.

    >>> moment_of(datetime(1970, 1, 1, 0, 0, 1))
    1000000
    """
    return ((time if time.tzinfo is not None else time.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def time_of(seconds: float) -> datetime:
    """
    Return the time that a clock tells, in seconds since 1970.
    """
    return _EPOCH + timedelta(seconds=seconds)
