"""
Signals: ways for a step to end that are no errors.

They derive from ``BaseException``, so that ``except Exception`` in a user's code cannot swallow them, and each is
noted on the context before it is raised, so that ``except BaseException`` cannot either (D12).  They are caught in
one place, the executor.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from procession.messages.chunks import TripwireInfo
from procession.steps.result import Bailed, Blocked, Failed, Stop, Suspended

__all__ = ["Bail", "CancelRun", "Signal", "Suspend", "Tripwire", "signal_in", "signal_of"]


class Signal(BaseException):
    """
    The root of the signals.
    """


class Tripwire(Signal):
    """
    A processor stops the run, or sends its step back (``info.retry``).
    """

    def __init__(self, info: TripwireInfo) -> None:
        super().__init__(info.reason)
        self.info = info


class Suspend(Signal):
    """
    A step waits for an answer from outside.
    """

    def __init__(self, payload: Any = None, *, label: str | None = None) -> None:
        super().__init__(label or "suspended")
        self.payload = payload
        self.label = label


class Bail(Signal):
    """
    A step ends the workflow that contains it, the arm, or the whole run, with a result (D29).
    """

    def __init__(self, value: Any = None, *, scope: Literal["workflow", "branch", "run"] = "workflow") -> None:
        super().__init__("bailed")
        self.value = value
        self.scope: Literal["workflow", "branch", "run"] = scope


class CancelRun(Signal):
    """
    A step cancels the run that contains it.
    """


def signal_in(raised: Signal | BaseExceptionGroup[Any], known: Signal | None) -> Signal:
    """
    Return the signal that was *raised*, be it out of a task group of a step's own; the one *known* comes first.

    What is neither signal nor error, a cancellation or an interrupt, goes on as it came.
    """
    if isinstance(raised, Signal):
        return known or raised
    signals, others = raised.split(Signal)
    if others is not None and others.split(Exception)[1] is not None:
        raise raised
    found: BaseException | None = known or signals
    while isinstance(found, BaseExceptionGroup):
        found = cast("BaseExceptionGroup[BaseException]", found).exceptions[0]
    if not isinstance(found, Signal):
        raise raised
    return found


def signal_of(stop: Stop) -> BaseException:
    """
    Return what is raised, where code of a step stands between the *stop* and the engine.
    """
    match stop:
        case Failed():
            return stop.error
        case Blocked():
            return Tripwire(stop.tripwire)
        case Suspended():
            return Suspend(stop.payload, label=stop.label)
        case Bailed():
            return Bail(stop.value, scope=stop.scope)
        case _:
            return CancelRun()
