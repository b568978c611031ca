"""
Sentences: a text that comes in pieces, cut into stretches that are worth a question each.

Where it is cut follows from the text alone: however it comes, the stretches are the same.
"""

from __future__ import annotations

import re

from procession.messages.text.segments import begins_segment

__all__ = ["GREATEST", "LEAST", "Sentences"]

LEAST = 80
"""A sentence of fewer characters goes with the next one."""
GREATEST = 1000
"""A sentence of more characters is cut, at white space if there is some."""

_CLOSERS = "\"'\u2019\u201d\u203a\u00bb)\\]}\u300d\u300f\u3011\uff09\uff3d\u300b"
_BEFORE_BLANK = ".!?"
_ANYWHERE = "\u2026\u3002\uff01\uff1f\uff0e\uff61\u0964\u0965\u061f\u06d4"  # they end a sentence by themselves
_END = re.compile(
    rf"(?P<blank>[{_BEFORE_BLANK}]++)[{_CLOSERS}]*+|[{_ANYWHERE}]++[{_CLOSERS}]*+|(?P<line>[\n\u2028\u2029])"
)
_OPEN = f"{_BEFORE_BLANK}{_ANYWHERE}{_CLOSERS}".replace("\\", "")
"""What may still become the end of a sentence, or part of it, with the next character."""


class Sentences:
    """
    Cuts a text behind ``. ! ? … 。 ！ ？ । ؟`` and line breaks into stretches of at least *least* and at most *greatest*
    characters; the last one may be shorter.  Without *ends* only their size counts.

    >>> cut = Sentences(least=5)
    >>> cut.feed("It is 3.14. Yes."), cut.feed(" And"), cut.finish()
    (['It is 3.14.'], [' Yes.'], ' And')
    """

    __slots__ = ("_ends", "_greatest", "_least", "_looked", "rest")

    def __init__(self, *, least: int = LEAST, greatest: int = GREATEST, ends: bool = True) -> None:
        self._least = least
        self._greatest = greatest
        self._ends = ends
        self._looked = 0
        self.rest = ""
        """What has come since the last cut."""

    def feed(self, text: str) -> list[str]:
        """
        Take the next piece and return the stretches that are complete now.
        """
        text = self.rest + text
        out: list[str] = []
        at = 0
        while (end := self._cut(text, at)) is not None:
            out.append(text[at:end])
            at = end
        self.rest = text[at:]
        return out

    def finish(self) -> str:
        """
        End the text and return the rest of it.
        """
        rest, self.rest = self.rest, ""
        self._looked = 0
        return rest

    def _cut(self, text: str, at: int) -> int | None:
        """
        Return where the stretch that begins at *at* ends, if that is certain.
        """
        limit = at + self._greatest
        if self._ends:
            known = min(len(text), limit + 1)
            for found in _END.finditer(text, at + self._looked, known):
                end = found.end()
                if end - at >= self._least and (
                    end <= limit if found["line"] else end < known and (text[end].isspace() or not found["blank"])
                ):
                    self._looked = 0
                    return end
        if len(text) > limit:
            self._looked = 0
            return self._place(text, limit)
        self._looked = max(self._looked, len(text.rstrip(_OPEN)) - at)
        return None

    def _place(self, text: str, limit: int) -> int:
        """
        Return where a stretch without an end is cut: behind white space of its second half, else between two characters.
        """
        half = limit - self._greatest // 2
        blank = max(text.rfind(" ", half, limit), text.rfind("\n", half, limit))
        if blank >= 0:
            return blank + 1
        end = limit
        while end > half and not begins_segment(text[end]):
            end -= 1
        return end if end > half else limit
