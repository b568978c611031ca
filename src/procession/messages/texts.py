"""
Texts: every text inside a message, a part or a value, to read and to change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from procession.messages.parts import Parts
from procession.messages.shapes import is_dict, is_items
from procession.messages.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["map_texts", "texts_in"]

_NAMES = frozenset({"id", "media_type", "source_type", "state", "tool_call_id", "tool_name", "type"})
"""Fields that name things: never read or changed as texts."""


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """
    Return *value* with every text inside it changed; the same object where no text changed.
    """
    if isinstance(value, str):
        made = change(value)
        return value if made == value else made
    if is_dict(value):
        pairs = {key: map_texts(one, change) for key, one in value.items()}
        return pairs if any(pairs[key] is not value[key] for key in pairs) else value
    if is_items(value):
        items = [map_texts(one, change) for one in value]
        if all(a is b for a, b in zip(items, value, strict=True)):
            return value
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, Parts):
        flat = [map_texts(part, change) for part in value]
        return value if all(a is b for a, b in zip(flat, value, strict=True)) else Parts(flat)
    if isinstance(value, Value):
        changes: dict[str, Any] = {}
        for field in type(value).__fields__:
            if field not in _NAMES:
                one = getattr(value, field)
                if (made := map_texts(one, change)) is not one:
                    changes[field] = made
        return value.replace(**changes) if changes else value
    return value


def texts_in(value: Any) -> list[str]:
    """
    Return every text inside *value*, keys of mappings left out.
    """
    found: list[str] = []

    def note(text: str) -> str:
        found.append(text)
        return text

    map_texts(value, note)
    return found
