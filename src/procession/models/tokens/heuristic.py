"""
HeuristicCounter: an estimate from the kinds of characters, for where no tokenizer is at hand.
"""

from __future__ import annotations

import re

from procession.models.tokens.counter import TokenCounter

__all__ = ["HeuristicCounter"]

_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+"
)
"""Chinese, Japanese and Korean."""
_OTHER = re.compile(
    "[\u0250-\u10ff\u1200-\u1dff\u1f00-\u1fff\u2190-\u2e7f\ua4d0-\ua95f\ua980-\uabff\ufb00-\ufeff\U00010000-\U0001ffff]+"
)
"""Neither those nor Latin: Cyrillic, Arabic, Indic scripts, symbols, emoji."""


class HeuristicCounter(TokenCounter):
    """
    Estimates: a token for four Latin characters, for two of another script or symbols, and for each Chinese, Japanese or
    Korean one.  Needs nothing, and takes no time worth mentioning.

    >>> HeuristicCounter().count("Where is my parcel?"), HeuristicCounter().count("你好，世界")
    (5, 5)
    """

    name = "estimate"
    estimated = True

    def count(self, text: str) -> int:
        """
        Return the estimate for *text*; at least 1, unless it is empty.
        """
        size = len(text)
        if text.isascii():
            return -(-size // 4)
        wide = sum(map(len, _WIDE.findall(text)))
        other = sum(map(len, _OTHER.findall(text)))
        return wide - (-other // 2) - (-(size - wide - other) // 4)
