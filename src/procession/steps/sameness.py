"""
Sameness: whether what was read again is what was kept, type by type and field by field.

``==`` is not enough: ``1 == True == 1.0``, a model may be equal to one of another class, and ``nan`` is not even equal
to itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

from procession.messages.message_list import MessageList
from procession.messages.parts import Parts
from procession.messages.value import Value

__all__ = ["Difference", "difference", "place_of"]

_PLAIN = frozenset((str, int, bool, type(None), bytes))
_SIMPLE = _PLAIN | {float}
_MISSING = object()
_class_of: Callable[[object], Any] = type


class Difference(NamedTuple):
    """
    Where two values differ, and what stands there; ``place`` is written as code would reach it.
    """

    place: str
    kept: Any
    read: Any


def difference(kept: Any, read: Any) -> Difference | None:
    """
    Return the first place in which *read* is not what *kept* is, or ``None``.

    >>> difference({"a": [1, 2]}, {"a": [1, 2.0]})
    Difference(place='.a[1]', kept=2, read=2.0)
    """
    kind = _class_of(kept)
    if kind is not _class_of(read):
        return Difference("", kept, read)
    if kind in _PLAIN:
        return None if kept == read else Difference("", kept, read)
    if kind is dict:
        return _of_mappings(kept, read)
    if kind is list or kind is tuple:
        return _of_sequences(kept, read)
    if kind is float or kind is complex or kind is Decimal:  # the sign of zero, nan, and how many digits
        return None if repr(kept) == repr(read) else Difference("", kept, read)
    if kind is datetime or kind is time:
        return None if _moment(kept) == _moment(read) else Difference("", kept, read)
    if hasattr(kind, "__pydantic_private__"):
        return _of_models(kind, kept, read)
    if issubclass(kind, (set, frozenset)):
        return _of_sets(kept, read)
    if issubclass(kind, (tuple, deque)):
        return _of_sequences(kept, read)
    return _of_objects(kind, kept, read)


def place_of(key: Any) -> str:
    """
    Return how a key is written in a place: ``.name`` where it is a name, else ``['some key']``.
    """
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"


def _inside(place: str, found: Difference) -> Difference:
    return Difference(place + found.place, found.kept, found.read)


def _of_sequences(kept: Sequence[Any], read: Sequence[Any]) -> Difference | None:
    if len(kept) != len(read) or (_class_of(kept) is deque and kept.maxlen != read.maxlen):  # type: ignore[attr-defined]
        return Difference("", kept, read)
    for at, one in enumerate(kept):
        other = read[at]
        kind = _class_of(one)
        if kind in _SIMPLE and kind is _class_of(other) and one == other and (one or kind is not float):
            continue
        found = difference(one, other)
        if found is not None:
            return _inside(f"[{at}]", found)
    return None


def _of_mappings(kept: Mapping[Any, Any], read: Mapping[Any, Any]) -> Difference | None:
    if len(kept) != len(read):
        return Difference("", kept, read)
    for (key, one), (other_key, other) in zip(kept.items(), read.items(), strict=True):
        kind = _class_of(key)
        if (kind is not str or key != other_key) and difference(key, other_key) is not None:
            return Difference("", kept, read)
        kind = _class_of(one)
        if kind in _SIMPLE and kind is _class_of(other) and one == other and (one or kind is not float):
            continue
        found = difference(one, other)
        if found is not None:
            return _inside(place_of(key), found)
    return None


def _of_fields(names: Iterable[str], kept: Any, read: Any) -> Difference | None:
    for name in names:
        found = difference(getattr(kept, name, _MISSING), getattr(read, name, _MISSING))
        if found is not None:
            return _inside(f".{name}", found)
    return None


def _of_sets(kept: Set[Any], read: Set[Any]) -> Difference | None:
    theirs = {one: one for one in read}
    if len(kept) == len(theirs) and all(difference(one, theirs.get(one, _MISSING)) is None for one in kept):
        return None
    return Difference("", kept, read)


def _moment(value: datetime | time) -> tuple[Any, ...]:
    zone = value.tzinfo
    return value.replace(tzinfo=None, fold=0), value.fold, type(zone), repr(zone)


def _of_objects(kind: Any, kept: Any, read: Any) -> Difference | None:
    if kept is read:
        return None
    if issubclass(kind, Mapping):
        if getattr(kept, "default_factory", None) is not getattr(read, "default_factory", None):
            return Difference("", kept, read)
        return _of_mappings(kept, read)
    if issubclass(kind, Value):
        return _of_fields(kind.__fields__, kept, read)
    if hasattr(kind, "__dataclass_fields__"):
        return _of_fields(kind.__dataclass_fields__, kept, read)
    if kind is Parts:
        return _of_sequences(kept, read)
    if kind is MessageList:
        return difference(kept.state(), read.state())
    try:
        return None if kept == read else Difference("", kept, read)
    except Exception:  # some answer with more than yes or no
        return Difference("", kept, read)


def _of_models(kind: Any, kept: Any, read: Any) -> Difference | None:
    ours, theirs = kept.__dict__, read.__dict__
    for name in kind.__pydantic_fields__:
        found = difference(ours.get(name, _MISSING), theirs.get(name, _MISSING))
        if found is not None:
            return _inside(f".{name}", found)
    for beside in ("__pydantic_extra__", "__pydantic_private__"):
        found = difference(getattr(kept, beside, None) or None, getattr(read, beside, None) or None)
        if found is not None:
            return found
    return None
