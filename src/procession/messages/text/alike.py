"""
Alike: rules sought in what a text looks like, also where its letters are those of another alphabet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from procession.messages.text.confusables import AlikeFolder
from procession.messages.text.scan import RuleLane
from procession.messages.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from procession.messages.text.patterns import Rule

__all__ = ["AlikeLane"]


class AlikeLane:
    """
    Rules sought in two views of a text that comes in pieces: as it is, and with look-alike letters as Latin ones.  Pure
    Russian or Greek means what it says in the first; what mixes alphabets to look like Latin is found in the second.

    >>> from procession.messages.text.patterns import Rule
    >>> lane = AlikeLane([Rule("code", "Osprey"), Rule("russian", "рука")])
    >>> [(span.start, span.rule, span.transforms) for span in lane.feed("Оsрrеy, рука", final=True)]
    [(8, 'russian', ()), (0, 'code', ('confusables',))]
    """

    def __init__(self, rules: Sequence[Rule], *, explain: bool = False) -> None:
        self.settled = 0
        self._plain = RuleLane(rules, fold=True, explain=explain)
        self._alike = RuleLane(rules, folder=AlikeFolder(), explain=explain)
        self._known: set[tuple[int, int, str]] = set()
        self._waiting: list[Span] = []

    def feed(self, text: str, *, final: bool = False) -> list[Span]:
        """
        Take the next piece of the text.  What the second view finds waits until the first has decided about that place.
        """
        found = self._plain.feed(text, final=final)
        self._known.update((span.start, span.end, span.rule) for span in found)
        decided = self._plain.settled + final
        waiting = [*self._waiting, *self._alike.feed(text, final=final)]
        self._waiting = [span for span in waiting if span.start >= decided]
        for span in waiting:
            if span.start < decided and (span.start, span.end, span.rule) not in self._known:
                found.append(span.replace(transforms=("confusables",)))
        self.settled = min(self._plain.settled, self._alike.settled, *(span.start for span in self._waiting))
        self._known = {place for place in self._known if place[0] >= self.settled}
        return found
