"""
Merging: what two have made of one text, or of one value, at the same time.

Both began with the same *base*.  What only one of them has changed is as that one left it.  Texts are merged line by line:
where both have changed the same lines, what each has put there is kept.  So nothing is lost that either has added, and
what one has deleted stays deleted, unless the other one has changed it.

Lines are told apart as in a patience diff: those that occur once on both sides are found first.  It costs n log n, and
not n², whatever somebody has written.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from procession.messages.shapes import is_dict, is_items
from procession.messages.value import Value

__all__ = ["MergedValue", "merge_texts", "merge_values"]

_Lines = Sequence[str]
_MISSING: Any = object()


def merge_texts(base: str, one: str, other: str) -> str:
    """
    Return what *one* and *other* have made of *base*, line by line; the same whichever of them comes first.

    Where both have changed the same lines, what both have put there is kept, in the order of the alphabet, and what both
    have put there alike once.

    >>> print(merge_texts("- Name:\\n- Likes:", "- Name: Bob\\n- Likes:", "- Name:\\n- Likes: tea"))
    - Name: Bob
    - Likes: tea
    >>> print(merge_texts("- Likes:", "- Likes: tea", "- Likes: jam"))
    - Likes: jam
    - Likes: tea
    """
    merged = _merge_lines(_lines(base), _lines(one), _lines(other))
    return "\n".join(merged) if merged != [""] else "\n"  # one empty line, alone, would be no text


class MergedValue(Value):
    """
    A value that was merged.
    """

    value: Any
    overwritten: int = 0
    """How many fields both have changed to something that cannot be kept beside the other; the later one's stand."""


def merge_values(base: Any, earlier: Any, later: Any) -> MergedValue:
    """
    Return what *earlier* and *later* have made of *base*, values as JSON has them.

    Objects are merged field by field, lists item by item as texts are line by line.  A field that one has deleted stays
    deleted unless the other one has changed it.  Of anything else that both have changed the later one's stands.

    >>> merge_values({"likes": ["tea"]}, {"likes": ["tea", "jam"]}, {"likes": ["tea"], "name": "Bob"}).value
    {'likes': ['tea', 'jam'], 'name': 'Bob'}
    """
    value, overwritten = _merge(base, earlier, later)
    return MergedValue(value, overwritten)


def _merge(base: Any, earlier: Any, later: Any) -> tuple[Any, int]:
    if _same(later, base) or _same(earlier, later):
        return earlier, 0
    if _same(earlier, base) or earlier is _MISSING:
        return later, 0
    if later is _MISSING:
        return earlier, 0
    if is_dict(earlier) and is_dict(later):
        return _merge_fields(base if is_dict(base) else {}, earlier, later)
    if is_items(earlier) and is_items(later):
        known: dict[str, Any] = {}
        keys = [_keys(each, known) for each in (base if is_items(base) else (), earlier, later)]
        return [known[key] for key in _merge_lines(*keys)], 0
    return later, 1


def _merge_fields(
    base: Mapping[str, Any], earlier: Mapping[str, Any], later: Mapping[str, Any]
) -> tuple[dict[str, Any], int]:
    made: dict[str, Any] = {}
    overwritten = 0
    for name in {**earlier, **later}:
        sides = (each.get(name, _MISSING) for each in (base, earlier, later))
        value, lost = _merge(*sides)
        overwritten += lost
        if value is not _MISSING:
            made[name] = value
    return made, overwritten


def _same(one: Any, other: Any) -> bool:
    """
    Whether two values are the same as JSON: ``True`` is not 1.
    """
    if one is _MISSING or other is _MISSING:
        return one is other
    return _key(one) == _key(other)


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _keys(values: Sequence[Any], known: dict[str, Any]) -> list[str]:
    keys = [_key(value) for value in values]
    known.update(zip(keys, values, strict=True))
    return keys


# -- lines


class _Change(Value):
    """
    The lines *start* to *end* of the base, and what one side has in their place.
    """

    start: int
    end: int
    lines: _Lines

    def meets(self, other: _Change) -> bool:
        """
        Whether both concern the same lines of the base; what is put between two lines concerns both.
        """
        if self.start == self.end or other.start == other.end:
            return self.start <= other.end and other.start <= self.end
        return self.start < other.end and other.start < self.end


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _merge_lines(base: _Lines, one: _Lines, other: _Lines) -> list[str]:
    merged: list[str] = []
    at = 0
    for change in _joined(_changes(base, one), _changes(base, other)):
        merged += base[at : change.start]
        merged += change.lines
        at = change.end
    merged += base[at:]
    return merged


def _joined(one: Sequence[_Change], other: Sequence[_Change]) -> Iterator[_Change]:
    """
    Yield the changes of both sides in the order of the base, those that meet as one.
    """
    waiting = sorted([*((each, 0) for each in one), *((each, 1) for each in other)], key=_place)
    group: list[tuple[_Change, int]] = []
    for each in waiting:
        if group and not any(each[0].meets(known) for known, _ in reversed(group)):
            yield _together(group)
            group = []
        group.append(each)
    if group:
        yield _together(group)


def _place(each: tuple[_Change, int]) -> tuple[int, int, _Lines]:
    change = each[0]
    return change.start, change.end, change.lines


def _together(group: Sequence[tuple[_Change, int]]) -> _Change:
    """
    Return the changes of a group as one: what the side that comes first has put there, and then the other one.
    """
    first = group[0][1]
    sides: tuple[list[str], list[str]] = [], []
    for change, side in group:
        sides[side != first].extend(change.lines)
    return _Change(group[0][0].start, max(change.end for change, _ in group), _both(*sides))


def _both(first: _Lines, second: _Lines) -> list[str]:
    """
    Return the lines of both, those that they have in common once.
    """
    made: list[str] = []
    at = 0
    for change in _changes(first, second):
        made += first[at : change.end]
        made += change.lines
        at = change.end
    made += first[at:]
    return made


def _changes(base: _Lines, made: _Lines) -> list[_Change]:
    """
    Return what has to be changed in *base* to get *made*, in order; between two changes a line stays.
    """
    changes: list[_Change] = []
    start = at = 0
    for place, there in [*_kept(base, made), (len(base), len(made))]:
        if place > start or there > at:
            changes.append(_Change(start, place, made[at:there]))
        start, at = place + 1, there + 1
    return changes


def _kept(base: _Lines, made: _Lines) -> list[tuple[int, int]]:
    """
    Return where the lines are that stay: in the base, and in what was made of it.
    """
    kept: list[tuple[int, int]] = []
    waiting = [(0, len(base), 0, len(made))]
    while waiting:
        low, high, there, end = waiting.pop()
        while low < high and there < end and base[low] == made[there]:
            kept.append((low, there))
            low, there = low + 1, there + 1
        while low < high and there < end and base[high - 1] == made[end - 1]:
            high, end = high - 1, end - 1
            kept.append((high, end))
        anchors = _anchors(base, low, high, made, there, end)
        if anchors:  # the next round takes each of them as the beginning of its part
            for (place, at), (next_place, next_at) in pairwise([(low, there), *anchors, (high, end)]):
                waiting.append((place, next_place, at, next_at))
    return sorted(kept)


def _anchors(base: _Lines, low: int, high: int, made: _Lines, there: int, end: int) -> list[tuple[int, int]]:
    """
    Return where the lines are that occur once in both parts, as many as stand in the same order.
    """
    counts = Counter(made[there:end])
    at = {line: place for place, line in enumerate(made[there:end], there) if counts[line] == 1}
    once = Counter(base[low:high])
    pairs = [(place, at[base[place]]) for place in range(low, high) if base[place] in at and once[base[place]] == 1]
    return _longest_rise(pairs)


def _longest_rise(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """
    Return the most of *pairs*, which are in the order of their first number, that are in that of their second one too.
    """
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, at) in enumerate(pairs):
        length = bisect_left(ends, at)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [at]
        last[length : length + 1] = [index]
    found: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]
