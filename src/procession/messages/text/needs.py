"""
Needs: what every match of a regular expression has, read from the parsed pattern.

Most text has nothing for most rules.  Letters or a digit that every match must have, and what it begins with, are
found in a text many times faster than the pattern is tried at every place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from procession.messages.value import Value

__all__ = ["NOTHING", "Needs", "needs_of"]


class Needs(Value):
    """
    What every match of a pattern has.
    """

    head: re.Pattern[str] | None
    """What it begins with, where that says something."""
    head_width: int
    literals: tuple[tuple[str, ...], ...]
    """Groups of strings: it has one of each group."""
    any_case: bool
    """Whether these may be in any case; they are in lower case then."""
    anchor: re.Pattern[str] | None
    """A digit or a rare sign that it has near its beginning."""
    anchor_at: int
    """The last place, from its beginning, at which the first of these stands."""


NOTHING = Needs(None, 0, (), False, None, 0)
_LONGEST_HEAD = 24
_LONGEST_TEXT = 6000
_LATEST_ANCHOR = 66
_FAR_ANCHOR = 24
_DIGIT = re.compile("[0-9]")


def needs_of(items: Any, flags: int) -> Needs:
    """
    Return what every match of the parsed pattern *items* has.
    """
    text, width, _ = _head(list(items))
    head = None
    if width and len(text) <= _LONGEST_TEXT:
        head = re.compile(text, flags & (re.IGNORECASE | re.ASCII | re.DOTALL))
    any_case = bool(flags & re.IGNORECASE)
    groups = [group for group in _groups(items) if _worth(group) > 1]
    if any_case:
        groups = [tuple(literal.lower() for literal in group) for group in groups]
    anchor, anchor_at = _anchor(items)
    return Needs(
        head,
        width if head is not None else 0,
        tuple(sorted(groups, key=_worth, reverse=True)[:3]),
        any_case,
        anchor,
        anchor_at,
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


# --- a digit or a rare sign near the beginning -------------------------------------


def _anchor(items: Any) -> tuple[re.Pattern[str] | None, int]:
    """
    Return the nearest character that tells: a digit, or a sign that texts have few of.
    """
    _, digit = _first(items, "0123456789")
    if digit is not None and digit <= _FAR_ANCHOR:
        return _DIGIT, digit
    for sign in "@:/_[(+":
        _, place = _first(items, sign)
        if place is not None and place <= _LATEST_ANCHOR:
            return re.compile(re.escape(sign)), place
    return None, 0


def _first(items: Any, signs: str) -> tuple[int, int | None]:
    """
    Return how wide *items* are at most, as far as that matters, and the latest place of the first of *signs*.
    """
    at = 0
    for op, value in items:
        width, place = _first_in(str(op), value, signs)
        if place is not None:
            return at + width, at + place
        at += width
        if at > _LATEST_ANCHOR:
            break
    return at, None


def _first_in(kind: str, value: Any, signs: str) -> tuple[int, int | None]:
    match kind:
        case "LITERAL":
            return 1, 0 if chr(value) in signs else None
        case "IN":
            ranges = [(span, span) if str(op) == "LITERAL" else span for op, span in value if str(op) in ("LITERAL", "RANGE")]
            whole = len(ranges) == len(value) and all(high - low < 10 for low, high in ranges)
            inside = whole and all(chr(code) in signs for low, high in ranges for code in range(low, high + 1))
            return 1, 0 if inside else None
        case "SUBPATTERN":
            return _first(value[3], signs)
        case "ATOMIC_GROUP":
            return _first(value, signs)
        case "BRANCH":
            arms = [_first(arm, signs) for arm in value[1]]
            places = [arm[1] for arm in arms]
            latest = max((place for place in places if place is not None), default=0)
            return max(arm[0] for arm in arms), latest if all(place is not None for place in places) else None
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = value
            width, place = _first(inner, signs)
            return min(width * int(most), 999), place if least else None
        case "AT" | "ASSERT" | "ASSERT_NOT":
            return 0, None
        case _:
            return 999, None


# --- the beginning ----------------------------------------------------------------

_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s", "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip


def _head(items: list[Any]) -> tuple[str, int, bool]:
    """
    Write the beginning of *items* as a pattern: its text, its width, and whether that is all of them.

    What is looked at but not taken is left out, so the pattern matches wherever *items* do, and elsewhere too.
    """
    text, width = "", 0
    for op, value in items:
        if width >= _LONGEST_HEAD:
            return text, width, False
        match str(op):
            case "LITERAL":
                text, width = text + re.escape(chr(value)), width + 1
            case "IN" if (written := _written(value)) is not None:
                text, width = text + written, width + 1
            case "SUBPATTERN" if not value[1] and not value[2]:
                inner, added, whole = _head(list(value[3]))
                text, width = text + inner, width + added
                if not whole:
                    return text, width, False
            case "BRANCH":
                arms = [_head(list(arm)) for arm in value[1]]
                if not all(arm[1] for arm in arms):
                    return text, width, False
                text, width = f"{text}(?:{'|'.join(arm[0] for arm in arms)})", width + max(arm[1] for arm in arms)
                if not all(arm[2] for arm in arms):
                    return text, width, False
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner_items = value
                inner, added, whole = _head(list(inner_items))
                if whole and added * int(most) <= _LONGEST_HEAD:
                    text, width = f"{text}(?:{inner}){{{least},{most}}}", width + added * int(most)
                    continue
                if least and added:
                    times = max(1, min(int(least), _LONGEST_HEAD // added)) if whole else 1
                    text, width = f"{text}(?:{inner}){{{times}}}", width + added * times
                return text, width, False
            case "AT" | "ASSERT" | "ASSERT_NOT":
                continue
            case _:
                return text, width, False
    return text, width, True


def _written(items: Any) -> str | None:
    out = ""
    for op, value in items:
        match str(op):
            case "NEGATE":
                out += "^"
            case "LITERAL":
                out += re.escape(chr(value))
            case "RANGE":
                out += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
            case "CATEGORY" if str(value) in _CATEGORIES:
                out += _CATEGORIES[str(value)]
            case _:
                return None
    return f"[{out}]"
