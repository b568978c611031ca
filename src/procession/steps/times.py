"""
Times: what can be waited for, and what is wrong with anything else.
"""

from __future__ import annotations

import math
from datetime import datetime

from procession.errors import DefinitionError

__all__ = ["check_timeout", "wrong_moment", "wrong_time"]


def wrong_time(seconds: object) -> str:
    """
    Return what is wrong with *seconds* as a time to wait, or nothing.

    >>> wrong_time(-1), wrong_time("1"), wrong_time(0.5)
    ('-1, which is no time to wait: 0 or more seconds', 'str, where a number of seconds is needed', '')
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return f"{type(seconds).__name__}, where a number of seconds is needed"
    if math.isnan(seconds) or math.isinf(seconds) or seconds < 0:
        return f"{seconds}, which is no time to wait: 0 or more seconds"
    return ""


def check_timeout(what: str, name: str, seconds: object) -> None:
    """
    Raise ``DefinitionError`` where *seconds* is neither ``None`` nor a time that *what* may take.
    """
    wrong = wrong_time(seconds) if seconds is not None else ""
    if wrong or seconds == 0:
        raise DefinitionError(f"{what} has {name}={seconds!r}", hint="it is a number of seconds, more than 0")


def wrong_moment(moment: object) -> str:
    """
    Return what is wrong with *moment* as a moment to wait for, or nothing.

    >>> wrong_moment(datetime(2030, 1, 1))
    'a datetime without a time zone: say which, e.g. tzinfo=UTC'
    """
    if not isinstance(moment, datetime):
        return f"{type(moment).__name__}, where a datetime is needed"
    return "" if moment.utcoffset() is not None else "a datetime without a time zone: say which, e.g. tzinfo=UTC"
