"""
RequestContext: the values of one request, from the caller to every step and hook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Generic, TypeVar, overload

__all__ = ["Key", "RequestContext"]

T = TypeVar("T")
_MISSING: Any = object()


class Key(Generic[T]):
    """
    A typed name: ``context[Key[User]("user")]`` is a ``User`` to the type checker.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Key({self.name!r})"


class RequestContext(MutableMapping[str, Any]):
    """
    A mapping of one request's values, with string names or typed keys.

    >>> TENANT = Key[str]("tenant")
    >>> context = RequestContext({"tenant": "acme"})
    >>> context.value(TENANT)
    'acme'
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = dict(values) if values else {}

    @overload
    def value(self, key: Key[T]) -> T: ...
    @overload
    def value(self, key: Key[T], default: T) -> T: ...
    def value(self, key: Key[T], default: Any = _MISSING) -> T:
        """
        Return the value of a typed key; without a default a missing one is a ``KeyError``.
        """
        found: T = self._values[key.name] if default is _MISSING else self._values.get(key.name, default)
        return found

    def put(self, key: Key[T], value: T) -> None:
        """
        Set the value of a typed key.
        """
        self._values[key.name] = value

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"RequestContext({', '.join(self._values)})"  # names only: values may be private
