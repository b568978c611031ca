"""How steps end, and which end decides."""

from __future__ import annotations

from itertools import permutations

from procession.messages.chunks import TripwireInfo
from procession.steps.result import Bailed, Blocked, Cancelled, Failed, Stop, Suspended, strongest

HARD = Blocked("a", TripwireInfo("hard"))
RETRY = Blocked("b", TripwireInfo("again", retry=True))
FAILED = Failed("c", ValueError())
CANCELLED = Cancelled("d")
RUN = Bailed("e", 1, "run")
BAILED = Bailed("f", 1)
SUSPENDED = Suspended("g")


def test_the_strongest_stop_decides() -> None:
    """A block beats all, then cancelling, failing, a retry, a bail and waiting, in whatever order they stand."""
    order: list[Stop] = [HARD, CANCELLED, FAILED, RETRY, RUN, BAILED, SUSPENDED]
    for first in range(len(order)):
        for mixed in permutations(order[first : first + 3]):
            assert strongest(list(mixed)) is order[first]


def test_among_equals_the_first_decides() -> None:
    """Of two blocks the one that was declared first decides."""
    other = Blocked("z", TripwireInfo("other"))
    assert strongest([RETRY, other, HARD]) is other
