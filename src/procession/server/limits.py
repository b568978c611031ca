"""
Limits: how much of everything a server takes on.
"""

from __future__ import annotations

from procession.errors import DefinitionError
from procession.messages.value import Value

__all__ = ["Limits"]


class Limits(Value, kw_only=True):
    """
    How much of everything a server takes on; each is per process.

    >>> Limits(calls=20).calls
    20
    """

    body: int = 4_000_000
    """Bytes of a request's body; a longer one is refused with 413."""
    calls: int = 256
    """How many calls (generate, stream, runs that are waited for) go on at once; one more is refused with 503."""
    readers: int = 512
    """How many streams of events are read at once; one more is refused with 429."""
    seconds: float = 600.0
    """How long a call may take before it is cancelled; streams of events end then as well, and are taken up again."""
    stalled: float = 60.0
    """How many seconds a client may leave unread what was sent to it, or take for the body it sends."""
    heartbeat: float = 15.0
    """After how many silent seconds a stream says that it is alive."""
    drain: float = 30.0
    """How many seconds calls that go on are given when the server is told to end."""
    remembered: int = 1_000
    """How many ended calls that were given a ``run_id`` can be asked for again by it."""

    def checked(self) -> Limits:
        """
        Return it.  Raises ``DefinitionError`` for a limit that cannot be.
        """
        for name in self.__fields__:
            value = getattr(self, name)
            least = 0 if name in ("drain", "remembered") else 1 if isinstance(value, int) else 0.001
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value < least:
                raise DefinitionError(f"Limits has {name}={value!r}", hint=f"it is {least} or more")
        return self
