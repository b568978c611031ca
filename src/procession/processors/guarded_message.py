"""
What a guard's strategy makes of a whole message, and what is told of what it found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from procession.messages.message import Message
from procession.messages.parts import TextPart
from procession.messages.text.spans import Region, Span
from procession.messages.text.tricks import tricks_in
from procession.processors.context import HookContext
from procession.processors.guarded_strings import NOTICE
from procession.processors.hold_back import Piece, pieces_of
from procession.processors.remembered import put_back, take_out
from procession.processors.strings import Path
from procession.processors.text_places import Change, Place, changed, findings

__all__ = ["guarded_message", "placed", "told", "undone"]


class Replacing(Protocol):
    """
    What is needed of a text guard.
    """

    strategy: str

    def settle(self, ctx: HookContext[Any], pieces: Sequence[Piece], where: Mapping[str, Any]) -> bool:
        """Do what the strategy says about a finding; returns whether the text is to be changed."""
        ...

    def replacement(self, region: Region, text: str) -> str:
        """Return what stands in place of a finding."""
        ...


def guarded_message(
    guard: Replacing,
    ctx: HookContext[Any],
    message: Message,
    texts: Mapping[Place, str],
    look: Callable[[str], list[Region]],
) -> None:
    """
    Do what the strategy says about what *look* finds in the *texts* of *message*, which are named by place.
    """
    changes: list[Change] = []
    dropped = False
    filters = guard.strategy == "filter"
    hidden_keys: set[Path] = set()
    for found in findings(texts, look):
        hidden_keys.update(found.keys())
        where = {"phase": ctx.hook.value, "messageId": message.id, **found.where(hidden_keys)}
        if dropped and not found.in_result:
            continue
        if guard.settle(ctx, pieces_of(found.text, found.regions), where):
            changes += found.changes(guard.replacement, NOTICE if filters else None)
            dropped = dropped or (filters and not found.in_result)
    if changes:
        parts, hidden = changed(message, changes)
        message = message.with_parts(parts)
        put_back(ctx.message_list, message, hidden)
    if dropped:
        rest = [part for part in message.parts if not isinstance(part, TextPart)]
        take_out(ctx.message_list, message, rest if message.role == "assistant" else ())  # its tool calls stay


def placed(metadata: Any, where: Mapping[str, Any]) -> Any:
    """
    Return what a tripwire says, with the place of a finding inside a tool's value, which nobody would look for, and with
    what was undone, if it says anything.

    >>> placed(None, {"path": "items[0].html", "transforms": ["base64"]})
    {'path': 'items[0].html'}
    """
    added = [name for name in ("transforms" if metadata else "", "path") if name in where]
    if not added:
        return metadata
    said: dict[str, Any] = dict(metadata or {})
    return said | {name: where[name] for name in added}


def undone(pieces: Sequence[Piece], *, folds: bool) -> list[str]:
    """
    Return the names of the tricks behind which the findings in *pieces* were hidden; with *folds* also those that are
    undone for every rule.
    """
    names: dict[str, None] = {}
    for piece in pieces:
        for span in piece.region.members if piece.region is not None else ():
            names |= dict.fromkeys(span.transforms)
            if folds:
                names |= dict.fromkeys(tricks_in(piece.text[span.start - piece.start : span.end - piece.start]))
    return list(names)


def told(span: Span, text: str, *, folds: bool, allowed: Collection[str]) -> Span:
    """
    Return a finding in *text* with what was undone to see it, and whether it is among what is *allowed*.
    """
    text = text[span.start : span.end]
    if not span.rejected and text.casefold() in allowed:
        span = span.replace(rejected="allowed")
    tricks = tricks_in(text) if folds else ()
    return span.replace(transforms=tuple(dict.fromkeys((*span.transforms, *tricks)))) if tricks else span
