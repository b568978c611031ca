"""
Sieve: of many rules, where in a text each of them may match.

Most rules need strings that most texts do not have, or not close to each other.  One search finds where all the
strings stand, in time that grows with the text and not with the number of rules; what is left to try is little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from procession.messages.text.patterns import Rule
from procession.messages.text.reach import UNBOUNDED
from procession.messages.text.scan import find_spans
from procession.messages.text.spans import Span
from procession.messages.text.strings import Strings

__all__ = ["Sieve"]

_CELL = 7
"""A text is divided into cells of two to the power of so many characters; which of them have a string is one number."""
_BEHIND = 64
"""Characters before a stretch that a match in it may look at, besides the words that a rule looks for there."""


class _Needs(NamedTuple):
    """
    What every match of a rule has, and how many cells after the one it begins in it may reach into.
    """

    rule: Rule
    groups: tuple[tuple[str, ...], ...]
    cells: int | None


class Sieve:
    """
    Rules whose matches are sought only where the strings stand that they need.

    What is found is what ``find_spans`` finds with the same rules.

    >>> from procession.messages.text.patterns import Rule
    >>> sieve = Sieve([Rule("drop", "(?:ignore|forget) all"), Rule("tell", "tell me")])
    >>> [(span.rule, span.start) for span in sieve.find("please forget all of it")]
    [('drop', 7)]
    """

    __slots__ = ("_always", "_by_literal", "_literals", "_needs", "_rules")

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self._literals: Strings | None = None

    def find(self, text: str) -> list[Span]:
        """
        Return what the rules find in *text*, in order.
        """
        where = self._where(text)
        found: list[Span] = []
        worth_a_look = {number for literal in where for number in self._by_literal.get(literal, ())}
        for number in sorted(worth_a_look.union(self._always)):
            rule, groups, cells = self._needs[number]
            if not groups or cells is None:
                if all(any(literal in where for literal in group) for group in groups):
                    found += find_spans([rule], text)
                continue
            begins = -1
            for group in groups:
                there = 0
                for literal in group:
                    there |= where.get(literal, 0)
                begins &= _or_before(there, cells)
                if not begins:
                    break
            for start, end in _runs(begins):
                first = max(0, start - _BEHIND - rule.near)
                last = end + (cells << _CELL) + 1
                if rule.pattern.search(text, start, last) is None:
                    continue
                for span in find_spans([rule], text[first:last]):
                    if start <= first + span.start < end:
                        found.append(span.moved(first))
        return sorted(found, key=lambda span: (span.start, -span.end))

    def _where(self, text: str) -> dict[str, int]:
        """
        Return the cells of *text* in which each string begins, as bits.
        """
        if self._literals is None:  # patterns are read when the first text comes
            self._needs = [_needs_of(rule) for rule in self._rules]
            self._always = [number for number, needs in enumerate(self._needs) if not needs.groups]
            self._by_literal: dict[str, list[int]] = {}
            for number, needs in enumerate(self._needs):
                for literal in needs.groups[0] if needs.groups else ():
                    self._by_literal.setdefault(literal, []).append(number)
            self._literals = Strings(literal for needs in self._needs for group in needs.groups for literal in group)
        where: dict[str, int] = {}
        for place, literal in self._literals.places(text):
            where[literal] = where.get(literal, 0) | 1 << (place >> _CELL)
        return where


def _needs_of(rule: Rule) -> _Needs:
    reach = rule.reach
    if reach.needs.any_case:
        return _Needs(rule, (), None)
    bounded = reach.width < UNBOUNDED and reach.behind <= _BEHIND and not rule.has_tail
    return _Needs(rule, reach.needs.literals, (reach.width >> _CELL) + 1 if bounded else None)


def _or_before(cells: int, count: int) -> int:
    """
    Return *cells* and the *count* cells before each of them.
    """
    done = 0
    while done < count:
        step = min(done + 1, count - done)
        cells |= cells >> step
        done += step
    return cells


def _runs(cells: int) -> Iterator[tuple[int, int]]:
    """
    Yield where runs of *cells* begin and end, in characters.
    """
    at = 0
    while cells:
        empty = (cells & -cells).bit_length() - 1
        cells >>= empty
        full = (~cells & (cells + 1)).bit_length() - 1
        cells >>= full
        yield (at + empty) << _CELL, (at + empty + full) << _CELL
        at += empty + full
