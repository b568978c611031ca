"""
What a guard's strategy makes of the strings inside a value: of a tool's result, and of what a tool is called with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from procession.messages.chunks import Chunk, ToolCall, ToolInputDelta
from procession.messages.text.spans import Region
from procession.processors.context import HookContext
from procession.processors.contexts import ToolResultContext, notes_of
from procession.processors.hold_back import Piece, pieces_of
from procession.processors.strings import KEY, Path, replace_strings, shown, strings_in

__all__ = ["NOTICE", "Guarding", "call_texts", "guarded_call", "guarded_notes", "guarded_strings"]

NOTICE = "[removed]"
"""What ``filter`` leaves in place of a string inside a value."""


class Guarding(Protocol):
    """
    What is needed of a text guard.
    """

    strategy: str
    passes: bool

    def settle(self, ctx: HookContext[Any], pieces: Sequence[Piece], where: Mapping[str, Any]) -> bool:
        """Do what the strategy says about a finding; returns whether the text is to be changed."""
        ...

    def joined(self, pieces: Iterable[Piece]) -> str:
        """Join pieces, with the replacement of each that holds something."""
        ...

    def note_text(self, state: dict[str, Any], text: str) -> None:
        """Remember that a text has passed."""
        ...


def guarded_strings(
    guard: Guarding,
    ctx: HookContext[Any],
    value: Any,
    look: Callable[[str], list[Region]],
    where: Mapping[str, Any],
    *,
    keys: bool = True,
) -> Any:
    """
    Do what the strategy says about what *look* finds in the strings of *value*, without *keys* in those that are no
    keys, and return the value as it leaves it: the same object where nothing changes.
    """
    found: dict[Path, str] = {}
    hidden: set[Path] = set()
    for path, text in strings_in(value):
        is_key = path[-1:] == (KEY,)
        if is_key and not keys:
            continue
        regions = look(text)
        if not regions:
            continue
        if is_key:  # which comes before what stands under it, and is in the paths of all that
            hidden.add(path[:-1])
        if guard.settle(ctx, pieces_of(text, regions), {**where, "path": shown(path, hidden)}):
            found[path] = NOTICE if guard.strategy == "filter" else guard.joined(pieces_of(text, regions))
    return replace_strings(value, lambda path, text: found.get(path, text)) if found else value


def guarded_notes(
    guard: Guarding, ctx: ToolResultContext, look: Callable[[str], list[Region]], where: Mapping[str, Any]
) -> None:
    """
    Do what the strategy says about what *look* finds in the metadata of a result; those that would change are dropped.
    """
    notes = notes_of(ctx)
    if notes is None or notes.value is None:
        return
    where = {**where, "field": "provider_metadata"}
    if guarded_strings(guard, ctx, notes.value, look, where) is not notes.value:
        notes.drop()


def call_texts(chunk: ToolCall) -> list[str]:
    """
    Return the texts in what a tool is called with; names of arguments are none.
    """
    return [text for path, text in strings_in(chunk.args) if path[-1:] != (KEY,)]


def guarded_call(
    guard: Guarding, ctx: HookContext[Any], chunk: Chunk, look: Callable[[str], list[Region]]
) -> Chunk | None:
    """
    Return a chunk of a tool call as the strategy leaves its arguments: names, types and structure stay.

    The text of arguments that streams before the call goes by only where nothing is to be changed.
    """
    if isinstance(chunk, ToolInputDelta):
        return chunk if guard.passes else None
    if not isinstance(chunk, ToolCall):
        return chunk
    where = {"phase": ctx.hook.value, "toolName": chunk.tool_name, "toolCallId": chunk.tool_call_id}
    made = guarded_strings(guard, ctx, {"args": chunk.args}, look, where, keys=False)["args"]
    call = chunk if made is chunk.args else chunk.replace(args=made)
    for text in call_texts(call):
        guard.note_text(ctx.state, text)
    return call
