"""
The strings inside a value that a tool returned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias, TypeGuard

__all__ = ["Path", "dumped", "replace_strings", "shown", "strings_in"]

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the value down to a string; a key that is meant itself is followed by ``KEY``."""

KEY = "*key*"


def dumped(value: Any) -> Any:
    """
    Return *value* as mappings and lists where it is a pydantic model or a dataclass, and itself otherwise.
    """
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump()
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        import dataclasses

        return dataclasses.asdict(value)
    return value


def _is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _is_collection(value: object) -> TypeGuard[Collection[Any]]:
    return isinstance(value, (list, tuple, set, frozenset))


def strings_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """
    Yield every string in *value* with its path, keys of mappings included.

    >>> list(strings_in({"items": [{"title": "Menu"}]}))[-1]
    (('items', 0, 'title'), 'Menu')
    """
    value = dumped(value)
    if isinstance(value, str):
        yield path, value
    elif _is_mapping(value):
        for key, inner in value.items():
            if isinstance(key, str):
                yield (*path, key, KEY), key
            yield from strings_in(inner, (*path, key))
    elif _is_collection(value):
        for index, inner in enumerate(value):
            yield from strings_in(inner, (*path, index))


def replace_strings(value: Any, change: Callable[[Path, str], str], path: Path = ()) -> Any:
    """
    Return *value* with every string put through *change*; what has none that changes stays the same object.

    >>> replace_strings({"a": ["x", 1]}, lambda path, text: text.upper() if path else text)
    {'A': ['X', 1]}
    """
    plain = dumped(value)
    if isinstance(plain, str):
        return change(path, plain)
    made: Any
    if _is_mapping(plain):
        made = {}
        same = True
        for key, inner in plain.items():
            new_key = _fresh(change((*path, key, KEY), key), made) if isinstance(key, str) else key
            made[new_key] = replace_strings(inner, change, (*path, key))
            same = same and new_key == key and made[new_key] is inner
        return value if same else made
    if _is_collection(plain):
        inner_values = list(plain)
        changed = [replace_strings(inner, change, (*path, index)) for index, inner in enumerate(inner_values)]
        if all(new is old for new, old in zip(changed, inner_values, strict=True)):
            return value
        kind: Any = type(plain)
        return kind._make(changed) if hasattr(kind, "_make") else kind(changed)
    return value


def _fresh(key: str, made: Mapping[Any, Any]) -> str:
    """
    Return *key*, or *key* with a number where two keys became one.
    """
    if key not in made:
        return key
    number = 2
    while f"{key} ({number})" in made:
        number += 1
    return f"{key} ({number})"


def shown(path: Path) -> str:
    """
    Return *path* as people write it.

    >>> shown(("items", 0, "meta", "html"))
    'items[0].meta.html'
    """
    out = ""
    for key in path:
        if key == KEY:
            continue
        out += f"[{key}]" if isinstance(key, int) else f".{key}" if out else key
    return out
