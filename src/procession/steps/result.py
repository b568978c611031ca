"""
StepResult: how a step can end.

Everything but ``Success`` is a ``Stop``: the engine hands it up from node to node instead of raising, so that no signal
ever crosses a task.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from procession.messages.chunks import TripwireInfo
from procession.messages.value import Value

__all__ = [
    "STOPS", "BailScope", "Bailed", "Blocked", "Cancelled", "Failed", "Status", "StepResult", "Stop", "Success", "Suspended",
    "out_of_workflow", "strongest",
]  # fmt: skip

Status = Literal["running", "success", "failed", "blocked", "suspended", "bailed", "skipped", "cancelled"]
"""Where a step stands."""

BailScope: TypeAlias = Literal["workflow", "branch", "run"]
"""What a bail ends (D29)."""


class StepResult(Value):
    """
    How a step ended.
    """

    status: ClassVar[Status]


class Success(StepResult):
    """
    It gave an output.
    """

    status: ClassVar[Status] = "success"
    output: Any


class Stop(StepResult):
    """
    It ended what contains it; ``path`` says where that began.
    """

    path: str

    @property
    def rank(self) -> int:
        """
        Which of several branches' ends decides: the lowest.
        """
        return 9


class Failed(Stop):
    """
    It raised.
    """

    status: ClassVar[Status] = "failed"
    error: Exception

    @property
    def rank(self) -> int:
        """
        Weaker than a stop by a processor, stronger than its wish to try again: a failure is final.
        """
        return 2


class Blocked(Stop):
    """
    A processor stopped the run, or wants the step again (``tripwire.retry``).
    """

    status: ClassVar[Status] = "blocked"
    tripwire: TripwireInfo

    @property
    def rank(self) -> int:
        """
        A stop beats everything, a retry only what is no failure.
        """
        return 3 if self.tripwire.retry else 0


class Bailed(Stop):
    """
    It ended its workflow, its arm or the run with a result of its own.
    """

    status: ClassVar[Status] = "bailed"
    value: Any
    scope: BailScope = "workflow"

    @property
    def rank(self) -> int:
        """
        Weaker than anything that went wrong; the wider scope first.
        """
        return 4 if self.scope == "run" else 5


class Suspended(Stop):
    """
    It waits for an answer.
    """

    status: ClassVar[Status] = "suspended"
    payload: Any = None
    label: str | None = None
    number: int = 0
    """Which of the questions of its step it is, from 0."""

    @property
    def rank(self) -> int:
        """
        The weakest: it lets its siblings finish.
        """
        return 6


class Cancelled(Stop):
    """
    It was cancelled, or cancelled the run.
    """

    status: ClassVar[Status] = "cancelled"
    reason: str = "cancelled"

    @property
    def rank(self) -> int:
        """
        Second to a processor's stop alone.
        """
        return 1


STOPS: frozenset[type] = frozenset((Failed, Blocked, Bailed, Suspended, Cancelled))
"""The classes of stops.  ``type(x) in STOPS`` takes a quarter of the time of ``isinstance(x, Stop)``."""


def out_of_workflow(output: Any) -> Any:
    """
    Return what the *output* of a workflow is to the one that it stands in: its own bail ends there, with its value, and
    so does one of an arm where there was no arm.
    """
    return output.value if type(output) is Bailed and output.scope != "run" else output


def strongest(stops: list[Stop]) -> Stop:
    """
    Return the one that decides; among equals the first, so give them in declaration order (D27).
    """
    best = stops[0]
    for stop in stops:
        if stop.rank < best.rank:
            best = stop
    return best
