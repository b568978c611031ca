"""
Comparison of what a trace expects with what a run gave, as a list of differences that people can read.

What is expected is JSON in which a rule may have put *marks*: objects with one key that starts with ``$``.

==========================  =====================================================================
``{"$any": true}``          not compared; may be missing
``{"$either": [a, b]}``     one of these
``{"$error": {...}}``       an error: its ``status``, and ``contains``, texts that its messages hold
``{"$text": [...]}``        a text with holes: literals, and objects ``{"contains": [...]}``
``{"$more": true}``         in a list: anything else may follow, in any place
``{"$optional": entry}``    in a list: this entry or nothing
``{"$unordered": [...]}``   in a list: these entries, in any order
==========================  =====================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from tests.conformance.scenario import Json, is_list, is_object

__all__ = ["ANY", "Difference", "compare", "either", "mark_of"]

ANY: Json = {"$any": True}

MISSING: Any = object()
JSON = json.JSONDecoder()


def either(*values: Json) -> Json:
    """
    Return a mark for one of *values*, or the only one.
    """
    distinct: list[Json] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
    return distinct[0] if len(distinct) == 1 else {"$either": distinct}


def mark_of(value: Json) -> str | None:
    """
    Return the name of a mark, or ``None`` for plain data.
    """
    if is_object(value):
        marked: dict[str, Json] = value
        if len(marked) == 1:
            name = next(iter(marked))
            return name if name.startswith("$") else None
    return None


@dataclass(frozen=True, slots=True)
class Difference:
    """
    One place where a run is not as expected.
    """

    path: str
    expected: Json = MISSING
    got: Json = MISSING
    note: str = ""

    def __str__(self) -> str:
        lines = [self.path + (f": {self.note}" if self.note else "")]
        if self.expected is not MISSING:
            lines.append(f"    expected {_short(self.expected)}")
        if self.got is not MISSING:
            lines.append(f"    got      {_short(self.got)}")
        return "\n".join(lines)


def _short(value: Json, longest: int = 700) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else text[:longest] + " ..."


def compare(expected: Json, got: Json, path: str = "") -> list[Difference]:
    """
    Return where *got* is not as *expected*.
    """
    mark = mark_of(expected)
    if mark is not None:
        return _compare_mark(mark, expected[mark], got, path)
    if is_object(expected) and is_object(got):
        return _compare_objects(expected, got, path)
    if is_list(expected) and is_list(got):
        return _compare_lists(expected, got, path)
    if expected == got and isinstance(expected, bool) == isinstance(got, bool):
        return []
    if isinstance(expected, str) and isinstance(got, str) and _sorted_keys(expected) == _sorted_keys(got):
        return []
    return [Difference(path, expected, got)]


def _sorted_keys(text: str) -> str:
    """
    Return a text of the notation with the keys of the JSON objects in it in order, which mean nothing in theirs.
    """
    pieces: list[str] = []
    at = 0
    while (start := text.find("{", at)) >= 0:
        try:
            value, end = JSON.raw_decode(text, start)
        except ValueError:
            end, piece = start + 1, "{"
        else:
            piece = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        pieces += [text[at:start], piece]
        at = end
    return "".join([*pieces, text[at:]])


def _compare_mark(mark: str, value: Json, got: Json, path: str) -> list[Difference]:
    match mark:
        case "$any":
            return []
        case "$either":
            tried = [compare(each, got, path) for each in value]
            return min(tried, key=len) if tried else [Difference(path, {"$either": value}, got)]
        case "$error":
            return _compare_error(value, got, path)
        case "$text":
            return [] if _fits(value, got) else [Difference(path, {"$text": value}, got)]
        case "$optional":
            return [] if got is MISSING else compare(value, got, path)
        case _:
            return [Difference(path, {mark: value}, got, "a mark that cannot stand here")]


def _compare_error(wanted: Mapping[str, Json], got: Json, path: str) -> list[Difference]:
    if not is_object(got):
        return [Difference(path, {"$error": wanted}, got, "an error was expected")]
    error: dict[str, Json] = got
    if "status" in wanted and wanted["status"] != error.get("status"):
        return [Difference(f"{path}.status", wanted["status"], error.get("status"))]
    said = " / ".join([str(error.get("message", "")), *map(str, error.get("chain") or ())])
    return [
        Difference(path, text, said, "the text of the scenario is not in the error")
        for text in wanted.get("contains") or ()
        if text not in said
    ]


def _fits(pieces: Sequence[Json], got: Json) -> bool:
    if not isinstance(got, str):
        return False
    pattern = "".join(re.escape(piece) if isinstance(piece, str) else "(.*?)" for piece in pieces)
    found = re.fullmatch(pattern, got, re.DOTALL)
    if found is None:
        return False
    holes: list[Mapping[str, Any]] = [piece for piece in pieces if is_object(piece)]
    return all(
        text in filled
        for hole, filled in zip(holes, found.groups(), strict=True)
        for text in hole.get("contains") or ()
    )


def _compare_objects(expected: Mapping[str, Json], got: Mapping[str, Json], path: str) -> list[Difference]:
    found: list[Difference] = []
    for key in expected:
        where = f"{path}.{key}" if path else key
        if key in got:
            found += compare(expected[key], got[key], where)
        elif mark_of(expected[key]) not in ("$any", "$optional") and not _allows_absence(expected[key]):
            found.append(Difference(where, expected[key], note="missing"))
    for key in got:
        if key not in expected:
            found.append(Difference(f"{path}.{key}" if path else key, got=got[key], note="unexpected"))
    return found


def _allows_absence(value: Json) -> bool:
    return mark_of(value) == "$either" and any(mark_of(each) == "$any" for each in value["$either"])


def _compare_lists(expected: Sequence[Json], got: Sequence[Json], path: str) -> list[Difference]:
    if any(mark_of(each) == "$more" for each in expected):
        return _compare_bag([each for each in expected if mark_of(each) != "$more"], got, path, more=True)
    if _align(expected, got):
        return []
    return _explain(expected, got, path)


def _compare_bag(expected: Sequence[Json], got: Sequence[Json], path: str, *, more: bool) -> list[Difference]:
    left = list(got)
    found: list[Difference] = []
    for index, each in enumerate(expected):
        at = next((place for place, value in enumerate(left) if not compare(each, value)), None)
        if at is not None:
            del left[at]
        elif mark_of(each) != "$optional":
            found.append(Difference(f"{path}[{index}]", each, note="missing"))
    if not more:
        found += [Difference(path, got=value, note="unexpected") for value in left]
    return found


def _align(expected: Sequence[Json], got: Sequence[Json]) -> bool:
    """
    Whether the entries fit, in order; an optional one may be left out, unordered ones may be swapped.
    """
    if not expected:
        return not got
    first, rest = expected[0], expected[1:]
    mark = mark_of(first)
    if mark == "$optional":
        return (bool(got) and not compare(first, got[0]) and _align(rest, got[1:])) or _align(rest, got)
    if mark == "$unordered":
        size = len(first[mark])
        return not _compare_bag(first[mark], got[:size], "", more=False) and _align(rest, got[size:])
    if mark is None and rest and all(mark_of(each) is None for each in rest):  # the usual case, without recursion
        if len(expected) != len(got):
            return False
        return not any(compare(one, other) for one, other in zip(expected, got, strict=True))
    return bool(got) and not compare(first, got[0]) and _align(rest, got[1:])


def _explain(expected: Sequence[Json], got: Sequence[Json], path: str) -> list[Difference]:
    """
    Say which entries are missing, unexpected or different.
    """
    if not any(isinstance(each, (dict, list, str)) for each in [*expected, *got]):
        return [Difference(path, list(expected), list(got))]  # usage: three numbers
    flat: list[Json] = []
    for each in expected:
        flat += each["$unordered"] if mark_of(each) == "$unordered" else [each]
    left, right = [_Entry(each) for each in flat], [_Entry(each) for each in got]
    found: list[Difference] = []
    for tag, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        pairs = min(b - a, d - c)
        for offset in range(pairs):
            found += compare(flat[a + offset], got[c + offset], f"{path}[{a + offset}]")
        found += [
            Difference(f"{path}[{index}]", flat[index], note="missing")
            for index in range(a + pairs, b)
            if mark_of(flat[index]) != "$optional"
        ]
        found += [Difference(f"{path}[{index}]", got=got[index], note="unexpected") for index in range(c + pairs, d)]
    return found or [Difference(path, list(expected), list(got), "in another order")]


class _Entry:
    """
    One entry of a list, equal to what fits it: for ``SequenceMatcher``.
    """

    __slots__ = ("value",)

    def __init__(self, value: Json) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Entry) and (
            not compare(self.value, other.value) or not compare(other.value, self.value)
        )

    def __hash__(self) -> int:
        return 0  # what fits a mark has no hash of its own
