"""
Registry: names of what a runtime knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Protocol, TypeVar

from procession.errors import DefinitionError, TargetError

__all__ = ["HasId", "Registry"]


class HasId(Protocol):
    """
    Anything with an id: a workflow, an agent, a tool.
    """

    @property
    def id(self) -> str:
        """Its name."""
        ...


T = TypeVar("T", bound=HasId)


class Registry(Mapping[str, HasId]):
    """
    Things by their id.

    >>> from procession.runtime.registry import Registry
    >>> from procession.workflows.workflow import create_workflow
    >>> registry = Registry()
    >>> registry.add(create_workflow("greet"))
    Workflow('greet', 0 nodes)
    >>> list(registry)
    ['greet']
    """

    __slots__ = ("_things",)

    def __init__(self) -> None:
        self._things: dict[str, HasId] = {}

    def add(self, thing: T) -> T:
        """
        Add *thing* under its id and return it; adding the same one again changes nothing.

        Raises ``DefinitionError`` where another one has the id, or where it has none.
        """
        id = getattr(thing, "id", None)
        if not isinstance(id, str) or not id:
            raise DefinitionError(f"{thing!r} has no id", hint="what is registered needs a string as its id")
        known = self._things.get(id)
        if known is not None and known is not thing:
            raise DefinitionError(
                f"{id!r} is the id of another {type(known).__name__} already", hint="give one of them another id"
            )
        self._things[id] = thing
        return thing

    def __getitem__(self, id: str) -> HasId:
        try:
            return self._things[id]
        except KeyError:
            raise KeyError(id) from None

    def find(self, id: str) -> HasId:
        """
        Return what has the id.

        Raises ``TargetError`` that names the nearest id.
        """
        found = self._things.get(id)
        if found is None:
            near = get_close_matches(id, self._things, 1)
            known = ", ".join(sorted(self._things)) or "nothing"
            raise TargetError(
                f"nothing is registered as {id!r}", hint=f"did you mean {near[0]!r}?" if near else f"there is {known}"
            )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def __repr__(self) -> str:
        return f"Registry({', '.join(self._things)})"
