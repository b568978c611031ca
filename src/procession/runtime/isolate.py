"""
Isolate: a plain value for each of several branches, so that none sees what another does to it (PAR-007).
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from copy import copy
from dataclasses import fields
from typing import Any

__all__ = ["copier_of", "isolated"]

Memo = dict[int, Any]


def copier_of(value: Any) -> Callable[[Any], Any] | None:
    """
    Return what gives each branch its own of *value*, or ``None`` where all may have the same.

    Containers of Python, classes made of a dict, a list or a named tuple, pydantic models and dataclasses are copied with
    what they hold.  Anything else, a client, a file, an object of your own, is shared.
    """
    kind = _kind_of(value)
    # What holds nothing that can be changed is copied at once.
    if kind is dict and _ATOMS.issuperset(map(_kind_of, value.values())):
        return _copy_dict
    if kind is list and _ATOMS.issuperset(map(_kind_of, value)):
        return _copy_list
    return isolated if _copier(kind) is not None else None


def isolated(value: Any) -> Any:
    """
    Return a copy of *value* in which everything that :func:`copier_of` names is a copy, and all else is the same.

    >>> from procession.runtime.isolate import isolated
    >>> given = {"words": ["one"], "parse": print}
    >>> mine = isolated(given)
    >>> mine["words"].append("two")
    >>> given["words"], mine["parse"] is print
    (['one'], True)
    """
    return _copied(value, {})


_kind_of: Callable[[Any], Any] = type
_copy_dict: Callable[[Any], Any] = dict[Any, Any].copy
_copy_list: Callable[[Any], Any] = list[Any].copy


def _copied(value: Any, memo: Memo) -> Any:
    copier = _copier(_kind_of(value))
    if copier is None:
        return value
    found = memo.get(id(value))
    return found if found is not None else copier(value, memo)


def _copier(kind: Any) -> Any:
    if kind in _copiers:
        return _copiers[kind]
    if hasattr(kind, "model_fields") and hasattr(kind, "model_copy"):
        return _model
    if hasattr(kind, "__dataclass_fields__"):
        return _dataclass
    if hasattr(kind, "_make") and issubclass(kind, tuple):
        return _named
    return _own_dict if issubclass(kind, dict) else _own_list if issubclass(kind, list) else None


def _dict(value: dict[Any, Any], memo: Memo) -> Any:
    made = memo[id(value)] = value.copy()
    for key, each in value.items():
        if type(each) not in _ATOMS:
            made[key] = _copied(each, memo)
    return made


def _list(value: Any, memo: Memo) -> Any:
    made = memo[id(value)] = value.copy()
    for index, each in enumerate(value):
        if type(each) not in _ATOMS:
            made[index] = _copied(each, memo)
    return made


def _tuple(value: tuple[Any, ...], memo: Memo) -> Any:
    made = tuple([_copied(each, memo) for each in value])
    # As it was where nothing in it can be changed.
    return value if all(new is old for new, old in zip(made, value, strict=True)) else made


def _named(value: Any, memo: Memo) -> Any:
    made = _tuple(tuple(value), memo)
    return value._make(made) if any(new is not old for new, old in zip(made, value, strict=True)) else value


def _own_dict(value: Any, memo: Memo) -> Any:
    made = memo[id(value)] = copy(value)
    for key, each in dict[Any, Any].items(value):
        if type(each) not in _ATOMS:
            dict[Any, Any].__setitem__(made, key, _copied(each, memo))
    return made


def _own_list(value: Any, memo: Memo) -> Any:
    made = memo[id(value)] = copy(value)
    for index, each in enumerate(list[Any].__iter__(value)):
        if type(each) not in _ATOMS:
            list[Any].__setitem__(made, index, _copied(each, memo))
    return made


def _flat(value: Any, memo: Memo) -> Any:
    made = memo[id(value)] = value.copy()  # what a set holds can be hashed, and is taken for unchanging
    return made


def _model(value: Any, memo: Memo) -> Any:
    made = memo[id(value)] = value.model_copy()
    for name in ("__dict__", "__pydantic_extra__", "__pydantic_private__"):
        held = getattr(value, name, None)
        if held:
            object.__setattr__(made, name, {key: _copied(each, memo) for key, each in held.items()})
    return made


def _dataclass(value: Any, memo: Memo) -> Any:
    made = memo[id(value)] = copy(value)
    for field in fields(value):
        name = field.name
        held = getattr(value, name, None)
        mine = _copied(held, memo)
        if mine is not held:
            object.__setattr__(made, name, mine)
    return made


_ATOMS: frozenset[type] = frozenset((str, int, float, bool, bytes, type(None)))

_copiers: dict[type, Any] = {
    **dict.fromkeys(_ATOMS),
    **dict.fromkeys((dict, OrderedDict, defaultdict, Counter), _dict),
    **dict.fromkeys((list, deque), _list),
    **dict.fromkeys((set, bytearray), _flat),
    tuple: _tuple,
}
