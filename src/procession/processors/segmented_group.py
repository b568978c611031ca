"""
GroupSegments: one block of text between the rules of a group of guards and the detectors that it asks, sentence by sentence.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from procession.messages.text.sentences import Sentences
from procession.messages.text.spans import Span, resolve
from procession.processors.hold_back import Piece, StreamedText, pieces_of
from procession.processors.segmented_guard import clipped
from procession.processors.spared_lane import SparedLane
from procession.processors.text_guard import TextGuard

__all__ = ["GroupBlock", "GroupSegments"]


class GroupSegments:
    """
    What the group's window has released and nobody was asked about yet.

    It is cut where the text as it came is cut into sentences; what a rule has found stays in one piece.
    """

    __slots__ = ("_at", "_context", "_cutter", "_cuts", "_fed", "_pieces", "_seen")

    def __init__(self, cutter: Sentences, context: int) -> None:
        self._cutter = cutter
        self._context = context
        self._pieces: deque[Piece] = deque()
        self._cuts: deque[int] = deque()
        self._fed = 0
        self._at = 0
        self._seen = ""

    def take(
        self, pieces: Sequence[Piece], stops: Callable[[Piece], object], *, final: bool = False
    ) -> Sequence[Piece]:
        """
        Take what was released, up to the first piece that *stops* the run; returns that piece and those behind it.
        """
        for at, piece in enumerate(pieces):
            if stops(piece):
                return pieces[at:]
            self._pieces.append(piece)
            self._cut(self._cutter.feed(piece.text))
        if final:
            self._cut([self._cutter.finish()])
        return ()

    def _cut(self, stretches: Sequence[str]) -> None:
        for stretch in stretches:
            self._fed += len(stretch)
            self._cuts.append(self._fed)

    def whole(self) -> Iterator[list[Piece]]:
        """
        Take out the sentences that are whole, each as its pieces.
        """
        while self._cuts:
            end = self._cuts.popleft()
            taken: list[Piece] = []
            while self._at < end:
                piece = self._pieces.popleft()
                beyond = self._at + len(piece.text) - end
                if beyond > 0 and piece.region is None:
                    size = len(piece.text) - beyond
                    self._pieces.appendleft(Piece(piece.text[size:], piece.start + size, None))
                    piece = Piece(piece.text[:size], piece.start, None)
                taken.append(piece)
                self._at += len(piece.text)
            if taken:
                yield taken

    def rest(self) -> list[Piece]:
        """
        Take out what belongs to no whole sentence.
        """
        rest = list(self._pieces)
        self._pieces.clear()
        return rest

    @property
    def before(self) -> str:
        """
        The end of what the reader has of the block.
        """
        return self._seen

    def united(self, pieces: Sequence[Piece], found: Sequence[Span]) -> list[Piece]:
        """
        Return a sentence with what rules have found in it, and what detectors have *found* in it and the text before.
        """
        start = pieces[0].start
        spans = [span.moved(-start) for piece in pieces if piece.region is not None for span in piece.region.members]
        text = "".join(piece.text for piece in pieces)
        return pieces_of(text, resolve([*spans, *clipped(found, self._seen)]))

    def passed(self, text: str) -> None:
        """
        Note what the reader gets of a sentence.
        """
        self._seen = (self._seen + text)[-self._context :] if self._context else ""


class GroupBlock:
    """
    One block of text: what the strict guards share, what each lenient one has of its own, and the whole text so far.
    """

    __slots__ = ("own", "segments", "shared", "spared", "whole")

    def __init__(
        self,
        shared: StreamedText,
        own: list[tuple[TextGuard, StreamedText]],
        spared: list[tuple[TextGuard, SparedLane]],
        segments: GroupSegments | None = None,
    ) -> None:
        self.shared = shared
        self.own = own
        self.spared = spared
        self.segments = segments
        self.whole: list[str] = []
