"""
Spans: what was found where in a text, and who owns the stretch where findings overlap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from procession.messages.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Region", "Span", "covers", "cut_out", "resolve"]


class Span(Value):
    """
    One finding: the characters from *start* up to *end* of a text are a *type*, says the *rule*.

    ``score`` is how sure the rule is, from 0 to 1; ``replacement`` is what stands there once it is hidden, if the
    finder knows; ``rejected`` says why a candidate is no finding after all, and is empty for findings.
    """

    start: int
    end: int
    type: str
    rule: str = ""
    score: float = 1.0
    replacement: str | None = None
    rejected: str = ""
    source: str = ""
    """The id of the guard that found it, where there are several."""
    transforms: tuple[str, ...] = ()
    """What was undone in the text to see it, where that is known: ``zero-width``, ``nfkc``, ``confusables``, ``base64``."""

    def moved(self, by: int) -> Span:
        """
        Return the same finding *by* characters further on.
        """
        return self.replace(start=self.start + by, end=self.end + by)


class Region(Value):
    """
    Findings that overlap, as one stretch.  The longest of them owns it and says what stands there.
    """

    start: int
    end: int
    owner: Span
    members: tuple[Span, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        """
        The rules that found something in it, each once.
        """
        return tuple(dict.fromkeys(span.rule for span in self.members))


def resolve(spans: Iterable[Span]) -> list[Region]:
    """
    Unite what overlaps, so that nothing of any finding is left over.  Findings that only touch stay apart.

    The longest finding owns a region; of equally long ones the surer, then the first.

    >>> card, url = Span(5, 24, "credit-card"), Span(20, 28, "url", score=0.5)
    >>> [(region.start, region.end, region.owner.type) for region in resolve([card, url])]
    [(5, 28, 'credit-card')]
    """
    regions: list[Region] = []
    members: list[Span] = []
    reach = -1
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if members and span.start >= reach:
            regions.append(_region(members, reach))
            members = []
        members.append(span)
        reach = max(reach, span.end) if len(members) > 1 else span.end
    if members:
        regions.append(_region(members, reach))
    return regions


def _region(members: Sequence[Span], reach: int) -> Region:
    owner = min(members, key=lambda span: (span.start - span.end, -span.score, span.start))
    return Region(members[0].start, reach, owner, tuple(members))


def covers(spans: Iterable[Span], start: int, end: int) -> bool:
    """
    Whether any of *spans* overlaps the stretch from *start* to *end*.
    """
    return any(span.start < end and start < span.end for span in spans)


def cut_out(text: str, regions: Iterable[Region], replacement: Callable[[Region], str]) -> str:
    """
    Return *text* with each of the disjoint *regions* replaced by what *replacement* says.

    >>> cut_out("call 555 now", resolve([Span(5, 8, "phone")]), lambda region: "[PHONE]")
    'call [PHONE] now'
    """
    pieces: list[str] = []
    at = 0
    for region in regions:
        pieces += (text[at : region.start], replacement(region))
        at = region.end
    return "".join((*pieces, text[at:]))
