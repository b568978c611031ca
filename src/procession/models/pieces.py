"""
Pieces: a prompt on the wire, converted entry by entry and kept from one call of a run to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from procession.messages.value import Value

if TYPE_CHECKING:
    from procession.messages.prompt import PromptMessage
    from procession.messages.prompt_memo import PromptMemo

__all__ = ["Piece", "changes_of", "pieces_of"]


class Piece(Value):
    """
    What one entry of a prompt is on the wire.
    """

    entries: tuple[Any, ...] = ()
    """What a provider's request says instead: messages, content blocks or items, as its format wants them."""
    changes: tuple[Mapping[str, Any], ...] = ()
    """What could not be sent as it was, as hooks are told (``ctx.warnings``)."""


def pieces_of(
    messages: Sequence[PromptMessage],
    convert: Callable[[PromptMessage], Piece],
    *,
    memo: PromptMemo | None = None,
    key: str,
) -> Sequence[Piece]:
    """
    Return the piece of each of *messages*.

    With *memo* only what the prompt of the last call did not begin with is converted.  *convert* must depend on its
    argument alone, and *key* name all else that it depends on: the format and the options of the model.

    >>> from procession.messages.parts import TextPart
    >>> from procession.messages.prompt import PromptMessage
    >>> said = [PromptMessage("user", (TextPart("Hello"),))]
    >>> pieces_of(said, lambda message: Piece((message.text,)), key="plain")[0].entries
    ('Hello',)
    """
    if memo is None:
        return [convert(message) for message in messages]
    known: Sequence[PromptMessage]
    pieces: list[Piece]
    known, pieces = memo.kept.get(key, ((), []))
    same = _common(known, messages)
    made = pieces[:same]
    made.extend(convert(message) for message in messages[same:])
    memo.kept[key] = (messages, made)
    return made


def changes_of(pieces: Sequence[Piece]) -> tuple[Mapping[str, Any], ...]:
    """
    Return what *pieces* could not say, each change once.
    """
    changes: list[Mapping[str, Any]] = []
    for piece in pieces:
        changes.extend(change for change in piece.changes if change not in changes)
    return tuple(changes)


def _common(known: Sequence[PromptMessage], messages: Sequence[PromptMessage]) -> int:
    """
    Count the messages that both begin with.
    """
    count = 0
    for before, now in zip(known, messages, strict=False):
        if before is not now and before != now:
            break
        count += 1
    return count
