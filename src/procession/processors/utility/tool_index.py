"""
ToolIndex: finds tools by what they do, with BM25 over their names and descriptions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from procession.errors import ProcessorDefinitionError

__all__ = ["Found", "ToolIndex", "bm25", "tokens_of"]

_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word begins in camel case."""
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
"""Scripts that put nothing between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese, and Korean, whose words grow."""
_LONGEST_QUERY = 500
"""How many characters of a query are looked at: a model asks in a few words."""
_NAMED = 5.0
"""What a word of the query adds that is a word of the tool's name."""
_IN_NAME = 2.0
"""What one adds that is part of the name."""


class Found(NamedTuple):
    """
    A tool that a query found, and how well it fits, higher is better.
    """

    name: str
    score: float


class ToolIndex:
    """
    The tools of one set.  It is made once for a set, and looked up as often as one likes.

    Raises ``ProcessorDefinitionError`` where the package for it is missing.
    """

    __slots__ = ("_index", "_names", "_words")

    def __init__(self, described: Mapping[str, str]) -> None:
        """
        Index the tools *described*: their descriptions by name.
        """
        self._names = list(described)
        self._words = [frozenset(tokens_of(name)) for name in self._names]
        documents = [tokens_of(f"{name} {text}") for name, text in described.items()]
        self._index: Any = None
        if any(documents):
            self._index = bm25().BM25(method="lucene")  # whose weights are never negative, however few tools there are
            self._index.index(documents, show_progress=False)

    def search(self, query: str) -> list[Found]:
        """
        Return the tools that have something to do with *query*, the best first; of equals in the order of the set.
        """
        asked = list(dict.fromkeys(tokens_of(query[:_LONGEST_QUERY])))
        if not asked or self._index is None:
            return []
        scores: list[float] = self._index.get_scores(asked).tolist()
        found = [
            Found(name, score + sum(_bonus(token, name, words) for token in asked))
            for name, words, score in zip(self._names, self._words, scores, strict=True)
        ]
        return sorted((each for each in found if each.score > 0), key=lambda each: -each.score)


def tokens_of(text: str) -> list[str]:
    """
    Return the words of *text*, of whatever language, as they are compared: of two characters at least, and pairs of
    characters where a script puts nothing between words.

    >>> tokens_of("sendEmail_v2: Sends a message")
    ['send', 'email', 'v2', 'sends', 'message']
    >>> tokens_of("天気予報")
    ['天気', '気予', '予報']
    """
    plain = _BORDER.sub(" ", unicodedata.normalize("NFKC", text)).casefold()
    apart = "".join(each if unicodedata.category(each)[0] in "LNM" else " " for each in plain)
    return [token for word in apart.split() for token in _pieces(word)]


def _pieces(word: str) -> Iterator[str]:
    at = 0
    for run in _UNSPACED.finditer(word):
        yield from _long(word[at : run.start()])
        pair = run.group()
        yield from (pair[place : place + 2] for place in range(max(1, len(pair) - 1)))
        at = run.end()
    yield from _long(word[at:])


def _long(word: str) -> Iterable[str]:
    return (word,) if len(word) > 1 else ()


def _bonus(token: str, name: str, words: frozenset[str]) -> float:
    if token in words:
        return _NAMED
    return _IN_NAME if token in name.casefold() else 0.0


def bm25() -> Any:
    """
    Return the library.
    """
    try:
        import bm25s
    except ImportError:
        raise ProcessorDefinitionError(
            "searching tools needs the package bm25s", hint="pip install 'procession[search]'"
        ) from None
    return bm25s
