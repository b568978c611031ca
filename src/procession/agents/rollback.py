"""
Taking an attempt back out of an answer, without bringing back what processors have hidden of it meanwhile (D15, D26).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from procession.messages.edits import Edit, Insert, Take, TextEdit, apply_edits, diff_message
from procession.messages.message import Message
from procession.messages.parts import Part, StepStartPart, TextPart
from procession.messages.patch import value_at
from procession.messages.splices import HIDDEN

__all__ = ["ends_on_border", "without_attempt"]

_NOTES = ("metadata", "provider_metadata")


def ends_on_border(answer: Message) -> bool:
    """
    Whether the next step of *answer* needs no border in front of it.
    """
    parts = answer.parts
    segment = parts.segment or parts.flat
    return not segment or isinstance(segment[-1], StepStartPart)


def without_attempt(before: Message | None, said: Sequence[Part], now: Message | None) -> Message | None:
    """
    Return the answer as it was *before* an attempt that *said* something, with what has been hidden of it up to *now*.

    Whatever was changed in or removed from the older parts stays so, declared as a redaction or not; what was added goes
    with the attempt.  ``None`` where nothing is left.
    """
    if before is None or now is None or _same_so_far(before, now):
        return before if now is not None else None
    border = (StepStartPart(),) if said and not ends_on_border(before) else ()
    whole = before.with_parts((*before.parts, *border, *said))
    edits = diff_message(whole, now)
    kept = apply_edits(before, _of_older_parts(before, whole, edits))
    return kept if kept.parts else None


def _same_so_far(before: Message, now: Message) -> bool:
    """
    Whether *now* only goes on where *before* stopped, told by identity: in a long answer nothing need be compared.
    """
    if now.metadata is not before.metadata or now.provider_metadata is not before.provider_metadata:
        return False
    older = before.parts
    if older.before is not None and len(older.segment) == 1 and isinstance(older.segment[0], StepStartPart):
        older = older.before  # a border moves into the segment of the step that follows it
    link = now.parts
    while link.before is not None and link.length > older.length:
        link = link.before
    return link is older


def _of_older_parts(before: Message, whole: Message, edits: Sequence[Edit]) -> Iterator[Edit]:
    """
    Yield what *edits* of the *whole* answer hide of the part of it that was there *before*.
    """
    older = before.parts.length

    def is_older(key: int | str) -> bool:
        return key < older if isinstance(key, int) else key in _NOTES

    # Text of the attempt that is not in its place may have been put into an older part: ``with_text`` does so.
    moved = any(
        isinstance(edit, Take) and len(edit.path) == 1 and isinstance(value_at(whole, edit.path), TextPart)
        for edit in edits
        if not isinstance(edit, Insert) and not is_older(edit.path[0])
    )
    for edit in edits:
        if isinstance(edit, Insert) or not is_older(edit.path[0]):
            continue
        if isinstance(edit, TextEdit):
            splices = [splice for splice in edit.splices if splice.end > splice.start]
            if moved:
                splices = [splice.replace(text=splice.text and HIDDEN) for splice in splices]
            if splices:
                yield TextEdit(edit.path, tuple(splices))
        elif isinstance(edit, Take) or value_at(before, edit.path) is not None:
            yield edit
