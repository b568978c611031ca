"""
Attacks on a model by what they speak of: ideas that stand close together, in whatever words and language.

Rules (``injection.py``) know how attacks are worded; this knows that to drop, rules and earlier ones in one sentence
are an attack, and that a sentence which also speaks of a lesson mostly is none.  How much each idea and each pair of
them says was learned from the half of the labelled corpus that rules may be written with (``bench/guards/train.py``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import combinations
from typing import Any

from procession.messages.text.lexicon import Lexicon
from procession.processors.detect.ideas_latin import LATIN_IDEAS
from procession.processors.detect.ideas_scripts import CYRILLIC_IDEAS, JOINED_IDEAS
from procession.processors.detect.ideas_tricks import JOINED_TRICKS, WORD_TRICKS

__all__ = ["FLAGS", "RULES", "IdeaScore", "features_of", "ideas", "likelihood", "score_of"]

_CELL = 6
"""A text is divided into cells of two to the power of so many characters; ideas in two that touch are close."""
_WINDOW = 5
"""Cells that are judged together."""
_CAUTION = 0.7
"""How much is taken off for each time that a text has e times as many stretches."""
_SIGNS: Mapping[str, str] = {
    "address": r"https?:|www\.|[\w.]@[\w-]+\.[a-z]|\bmailto:",
    "markup": r"<!--|-->|display: ?none|font-size: ?0|color: ?(?:white|#fff)|\bhidden\b|!\[|<(?:div|span|p|style)\b",
    "turn": r"(?<!\w)(?:system|assistant|user|human|ai|admin|developer|instruction)\]?\*{0,2} ?[:>]|<\|?/?\w+\|?>|\[/?inst\]"
    r"|<</?sys|(?<!#)#{2,} ?\w|={3,}|(?<!-)-{3,} ?(?:begin|end|new|system)|\bend of (?:document|text|prompt|input|context|user|message|data)",
    "quote": r"[\"“”„«»「」『』]",
    "question": r"[?？؟]",
    "call": r"\b[a-z]+_[a-z_]+\b|\w\(\)|\w\(['\"]",
    "code": r"[{};]|=>|\bdef \b|\bimport \b|::",
}
RULES = ("override", "reveal", "addressed", "role", "unbound", "mode", "secrecy", "send", "template", "call-function")
"""Groups of rules that count by themselves."""
FLAGS = ("hidden-text", "a-rule", "sure-rule", *(f"rule-{group}" for group in RULES))
"""What is known of a text besides what it says: that it had to be decoded, and which rules find signs in it."""


@lru_cache(maxsize=1)
def _lexicon() -> Lexicon:
    return Lexicon([LATIN_IDEAS, CYRILLIC_IDEAS, WORD_TRICKS], [JOINED_IDEAS, JOINED_TRICKS])


@lru_cache(maxsize=1)
def _signs() -> tuple[tuple[int, re.Pattern[str]], ...]:
    first = len(_lexicon().ideas)
    return tuple((first + number, re.compile(pattern)) for number, pattern in enumerate(_SIGNS.values()))


@lru_cache(maxsize=1)
def ideas() -> tuple[str, ...]:
    """
    Return the names of all ideas, signs and flags, in the order of their numbers.
    """
    return (*_lexicon().ideas, *_SIGNS, *FLAGS)


def features_of(text: str, *, flags: Iterable[str] = ()) -> Iterator[tuple[int, int, int]]:
    """
    Yield for each stretch of *text*, a view in lower case, where it begins and the pairs of ideas in it, as bits.
    """
    cells = [0] * ((len(text) >> _CELL) + 1)
    for start, idea in _lexicon().hits(text):
        cells[start >> _CELL] |= 1 << idea
    for idea, pattern in _signs():
        for found in pattern.finditer(text):
            cells[found.start() >> _CELL] |= 1 << idea
    flag = sum(1 << ideas().index(name) for name in flags)
    close = [_pairs(here | after | flag) for here, after in zip(cells, [*cells[1:], 0], strict=True)]
    for first in range(max(1, len(cells) - _WINDOW + 1)):
        found_here = 0
        for pairs in close[first : first + _WINDOW]:
            found_here |= pairs
        yield first << _CELL, min(len(text), (first + _WINDOW) << _CELL), found_here


@lru_cache(maxsize=4096)
def _pairs(present: int) -> int:
    """
    Return each idea of *present*, and each pair of them, as one bit.
    """
    count = len(ideas())
    there = [idea for idea in range(count) if present >> idea & 1]
    bits = 0
    for idea in there:
        bits |= 1 << idea
    for first, second in combinations(there, 2):
        bits |= 1 << (count + first * count + second)
    return bits


class IdeaScore:
    """
    How much the worst stretch of a text speaks for an attack, where it is, what says so, and of how many stretches.
    """

    __slots__ = ("end", "signs", "start", "stretches", "weight")

    def __init__(self, weight: float, start: int, end: int, signs: Sequence[str], stretches: int) -> None:
        self.weight = weight
        self.start = start
        self.end = end
        self.signs = signs
        self.stretches = stretches


def likelihood(weight: float, stretches: int) -> float:
    """
    Return how likely a text is an attack whose worst stretch of so many has *weight*.

    The more stretches there are, the more of them look like something by chance.
    """
    total = weight - _CAUTION * math.log(max(1, stretches))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def score_of(text: str, *, flags: Iterable[str] = ()) -> IdeaScore:
    """
    Judge *text*, a view in lower case with single blanks; *flags* are of ``FLAGS``.
    """
    weights = _weights()
    best: tuple[float, int, int, int] = (-math.inf, 0, len(text), 0)
    known: dict[int, float] = {}
    count = 0
    for start, end, bits in features_of(text, flags=flags):
        count += 1
        total = known.get(bits)
        if total is None:
            total = known[bits] = weights.sum(bits)
        if total > best[0]:
            best = (total, start, end, bits)
    total, start, end, bits = best
    return IdeaScore(total, start, end, weights.strongest(bits), count)


class _Weights:
    """
    What each idea and pair says, as learned.
    """

    def __init__(self, learned: Mapping[str, Any]) -> None:
        names = ideas()
        number = {name: index for index, name in enumerate(names)}
        self._bias = float(learned["bias"])
        self._by_bit: dict[int, float] = {}
        self._names: dict[int, str] = {}
        for name, weight in learned["weights"].items():
            first, _, second = name.partition("+")
            bit = number[first] if not second else len(names) + number[first] * len(names) + number[second]
            self._by_bit[bit] = weight
            self._names[bit] = name
        self._mask = sum(1 << bit for bit in self._by_bit)

    def sum(self, bits: int) -> float:
        total = self._bias
        for bit in _bits(bits & self._mask):
            total += self._by_bit[bit]
        return total

    def strongest(self, bits: int) -> list[str]:
        there = [bit for bit in _bits(bits & self._mask) if self._by_bit[bit] > 0]
        return [self._names[bit] for bit in sorted(there, key=lambda bit: -self._by_bit[bit])[:3]]


def _bits(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


@lru_cache(maxsize=1)
def _weights() -> _Weights:
    return _Weights(
        json.loads(files("procession.processors.detect").joinpath("injection_weights.json").read_text("utf-8"))
    )
