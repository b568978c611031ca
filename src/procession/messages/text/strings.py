"""
Strings: where many of them stand in a text, in time that hardly grows with how many they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["Strings"]

_KEY = 3
"""Strings are looked up by so many of their first characters."""


class Strings:
    """
    Many strings, sought together.

    >>> list(Strings(["rule", "rules", "or"]).places("rules or orders"))
    [(0, 'rule'), (0, 'rules'), (6, 'or'), (9, 'or')]
    """

    __slots__ = ("_by_key", "_short", "_sizes")

    def __init__(self, strings: Iterable[str]) -> None:
        self._by_key: dict[str, list[str]] = {}
        self._short: set[str] = set()
        for string in sorted(set(strings)):
            if len(string) < _KEY:
                self._short.add(string)
            else:
                self._by_key.setdefault(string[:_KEY], []).append(string)
        self._sizes = sorted({len(string) for string in self._short})

    def places(self, text: str) -> Iterator[tuple[int, str]]:
        """
        Yield each place in *text* at which a string begins, with the string: the long ones in order, then the short.
        """
        keys, short = self._by_key, self._short
        for place in [place for place in range(len(text) - _KEY + 1) if text[place : place + _KEY] in keys]:
            for string in keys[text[place : place + _KEY]]:
                if text.startswith(string, place):
                    yield place, string
        for size in self._sizes:
            for place in [place for place in range(len(text) - size + 1) if text[place : place + size] in short]:
                yield place, text[place : place + size]

    def at(self, text: str, places: Iterable[int]) -> Iterator[tuple[int, str]]:
        """
        Yield each of *places* at which a string begins, with the string.
        """
        keys, short, sizes = self._by_key, self._short, self._sizes
        for place in places:
            for string in keys.get(text[place : place + _KEY], ()):
                if text.startswith(string, place):
                    yield place, string
            for size in sizes:
                if text[place : place + size] in short:
                    yield place, text[place : place + size]
