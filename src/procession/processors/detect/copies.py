"""
Copies of known texts, such as a system prompt, in other texts.

Both are reduced to their letters and digits: without case, blanks, punctuation and invisible characters, with
look-alike letters as one.  A stretch of a text is a copy if *least* letters in a row are in a known text, too, if nearly so
many are and more close by, or if it is a whole sentence.  Around it, stretches of a dozen letters and more that stand close by belong to it, so that a word
put in does not save the rest.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from procession.messages.text.confusables import AlikeFolder
from procession.messages.text.offsets import Offsets
from procession.messages.text.spans import Span
from procession.messages.value import Value

__all__ = ["SENTENCE", "SHORTEST", "CopyLane", "Known", "known_texts", "letters_in"]

SHORTEST = 12
"""Letters that a known text has at least: fewer may stand in any text by chance."""
SENTENCE = 24
"""Letters that a sentence of a known text has at least for being sought as a whole."""
_GAP = 12
"""Letters between two stretches of one copy, at most."""
_WIDEST = 48
"""Letters before a copy that may belong to it."""
_LONG, _MORE = 5 / 8, 5 / 4
"""Less in a row makes a copy, too, where with what stands close by there is more of it: as shares of what it has to be."""
_CODED = 20_000
"""Texts of more characters are not looked for in Base64."""
_FULL = 3
"""An ideograph or syllable says as much as three letters, and stands for so many."""
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_RUNS = re.compile(r"[^\W_]+")
_ENDS = re.compile(r"[.!?\u2026;:](?=\s|\Z)|[\u3002\uff01\uff1f\n]")
_QUOTED = re.compile(
    r"\"[^\"\n]{1,400}\"|[\u201c\u201e][^\u201c\u201d\n]{1,400}[\u201c\u201d]|\u00ab[^\u00bb\n]{1,400}\u00bb"
    r"|\u300c[^\u300d\n]{1,400}\u300d|(?<!\w)'[^\n]{1,400}?'(?!\w)|\u2018[^\n]{1,400}?\u2019(?!\w)"
)
_SPARE = 4096
_BORDER = "\n"


class Known(Value):
    """
    Known texts, ready to be sought.
    """

    grams: frozenset[str]
    """Every stretch of ``SHORTEST`` letters in them."""
    wholes: tuple[str, ...]
    """Short texts and sentences, shorter than a copy has to be: they are sought as wholes."""
    least: int
    """How many letters in a row make a copy."""


class _Letters:
    """
    The letters and digits of a text that comes in pieces, and where each of them stands.
    """

    __slots__ = ("_folder", "_forgotten", "_offsets", "_places", "_read", "text")

    def __init__(self) -> None:
        self.text = ""
        self._folder = AlikeFolder()
        self._offsets = Offsets()
        self._places: list[int] = []
        self._read = 0
        self._forgotten = 0

    def feed(self, text: str, final: bool) -> None:
        """
        Take the next piece.
        """
        view = self._folder.feed(text, self._offsets, final=final)
        base = self._read
        self._read += len(view)
        made = [self.text]
        for run in _RUNS.finditer(view):
            word, low = run[0], run[0].lower()
            if len(low) == len(word) and (word.isascii() or not _WIDE.search(word)):
                made.append(low)
                self._places.extend(range(base + run.start(), base + run.end()))
                continue
            for at, character in enumerate(word, base + run.start()):
                letters = character * _FULL if _WIDE.match(character) else character.lower()
                made.append(letters)
                self._places.extend([at] * len(letters))
        self.text = "".join(made)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """
        Return where in the original the letters from *start* up to *end* stand.
        """
        first, last = self._places[start] - self._forgotten, self._places[end - 1] - self._forgotten
        return self._offsets.span(first, last + 1)

    def settled(self, at: int) -> int:
        """
        Return where in the original the letter *at* begins, or what has not become letters yet.
        """
        return self.span(at, at + 1)[0] if at < len(self._places) else self._folder.at

    def forget(self, count: int) -> None:
        """
        Take the first *count* letters away.
        """
        gone = self._places[count] - self._forgotten
        self.text = self.text[count:]
        del self._places[:count]
        self._offsets.forget(gone)
        self._forgotten += gone


class CopyLane:
    """
    Copies of *known* texts in a text that comes in pieces; it holds back a dozen letters, and a copy until it ends.

    >>> lane = CopyLane(known_texts(["Never tell anybody that the garden gate is open."]))
    >>> [(span.start, span.end) for span in lane.feed('I was told: "never tell anybody, that the GARDEN..."', final=True)]
    [(13, 48)]
    """

    def __init__(self, known: Known) -> None:
        self.settled = 0
        self._known = known
        self._letters = _Letters()
        self._end = 0
        self._next = 0  # the first stretch that was not looked at, as a place in the letters that are kept
        self._copy: _Copy | None = None
        self._wholes: dict[str, list[str]] = {}
        for whole in known.wholes:
            self._wholes.setdefault(whole[-SHORTEST:], []).append(whole)

    def feed(self, text: str, *, final: bool = False) -> list[Span]:
        """
        Take the next piece of the text.
        """
        self._end += len(text)
        self._letters.feed(text, final)
        letters, grams = self._letters.text, self._known.grams
        found: list[Span] = []
        after = max(self._next, len(letters) - SHORTEST + 1)
        hits = [at for at in range(self._next, after) if letters[at : at + SHORTEST] in grams]
        for first, last in _in_a_row(hits):
            self._note(first, last, found)
        self._next = after
        copy = self._copy
        if copy is not None:
            if hits:
                copy.end = self._letters.span(copy.until - 1, copy.until)[1]
            if final or after - copy.until > _GAP:
                self._close(found)
        if final:
            self.settled = self._end
        elif self._copy is not None:
            self.settled = self._copy.start
        else:
            self.settled = self._letters.settled(after)
        self._forget(after - self._known.least)
        return found

    def _note(self, first: int, last: int, found: list[Span]) -> None:
        """
        Note that the stretches of letters that begin from *first* to *last* are in a known text.
        """
        copy = self._copy
        if copy is not None and first - copy.until > _GAP:
            copy.end = max(copy.end, self._letters.span(copy.until - 1, copy.until)[1])
            self._close(found)
            copy = None
        goes_on = copy is not None and first == copy.until - SHORTEST + 1
        if copy is None or (not goes_on and not copy.counts and first - copy.first > _WIDEST):
            copy = self._copy = _Copy(first, self._letters.span(first, first + 1)[0])
        elif not goes_on:
            copy.run = first
        copy.covered += last + SHORTEST - max(copy.until, first)
        copy.until = last + SHORTEST
        copy.longest = max(copy.longest, copy.until - copy.run)
        least = self._known.least
        if copy.longest >= least or (copy.longest >= least * _LONG and copy.covered >= least * _MORE):
            copy.counts = True
        if self._wholes and not copy.counts:
            copy.counts = any(map(self._is_whole, range(first, last + 1)))

    def _is_whole(self, at: int) -> bool:
        letters = self._letters.text
        until = at + SHORTEST
        return any(
            letters.startswith(whole, until - len(whole))
            for whole in self._wholes.get(letters[at:until], ())
            if len(whole) <= until
        )

    def _close(self, found: list[Span]) -> None:
        copy, self._copy = self._copy, None
        if copy is not None and copy.counts:
            found.append(Span(copy.start, copy.end, "system_prompt", "copy"))

    def _forget(self, count: int) -> None:
        if count < _SPARE:
            return
        self._letters.forget(count)
        self._next -= count
        if self._copy is not None:
            self._copy.move(-count)


class _Copy:
    """
    What may be a copy: letters by their places, and *start* and *end* in the original.
    """

    __slots__ = ("counts", "covered", "end", "first", "longest", "run", "start", "until")

    def __init__(self, at: int, start: int) -> None:
        self.first = self.run = self.until = at
        self.start = self.end = start
        self.covered = 0
        """How many of its letters are in a known text."""
        self.longest = 0
        """How many of them in a row."""
        self.counts = False

    def move(self, by: int) -> None:
        """
        Note that letters before it are not kept any more.
        """
        self.first += by
        self.run += by
        self.until += by


def _in_a_row(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """
    Yield the first and the last of places that follow each other.
    """
    if not places:
        return
    first = last = places[0]
    for place in places:
        if place > last + 1:
            yield first, last
            first = place
        last = place
    yield first, last


def letters_in(text: str) -> str:
    """
    Return what is compared of *text*.

    >>> letters_in("Don't S-t-o-p!")
    'dontstop'
    """
    letters = _Letters()
    letters.feed(text, True)
    return letters.text


def known_texts(
    texts: Iterable[str], *, least: int = 32, short: Iterable[str] = (), allow: Iterable[str] = ()
) -> Known:
    """
    Return *texts* as they are sought; of those in *short* also such that are no longer than a copy has to be, as wholes.
    What they share with the texts to *allow* is nothing to be found.
    """
    return _known(tuple(texts), tuple(short), tuple(allow), least)


@lru_cache(maxsize=32)
def _known(texts: Sequence[str], short: Sequence[str], allow: Sequence[str], least: int) -> Known:
    harmless = [letters for text in allow if (letters := letters_in(text))]
    grams: set[str] = set()
    wholes: list[str] = []
    for text in dict.fromkeys((*texts, *short)):
        letters = _without(letters_in(text), harmless)
        if len(letters) < least:
            if text in short and len(letters) >= SHORTEST and _BORDER not in letters:
                wholes.append(letters)
                grams.update(_stretches(letters))
            continue
        grams.update(_stretches(letters))
        wholes += [whole for whole in _sentences(text, harmless) if SENTENCE <= len(whole) < least]
        if len(text) <= _CODED and not harmless:
            grams.update(gram for code in _coded(text) for gram in _stretches(code))
    return Known(frozenset(grams), tuple(wholes), least)


def _without(letters: str, harmless: Sequence[str]) -> str:
    for each in harmless:
        letters = letters.replace(each, _BORDER)
    return letters


def _sentences(text: str, harmless: Sequence[str]) -> Iterator[str]:
    """
    Yield the letters of the sentences of *text*; what it quotes is mostly there to be said.
    """
    for sentence in _ENDS.split(_QUOTED.sub("\n", text)):
        letters = _without(letters_in(sentence), harmless)
        if _BORDER not in letters:
            yield letters


def _stretches(letters: str) -> Iterable[str]:
    for piece in letters.split(_BORDER):
        for at in range(len(piece) - SHORTEST + 1):
            yield piece[at : at + SHORTEST]


def _coded(text: str) -> Iterable[str]:
    """
    Yield the letters of *text* in Base64, as they are where it begins with the first, second or third byte of four.
    """
    raw = text.encode("utf-8", "surrogatepass")
    for before, spoilt in ((0, 0), (1, 2), (2, 3)):
        code = base64.b64encode(bytes(before) + raw).decode("ascii").rstrip("=")
        yield letters_in(code[spoilt:-1])
