"""
Tricks: by which ways of spelling a text looks like another one than it is.
"""

from __future__ import annotations

import re
import unicodedata

from procession.messages.text.normalise import DASHES

__all__ = ["tricks_in"]

_TRICKS = (
    ("zero-width", re.compile("[\u00ad\u034f\u180e\u200b-\u200d\u2060\ufeff]")),
    ("bidi", re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")),
    ("tags", re.compile("[\U000e0000-\U000e007f]")),
    ("invisible", re.compile("[\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2061-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f\uffa0"
                             "\U0001d173-\U0001d17a\U000e0080-\U000e0fff]")),
    ("control", re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")),
    ("dashes", re.compile(f"[{DASHES}]")),
)  # fmt: skip


_TO_ONE_DASH = dict.fromkeys(map(ord, DASHES), "-")


def tricks_in(text: str) -> tuple[str, ...]:
    """
    Return what ``fold`` undoes in *text*, by name: ``zero-width``, ``bidi``, ``tags``, ``invisible`` and ``control``
    characters, ``dashes`` that are none of ASCII, ``nfkc`` (full-width letters and other forms), ``digits`` of other scripts.

    >>> tricks_in("call\u200b ５５５"), tricks_in("plain")
    (('zero-width', 'nfkc'), ())
    """
    found = [name for name, pattern in _TRICKS if pattern.search(text)]
    if not text.isascii():
        plain = text.translate(_TO_ONE_DASH)
        usual = unicodedata.normalize("NFKC", plain)
        if usual != plain:
            found.append("nfkc")
        if any(not one.isascii() and unicodedata.decimal(one, None) is not None for one in usual):
            found.append("digits")
    return tuple(found)
