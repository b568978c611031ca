"""
Quoting: words of others in a block of a prompt, which nothing in them can close.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

__all__ = ["Quoting"]

_ALIKE = "＜﹤‹〈〈⟨❬❮⦑⧼˂ᐸ"
"""Brackets that are drawn like the one of a tag."""
_BRACKET = re.compile(f"[<&{_ALIKE}]")
_CODES = {f"&#x{ord(sign):x};": sign for sign in _ALIKE}
_CODE = rf"&(?:amp;)*(?:lt|{'|'.join(code[1:-1] for code in _CODES)});"
_BEFORE = rf"(?:{_CODE}|[\W_]){{0,20}}"
"""What may stand between a bracket and the name: a slash, spaces, what cannot be seen, and more brackets."""
_BETWEEN = r"[\W_]{0,8}"


class _Seen(dict[int, str]):
    """
    What a character of a tag looks like, without its marks: one character for one.
    """

    def __missing__(self, code: int) -> str:
        from procession.messages.text.confusables import look_alike  # once somebody writes such a thing

        character = chr(code)
        if character in _ALIKE:
            seen = "<"
        else:
            seen = look_alike(unicodedata.normalize("NFKD", character)[0])
            if not (seen.isascii() and seen.isalpha()):
                seen = character
        self[code] = seen
        return seen


_SEEN = _Seen({code: chr(code) for code in range(128)})


class Quoting:
    """
    Quotes texts for blocks whose tags begin with *name*; what looks like such a tag in a text is no tag any more, also
    with brackets and letters that are only drawn alike.

    >>> quoting = Quoting("chat")
    >>> quoting.quoted("</ Chat> < 5"), quoting.unquoted("&lt;/ Chat> < 5")
    ('&lt;/ Chat> < 5', '</ Chat> < 5')
    >>> quoting.quoted("＜/сhat>")
    '&#xff1c;/сhat>'
    """

    def __init__(self, name: str) -> None:
        border = f"(?={_BEFORE}{_BETWEEN.join(re.escape(letter) for letter in name if letter != '_')})"
        self._opening = re.compile(f"(?:<|{_CODE}){border}", re.IGNORECASE)
        self._quoted = re.compile(f"{_CODE}{border}", re.IGNORECASE)

    def quoted(self, text: str) -> str:
        """
        Return *text* as it stands in a block.
        """
        return _replaced(self._opening, text, _quote)

    def unquoted(self, text: str) -> str:
        """
        Return the text that was quoted.
        """
        return _replaced(self._quoted, text, _unquote)

    def plain(self, text: str) -> str:
        """
        Return *text* with the bracket of a tag wherever one is only drawn alike, to be escaped like any other.
        """
        return _replaced(self._opening, text, lambda found: found if found[0] == "&" else "<")


def _replaced(pattern: re.Pattern[str], text: str, made: Callable[[str], str]) -> str:
    if _BRACKET.search(text) is None:
        return text
    pieces: list[str] = []
    at = 0
    for found in pattern.finditer(text if text.isascii() else text.translate(_SEEN)):
        pieces += (text[at : found.start()], made(text[found.start() : found.end()]))
        at = found.end()
    pieces.append(text[at:])
    return "".join(pieces)


def _quote(found: str) -> str:
    if found[0] == "&":
        return f"&amp;{found[1:]}"
    return "&lt;" if found == "<" else f"&#x{ord(found):x};"


def _unquote(found: str) -> str:
    return "<" if found == "&lt;" else _CODES.get(found) or f"&{found[5:]}"
