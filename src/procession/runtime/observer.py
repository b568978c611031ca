"""
RunObserver: the port of whoever wants to see runs go by, such as a server, a tracer or a log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from procession.runtime.events import Entry

if TYPE_CHECKING:
    from procession.runtime.run import Run

__all__ = ["RunObserver", "Tap"]

Tap: TypeAlias = Callable[[Entry], None]
"""
Is told each entry of a run's log, in order, while the run goes on: a record when its step starts and once more when it has
ended, and notes of what is neither.  It must not block, and must not keep a record's values: they change.
"""


class RunObserver(Protocol):
    """
    Is asked once for each run of a runtime.
    """

    def observe(self, run: Run[Any, Any]) -> Tap | None:
        """
        Return what is to be told the log of *run*, which has not begun, or ``None`` for no interest in it.

        A run that is observed is recorded in detail: also what steps run inside themselves.
        """
        ...
