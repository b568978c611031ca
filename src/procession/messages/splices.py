"""
Splices: changes of a text, as small as they can be said, and how those of several branches are put together.

A splice replaces the characters from ``start`` to ``end`` of the *old* text, so splices of one text do not move
each other.  What a guard hides is a splice of kind ``redact``, which no other kind can undo.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from procession.messages.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "Dispute",
    "EditKind",
    "Splice",
    "Spliced",
    "apply_splices",
    "common_prefix",
    "diff_text",
    "hidden_text",
    "merge_splices",
]

EditKind: TypeAlias = Literal["redact", "rewrite", "annotate"]
"""What a change is for: ``redact`` hides, ``rewrite`` says otherwise, ``annotate`` adds what no reader is shown."""

_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")
_WORDS = re.compile(r"\w{4,}")
_FINEST = 600
"""Middles of up to this many tokens are compared token by token; longer ones count as one change."""
_TELLING = 3
"""A hidden text of fewer characters occurs by chance and is not looked for in other texts."""
HIDDEN = "[REDACTED]"
"""Stands for a hidden text where every replacement at hand would show some of it."""


class Splice(Value):
    """
    *text* in place of the characters from *start* to *end* of the old text.
    """

    start: int
    end: int
    text: str
    kind: EditKind = "rewrite"


class Spliced(NamedTuple):
    """
    A splice and the branch that made it: its place in the order of declaration, and its name.
    """

    order: int
    branch: str
    splice: Splice


class Dispute(Exception):
    """
    Two branches rewrote one stretch differently.  Never leaves this room: the caller names the message.
    """

    def __init__(self, first: str, second: str, start: int, end: int) -> None:
        super().__init__(first, second)
        self.branches = (first, second)
        self.start = start
        self.end = end


def apply_splices(text: str, splices: Iterable[Splice]) -> str:
    """
    Return *text* with *splices* applied; those at one place keep their order.

    >>> apply_splices("call 555 now", [Splice(5, 8, "[PHONE]"), Splice(12, 12, "!")])
    'call [PHONE] now!'
    """
    pieces: list[str] = []
    at = 0
    for splice in sorted(splices, key=lambda one: (one.start, one.end)):
        pieces += (text[at : splice.start], splice.text)
        at = splice.end
    return "".join((*pieces, text[at:]))


def diff_text(old: str, new: str, kind: EditKind = "rewrite") -> list[Splice]:
    """
    Return the splices that turn *old* into *new*, found word by word where the changed middle is short.

    >>> diff_text("call me now", "call us now")
    [Splice(start=5, end=7, text='us')]
    """
    if old == new:
        return []
    start = common_prefix(old, new)
    tail = common_prefix(old[start:][::-1], new[start:][::-1])
    left, right = old[start : len(old) - tail], new[start : len(new) - tail]
    if not left or not right:
        return [Splice(start, start + len(left), right, kind)]
    before, after = _TOKENS.findall(left), _TOKENS.findall(right)
    if len(before) * len(after) <= 1 or len(before) > _FINEST or len(after) > _FINEST:
        return [Splice(start, start + len(left), right, kind)]
    places = [start]
    for token in before:
        places.append(places[-1] + len(token))
    return [
        Splice(places[i1], places[i2], "".join(after[j1:j2]), kind)
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def common_prefix(first: str, second: str) -> int:
    """
    Count the characters with which both begin, by halving: comparing slices is far faster than characters.
    """
    low, high = 0, min(len(first), len(second))
    if first[:high] == second[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
    return low


def hidden_text(old: str, splice: Splice) -> tuple[int, int]:
    """
    Return from where to where *splice* hides *old*: a mask that leaves the last four digits hides the others only.

    >>> hidden_text("4111111111111111", Splice(0, 16, "************1111", "redact"))
    (0, 12)
    """
    covered = old[splice.start : splice.end]
    head = common_prefix(covered, splice.text)
    tail = common_prefix(covered[head:][::-1], splice.text[head:][::-1])
    return splice.start + head, splice.end - tail


def merge_splices(
    old: str, branches: Sequence[Spliced], *, first_wins: bool = False
) -> tuple[list[Splice], list[Spliced]]:
    """
    Put the splices that branches made in *old* together; returns those that hold and those that were dropped.

    Splices that do not overlap all hold, and equal ones are one.  Two different insertions of two branches at one place
    are two rewrites of it.  Redactions that overlap are united: the replacement of the outer one stands, else of the first; a
    redaction takes over whatever rewrite it overlaps.  Of nested rewrites the outer one holds.

    Raises ``Dispute`` where two rewrites of one stretch differ, unless *first_wins*.
    """
    held: list[Splice] = []
    dropped: list[Spliced] = []
    for group in _overlapping(branches):
        if len(group) == 1:
            held.append(group[0].splice)
            continue
        redactions = [one for one in group if one.splice.kind == "redact"]
        if redactions:
            winner = _united(old, group, redactions)
            held.append(winner)
            dropped += [one for one in group if one.splice.kind != "redact" and one.splice.text != winner.text]
        elif first_wins:
            kept = _first_come(group)
            held += [one.splice for one in kept]
            dropped += [one for one in group if one not in kept]
        else:
            outer = _outermost(group)
            held.append(outer)
            dropped += [one for one in group if one.splice != outer]
    return held, dropped


def _overlapping(branches: Sequence[Spliced]) -> list[list[Spliced]]:
    """
    Group what overlaps.  An insertion overlaps only a stretch that it stands inside of, and another branch's insertion.
    """
    groups: list[list[Spliced]] = []
    reach = -1
    insertions: dict[int, list[Spliced]] = {}
    for one in sorted(branches, key=lambda one: (one.splice.start, one.splice.end, one.order)):
        splice = one.splice
        if splice.start < reach:
            groups[-1].append(one)
            reach = max(reach, splice.end)
        elif splice.start == splice.end:
            same = insertions.get(splice.start)
            if same is not None and all(known.order != one.order for known in same):
                same.append(one)
            else:
                group = insertions[splice.start] = [one]
                groups.append(group)
        else:
            groups.append([one])
            reach = splice.end
    return groups


def _united(old: str, group: Sequence[Spliced], redactions: Sequence[Spliced]) -> Splice:
    """
    Hide all that anyone in *group* touched, behind a replacement that shows nothing of what a redaction hid.
    """
    spans = [(one.splice.start, one.splice.end) for one in group]
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
    secrets: list[tuple[Spliced, list[str]]] = []
    for one in redactions:
        first, last = hidden_text(old, one.splice)
        if last - first >= _TELLING:
            secrets.append((one, [old[first:last], *_WORDS.findall(old[first:last])]))

    def rank(one: Spliced) -> tuple[bool, int]:
        return (one.splice.start, one.splice.end) != (start, end), one.order

    for one in sorted(redactions, key=rank):
        first, last = hidden_text(old, one.splice)
        head, tail = first - one.splice.start, one.splice.end - last
        shown = one.splice.text
        # What a mask leaves readable goes too, where another branch hid it.
        others = [hidden_text(old, other.splice) for other in redactions if other is not one]
        if tail and any(a < one.splice.end and b > last for a, b in others):
            shown = shown[: len(shown) - tail]
        if head and any(a < first and b > one.splice.start for a, b in others):
            shown = shown[head:]
        if not any(secret in shown for other, pieces in secrets if other is not one for secret in pieces):
            return Splice(start, end, shown, "redact")
    return Splice(start, end, HIDDEN, "redact")


def _outermost(group: Sequence[Spliced]) -> Splice:
    """
    Return the rewrite in which all others of *group* lie, or the union where all of them only delete.
    """
    start = min(one.splice.start for one in group)
    end = max(one.splice.end for one in group)
    if not any(one.splice.text for one in group):
        return Splice(start, end, "", group[0].splice.kind)
    whole = [one for one in group if one.splice.start == start and one.splice.end == end]
    for other in whole[1:]:
        if other.splice.text != whole[0].splice.text:
            raise Dispute(whole[0].branch, other.branch, start, end)
    if not whole:
        first = min(group, key=lambda one: one.order)
        second = next((one for one in group if one.order != first.order), first)
        raise Dispute(first.branch, second.branch, start, end)
    return whole[0].splice


def _first_come(group: Sequence[Spliced]) -> list[Spliced]:
    """
    Accept splices branch by branch, each one that overlaps none accepted before.
    """
    kept: list[Spliced] = []
    for one in sorted(group, key=lambda one: one.order):
        if all(other.order == one.order or _apart(one.splice, other.splice) for other in kept):
            kept.append(one)
    return kept


def _apart(one: Splice, other: Splice) -> bool:
    if one.start == one.end == other.start == other.end:
        return False
    return one.end <= other.start or one.start >= other.end
