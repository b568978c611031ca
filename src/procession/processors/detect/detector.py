"""
Detector: the port behind which stands whatever judges a text: rules, a model, a classifier of your own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from procession.messages.text.spans import Span
from procession.messages.value import Value
from procession.processors.hold_back import digest_of

__all__ = ["CLEAN", "Detector", "OfflineDetector", "Verdict", "verdict_by"]


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


async def verdict_by(detector: Detector, text: str, state: dict[str, Any], scope: Any) -> Verdict:
    """
    Ask *detector* about *text*, once per request: *state*, a processor's, keeps what each detector said of each text.

    Processors of one id share their state, so a text alone does not say whose verdict it is.
    """
    kept: dict[int, tuple[Detector, dict[bytes, Verdict]]] = state.setdefault("verdicts", {})
    _, verdicts = kept.setdefault(id(detector), (detector, {}))  # kept with it, so that no other gets its id
    key = digest_of(text)
    if key not in verdicts:
        verdicts[key] = await detector.detect(text, scope=scope)
    return verdicts[key]


def merge(verdicts: Sequence[Verdict]) -> Verdict:
    """
    Return what several detectors say of one text together.
    """
    scores: dict[str, float] = {}
    for verdict in verdicts:
        for category, score in verdict.scores.items():
            scores[category] = max(score, scores.get(category, 0.0))
    return Verdict(
        scores,
        tuple(span for verdict in verdicts for span in verdict.spans),
        next((verdict.reason for verdict in verdicts if verdict.reason), None),
        next((verdict.rewritten for verdict in verdicts if verdict.rewritten is not None), None),
    )
