"""
Pieces: a prompt on the wire, converted entry by entry and kept from one call of a run to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from procession.messages.value import Value
from procession.models.loose import as_list, as_mapping

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
    # A list is the caller's, who may change it.
    memo.kept[key] = (tuple(messages) if isinstance(messages, list) else messages, made)
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
        if before is not now and not _is_same(before, now):
            break
        count += 1
    return count


def _is_same(before: Any, now: Any) -> bool:
    """
    Tell whether both are written alike: 1, 1.0 and ``True`` are equal, and so are mappings in another order.
    """
    if before is now:
        return True
    if type(before) is not type(now):
        return False
    if isinstance(before, Value):
        return all(_is_same(getattr(before, field), getattr(now, field)) for field in type(before).__fields__)
    if isinstance(before, Mapping):
        return _is_same([*as_mapping(before).items()], [*as_mapping(now).items()])
    if isinstance(before, (list, tuple)):
        entries, others = as_list(before), as_list(now)
        return len(entries) == len(others) and all(map(_is_same, entries, others))
    return bool(before == now)
