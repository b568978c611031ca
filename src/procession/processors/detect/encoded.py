"""
Encoded: what rules find in codes that a text holds, such as Base64: the code as a whole stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from procession.messages.text.codes import decoded
from procession.messages.text.spans import Region, Span, resolve

__all__ = ["encoded_spans", "with_codes"]

Look = Callable[[str], list[Region]]
_LOOSE = frozenset({"entities", "hex", "binary", "decimal"})
"""Codes that are taken with some of what stands behind them."""


def encoded_spans(text: str, look: Look) -> Iterator[Span]:
    """
    Yield a span for each code in *text* that holds something which *look* finds, and which nobody can read in it.
    """
    for code, start, end, inner in decoded(text):
        plain = text[start:end]
        for region in look(inner):
            if inner[region.start : region.end] not in plain:
                owner = region.owner
                beyond = _plain_end(plain, inner) if code in _LOOSE else 0
                if region.end <= len(inner) - beyond:
                    end -= beyond
                yield Span(start, end, owner.type, owner.rule, owner.score, transforms=(code,))
                break


def _plain_end(code: str, inner: str) -> int:
    """
    Return how many characters at the end of *code* stand for themselves: text behind the last entity, blanks.
    """
    count = 0
    while count < min(len(code), len(inner)) and code[-1 - count] == inner[-1 - count] and code[-1 - count] != ";":
        count += 1
    return count or len(code) - len(code.rstrip(" ,:"))


def with_codes(look: Look, inside: Look) -> Look:
    """
    Return *look*, which also finds each code that holds something which *inside* finds.
    """

    def looked(text: str) -> list[Region]:
        found = look(text)
        more = list(encoded_spans(text, inside))
        return (
            resolve(span for spans in ((s for region in found for s in region.members), more) for span in spans)
            if more
            else found
        )

    return looked
