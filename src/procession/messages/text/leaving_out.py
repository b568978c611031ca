"""
LeavingOut: a text without the characters that a normaliser takes out, before anything of it is normalised.

Before and not after: what such a character has kept apart may belong together, as a letter and its accent do.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import compress

__all__ = ["JOINER", "LeavingOut", "is_emoji"]

JOINER = "\u200d"
_INVISIBLE = "\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
_TAGS = "\U000e0000-\U000e007f"
_A_TAG = re.compile(f"[{_TAGS}]")
_CONTROL = tuple(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
_EMOJI = re.compile(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2934\u2935"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)


def is_emoji(character: str) -> bool:
    """
    Whether *character* is an emoji code point (Unicode's blocks of pictographs and symbols, not its property).
    """
    return _EMOJI.match(character) is not None


class _Astral(dict[str, bool]):
    """
    Whether a character is beyond the Basic Multilingual Plane once it is normalised.
    """

    def __missing__(self, character: str) -> bool:
        self[character] = found = unicodedata.normalize("NFKC", character) > "\uffff"
        return found


_IS_ASTRAL = _Astral()


@lru_cache(maxsize=64)
def _patterns(control: bool, kept: str, invisible: bool) -> tuple[re.Pattern[str], re.Pattern[str]] | None:
    """
    Return patterns of one character that is left out, tags aside, and of a run of them: that of one is searched for in a
    fraction of the time.
    """
    left_out = "".join(re.escape(one) for one in _CONTROL if one not in kept) if control else ""
    left_out += _INVISIBLE if invisible else ""
    if not left_out:
        return None
    return re.compile(f"[{left_out}]"), re.compile(f"[{left_out}{_TAGS if invisible else ''}]+")


class LeavingOut:
    """
    Leaves characters out of a text that comes in pieces: *control* characters but those that are *kept*, *invisible* ones,
    and *astral* ones, which are all beyond the Basic Multilingual Plane.

    Of a run of invisible characters before an emoji one joiner is left where it has one: what stands before it decides.
    With *tracks*, ``places`` says where in the whole text each character of what was last returned stands.

    >>> one = LeavingOut(control=True, kept="", invisible=True, astral=False, tracks=True)
    >>> one.feed("a\\u200b\\u0301\\x07") == "a\\u0301", one.places
    (True, [0, 2])
    """

    __slots__ = ("_astral", "_at", "_held", "_patterns", "_tags", "_tracks", "places")

    def __init__(self, *, control: bool, kept: str, invisible: bool, astral: bool, tracks: bool) -> None:
        self._patterns = _patterns(control, kept, invisible)
        self._tags = invisible
        self._astral = astral
        self._tracks = tracks
        self._at = 0
        self._held: list[int] | None = None
        """Where the joiner stands that waits for what follows, if one does; nowhere without *tracks*."""
        self.places: list[int] = []

    def feed(self, text: str, *, final: bool = False) -> str:
        """
        Return what is left of the next piece; a joiner at its end waits, and goes where it is the *final* one.
        """
        places = list(range(self._at, self._at + len(text))) if self._tracks else []
        self._at += len(text)
        if self._astral and not text.isascii():
            stay = [not _IS_ASTRAL[character] for character in text]
            text, places = "".join(compress(text, stay)), list(compress(places, stay))
        if self._held is not None:
            text, places, self._held = JOINER + text, self._held + places, None
        if self._patterns is not None:
            one, run = self._patterns
            if one.search(text) or (self._tags and not text.isascii() and _A_TAG.search(text)):
                if self._tracks or JOINER in text:
                    text, places = self._without(run, text, places, final)
                else:
                    text = run.sub("", text)
        self.places = places
        return text

    def _without(self, runs: re.Pattern[str], text: str, places: list[int], final: bool) -> tuple[str, list[int]]:
        pieces: list[str] = []
        kept: list[int] = []
        at = 0
        for run in runs.finditer(text):
            start, end = run.span()
            pieces.append(text[at:start])
            kept += places[at:start]
            joiner = text.rfind(JOINER, start, end)
            if joiner >= 0:
                if end == len(text):
                    self._held = places[joiner : joiner + 1] if not final else None
                elif is_emoji(unicodedata.normalize("NFKC", text[end])[0]):
                    pieces.append(JOINER)
                    kept += places[joiner : joiner + 1]
            at = end
        pieces.append(text[at:])
        kept += places[at:]
        return "".join(pieces), kept
