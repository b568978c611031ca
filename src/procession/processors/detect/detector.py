"""
Detector: the port behind which stands whatever judges a text: rules, a model, a classifier of your own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from procession.errors import SchemaError
from procession.messages.text.spans import Span
from procession.messages.value import Value

__all__ = ["CLEAN", "Detector", "OfflineDetector", "Verdict", "sound"]


class Verdict(Value):
    """
    What a detector says of one text.
    """

    scores: Mapping[str, float] = {}
    """How sure it is of each category that it reports, from 0 to 1."""
    spans: tuple[Span, ...] = ()
    """Where in the text, if it knows."""
    reason: str | None = None
    rewritten: str | None = None
    """The text as it should have been, if the detector was asked to write it."""

    @property
    def score(self) -> float:
        """
        The highest score.
        """
        return max(self.scores.values(), default=0.0)

    def over(self, threshold: float) -> list[str]:
        """
        Return the categories with at least *threshold*.
        """
        return [category for category, score in self.scores.items() if score >= threshold]


CLEAN = Verdict()
"""Nothing was found."""


@runtime_checkable
class Detector(Protocol):
    """
    Something that judges a text.

    One that has an attribute ``identity``, a text that changes with its model and its settings, may have its verdicts
    kept in a store that others share.
    """

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """
        Judge *text*; what it costs is charged to *scope*.

        Raises whatever keeps it from a verdict: a guard that asks it then trips (D17).
        """
        ...


@runtime_checkable
class OfflineDetector(Detector, Protocol):
    """
    A detector that needs nobody else, so that it can answer at once.
    """

    def find(self, text: str) -> Verdict:
        """
        Judge *text*.
        """
        ...


def sound(verdict: Any, text: str) -> Verdict:
    """
    Return *verdict*, which a detector gave of *text*.

    Raises ``SchemaError`` for what is none: no ``Verdict``, a score that is no number from 0 to 1, a place outside of the
    text.  Not a number is less than every threshold, and would be a pass.

    >>> sound(Verdict({"spam": 0.5}), "Buy now!").score
    0.5
    """
    if not isinstance(verdict, Verdict):
        raise SchemaError(f"a detector answered with {type(verdict).__name__}", hint="it returns a Verdict")
    for score in verdict.scores.values():
        if not _is_share(score):
            raise SchemaError("a detector gave a score that is no number from 0 to 1")
    for span in verdict.spans:
        if not (_is_share(span.score) and 0 <= span.start <= span.end <= len(text)):
            raise SchemaError("a detector found something outside of the text, or with a score that is none")
    return verdict


def _is_share(score: Any) -> bool:
    return isinstance(score, (int, float)) and 0 <= score <= 1
