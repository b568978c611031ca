"""
RunObserver: the port of whoever wants to see runs go by, such as a server, a tracer or a log.

Nothing in it is about how that is shown: an observer is told of the objects themselves, and makes of them what it wants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from procession.runtime.events import Entry
from procession.runtime.observability.logging import log_unseen

if TYPE_CHECKING:
    from procession.runtime.run import Run

__all__ = ["RunObserver", "Tap", "Told", "observe"]


class Told:
    """
    What agents tell observers and nobody else: it is in no log, and is no event of the run.

    ``kind`` says what ``payload`` holds, by name: docs/runtime.md has the table.
    """

    __slots__ = ("kind", "path", "payload", "time")

    def __init__(self, kind: str, time: float, path: str, payload: Mapping[str, Any]) -> None:
        self.kind = kind
        self.time = time
        self.path = path
        self.payload = payload


Tap: TypeAlias = Callable[[Entry | Told], None]
"""
Is told each entry of a run's log, in order, while the run goes on: a record when its step starts and once more when it has
ended, notes of what is neither, and what agents tell besides.  It must not block, and must not keep a record's values:
they change.
"""


class RunObserver(Protocol):
    """
    Is asked once for each run of a runtime.
    """

    def observe(self, run: Run[Any, Any], /) -> Tap | None:
        """
        Return what is to be told the log of *run*, which has not begun, or ``None`` for no interest in it.

        A run that is observed is recorded in detail: also what steps run inside themselves.
        """
        ...


def observe(run: Run[Any, Any], observers: Iterable[RunObserver]) -> None:
    """
    Let *observers* see *run*, which has not begun.  One that fails is logged, and sees nothing more of it.
    """
    taps: list[Tap] = []
    for observer in observers:
        try:
            tap = observer.observe(run)
        except Exception as error:
            log_unseen(run.id, error)
        else:
            if tap is not None:
                taps.append(_Guarded(run.id, tap))
    if taps:
        state = run.state
        state.detail = True
        state.watchers = tuple(taps)
        state.broadcast.taps += state.watchers
        state.listen()


class _Guarded:
    """
    A tap that cannot fail the run.
    """

    __slots__ = ("_run_id", "_tap")

    def __init__(self, run_id: str, tap: Tap) -> None:
        self._run_id = run_id
        self._tap: Tap | None = tap

    def __call__(self, entry: Entry | Told) -> None:
        if self._tap is not None:
            try:
                self._tap(entry)
            except Exception as error:
                self._tap = None
                log_unseen(self._run_id, error)
