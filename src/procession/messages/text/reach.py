"""
Reach: how far a regular expression can see from the place where a match begins.

A stream may be released up to the first place where a match could still begin.  That place follows from the pattern
alone: how many characters an attempt may look at, and which characters it cannot step over.  Both are read from the
parsed pattern here, so that no rule has to declare them and none can declare them wrongly.
"""

from __future__ import annotations

import importlib
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from procession.messages.text.needs import NOTHING, Needs, needs_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["UNBOUNDED", "Reach", "reach_of"]

UNBOUNDED = 1 << 30
"""Stands for a width without a limit."""

_PROBES = " \n.,;:-/@'\"()etaoinshrdluc0"
"""Common characters; a pattern that cannot step over one of them is decided wherever that one stands."""
_MANY = 400
"""Sets of more characters than this are not spelled out."""
_OTHER_ENGINE = re.compile(r"\\[pPXRKLNGm]|\(\?[|R&0-9r]|\[\[:|\{[^{}]*[idse][<=]")
"""Syntax of the ``regex`` package that the standard library reads as something else."""
_PROPERTY = re.compile(r"\\[pP](?:\{[^{}]*\}|\w)")


class Reach:
    """
    How far a pattern sees.
    """

    __slots__ = ("_head", "behind", "breaks", "needs", "risky", "steps", "width")

    def __init__(self, width: int, behind: int, steps: str | None, breaks: str, needs: Needs, risky: bool) -> None:
        self.width = width
        """How many characters an attempt may look at, from where it begins; ``UNBOUNDED`` for no limit."""
        self.behind = behind
        """How many characters before its beginning it may look at."""
        self.steps = steps
        """All characters that it can step over, or ``None`` where they are too many to list."""
        self.breaks = breaks
        """Common characters that it cannot step over."""
        self.needs = needs
        """What every match has."""
        self.risky = risky
        """Whether a repeat without a limit repeats what can be read in two ways: exponential time for some texts."""
        self._head: Reach | None = None

    @property
    def head(self) -> Reach | None:
        """
        How far one has to see to know whether a match has its beginning; read when it is first asked for.
        """
        if self._head is None and self.needs.head_source is not None:
            self._head = _read(self.needs.head_source, self.needs.flags, heads=False)
        return self._head

    @property
    def bounded(self) -> bool:
        """
        Whether an attempt can see only so far.
        """
        return self.width < UNBOUNDED

    def undecided(self, text: str) -> int:
        """
        Return the first place in *text* where more text could still change whether a match begins there.

        >>> reach_of("[0-9]{3}").undecided("call 55")
        5
        >>> reach_of("ab+c").undecided("abb x ab")
        6
        """
        size = len(text)
        found = max(0, size - self.width + 1)
        if self.steps is not None:
            found = max(found, len(text.rstrip(self.steps)) if self.steps else size)
        else:
            for character in self.breaks:
                found = max(found, text.rfind(character, found) + 1)
        needs = self.needs
        if needs.anchor is not None and found < size:
            near = needs.anchor.search(text, found)
            place = near.start() if near is not None else size
            found = max(found, min(place, size) - needs.anchor_at)
        if needs.head is not None and self.head is not None and found < size:
            begun = needs.head.search(text, found)
            found = max(found, min(self.head.undecided(text), begun.start() if begun is not None else size))
        return min(found, size)


BLIND = Reach(UNBOUNDED, UNBOUNDED, None, "", NOTHING, True)
"""Of a pattern that cannot be read."""


@lru_cache(maxsize=1024)
def reach_of(pattern: str, flags: int = 0, *, foreign: bool = False) -> Reach:
    """
    Read how far *pattern* sees.  A pattern that the standard library cannot parse counts as unbounded.

    *foreign* says that another engine will search, whose classes and cases need not be the standard library's.

    >>> reach_of(r"ABC-[0-9]{1,4}(?![0-9])").width
    9
    >>> reach_of(r"ABC-\\d+").bounded
    False
    """
    return _read(pattern, flags, heads=True, foreign=foreign)


def _read(pattern: str, flags: int, *, heads: bool, foreign: bool = False) -> Reach:
    if _OTHER_ENGINE.search(_PROPERTY.sub("", pattern)):
        return BLIND
    has_properties = _PROPERTY.search(pattern) is not None
    try:
        parsed = importlib.import_module("re._parser").parse(_PROPERTY.sub(r"\\w", pattern), flags)
    except (re.error, OverflowError, RecursionError, ImportError):
        return BLIND
    walk = _Walk()
    _, look = walk.measure(parsed, parsed.state.flags)
    if has_properties:
        walk.characters = None
        walk.passable = set(_PROBES)
    any_case = bool(parsed.state.flags & re.IGNORECASE)
    if foreign and any_case:
        walk.characters = None
    plain = not has_properties and not (foreign and any_case)
    needs = needs_of(parsed, parsed.state.flags, classes=not foreign) if heads and plain else NOTHING
    return Reach(
        min(look, UNBOUNDED),
        min(walk.behind, UNBOUNDED),
        None if walk.characters is None else "".join(sorted(walk.characters)),
        "".join(probe for probe in _PROBES if probe not in walk.passable),
        needs,
        walk.risky,
    )


class _Walk:
    """
    Goes through a parsed pattern once and gathers what it can look at.
    """

    def __init__(self) -> None:
        self.behind = 0
        self.risky = False
        self.characters: set[str] | None = set()
        self.passable: set[str] = set()
        self.groups: dict[int, int] = {}
        self.silent = 0
        """Above 0 inside of an assertion whose characters are looked at and not stepped over."""

    def measure(self, items: Iterable[tuple[Any, Any]], flags: int) -> tuple[int, int]:
        """
        Return how many characters *items* consume at most, and how many they look at.
        """
        consumed = look = 0
        for op, value in items:
            taken, seen = self._one(str(op), value, flags)
            look = max(look, consumed + seen)
            consumed += taken
        return min(consumed, UNBOUNDED), min(max(look, consumed), UNBOUNDED)

    def _one(self, op: str, value: Any, flags: int) -> tuple[int, int]:
        match op:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                self._step(op, value, flags)
                return 1, 1
            case "BRANCH":
                arms = [self.measure(arm, flags) for arm in value[1]]
                return max(arm[0] for arm in arms), max(arm[1] for arm in arms)
            case "SUBPATTERN":
                group, added, removed, inner = value
                taken, seen = self.measure(inner, (flags | added) & ~removed)
                if group is not None:
                    self.groups[group] = taken
                return taken, seen
            case "ATOMIC_GROUP":
                return self.measure(value, flags)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self._repeat(op, value, flags)
            case "GROUPREF":
                width = self.groups.get(value, UNBOUNDED)
                return width, width
            case "GROUPREF_EXISTS":
                arms = [self.measure(arm, flags) for arm in value[1:] if arm is not None]
                return max(arm[0] for arm in arms), max(arm[1] for arm in arms)
            case "ASSERT" | "ASSERT_NOT":
                return self._assertion(value, flags)
            case "AT":
                return self._place(str(value), flags)
            case "FAILURE":
                return 0, 0
            case _:
                self.characters = None
                self.passable.update(_PROBES)
                return UNBOUNDED, UNBOUNDED

    def _repeat(self, op: str, value: Any, flags: int) -> tuple[int, int]:
        _, most, inner = value
        taken, seen = self.measure(inner, flags)
        limit = importlib.import_module("re._constants").MAXREPEAT
        endless = most is limit or most == limit
        if endless and op != "POSSESSIVE_REPEAT" and _varies(inner):
            self.risky = True
        if endless:
            return (UNBOUNDED, UNBOUNDED) if taken else (0, seen)
        return min(taken * most, UNBOUNDED), min(taken * max(most - 1, 0) + seen, UNBOUNDED)

    def _assertion(self, value: Any, flags: int) -> tuple[int, int]:
        direction, inner = value
        if direction < 0:
            self.silent += 1
            taken, _ = self.measure(inner, flags)
            self.silent -= 1
            self.behind = max(self.behind, taken)
            return 0, 0
        self.silent += 1
        _, seen = self.measure(inner, flags)
        self.silent -= 1
        if seen > 1:
            self._step_over(inner, flags)
        return 0, seen

    def _step_over(self, items: Any, flags: int) -> None:
        """
        Note what an assertion steps over: all but the last character that it looks at.
        """
        if len(items) == 1 and str(items[0][0]) == "BRANCH":
            for arm in items[0][1][1]:
                self._step_over(arm, flags)
        elif len(items) == 1 and str(items[0][0]) == "SUBPATTERN":
            self._step_over(items[0][1][3], flags)
        elif items:
            single = str(items[-1][0]) in ("LITERAL", "NOT_LITERAL", "ANY", "IN", "AT")
            self.measure(items[:-1] if single else items, flags)

    def _place(self, place: str, flags: int) -> tuple[int, int]:
        if place in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
            self.behind = max(self.behind, 1)
            return 0, 0
        if place == "AT_END_STRING" or (place == "AT_END" and flags & re.MULTILINE):
            return 0, 1
        if place == "AT_END":  # also before a newline that ends the text
            self._add("\n")
            return 0, 2
        self.behind = max(self.behind, 1)
        return 0, 1

    def _step(self, op: str, value: Any, flags: int) -> None:
        if self.silent:
            return
        for probe in _PROBES:
            if probe not in self.passable and _matches(op, value, probe, flags):
                self.passable.add(probe)
        if self.characters is None:
            return
        if op == "LITERAL":
            self._spell([value], flags)
        elif op == "IN" and (spelled := _spelled(value)) is not None:
            self._spell(spelled, flags)
        else:
            self.characters = None

    def _spell(self, codes: Iterable[int], flags: int) -> None:
        for code in codes:
            character = chr(code)
            if flags & re.IGNORECASE:
                self._add(*_cases(character))
            else:
                self._add(character)

    def _add(self, *characters: str) -> None:
        self.passable.update(characters)
        if self.characters is not None:
            self.characters.update(characters)


@lru_cache(maxsize=4096)
def _cases(character: str) -> frozenset[str]:
    """
    Return what ``IGNORECASE`` takes *character* for.
    """
    extra: dict[int, tuple[int, ...]] = importlib.import_module("re._casefix")._EXTRA_CASES
    low = {character, character.lower(), character.upper().lower()}
    low |= {chr(other) for one in tuple(low) if len(one) == 1 for other in extra.get(ord(one), ())}
    found = (
        low | {one.upper() for one in low} | {"\u0130", "\u0131"} if "i" in low else low | {one.upper() for one in low}
    )
    if "k" in low:
        found.add("\u212a")
    return frozenset(one for one in found if len(one) == 1)


def _spelled(items: Any) -> list[int] | None:
    codes: list[int] = []
    for op, value in items:
        if str(op) == "LITERAL":
            codes.append(value)
        elif str(op) == "RANGE" and value[1] - value[0] < _MANY:
            codes.extend(range(value[0], value[1] + 1))
        else:
            return None
    return codes if len(codes) <= _MANY else None


def _matches(op: str, value: Any, character: str, flags: int) -> bool:
    code = ord(character)
    if op == "LITERAL":
        return _same(code, value, flags)
    if op == "NOT_LITERAL":
        return not _same(code, value, flags)
    if op == "ANY":
        return character != "\n" or bool(flags & re.DOTALL)
    negated = False
    hit = False
    for item, argument in value:
        match str(item):
            case "NEGATE":
                negated = True
            case "LITERAL":
                hit = hit or _same(code, argument, flags)
            case "RANGE":
                low, high = argument
                cases = {code, ord(character.lower()), ord(character.upper())} if flags & re.IGNORECASE else {code}
                hit = hit or any(low <= one <= high for one in cases)
            case "CATEGORY":
                hit = hit or _in_category(str(argument), character)
            case _:
                return True
    return hit != negated


def _same(code: int, other: int, flags: int) -> bool:
    return code == other or bool(flags & re.IGNORECASE and chr(code).lower() == chr(other).lower())


def _in_category(category: str, character: str) -> bool:
    if "DIGIT" in category:
        hit = character.isdigit()
    elif "SPACE" in category:
        hit = character.isspace()
    else:
        hit = character.isalnum() or character == "_"
    return hit != ("NOT_" in category)


def _varies(items: Any) -> bool:
    """
    Whether what is repeated can match stretches of different length, or the same stretch in different ways.
    """
    low, high = items.getwidth()
    return bool(low != high) or _forks(items)


def _forks(items: Any) -> bool:
    """
    Whether there is a choice whose arms are not told apart by different first letters.
    """
    for op, value in items:
        match str(op):
            case "BRANCH":
                firsts: list[Any] = [arm[0] if len(arm) else None for arm in value[1]]
                if any(first is None or str(first[0]) != "LITERAL" for first in firsts):
                    return True
                if len({chr(first[1]).lower() for first in firsts}) < len(firsts) or any(map(_forks, value[1])):
                    return True
            case "SUBPATTERN":
                if _forks(value[3]):
                    return True
            case "MAX_REPEAT" | "MIN_REPEAT":
                if _forks(value[2]):
                    return True
            case _:
                continue
    return False
