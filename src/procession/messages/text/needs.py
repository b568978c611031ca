"""
Needs: what every match of a regular expression has, read from the parsed pattern.

Most text has nothing for most rules.  Letters or a digit that every match must have, and what it begins with, are
found in a text many times faster than the pattern is tried at every place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

__all__ = ["NOTHING", "Needs", "needs_of"]


class Needs:
    """
    What every match of a pattern has.
    """

    __slots__ = ("_head", "anchor", "anchor_at", "any_case", "flags", "head_source", "literals", "quick")

    def __init__(
        self,
        head_source: str | None = None,
        flags: int = 0,
        *,
        literals: tuple[tuple[str, ...], ...] = (),
        anchor: re.Pattern[str] | None = None,
        anchor_at: int = 0,
    ) -> None:
        self.head_source = head_source
        """A pattern of what it begins with, where that says something."""
        self.flags = flags
        self.any_case = bool(flags & re.IGNORECASE)
        """Whether literals may be in any case; they are in lower case then."""
        self.quick = head_source is not None and not self.any_case and head_source[0] not in "(^$"
        """Whether searching for the head is much faster than searching for the pattern."""
        self.literals = literals
        """Groups of strings: it has one of each group."""
        self.anchor = anchor
        """Rare characters of which it has one near its beginning."""
        self.anchor_at = anchor_at
        """The last place, from its beginning, at which the first of these stands."""
        self._head: re.Pattern[str] | None = None

    @property
    def head(self) -> re.Pattern[str] | None:
        """
        The head, compiled when it is first sought.
        """
        if self._head is None and self.head_source is not None:
            self._head = re.compile(self.head_source, self.flags)
        return self._head


NOTHING = Needs()
_LONGEST_HEAD = 128
_TELLING_HEAD = 3
_LONGEST_TEXT = 6000
_LATEST_ANCHOR = 66
_FAR_ANCHOR = 24


def needs_of(items: Any, flags: int, *, classes: bool = True) -> Needs:
    """
    Return what every match of the parsed pattern *items* has.

    Without *classes* nothing is said of ``\\w`` and the like, since the engine that will search may see them otherwise.
    """
    text, _, sure, _ = _head(list(items), classes)
    any_case = bool(flags & re.IGNORECASE)
    groups = [group for group in _groups(items) if _worth(group) > 1]
    if any_case:
        groups = [tuple(literal.lower() for literal in group) for group in groups]
    anchor, anchor_at = _anchor(items, any_case)
    return Needs(
        text if sure and len(text) <= _LONGEST_TEXT else None,
        flags & (re.IGNORECASE | re.ASCII | re.DOTALL),
        literals=tuple(sorted(groups, key=_worth, reverse=True)[:3]),
        anchor=anchor,
        anchor_at=anchor_at,
    )


# --- strings --------------------------------------------------------------------


def _groups(items: Any) -> Iterator[tuple[str, ...]]:
    """
    Yield groups of strings of which every match of *items* has one.
    """
    run = ""
    for op, value in items:
        kind = str(op)
        if kind == "LITERAL":
            run += chr(value)
            continue
        leads = _leads(kind, value)
        if leads and run:
            yield tuple(run + lead for lead in leads)
        elif run:
            yield (run,)
        run = ""
        match kind:
            case "IN":
                yield tuple(_leads(kind, value))
            case "ASSERT" if value[0] > 0:
                yield from _groups(value[1])
            case "SUBPATTERN":
                yield from _groups(value[3])
            case "ATOMIC_GROUP":
                yield from _groups(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT" if value[0]:
                yield from _groups(value[2])
            case "BRANCH":
                arms = [max(_groups(arm), key=_worth, default=()) for arm in value[1]]
                if all(arms):
                    yield tuple(dict.fromkeys(literal for arm in arms for literal in arm))
            case _:
                continue
    if run:
        yield (run,)


def _leads(kind: str, value: Any) -> list[str]:
    """
    Return what the next character, or characters, can be, where they are few.
    """
    if kind == "IN" and len(value) <= 12 and all(str(op) == "LITERAL" for op, _ in value):
        return [chr(code) for _, code in value]
    if kind == "SUBPATTERN" and len(value[3]) == 1:
        op, inner = value[3][0]
        return _leads(str(op), inner)
    if kind == "BRANCH":
        leads: list[str] = []
        for arm in value[1]:
            lead = ""
            for op, code in arm:
                if str(op) != "LITERAL":
                    break
                lead += chr(code)
            leads.append(lead)
        return leads
    return []


def _worth(literals: tuple[str, ...]) -> float:
    """
    Say how much it tells that one of *literals* is there: long ones more, single letters and blanks nothing.
    """
    if not literals:
        return 0
    shortest = min(literals, key=len)
    rare = all(not (literal.isascii() and literal.isalnum() or literal.isspace()) for literal in literals)
    return len(shortest) + (0.5 if rare else 0) - len(literals) / 400


# --- a rare character near the beginning --------------------------------------------

_DIGITS = frozenset("0123456789")
_RARE = frozenset("@:=/_[(+<-.|{%&#$*~^") | _DIGITS
_CAPITALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_Signs: TypeAlias = frozenset[str]


def _anchor(items: Any, any_case: bool) -> tuple[re.Pattern[str] | None, int]:
    """
    Return the rarest characters of which every match has one near its beginning, as a pattern, and how near.
    """
    choices = [_first(items, _DIGITS, _FAR_ANCHOR), _first(items, _RARE, _LATEST_ANCHOR)]
    if not any_case:
        choices.append(_first(items, _RARE | _CAPITALS, _FAR_ANCHOR))
    for signs, place in choices:
        if signs:
            return re.compile(f"[{re.escape(''.join(sorted(signs)))}]"), place
    return None, 0


def _first(items: Any, wanted: _Signs, latest: int) -> tuple[_Signs, int]:
    """
    Return those of *wanted* of which one must stand at a place up to *latest*, and the last such place; else nothing.
    """
    at = 0
    for op, value in items:
        signs, place, width = _first_in(str(op), value, wanted, latest - at)
        if signs:
            return signs, at + place
        at += width
        if at > latest:
            break
    return frozenset(), 0


def _first_in(kind: str, value: Any, wanted: _Signs, latest: int) -> tuple[_Signs, int, int]:
    """
    As ``_first``, for one item of a pattern; the third value is how wide the item is at most.
    """
    none: _Signs = frozenset()
    match kind:
        case "LITERAL":
            return frozenset({chr(value)} & wanted), 0, 1
        case "IN":
            ranges = [
                (span, span) if str(op) == "LITERAL" else span for op, span in value if str(op) in ("LITERAL", "RANGE")
            ]
            if len(ranges) < len(value) or sum(high - low + 1 for low, high in ranges) > 12:
                return none, 0, 1
            signs = frozenset(chr(code) for low, high in ranges for code in range(low, high + 1))
            return (signs if signs <= wanted else none), 0, 1
        case "SUBPATTERN":
            return *_first(value[3], wanted, latest), _width(value[3])
        case "ATOMIC_GROUP":
            return *_first(value, wanted, latest), _width(value)
        case "BRANCH":
            arms = [_first(arm, wanted, latest) for arm in value[1]]
            width = max(_width(arm) for arm in value[1])
            if not all(arm[0] for arm in arms):
                return none, 0, width
            return none.union(*(arm[0] for arm in arms)), max(arm[1] for arm in arms), width
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = value
            signs, place = _first(inner, wanted, latest) if least else (none, 0)
            return signs, place, min(_width(inner) * int(most), 9999)
        case "AT" | "ASSERT" | "ASSERT_NOT":
            return none, 0, 0
        case _:
            return none, 0, 9999


def _width(items: Any) -> int:
    return min(int(items.getwidth()[1]), 9999)


# --- the beginning ----------------------------------------------------------------

_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s", "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip


def _head(items: list[Any], classes: bool) -> tuple[str, int, int, bool]:
    """
    Write the beginning of *items* as a pattern: its text, its greatest and its least width, whether that is all.

    What is looked at but not taken is left out, so the pattern matches wherever *items* do, and elsewhere too.  It ends
    before a blank once it says something, since a head of one word is decided where the word ends.
    """
    text, width, sure = "", 0, 0
    for op, value in items:
        kind = str(op)
        if width >= _LONGEST_HEAD or (sure >= _TELLING_HEAD and _has_blank(kind, value)):
            return text, width, sure, False
        match kind:
            case "LITERAL":
                text, width, sure = text + re.escape(chr(value)), width + 1, sure + 1
            case "IN" if (written := _written(value, classes)) is not None:
                text, width, sure = text + written, width + 1, sure + 1
            case "SUBPATTERN" if not value[1] and not value[2]:
                inner, most, least, whole = _head(list(value[3]), classes)
                text, width, sure = text + inner, width + most, sure + least
                if not whole:
                    return text, width, sure, False
            case "BRANCH":
                arms = [_head(list(arm), classes) for arm in value[1]]
                whole = all(arm[3] for arm in arms)
                if not whole and not all(arm[2] for arm in arms):
                    return text, width, sure, False
                text = f"{text}(?:{'|'.join(arm[0] for arm in arms)})"
                width, sure = width + max(arm[1] for arm in arms), sure + min(arm[2] for arm in arms)
                if not whole:
                    return text, width, sure, False
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                fewest, times, inner_items = value
                inner, most, least, whole = _head(list(inner_items), classes)
                if whole and width + most * int(times) <= _LONGEST_HEAD:
                    text += f"(?:{inner}){{{fewest},{times}}}"
                    width, sure = width + most * int(times), sure + least * int(fewest)
                    continue
                if fewest and least:
                    repeated = max(1, min(int(fewest), _LONGEST_HEAD // most)) if whole else 1
                    text += f"(?:{inner}){{{repeated}}}"
                    width, sure = width + most * repeated, sure + least * repeated
                return text, width, sure, False
            case "AT" | "ASSERT" | "ASSERT_NOT":
                continue
            case _:
                return text, width, sure, False
    return text, width, sure, True


def _has_blank(kind: str, value: Any) -> bool:
    if kind == "LITERAL":
        return chr(value).isspace()
    if kind == "IN":
        return any(str(op) == "LITERAL" and chr(code).isspace() for op, code in value) or _written(value, True) is None
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return any(_has_blank(str(op), inner) for op, inner in value[2])
    return False


def _written(items: Any, classes: bool) -> str | None:
    out = ""
    for op, value in items:
        match str(op):
            case "NEGATE":
                out += "^"
            case "LITERAL":
                out += re.escape(chr(value))
            case "RANGE":
                out += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
            case "CATEGORY" if classes and str(value) in _CATEGORIES:
                out += _CATEGORIES[str(value)]
            case _:
                return None
    return f"[{out}]"
