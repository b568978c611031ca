"""
Normalise: what a text says once its spelling tricks are gone, and where each character of that came from.

There are two uses.  ``fold`` makes the view in which detectors look: full-width digits are digits, invisible
characters are not there, all dashes are one.  ``normalise`` makes a text to go on with: it is what
``UnicodeNormalizer`` writes.  Both work on text that comes in pieces (``Folder``, ``Normaliser``), with the same
result however it is cut.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from procession.messages.text.leaving_out import JOINER, LeavingOut, is_emoji
from procession.messages.text.offsets import Offsets
from procession.messages.text.segments import WholeSegments, all_begin_segments, nfkc, segments
from procession.messages.value import Value

__all__ = [
    "DASHES",
    "INVISIBLE",
    "SAFE",
    "Folder",
    "Normalised",
    "Normaliser",
    "Profile",
    "fold",
    "is_emoji",
    "normalise",
]

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""A character class of what is drawn as nothing: detectors do not see it."""

_NOT_FOLDED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f" + INVISIBLE + "]")
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\u02d7\ufe58\ufe63\uff0d"
"""Characters that detectors see as the dash of ASCII."""


class Normalised(Value):
    """
    A view of a text, and the way back.

    >>> seen = fold("call\\u200b ５５５")
    >>> seen.text, seen.span(5, 8)
    ('call 555', (6, 9))
    """

    text: str
    offsets: Offsets

    def span(self, start: int, end: int) -> tuple[int, int]:
        """
        Return the stretch of the original that the characters from *start* up to *end* came from.
        """
        return self.offsets.span(start, end)


# --- the view of detectors -------------------------------------------------------


class _Folds(dict[str, str]):
    """
    What detectors see of one character: nothing of invisible ones, ASCII of digits and dashes.
    """

    def __missing__(self, character: str) -> str:
        seen = "".join(_seen(one) for one in unicodedata.normalize("NFKC", character))
        self[character] = seen
        return seen


def _seen(character: str) -> str:
    if _NOT_FOLDED.match(character):
        return ""
    if character in DASHES:
        return "-"
    digit = unicodedata.decimal(character, None)
    return character if digit is None else str(digit)


_FOLDS = _Folds()
_ASCII_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Folder:
    """
    ``fold`` for a text that comes in pieces.  The last segment waits for the next piece.
    """

    __slots__ = ("_parts", "at")

    def __init__(self) -> None:
        self._parts = WholeSegments()
        self.at = 0
        """Where in the text the part begins that is not in the view yet."""

    def feed(self, text: str, offsets: Offsets, *, final: bool = False) -> str:
        """
        Take the next piece, add to *offsets* and return what is added to the view.
        """
        text = self._parts.feed(text, final=final)
        at = self.at
        self.at = at + len(text)
        if text.isascii() and not _ASCII_CONTROLS.search(text):
            offsets.plain(len(text), at)
            return text
        if all_begin_segments(text):  # then each character is seen by itself
            folded = [_FOLDS[character] for character in text]
            offsets.each_made_of_one(folded, at)
            return "".join(folded)
        pieces: list[str] = []
        for start, end, same in segments(text):
            if same:
                offsets.plain(end - start, at + start)
                pieces.append(text[start:end])
                continue
            seen = _FOLDS[text[start]] if end == start + 1 else _fold_segment(text[start:end])
            if seen:
                offsets.made_of(len(seen), at + start, at + end)
                pieces.append(seen)
        return "".join(pieces)


def _fold_segment(segment: str) -> str:
    return "".join(_FOLDS[character] for character in nfkc(segment))


def fold(text: str) -> Normalised:
    """
    Return what *text* looks like to a detector.
    """
    offsets = Offsets()
    return Normalised(Folder().feed(text, offsets, final=True), offsets)


# --- a text to go on with --------------------------------------------------------


class Profile(Value, kw_only=True):
    """
    What ``Normaliser`` does besides NFKC.
    """

    strip_control: bool = True
    """Whether control characters go."""
    keep_control: str = "\t\n"
    """Control characters that stay nevertheless."""
    strip_invisible: bool = True
    """Whether zero-width, directional and tag characters go; a joiner between two emoji stays."""
    preserve_emojis: bool = True
    """If not, *strip_control* also takes all beyond the Basic Multilingual Plane."""
    collapse: Literal["none", "spaces", "whitespace"] = "spaces"
    """``spaces``: runs of spaces become one; ``whitespace``: also tabs, line ends, and runs of newlines."""
    trim: bool = False
    """Whether white space at both ends goes."""


SAFE = Profile()
"""The profile to put in front of guards that look at code points, and of a model."""


class _Usual(dict[str, str]):
    """
    NFKC of one character.
    """

    def __missing__(self, character: str) -> str:
        self[character] = usual = unicodedata.normalize("NFKC", character)
        return usual


_USUAL = _Usual()
_VARIATION = "\ufe0f"


class Normaliser:
    """
    ``normalise`` for a text that comes in pieces.

    >>> one = Normaliser()
    >>> [one.feed("a  "), one.feed(" b\\u200b"), one.finish()]
    ['a ', 'b', '']
    """

    def __init__(self, profile: Profile = SAFE, offsets: Offsets | None = None) -> None:
        self._profile = profile
        self._offsets = offsets
        kept = profile.keep_control
        if profile.collapse == "whitespace":  # then each line end is a newline
            kept = kept.replace("\r", "") + ("\r" if "\n" in kept else "")
        self._remaining = LeavingOut(
            control=profile.strip_control,
            kept=kept,
            invisible=profile.strip_invisible,
            astral=profile.strip_control and not profile.preserve_emojis,
            tracks=offsets is not None,
        )
        self._parts = WholeSegments()
        self._places: list[int] = []
        """Where the characters in hand stand in the text; empty where nobody asks for the way back."""
        self._out: list[str] = []
        self._last = ""
        self._gap: list[tuple[str, int, int]] = []
        self._joiner: tuple[int, int] | None = None
        self._after_return = False
        self._begun = not profile.trim

    def feed(self, text: str) -> str:
        """
        Take the next piece and return what is certain by now.
        """
        return self._feed(text, final=False)

    def finish(self) -> str:
        """
        End the text and return the rest of it.
        """
        out = self._feed("", final=True)
        self._gap.clear()
        self._joiner = None
        return out

    def _feed(self, text: str, *, final: bool) -> str:
        text = self._parts.feed(self._remaining.feed(text, final=final), final=final)
        self._places += self._remaining.places
        out = self._take(text)
        del self._places[: len(text)]
        return out

    def _take(self, text: str) -> str:
        self._out = []
        for start, end, same in segments(text):
            if same:
                self._run(text, start, end)
            elif end == start + 1 and self._is_ordinary(seen := _USUAL[text[start]]):
                self._after_return = False
                self._begun = True
                self._out.append(seen)
                self._last = seen
                if self._offsets is not None:
                    self._offsets.made_of(1, *self._stretch(start, end))
            else:
                first, last = self._stretch(start, end)
                for character in nfkc(text[start:end]):
                    self._character(character, first, last)
        return "".join(self._out)

    def _stretch(self, start: int, end: int) -> tuple[int, int]:
        """
        Return where the characters in hand from *start* up to *end* stand in the text.
        """
        return (self._places[start], self._places[end - 1] + 1) if self._places else (start, end)

    def _is_ordinary(self, seen: str) -> bool:
        """
        Whether *seen* is one visible character which nothing before it waits for.
        """
        return (
            len(seen) == 1
            and self._joiner is None
            and not self._gap
            and seen != _VARIATION
            and seen != JOINER
            and not seen.isspace()
        )

    def _run(self, text: str, start: int, end: int) -> None:
        at = start
        while at < end:
            word = _WORDS.match(text, at, end)
            behind = word.end() if word is not None else at + 1
            first, last = self._stretch(at, behind)
            if word is None:
                self._character(text[at], first, last)
            elif last - first == behind - at:
                self._visible(word[0], first, last, plain=True)
            else:  # something was left out of it
                for place in range(at, behind):
                    self._visible(text[place], *self._stretch(place, place + 1))
            at = behind

    def _character(self, character: str, start: int, end: int) -> None:
        profile = self._profile
        if profile.collapse == "whitespace" and character in "\r\n":
            if character == "\n" and self._after_return:
                self._after_return = False
                return
            self._after_return = character == "\r"
            character = "\n"
        if character == JOINER and profile.strip_invisible:
            if self._last and is_emoji(self._last):
                self._joiner = (start, end)
        elif character.isspace():
            self._space(character, start, end)
        else:
            self._visible(character, start, end)

    def _space(self, character: str, start: int, end: int) -> None:
        self._joiner = None
        if character != "\n":
            self._after_return = False
        collapse = self._profile.collapse
        if collapse == "whitespace" and character == "\t":
            character = " "
        before = self._gap[-1][0] if self._gap else self._last
        if character == before and (
            (character == " " and collapse != "none") or (character == "\n" and collapse == "whitespace")
        ):
            return
        if self._profile.trim:
            if self._begun:
                self._gap.append((character, start, end))
            return
        self._emit(character, start, end)

    def _visible(self, text: str, start: int, end: int, *, plain: bool = False) -> None:
        self._after_return = False
        for gap in self._gap:
            self._emit(*gap)
        self._gap.clear()
        if self._joiner is not None:
            self._emit(JOINER, *self._joiner)  # an emoji follows: else it would have been left out
            self._joiner = None
        self._begun = True
        last = self._last
        self._emit(text, start, end, plain=plain)
        if text == _VARIATION:
            self._last = last  # an emoji is still one with its variation selector

    def _emit(self, text: str, start: int, end: int, *, plain: bool = False) -> None:
        self._out.append(text)
        self._last = text[-1]
        if self._offsets is not None:
            if plain:
                self._offsets.plain(end - start, start)
            else:
                self._offsets.made_of(len(text), start, end)


_WORDS = re.compile(r"[^\s\u2190-\u2bff]+(?: [^\s\u2190-\u2bff]+)*")


def normalise(text: str, profile: Profile = SAFE) -> Normalised:
    """
    Return *text* normalised under *profile*.

    >>> normalise("ｏｋ\\u200b  ok").text
    'ok ok'
    """
    offsets = Offsets()
    one = Normaliser(profile, offsets)
    return Normalised(one.feed(text) + one.finish(), offsets)
