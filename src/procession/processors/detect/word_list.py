"""
Lists of words as rules: sought as whole words or anywhere, in what a text looks like.

Letters that look alike are one letter, composed or not is the same, invisible characters are not there, and a word
may be spelled with gaps between its letters.  A list of any length is one pattern, which shares what its words begin with.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from procession.errors import ProcessorDefinitionError
from procession.messages.text.confusables import AlikeFolder, look_alike
from procession.messages.text.normalise import fold
from procession.messages.text.patterns import Rule
from procession.messages.text.scan import RuleLane
from procession.messages.text.spans import Span

__all__ = ["WORDS", "WordMatch", "Words", "find_words", "word_lane", "word_lists", "word_rules"]

WordMatch = Literal["word", "substring"]
Words: TypeAlias = Mapping[str, Iterable[str]] | Iterable[str]
"""Words, or lists of them by category."""
WORDS = "words"
"""The category of words that were given without one."""
_LONGEST = 100
_SHORTEST_SPACED = 3
_GAP = r"[\s._*\-]{1,3}"
_BLANKS = r"\s{1,8}"
# Marks are letters' parts although no regular expression says so; in the blocks of India's scripts nearly all are.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u0900-\u0903\u093a-\u0963\u0981-\u0dff"
)
# Written without blanks between words, or with endings that words take on: there is no border to be seen.
_JOINED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_BEFORE = rf"(?<![^\W_])(?<![{_MARKS}])"
_AFTER = rf"(?![^\W_]|[{_MARKS}])"


def word_rules(name: str, words: Words, match: WordMatch = "word") -> tuple[Rule, ...]:
    """
    Return a rule for each category of *words*, an option of the class *name*; words without one are ``words``.

    Raises ``ProcessorDefinitionError`` for what is no word.

    >>> [rule.name for rule in word_rules("Guard", {"animals": ["cat"], "plants": ["rose"]})]
    ['animals', 'plants']
    """
    made: list[Rule] = []
    for category, listed in word_lists(words).items():
        wanted = [_seen(name, word) for word in listed]
        if wanted:
            made.append(Rule(category, _pattern(wanted, match), flags=re.IGNORECASE))
    return tuple(made)


def word_lists(words: Words) -> dict[str, tuple[str, ...]]:
    """
    Return *words* by category; those without one are ``words``.
    """
    lists = cast("Mapping[str, Iterable[str]]", words) if isinstance(words, Mapping) else {WORDS: words}
    return {
        category.strip().lower(): (listed,) if isinstance(listed, str) else tuple(listed)
        for category, listed in lists.items()
    }


def word_lane(rules: Sequence[Rule]) -> RuleLane:
    """
    Return a fresh search for words in a text that comes in pieces.
    """
    return RuleLane(rules, folder=AlikeFolder())


def find_words(rules: Sequence[Rule], text: str) -> list[Span]:
    """
    Return where in *text* words stand, in order.

    >>> [(span.start, span.end) for span in find_words(word_rules("Guard", ["cat"]), "A c\u200bat, a concatenation.")]
    [(2, 6)]
    """
    found = word_lane(rules).feed(text, final=True)
    return sorted(found, key=lambda span: (span.start, -span.end))


def _seen(name: str, word: Any) -> str:
    seen = " ".join(look_alike(fold(word).text).lower().split()) if isinstance(word, str) else ""
    if not seen or len(seen) > _LONGEST:
        raise ProcessorDefinitionError(
            f"{name} has {word!r} among its words", hint=f"a word has 1 to {_LONGEST} visible characters"
        )
    return seen


def _pattern(words: Sequence[str], match: WordMatch) -> str:
    groups: dict[tuple[str, str], list[list[str]]] = {}
    for word in dict.fromkeys(words):
        borders = (_border(word[0], _BEFORE), _border(word[-1], _AFTER))
        pieces = [_BLANKS if one == " " else re.escape(one) for one in word]
        groups.setdefault(borders if match == "word" else ("", ""), []).append(pieces)
        if len(word) >= _SHORTEST_SPACED and word.isalpha() and all(borders):
            spaced = [piece for one in pieces for piece in (one, _GAP)][:-1]
            groups.setdefault(borders, []).append(spaced)
    return "|".join(f"{before}(?:{_shared(listed)}){after}" for (before, after), listed in groups.items())


def _border(character: str, border: str) -> str:
    part_of_a_word = unicodedata.category(character)[0] in "LNM"
    return border if part_of_a_word and not _JOINED.match(character) else ""


def _shared(words: Sequence[Sequence[str]]) -> str:
    """
    Return a pattern of *words*, each a sequence of pieces, that says once what several begin with.
    """
    ends = any(not word for word in words)
    rest: dict[str, list[Sequence[str]]] = {}
    for word in words:
        if word:
            rest.setdefault(word[0], []).append(word[1:])
    if not rest:
        return ""
    branches = [piece + _shared(after) for piece, after in rest.items()]
    if len(branches) == 1 and not ends:
        return branches[0]
    return f"(?:{'|'.join(branches)}){'?' if ends else ''}"
