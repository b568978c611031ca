"""
Stray cancellations: on asyncio, whoever awaits a task that somebody else has cancelled is raised that cancellation.

It looks like one's own and is none: nobody asked this task to stop, so that it is a failure of the code that waited.  On
trio a cancellation never leaves the scope that was cancelled.
"""

from __future__ import annotations

import sys

__all__ = ["is_failure", "is_stray"]


def is_failure(error: BaseException) -> bool:
    """
    Return whether *error* is a failure of the code that raised it: an exception, or the cancellation of another task.
    """
    return isinstance(error, Exception) or is_stray(error)


def is_stray(error: BaseException) -> bool:
    """
    Return whether *error* is the cancellation of some other task, which this one has waited for.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() == 0
