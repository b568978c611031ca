"""
Described: a workflow as plain data, from which it is built and by which the oracle works it out.

Nothing of the library is imported here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias
from zlib import crc32

__all__ = [
    "Branch", "Child", "Each", "Flow", "Graph", "Item", "Leaf", "Loop", "Make", "Node", "Parallel", "Pause", "When", "mix", "shown",
    "text_of",
]  # fmt: skip


def text_of(value: Any) -> str:
    """Return a value as text; of what stands for an item that failed, where it did."""
    if isinstance(value, dict):
        pairs: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return "{" + ", ".join(f"{key}: {text_of(each)}" for key, each in pairs.items()) + "}"
    if type(value) in (list, tuple):
        return "[" + ", ".join(text_of(each) for each in value) + "]"
    if hasattr(value, "index") and hasattr(value, "path"):
        return f"<{value.index}: {value.type} in {value.path}>"
    return repr(value)


def mix(name: str, value: Any) -> Any:
    """Return what *name* makes of *value*: a small number, or now and then ``None``; the order of a mapping counts."""
    number = crc32(f"{name}:{text_of(value)}".encode()) % 1009
    return None if number % 17 == 0 else number


@dataclass(frozen=True)
class When:
    """A question about a value, answered by its digest; ``divisor`` 1 is always true."""

    divisor: int = 1
    rest: int = 0
    raises: bool = False

    def holds(self, value: Any) -> bool:
        """Return the answer."""
        return crc32(text_of(value).encode()) % self.divisor == self.rest


@dataclass(frozen=True)
class Leaf:
    """
    A step: how each attempt ends (the last stands for all further ones), where *when* holds; else it gives an output.

    It asks *asks* questions first, and writes to the state once it is sure to give an output.
    """

    id: str
    ends: tuple[str, ...] = ("ok",)
    when: When = When()
    attempts: int = 1
    delay: float = 0.0
    writes: tuple[str, ...] = ()
    asks: int = 0
    plain: bool = False

    def end(self, value: Any, attempt: int) -> str:
        """Return how the attempt ends."""
        return self.ends[min(attempt, len(self.ends)) - 1] if self.when.holds(value) else "ok"

    def output(self, value: Any, answers: list[Any]) -> Any:
        """Return what it makes of *value* and the *answers* that it was given."""
        return mix(self.id, (value, *answers) if answers else value)


@dataclass(frozen=True)
class Make:
    """A map: ``mix``, ``raise``, ``pick:<id>`` or ``spread:<n>``, which makes a list of *n* items."""

    id: str
    what: str

    def output(self, value: Any) -> Any:
        """Return what a map that is a function makes of *value*."""
        kind, _, number = self.what.partition(":")
        return [mix(f"item {each}", value) for each in range(int(number))] if kind == "spread" else mix(self.id, value)


@dataclass(frozen=True)
class Parallel:
    """Steps at the same time."""

    id: str
    arms: tuple[Child, ...]
    on_block: str = "cancel"
    on_failure: str = "cancel"
    chain: bool = False
    concurrency: int | None = None


@dataclass(frozen=True)
class Branch:
    """Steps that run where their condition holds."""

    id: str
    arms: tuple[tuple[When, Child], ...]
    default: Child | None = None
    first: bool = False
    skip: bool = False
    chain: bool = False


@dataclass(frozen=True)
class Each:
    """A step for each item of a list."""

    body: Child
    concurrency: int
    collect: bool = False


@dataclass(frozen=True)
class Loop:
    """A step again and again."""

    body: Child
    condition: When
    until: bool
    most: int


@dataclass(frozen=True)
class Pause:
    """A wait."""

    id: str
    seconds: float


@dataclass(frozen=True)
class Flow:
    """A workflow of nodes one after the other."""

    id: str
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Item:
    """A step of a graph, and the steps that it needs."""

    step: Child
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """A workflow of steps that wait for each other, in the order in which they were written down."""

    id: str
    items: tuple[Item, ...]


Child: TypeAlias = Leaf | Flow | Graph
Node: TypeAlias = Child | Make | Parallel | Branch | Each | Loop | Pause


def shown(thing: Any, depth: int = 0) -> str:
    """Return a description as indented lines, without what is as usual."""
    pad = "  " * depth
    if not is_dataclass(thing) or isinstance(thing, type):
        return f"{pad}{thing!r}"
    said: list[str] = []
    below: list[str] = []
    for field in fields(thing):
        value = getattr(thing, field.name)
        if value == field.default:
            continue
        if _has_node(value):
            for each in value if _is_many(value) else (value,):
                below += [shown(part, depth + 1) for part in (each if _is_many(each) else (each,))]
        else:
            said.append(f"{field.name}={value!r}")
    return "\n".join([f"{pad}{type(thing).__name__} {' '.join(said)}".rstrip(), *below])


def _is_many(value: Any) -> bool:
    return isinstance(value, tuple)


def _has_node(value: Any) -> bool:
    if _is_many(value):
        return any(_has_node(each) for each in value)
    return is_dataclass(value) and not isinstance(value, When)
