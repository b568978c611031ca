"""
Rule: one pattern that finds one kind of thing, with what must hold besides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from typing import Any

from procession.messages.text.reach import UNBOUNDED, Reach, reach_of

__all__ = ["FOREIGN_CASES", "Check", "Rule", "compile_pattern"]

Check = Callable[[str], bool]
"""Whether what a pattern matched is one: a checksum, a range, a list of prefixes."""

FOREIGN_CASES = re.compile("[\u0130\u0131\u017f\u212a]")
"""Letters that match ASCII ones when case is ignored, and are not turned into them by ``lower()``."""
_WORDS_LIMIT = 48
_REPEAT = re.compile(r"[*+]|\{\d*,\}")
"""What a repeat without a limit is written with."""
_LITERAL = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
"""Escapes and classes, in which the same characters mean themselves."""
_SLOW = (
    "repeats without a limit what can be read in more than one way, which may take exponential time; "
    "bound the inner repeat"
)


class Rule:
    """
    One pattern that finds one kind of thing.

    *pattern* is searched from left to right, and matches do not overlap.  *group* is the part of a match that is the
    finding.  *check* may say no: the search then goes on one character later.  *trim* is taken off the end.

    *tail* makes a match of any length out of a pattern of bounded width: a second pattern, also bounded, that is
    matched again and again from where the first one ended, as far as it goes.

    *context* is a pattern of words, sought in the *near* characters before the finding: with it the finding has
    *context_score*, without it *score*, or with *context_only* it is none; where *unless* is found there, it is none.
    *measure* is given the longest match and says how much of it is the finding, 0 for none.

    A pattern that repeats something without a limit is searched under a time limit by the ``regex`` package, where
    that is installed; all others by the standard library, unless *engine* says otherwise.

    Raises ``ValueError`` for a pattern that may take exponential time where nothing could stop it: without that
    package, or as *tail*, *context* or *unless*.

    >>> rule = Rule("ticket", r"\\bT-[0-9]{4}\\b")
    >>> rule.reach.width
    7
    """

    __slots__ = (
        "_context",
        "_context_literals",
        "_context_source",
        "_engine",
        "_engine_flags",
        "_flags",
        "_pattern",
        "_reach",
        "_source",
        "_tail",
        "_tail_source",
        "_tail_width",
        "_unless",
        "_unless_literals",
        "_unless_source",
        "budgeted",
        "check",
        "context_only",
        "context_score",
        "group",
        "has_context",
        "has_tail",
        "has_unless",
        "measure",
        "name",
        "near",
        "replacement",
        "score",
        "trim",
        "type",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        pattern: str | re.Pattern[str],
        *,
        type: str | None = None,
        group: int | str = 0,
        check: Check | None = None,
        measure: Callable[[str], int] | None = None,
        trim: str = "",
        tail: str | None = None,
        context: str | None = None,
        context_only: bool = False,
        unless: str | None = None,
        near: int = _WORDS_LIMIT,
        score: float = 1.0,
        context_score: float = 1.0,
        flags: int = 0,
        replacement: str | None = None,
        engine: Any = re,
    ) -> None:
        self.name = name
        self.type = type if type is not None else name
        if isinstance(pattern, str):
            self._source, self._flags = pattern, flags
        else:
            self._source, self._flags = pattern.pattern, (pattern.flags & ~re.UNICODE) | flags
        for more in (tail, context, unless):
            if more is not None and _repeats(more) and reach_of(more).risky:
                raise ValueError(f"pattern {more!r} of rule {name!r} {_SLOW}")
        self._engine = engine if engine is not re else self._engine_for_it()
        self.budgeted = self._engine is not re
        """Whether a search can be given a time limit."""
        self._engine_flags = self._flags
        if self.budgeted and self._flags & re.ASCII and pattern.__class__ in (str, re.Pattern):
            self._engine_flags = self._flags & ~re.ASCII | self._engine.ASCII  # the one with another number there
        self.group = group
        self.check = check
        self.measure = measure
        self.trim = trim
        self.near = near if context is not None or unless is not None else 0
        self.score = score
        self.context_score = context_score
        self.context_only = context_only
        self.replacement = replacement
        self.has_tail = tail is not None
        self.has_context = context is not None
        self.has_unless = unless is not None
        self._tail_source, self._context_source, self._unless_source = tail or "", context or "", unless or ""
        # Many rules are made and few are needed, so that patterns are read and compiled when they are.
        self._pattern: Any = None
        self._tail: Any = None
        self._context: Any = None
        self._unless: Any = None
        self._reach: Reach | None = None
        self._tail_width = -1
        self._context_literals: tuple[tuple[str, ...], ...] | None = None
        self._unless_literals: tuple[tuple[str, ...], ...] | None = None

    def hearing(self, words: str = "", against: str = "") -> Rule:
        """
        Return the rule with more *words* that speak for a finding, or *against* it, sought before it as the rule's own.

        >>> rule = Rule("room", "[0-9]{3}", context="room", context_only=True).hearing("(?:chamber)[^0-9]{0,9}")
        >>> rule.context.search("chamber no. ") is not None
        True
        """
        made = copy(self)
        if words:
            made._context_source = (
                rf"(?:{self._context_source})|(?:{words})\Z" if self.has_context else rf"(?:{words})\Z"
            )
            made.has_context = True
            made._context = made._context_literals = None
        if against:
            made._unless_source = (
                rf"(?:{self._unless_source})|(?:{against})\Z" if self.has_unless else rf"(?:{against})\Z"
            )
            made.has_unless = True
            made._unless = made._unless_literals = None
        made.near = max(self.near, _WORDS_LIMIT)
        return made

    def unchecked(self, measure: Callable[[str], int] | None = None) -> Rule:
        """
        Return the rule without its check, and with another *measure* where it has one: what has the form counts.
        """
        made = copy(self)
        made.check = None
        made.measure = measure if self.measure is not None else None
        return made

    def _engine_for_it(self) -> Any:
        """
        Return the engine that the pattern needs; only one that repeats without a limit is read for this.
        """
        if not _repeats(self._source):
            return re
        reach = reach_of(self._source, self._flags)
        if reach.bounded and not reach.risky:
            return re
        engine = _regex_engine()
        if engine is not None:
            return engine
        if reach.risky:
            re.compile(self._source, self._flags)  # so that what is no pattern at all is not called slow
            raise ValueError(
                f"pattern {self.name!r} {_SLOW}, or install procession[guard], "
                "whose engine stops searches that take too long"
            )
        return re

    @property
    def pattern(self) -> Any:
        """
        The compiled pattern.
        """
        if self._pattern is None:
            self._pattern = self._engine.compile(self._source, self._engine_flags)
        return self._pattern

    @property
    def tail(self) -> Any:
        """
        The compiled pattern that goes on after a match.
        """
        if self._tail is None:
            self._tail = re.compile(self._tail_source, self._flags)
        return self._tail

    @property
    def tail_width(self) -> int:
        """
        How many characters one step of the tail may look at.
        """
        if self._tail_width < 0:
            self._tail_width = reach_of(self._tail_source, self._flags).width if self.has_tail else 0
        return self._tail_width

    @property
    def context(self) -> re.Pattern[str]:
        """
        The compiled words.
        """
        if self._context is None:
            self._context = re.compile(self._context_source, re.IGNORECASE)
        found: re.Pattern[str] = self._context
        return found

    @property
    def context_literals(self) -> tuple[tuple[str, ...], ...]:
        """
        What a text must have somewhere for its words to be in it, if they must.
        """
        return self.words_for if self.context_only and self.has_context else ()

    @property
    def words_for(self) -> tuple[tuple[str, ...], ...]:
        """
        Strings of which the words before a finding must have one of each group, in lower case, to speak for it.
        """
        if self._context_literals is None:
            self._context_literals = reach_of(self._context_source, re.IGNORECASE).needs.literals
        return self._context_literals

    @property
    def words_against(self) -> tuple[tuple[str, ...], ...]:
        """
        The same for words that speak against it.
        """
        if self._unless_literals is None:
            self._unless_literals = reach_of(self._unless_source, re.IGNORECASE).needs.literals
        return self._unless_literals

    @property
    def unless(self) -> re.Pattern[str]:
        """
        The compiled words that speak against it.
        """
        if self._unless is None:
            self._unless = re.compile(self._unless_source, re.IGNORECASE)
        found: re.Pattern[str] = self._unless
        return found

    def speaks_for(self, text: str, near: int, start: int) -> bool:
        """
        Whether words that speak for a finding stand from *near* to *start*.
        """
        return _stand(self.words_for, text, near, start) and self.context.search(text, near, start) is not None

    def speaks_against(self, text: str, near: int, start: int) -> bool:
        """
        Whether words that speak against a finding stand from *near* to *start*.
        """
        return _stand(self.words_against, text, near, start) and self.unless.search(text, near, start) is not None

    @property
    def reach(self) -> Reach:
        """
        How far the pattern sees.
        """
        if self._reach is None:
            self._reach = reach_of(self._source, self._flags, foreign=self.budgeted)
        return self._reach

    @property
    def left(self) -> int:
        """
        How many characters before a place the rule may have to see there.
        """
        return max(self.reach.behind, self.near + 1 if self.near else 0)

    @property
    def bounded(self) -> bool:
        """
        Whether the rule decides within so many characters, or at the next character that it cannot step over.
        """
        bounded_tail = not self.has_tail or self.tail_width < UNBOUNDED
        return bounded_tail and (self.reach.bounded or self.reach.steps is not None or bool(self.reach.breaks))

    def __repr__(self) -> str:
        return f"Rule({self.name!r})"


def _stand(needs: tuple[tuple[str, ...], ...], text: str, near: int, start: int) -> bool:
    """
    Whether the strings that words need may stand from *near* to *start*: patterns of many words are slow.
    """
    before = text[near:start] if needs else ""
    if not needs or FOREIGN_CASES.search(before):
        return True
    before = before.lower()
    return all(any(literal in before for literal in group) for group in needs)


def _repeats(source: str) -> bool:
    """
    Whether *source* may repeat something without a limit; in doubt, as where a comment may stand, it may.
    """
    return _REPEAT.search(source if "#" in source else _LITERAL.sub("", source)) is not None


def _regex_engine() -> Any:
    try:
        import regex
    except ImportError:
        return None
    return regex


def compile_pattern(name: str, pattern: str | re.Pattern[str], *, flags: int = 0, **options: Any) -> Rule:
    """
    Make a rule of a user's pattern: with the ``regex`` package where it is installed, under a time limit.

    Raises ``ValueError`` for a pattern that is none, and, without that package, for one that may take exponential
    time: a repeat without a limit around something that can be read in more than one way.
    """
    try:
        rule = Rule(name, pattern, flags=flags, engine=_regex_engine() or re, **options)
        _ = rule.pattern  # compiled now, so that what is wrong with it is said now
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"pattern {name!r} is no regular expression: {error}") from None
    except Exception as error:  # regex.error is no re.error
        if type(error).__module__.partition(".")[0] in ("regex", "_regex_core"):
            raise ValueError(f"pattern {name!r} is no regular expression: {error}") from None
        raise
    return rule
