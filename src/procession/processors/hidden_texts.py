"""
Hidden texts: what a guard hid in a tool's result, found again in what another branch made of that result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from procession.messages.splices import HIDDEN, diff_text, hidden_text
from procession.processors.strings import Path, replace_strings, strings_in

__all__ = ["HiddenTexts"]

_RUN = 12
"""How many characters of a hidden text betray it; of a shorter one it takes all."""
_TELLING = 3
"""A hidden text of fewer characters may stand elsewhere by chance."""


class HiddenTexts:
    """
    The texts that a result showed *before* and does not show *after* a guard has changed it.

    A part of one is found as well, such as the beginning that another branch quotes of a text that was dropped.

    >>> hidden = HiddenTexts({"m": "to eva@a.example"}, {"m": "to [EMAIL]"})
    >>> hidden.covered({"all": {"m": "to eva@a.example"}, "note": "not EVA@A.EXAMPLE?"})
    {'all': {'m': 'to [EMAIL]'}, 'note': 'not [EMAIL]?'}
    """

    __slots__ = ("_runs",)

    def __init__(self, before: Any, after: Any) -> None:
        shown = [_folded(text) for _, text in strings_in(after)]
        runs: dict[int, dict[str, str]] = {}
        for piece, stand_in in _hidden_pieces(before, after):
            if len(piece) >= _TELLING:
                size = min(len(piece), _RUN)
                known = runs.setdefault(size, {})
                for at in range(len(piece) - size + 1):
                    known.setdefault(piece[at : at + size], stand_in)
        for size, known in runs.items():  # what is still shown somewhere is no secret
            for text in shown:
                for at in range(len(text) - size + 1):
                    known.pop(text[at : at + size], None)
        self._runs = {size: known for size, known in runs.items() if known}

    def covered(self, value: Any) -> Any:
        """
        Return *value* with what stands for them in place of the hidden texts; the same object where it shows none.
        """
        return replace_strings(value, lambda _, text: self._cover(text))

    def shown_in(self, value: Any) -> bool:
        """
        Return whether *value* shows any of them.
        """
        return any(self._cover(text) != text for _, text in strings_in(value))

    def _cover(self, text: str) -> str:
        for size, known in self._runs.items():
            folded = _folded(text)
            pieces: list[str] = []
            done = 0  # up to where the text is in pieces, or covered
            for at in range(len(text) - size + 1):
                stand_in = known.get(folded[at : at + size])
                if stand_in is not None:
                    if at >= done:
                        pieces += (text[done:at], stand_in)
                    done = at + size
            text = "".join(pieces) + text[done:]
        return text


def _hidden_pieces(before: Any, after: Any) -> Iterator[tuple[str, str]]:
    """
    Yield what *after* does not show of each string of *before*, with what stands for it there.
    """
    old, new = list(strings_in(before)), list(strings_in(after))
    places: Mapping[Path, str] = dict(new)
    in_order = len(old) == len(new)  # so that keys which were changed find each other as well
    for index, (path, text) in enumerate(old):
        now = new[index][1] if in_order else places.get(path)
        if now is None:
            yield _folded(text), HIDDEN
            continue
        for splice in diff_text(text, now, "redact"):
            start, end = hidden_text(text, splice)
            piece = text[start:end]
            stand_in = splice.text[start - splice.start : len(splice.text) - (splice.end - end)]
            yield _folded(piece), HIDDEN if piece in stand_in else stand_in


def _folded(text: str) -> str:
    folded = text.lower()
    return folded if len(folded) == len(text) else text  # so that places in one are places in the other
