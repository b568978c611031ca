"""
Scan: rules sought in a text that comes in pieces, with the same findings however it is cut.

A scan keeps, for each rule, the first place where a match could still begin.  What lies before is decided: an
attempt there has seen all that it can see (``reach.py``).  So the findings are those of a search through the whole
text, by construction, and every stretch is searched once.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from procession.messages.text.normalise import Folder
from procession.messages.text.offsets import Offsets
from procession.messages.text.patterns import FOREIGN_CASES, Rule
from procession.messages.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["BUDGET", "FindLane", "Lane", "RuleLane", "find_spans", "in_order"]

BUDGET = 0.5
"""Seconds that the searches under a time limit may take in one call."""
_NEAR = 4
_FAR = 24
"""Rules whose rare character stands further off are not put to sleep, since that would hold back as much."""
_DIGIT = re.compile("[0-9]")
_ONLY_DIGITS = re.compile(r"\[[0-9]+\]")
_FEW = 2
"""Groups of so few rules are asked for the exact place where a match could begin."""
_TRIES = 16
"""How often, and every how many characters, a rule is tried at single places before it is sought in all the rest."""
_SPARE = 256
"""Decided characters that are kept before it is worth while to drop them."""


class Lane(Protocol):
    """
    Something that finds spans in a text that comes in pieces.
    """

    settled: int
    """No span that is found later begins before this place in the whole text."""

    def feed(self, text: str, *, final: bool = False) -> Sequence[Span]:
        """
        Take the next piece and return the spans that are decided now, with places in the whole text.
        """
        ...


class _Search:
    """
    Where one rule stands: the first undecided place, or a match whose tail is not over.
    """

    __slots__ = ("at", "open_end", "open_start", "rule")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.at = 0
        self.open_start = -1
        self.open_end = -1

    @property
    def settled(self) -> int:
        return self.at if self.open_start < 0 else self.open_start

    def forget(self, count: int) -> None:
        self.at -= count
        if self.open_start >= 0:
            self.open_start -= count
            self.open_end -= count


class _Group:
    """
    Rules whose matches all have one of the same rare characters near their beginning; without one they sleep.
    """

    __slots__ = ("anchor", "anchor_at", "asleep", "searches")

    def __init__(self, anchor: re.Pattern[str] | None, searches: list[_Search]) -> None:
        self.anchor = anchor
        self.anchor_at = max((search.rule.reach.needs.anchor_at for search in searches), default=0)
        self.searches = searches
        self.asleep: int | None = None
        """While nothing is to be done: where a match could still begin at the earliest."""

    @property
    def settled(self) -> int:
        return self.asleep if self.asleep is not None else min(search.settled for search in self.searches)

    def sleeps(self, view: str, final: bool) -> bool:
        """
        Whether no match can have begun, and up to where that is certain.
        """
        if self.anchor is None or any(search.open_start >= 0 for search in self.searches):
            return False
        at = self.asleep if self.asleep is not None else min(search.at for search in self.searches)
        if self.anchor.search(view, at) is not None:
            if self.asleep is not None:
                for search in self.searches:
                    search.at = max(search.at, self.asleep)
                self.asleep = None
            return False
        if final:
            self.asleep = len(view)
        elif len(self.searches) <= _FEW:
            self.asleep = max(at, min(search.rule.reach.undecided(view) for search in self.searches))
        else:
            self.asleep = max(at, len(view) - self.anchor_at)
        return True

    def forget(self, count: int) -> None:
        if self.asleep is not None:
            self.asleep -= count
        for search in self.searches:
            search.forget(count)


@lru_cache(maxsize=256)
def _plan(rules: tuple[Rule, ...]) -> tuple[tuple[re.Pattern[str] | None, tuple[Rule, ...]], ...]:
    """
    Put rules together whose rare characters are the same.
    """
    groups: dict[str, tuple[re.Pattern[str] | None, list[Rule]]] = {}
    for number, rule in enumerate(rules):
        anchor, at = rule.reach.needs.anchor, rule.reach.needs.anchor_at
        if anchor is None or at > _FAR:
            key, anchor = str(number), None
        elif _ONLY_DIGITS.fullmatch(anchor.pattern):
            key, anchor = f"digit {at > _NEAR}", _DIGIT
        else:
            key = f"{anchor.pattern} {at > _NEAR}"
        groups.setdefault(key, (anchor, []))[1].append(rule)
    return tuple((anchor, tuple(members)) for anchor, members in groups.values())


@lru_cache(maxsize=256)
def _left(rules: tuple[Rule, ...]) -> int:
    return max((rule.left for rule in rules), default=0)


class RuleLane:
    """
    Rules sought in a text, or with *fold* in what the text looks like (``normalise.Folder``, or a *folder* of your own).

    With *explain* candidates that a check turned down are returned as well, marked ``rejected``.

    Raises ``TimeoutError`` where a rule under a time limit takes too long.

    >>> from procession.messages.text.patterns import Rule
    >>> lane = RuleLane([Rule("code", "ABC-[0-9]{3}")])
    >>> list(lane.feed("my code is AB")), lane.settled
    ([], 11)
    >>> [(span.start, span.end) for span in lane.feed("C-123.")]
    [(11, 18)]
    """

    def __init__(
        self, rules: Sequence[Rule], *, fold: bool = False, explain: bool = False, folder: Folder | None = None
    ) -> None:
        self.settled = 0
        self._groups = [_Group(anchor, [_Search(rule) for rule in members]) for anchor, members in _plan(tuple(rules))]
        self._folder = folder if folder is not None else Folder() if fold else None
        self._explain = explain
        self._view = ""
        self._offsets = Offsets()
        self._end = 0
        self._left = _left(tuple(rules))
        self._found: list[Span] = []
        self._lower: str | None = None
        self._deadline = 0.0

    def feed(self, text: str, *, final: bool = False) -> list[Span]:
        """
        Take the next piece of the text.
        """
        self._end += len(text)
        if self._folder is not None:
            text = self._folder.feed(text, self._offsets, final=final)
        else:
            self._offsets.plain(len(text))
        self._view = view = self._view + text
        self._lower = None
        self._deadline = time.monotonic() + BUDGET
        self._found = []
        settled = len(view)
        for group in self._groups:
            if not group.sleeps(view, final):
                for search in group.searches:
                    self._advance(search, view, final)
            settled = min(settled, group.settled)
        if final:
            self.settled = self._end
        elif settled < len(view):
            self.settled = self._offsets.start(settled)
        else:
            self.settled = self._folder.at if self._folder is not None else self._end
        spare = settled - self._left
        if spare > _SPARE:
            self._view = view[spare:]
            self._offsets.forget(spare)
            for group in self._groups:
                group.forget(spare)
        return self._found

    def _advance(self, search: _Search, view: str, final: bool) -> None:
        rule = search.rule
        decided = len(view) + 1 if final else rule.reach.undecided(view)
        may_match: bool | None = None
        while True:
            if search.open_start < 0:
                if may_match is None:  # once for all its matches: the strings are sought in all of the view
                    may_match = self._may_match(rule, view)
                match = self._next(rule, view, search.at) if may_match else None
                if match is None or match.start() >= decided:
                    search.at = max(search.at, min(decided, len(view)))
                    return
                start, end = match.span(rule.group)
                if start >= end:
                    if match.start() == len(view):  # a search from behind the end would find it for ever
                        search.at = len(view)
                        return
                    search.at = match.end() if match.end() > match.start() else match.start() + 1
                    continue
                if not rule.has_tail:
                    size = rule.measure(view[start:end]) if rule.measure is not None else end - start
                    accepted = self._settle(rule, view, start, start + size)
                    if not accepted:
                        search.at = match.start() + 1
                    else:
                        search.at = match.end() if rule.measure is None else start + size
                    continue
                search.open_start, search.open_end = start, match.end()
            end = search.open_end
            tail: Any = search.rule.tail
            while final or end + rule.tail_width <= len(view):
                more: Any = tail.match(view, end)
                if more is None or more.end() == end:
                    break
                end = more.end()
            else:
                search.open_end = end
                return
            self._settle(rule, view, search.open_start, end)
            search.at, search.open_start = end, -1

    def _may_match(self, rule: Rule, view: str) -> bool:
        """
        Whether *view* has the strings without which *rule* finds nothing.
        """
        needs = rule.reach.needs
        if needs.literals and not self._has(needs.literals, view, needs.any_case):
            return False
        words = rule.context_literals
        return not words or self._explain or self._has(words, view, True)

    def _next(self, rule: Rule, view: str, at: int) -> Any:
        """
        Return the first match of *rule* from *at* on, trying only where one can be.
        """
        needs = rule.reach.needs
        pattern: Any = rule.pattern
        if rule.budgeted:
            return pattern.search(view, at, timeout=max(self._deadline - time.monotonic(), 0.001))
        tries = _TRIES + (len(view) - at) // _TRIES
        if needs.anchor is not None:
            while tries > 0:
                anchor = needs.anchor.search(view, at)
                if anchor is None:
                    return None
                place = anchor.start()
                first = place - needs.anchor_at
                first = max(first, at)
                for start in range(first, place + 1):
                    match = pattern.match(view, start)
                    if match is not None:
                        return match
                tries -= 1 + place - first
                at = place + 1
        elif needs.head is not None and needs.quick:
            while tries > 0:
                begun = needs.head.search(view, at)
                if begun is None:
                    return None
                at = begun.start()
                match = pattern.match(view, at)
                if match is not None:
                    return match
                at += 1
                tries -= 1
        return pattern.search(view, at)

    def _has(self, groups: tuple[tuple[str, ...], ...], view: str, any_case: bool) -> bool:
        """
        Whether *view* has one string of each group.
        """
        if any_case:
            if self._lower is None:
                self._lower = "" if FOREIGN_CASES.search(view) else view.lower()
            if not self._lower:
                return True
            view = self._lower
        return all(any(literal in view for literal in group) for group in groups)

    def _settle(self, rule: Rule, view: str, start: int, end: int) -> bool:
        """
        Note the candidate from *start* to *end* of the view, unless the rule's check turns it down.
        """
        if rule.trim:
            end = start + len(view[start:end].rstrip(rule.trim))
        if end <= start:
            return False
        near = max(0, start - rule.near)
        rejected = ""
        if rule.check is not None and not rule.check(view[start:end]):
            rejected = getattr(rule.check, "__name__", "check")
        elif rule.has_unless and rule.speaks_against(view, near, start):
            rejected = "context"
        score = rule.score
        if rule.has_context and (not rejected or self._explain):
            if rule.speaks_for(view, near, start):
                score = rule.context_score
            elif rule.context_only:
                rejected = rejected or "no context"
        if not rejected or self._explain:
            place = self._offsets.span(start, end)
            self._found.append(Span(*place, rule.type, rule.name, score, rule.replacement, rejected))
        return not rejected


def find_spans(rules: Sequence[Rule], text: str, *, fold: bool = False, explain: bool = False) -> list[Span]:
    """
    Return what *rules* find in *text*, in order.

    >>> from procession.messages.text.patterns import Rule
    >>> [span.start for span in find_spans([Rule("number", "[0-9]+")], "1 and 22")]
    [0, 6]
    """
    return in_order(RuleLane(rules, fold=fold, explain=explain).feed(text, final=True))


def in_order(spans: Sequence[Span]) -> list[Span]:
    """
    Return *spans* by where they begin, the longest first.
    """
    return sorted(spans, key=lambda span: (span.start, -span.end))


class FindLane:
    """
    Any function that finds spans in a text, which may see *window* characters to both sides of where one begins.

    The promise it relies on: whether and where a span begins at a place follows from the *window* characters before
    it and the *window* characters from it on.  A span that reaches the end of what is known waits for more, so a
    longer one comes out whole as long as its beginning is found by itself.  Without a window it waits for the end.
    """

    def __init__(self, find: Callable[[str], Sequence[Span]], window: int | None) -> None:
        self.settled = 0
        self._find = find
        self._window = window
        self._pieces: list[str] = []
        self._base = 0

    def feed(self, text: str, *, final: bool = False) -> list[Span]:
        """
        Take the next piece of the text.
        """
        self._pieces.append(text)
        if not final and self._window is None:
            return []
        known = "".join(self._pieces)
        self._pieces = [known]
        end = self._base + len(known)
        decided = end + 1 if final else max(self.settled, end - (self._window or 0) + 1)
        found: list[Span] = []
        if decided > self.settled:
            for span in sorted(self._find(known), key=lambda span: span.start):
                start = self._base + span.start
                if start >= decided:
                    break
                if start < self.settled:
                    continue
                if not final and self._base + span.end >= end:
                    decided = start
                    break
                found.append(span.moved(self._base) if self._base else span)
            self.settled = min(decided, end)
        spare = self.settled - (self._window or 0) - self._base
        if spare > _SPARE:
            self._pieces = [known[spare:]]
            self._base += spare
        return found
