"""
Left behind: whether the code that runs ignored its cancellation, so that nobody waits for it any more.

It goes on, and may still hold what it was given.  Every port through which it could reach its run asks here first.
"""

from __future__ import annotations

from contextvars import Context, ContextVar

__all__ = ["Mark", "is_left_behind", "mark_of_this", "marked"]


class Mark:
    """
    Of one piece of work that can be left behind, and of all that runs inside of it.
    """

    __slots__ = ("left", "outer")

    def __init__(self, outer: Mark | None) -> None:
        self.outer = outer
        """That of the work which this one stands inside."""
        self.left = False


_mark: ContextVar[Mark | None] = ContextVar("procession_mark", default=None)


def mark_of_this() -> Mark:
    """
    Return a new mark for a piece of work inside of what runs now.
    """
    return Mark(_mark.get())


def marked(mark: Mark, context: Context | None = None) -> None:
    """
    Let what runs in *context*, by default the present one, carry *mark*.
    """
    if context is None:
        _mark.set(mark)
    else:
        context.run(_mark.set, mark)


def is_left_behind() -> bool:
    """
    Return whether the code that runs was left behind, or stands inside of something that was.

    >>> is_left_behind()
    False
    """
    mark = _mark.get()
    while mark is not None:
        if mark.left:
            return True
        mark = mark.outer
    return False
