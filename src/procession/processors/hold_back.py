"""
HoldBack: the window that text guards hold back, for one block of streamed text.

Text is released up to a place that no finding can cross any more.  Each lane (rules, or a function) says up to where
nothing new can begin; findings that overlap are released together, once no other can join them.  So what comes out,
joined, is what the whole text would have given, for every way of cutting it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from procession.messages.text.spans import Region, Span, resolve

if TYPE_CHECKING:
    import hashlib

    from procession.messages.text.scan import Lane

__all__ = ["PASSED", "HoldBack", "Piece", "Released", "StreamedText", "Watch", "digest_of", "new_digest", "pieces_of"]

PASSED = "passed"
"""Where the state of a text guard keeps the digests of the texts that have passed."""
_SHORT = 1024
"""Held text up to this many characters is looked at with every chunk; longer text waits for an eighth more."""


class Watch(NamedTuple):
    """
    One guard's eyes on a block: its id, how it finds, and which findings count, given the text found.
    """

    source: str
    lane: Lane
    accepts: Callable[[Span, str], bool]


class Piece(NamedTuple):
    """
    A stretch of the original text; *region* says what was found in it, ``None`` that it is clean.
    """

    text: str
    start: int
    region: Region | None

    def found(self) -> str:
        """
        Return the text of the finding that owns the region.
        """
        assert self.region is not None
        return self.text[self.region.owner.start - self.start : self.region.owner.end - self.start]


class Released(NamedTuple):
    """
    What one call released, in order, and every finding that was decided in it.
    """

    pieces: Sequence[Piece]
    decided: Sequence[Span]


_NOTHING = Released((), ())


class HoldBack:
    """
    Holds back the end of one block of text as long as something may still be found in it, and at *least* so many
    characters.  With *batch* it waits for so many new ones before it looks, which saves time where rules are many.

    >>> from procession.messages.text.patterns import Rule
    >>> from procession.messages.text.scan import RuleLane
    >>> lane = RuleLane([Rule("code", "ABC-[0-9]{3}")])
    >>> held = HoldBack([Watch("guard", lane, lambda span, text: True)])
    >>> [piece.text for piece in held.feed("the code is AB").pieces]
    ['the code is ']
    >>> [(piece.text, piece.region is not None) for piece in held.feed("C-123.").pieces]
    [('ABC-123', True), ('.', False)]
    """

    __slots__ = ("_base", "_batch", "_least", "_spans", "_text", "_waiting", "_waiting_size", "_watches", "failed")

    def __init__(self, watches: Iterable[Watch], *, least: int = 0, batch: int = 1) -> None:
        self._watches = tuple(watches)
        self._least = least
        self._batch = batch
        self.failed: str | None = None
        """The id of the guard whose search raised."""
        self._text = ""
        self._base = 0
        self._spans: list[Span] = []
        self._waiting: list[str] = []
        self._waiting_size = 0

    @property
    def held(self) -> int:
        """
        How many characters are held back.
        """
        return len(self._text) + self._waiting_size

    def feed(self, text: str) -> Released:
        """
        Take more text and return what is certain by now.
        """
        self._waiting.append(text)
        self._waiting_size += len(text)
        if self._waiting_size < self._batch:
            return _NOTHING
        if len(self._text) > _SHORT and self._waiting_size * 8 < len(self._text):
            return _NOTHING
        return self._take(final=False)

    def finish(self) -> Released:
        """
        End the block and return the rest of it.
        """
        return self._take(final=True)

    def unread(self) -> list[Piece]:
        """
        Return what is held back, with what was found in it so far.
        """
        text = self._text + "".join(self._waiting)
        return pieces_of(text, resolve(span.moved(-self._base) for span in self._spans))

    def _take(self, *, final: bool) -> Released:
        new = self._waiting[0] if len(self._waiting) == 1 else "".join(self._waiting)
        self._waiting.clear()
        self._waiting_size = 0
        text = self._text = self._text + new
        base = self._base
        decided: list[Span] = []
        safe = base + len(text)
        for watch in self._watches:
            self.failed = watch.source
            for span in watch.lane.feed(new, final=final):
                if watch.accepts(span, text[span.start - base : span.end - base]):
                    decided.append(span.replace(source=watch.source))
            safe = min(safe, watch.lane.settled)
        self.failed = None
        if self._least and not final:
            safe = max(base, min(safe, base + len(text) - self._least))
        if not decided and not self._spans:
            self._text = text[safe - base :]
            self._base = safe
            return Released((Piece(text[: safe - base], base, None),), ()) if safe > base else _NOTHING
        self._spans += decided
        pieces: list[Piece] = []
        at = base
        for region in resolve(self._spans):
            if region.end > safe:
                safe = max(at, min(safe, region.start))
                break
            if region.start > at:
                pieces.append(Piece(text[at - base : region.start - base], at, None))
            pieces.append(Piece(text[region.start - base : region.end - base], region.start, region))
            at = region.end
        if safe > at:
            pieces.append(Piece(text[at - base : safe - base], at, None))
            at = safe
        self._text = text[at - base :]
        self._base = at
        self._spans = [span for span in self._spans if span.start >= at]
        return Released(pieces, decided)


class StreamedText:
    """
    What a guard keeps for one block of streamed text.
    """

    __slots__ = ("digest", "dropped", "machine", "settling")

    def __init__(self, watches: Iterable[Watch], *, least: int = 0, batch: int = 1) -> None:
        self.machine = HoldBack(watches, least=least, batch=batch)
        self.digest = new_digest()
        """Of the text that left: it need not be looked at again in ``process_output_result``."""
        self.dropped = False
        self.settling: Sequence[Piece] = ()
        """What was released and is being dealt with."""

    def unread(self) -> list[Piece]:
        """
        Return what has not left, with what was found in it so far.
        """
        return [*self.settling, *self.machine.unread()]

    def passed(self, text: str, counted: bool = False) -> str:
        """
        Note *text* as sent on, unless it was *counted* before, and return it.
        """
        if not counted:
            self.digest.update(text.encode("utf-8", "surrogatepass"))
        return text


def pieces_of(text: str, regions: Sequence[Region]) -> list[Piece]:
    """
    Cut *text* into clean stretches and *regions*.
    """
    pieces: list[Piece] = []
    at = 0
    for region in regions:
        if region.start > at:
            pieces.append(Piece(text[at : region.start], at, None))
        pieces.append(Piece(text[region.start : region.end], region.start, region))
        at = region.end
    if at < len(text):
        pieces.append(Piece(text[at:], at, None))
    return pieces


def digest_of(text: str) -> bytes:
    """
    Return what stands for *text* among the texts that a guard has let pass.
    """
    digest = new_digest()
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()


def new_digest() -> hashlib.blake2b:
    """
    Return the digest of no text yet, to be updated piece by piece.
    """
    import hashlib  # with the first guarded text, not with the library

    return hashlib.blake2b(digest_size=16)
