"""
Text of models and tools on a terminal: without control sequences, and broken between words as it comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from procession.workflows.render.text import cell_width

__all__ = ["Wrapped", "harmless"]

# What a terminal obeys instead of showing: C0 but for tabs and ends of lines, DEL, C1, and the two overrides that
# write text backwards.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]")
_WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60"
_LETTER = re.compile(f"[{_WIDE}]")
_TOKEN = re.compile(rf"\n|[^\S\n]+|[{_WIDE}]|[^\s{_WIDE}]+")
_FENCES = ("```", "~~~")


def harmless(text: str, encoding: str = "utf-8") -> str:
    """
    Return *text* without the characters by which it could give orders to a terminal, and so that *encoding* can write it.

    It may be cut anywhere: what is left of a sequence whose first character is gone is plain text.

    >>> harmless("a\\x1b[31mred\\x07\\r\\n")
    'a[31mred\\n'
    """
    text = _OBEYED.sub("", text)
    return text if text.isascii() else text.encode(encoding, "replace").decode(encoding)


class Wrapped:
    """
    Breaks text between words where a line is full, while it comes in pieces; code between fences stays as it is.

    >>> wrapped = Wrapped(lambda: 8)
    >>> wrapped.add("Hello wo") + wrapped.add("rld again.") + wrapped.end()
    'Hello\\nworld\\nagain.'
    """

    def __init__(self, width: Callable[[], int]) -> None:
        self._width = width
        self.column = 0
        """Where the next character will stand."""
        self._word: list[str] = []
        self._cells = 0
        self._blanks = ""
        self._fenced = False
        self._first = True
        """Whether the line has no word yet."""
        self._overlong = False
        """Whether more of a word comes whose beginning had to be shown."""

    def add(self, text: str) -> str:
        """
        Take more text and return what can be shown of it by now: all but the word in hand.
        """
        shown: list[str] = []
        for token in _TOKEN.findall(text):
            wide = token >= "\u1100" and _LETTER.match(token) is not None
            if wide or token.isspace():
                self._overlong = False
            if token == "\n":
                shown += (self._placed(), "\n")
                self.column, self._blanks, self._first = 0, "", True
            elif token.isspace():
                shown.append(self._placed())
                self._blanks += token.replace("\t", "    ")
            elif wide:
                shown += (self._placed(), self._placed(token))  # a line may end behind any of them
            elif self._overlong:
                shown.append(token)
                self._forward(cell_width(token))
            else:
                self._word.append(token)
                self._cells += cell_width(token)
                if self._cells > self._width():  # it fits on no line: the terminal cuts it
                    shown.append(self._placed())
                    self._overlong = True
        return "".join(shown)

    def end(self) -> str:
        """
        Return what is in hand; the text may go on.
        """
        return self._placed()

    def _placed(self, word: str | None = None) -> str:
        """
        Return the word in hand with what belongs before it.
        """
        if word is None:
            if not self._word:
                return ""
            word, cells = "".join(self._word), self._cells
            self._word, self._cells = [], 0
        else:
            cells = cell_width(word)
        if self._first:
            self._first = False
            if word.startswith(_FENCES):
                self._fenced = not self._fenced
        before, self._blanks = self._blanks, ""
        if self.column and not self._fenced and self.column + len(before) + cells > self._width():
            self.column = 0
            before = "\n"
        else:
            self._forward(len(before))
        self._forward(cells)
        return before + word

    def _forward(self, cells: int) -> None:
        self.column += cells
        width = self._width()
        if self.column > width:  # where the terminal has cut a line by itself
            self.column = (self.column - 1) % width + 1
