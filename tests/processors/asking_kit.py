"""What the tests of guards that judge by sentence share: an answer, detectors, and a model that answers in blocks."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
from hypothesis import strategies as st

from procession.messages.chunks import Chunk, Finish, TextDelta, TextEnd, TextStart
from procession.messages.text.spans import Span, resolve
from procession.processors.asking_guard import AskingGuard
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.pii import PIIDetector

FIRST = "The parcel for the lady in the white house by the river was left with a neighbour today."
SECOND = " Her name is Eva Holm, and she will fetch it in the afternoon, when she is back from work."
THIRD = " Nothing else is known about it, and nobody has asked for it since it was brought there."
ANSWER = FIRST + SECOND + THIRD


class Finder:
    """A detector that finds a pattern and notes what it is asked; *meanwhile* is done before it answers."""

    def __init__(self, pattern: str = "Eva Holm", meanwhile: Callable[[], Any] | None = None) -> None:
        self.pattern = pattern
        self.asked: list[str] = []
        self.meanwhile = meanwhile

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Find it."""
        self.asked.append(text)
        if self.meanwhile is not None:
            self.meanwhile()
        await anyio.lowlevel.checkpoint()
        spans = tuple(Span(*match.span(), "name") for match in re.finditer(self.pattern, text))
        return Verdict({"name": 1.0} if spans else {}, spans)


class Blunt(AskingGuard):
    """A guard whose detector says whether a text is bad, and not where."""

    id = "blunt"
    strategies = ("block", "redact", "warn")

    def __init__(self, detector: Any, **options: Any) -> None:
        super().__init__(**options)
        self.use(detector)

    def judged(self, verdict: Verdict, text: str) -> list[Any]:
        """The whole text is what is wrong."""
        return resolve([Span(0, len(text), "bad")] if verdict.scores else [])


def names(detector: Any, strategy: Any = "redact", **options: Any) -> PIIDetector:
    """Return a guard that asks by sentence, and has no rules, whose window would come before that."""
    options = {"stream_by": "sentence", "detection_types": ["name"], **options}
    return PIIDetector(detector=detector, strategy=strategy, redaction="placeholder", phase="output", **options)


class Blocks:
    """A model that answers in blocks, each in pieces where it streams."""

    id = "blocks"

    def __init__(self, *blocks: Any) -> None:
        self.blocks = blocks

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        """Send them."""
        for number, pieces in enumerate(self.blocks):
            if isinstance(pieces, Chunk):
                yield pieces
                continue
            yield TextStart(str(number))
            for piece in pieces if request.streaming else ["".join(pieces)]:
                yield TextDelta(piece, str(number))
            yield TextEnd(str(number))
        yield Finish("stop")


WORDS = (
    "Eva ",
    "Holm",
    "Eva Holm",
    "eva@example.net",
    "alpha",
    ". ",
    "。",
    "! ",
    "\n",
    "so it was and will be",
    "x" * 30,
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=30).map("".join)
