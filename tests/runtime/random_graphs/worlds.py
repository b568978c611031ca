"""
Worlds: ways in which things may have gone, and how those of steps at the same time become one.

In a world what must have happened stands apart from what may have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeVar

from tests.runtime.random_graphs.described import text_of

__all__ = ["End", "Failure", "TooManyWorlds", "World", "all_of", "arm_ended", "few", "named", "one_by_one", "together"]

T = TypeVar("T")

MOST = 400
"""Worlds that are looked at: a graph with more is not used."""

STRENGTH = ("blocked", "cancelled", "failed", "again", "bailed run", "bailed", "suspended")
"""Which of several ends decides: a stop of a processor first, a question to somebody outside last."""

ABSENT = ("absent", "")
CANCELLED = ("cancelled", "")


class TooManyWorlds(Exception):
    """The graph leaves too much to the moment."""


@dataclass(frozen=True)
class Failure:
    """What stands in a list for an item that failed: where, its number, and the class of what was raised."""

    path: str
    index: int
    type: str


@dataclass(frozen=True)
class End:
    """How something ended: ``kind`` is ``ok`` or a status; ``why`` is the kind of the error or the verdict's reason."""

    kind: str
    value: Any = None
    path: str = ""
    why: str = ""
    scope: str = "workflow"
    again: bool = False

    @property
    def rank(self) -> int:
        """Its place among ends, the strongest first."""
        if self.kind == "bailed":
            return STRENGTH.index("bailed run" if self.scope == "run" else "bailed")
        return STRENGTH.index("again" if self.again else self.kind)

    @property
    def seen(self) -> tuple[str, str]:
        """Its status and output, as they stand in a record."""
        return ("success", text_of(self.value)) if self.kind == "ok" else (self.kind, "")


@dataclass(frozen=True)
class World:
    """
    One way in which things may have gone.

    ``must`` is status and output by path, ``may`` is what they may be beside that; ``writes`` are the state's, in some
    order, ``maybe`` the keys of which nothing is known.  ``runs`` is how often a step's body has begun.
    """

    end: End
    must: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    may: dict[str, set[tuple[str, str]]] = field(default_factory=dict[str, set[tuple[str, str]]])
    writes: tuple[tuple[str, int], ...] = ()
    maybe: frozenset[str] = frozenset()
    runs: dict[str, int] = field(default_factory=dict[str, int])
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    """Outputs by path, for who picks one."""
    top: str = ""
    """The path of the step that all of it happened in."""

    def then(self, other: World) -> World:
        """Return this world and what came after it, or happened beside it."""
        return World(
            other.end,
            {**self.must, **other.must},
            {path: self.may.get(path, set()) | other.may.get(path, set()) for path in {**self.may, **other.may}},
            self.writes + other.writes,
            self.maybe | other.maybe,
            {**self.runs, **other.runs},
            {**self.values, **other.values},
            other.top,
        )

    def noted(self, path: str, end: End) -> World:
        """Return this world with *end*, which the record at *path* says."""
        values = {**self.values, path: end.value} if end.kind == "ok" else self.values
        return replace(self, end=end, must={**self.must, path: end.seen}, values=values, top=path)

    def cut(self, *, begun: bool = False, weaker: bool = False) -> World:
        """
        Return this world as far as it is known where it may have been cancelled at any moment.

        With *begun* something is said of it all the same; with *weaker* its own stop would have decided, had it come.
        """
        may = {path: {seen, CANCELLED, ABSENT} for path, seen in self.must.items()}
        for path, seen in self.may.items():
            may[path] = may.get(path, set()) | seen | {CANCELLED, ABSENT}
        if begun:
            may[self.top] -= {ABSENT}
        if weaker:
            may[self.top] -= {self.must[self.top]} - {CANCELLED}
        maybe = self.maybe | {key for key, _ in self.writes}
        return World(self.end, {}, may, (), frozenset(maybe), self.runs, {})


def few(worlds: Iterable[T]) -> list[T]:
    """
    Return them as a list.

    Raises ``TooManyWorlds``.
    """
    made: list[T] = []
    for world in worlds:
        made.append(world)
        if len(made) > MOST:
            raise TooManyWorlds
    return made


def arm_ended(world: World) -> World:
    """Return the world of an arm: a bail of that scope ends it with an output."""
    end = world.end
    return replace(world, end=End("ok", end.value)) if end.kind == "bailed" and end.scope == "branch" else world


def all_of(worlds: Sequence[World], end: End) -> World:
    """Return the world in which all of *worlds* happened, and *end* decided."""
    made = World(end)
    for world in worlds:
        made = made.then(world)
    return replace(made, end=end)


def together(
    options: Sequence[list[World]],
    waits: Mapping[str, bool] | None = None,
    limit: int | None = None,
    *,
    named: bool = True,
) -> Iterator[World]:
    """
    Yield the worlds of steps at the same time, ended by the list of their outputs or by the stop that decides.

    At most *limit* begin before one has ended.  Where they are *named* in the workflow something is said of each.
    """
    waited = {"suspended": True, **(waits or {})}
    size = 1
    for worlds in options:
        size *= len(worlds)
        if size > MOST:
            raise TooManyWorlds
    for drawn in product(*options):
        arms = [arm_ended(world) for world in drawn]
        stops = [at for at, arm in enumerate(arms) if arm.end.kind != "ok"]
        if not stops:
            yield all_of(arms, End("ok", [arm.end.value for arm in arms]))
            continue
        order = {at: (arms[at].end.rank, at) for at in stops}
        first = [at for at in stops if not waited.get(arms[at].end.kind, False)]
        if not first:
            yield all_of(arms, arms[min(stops, key=order.__getitem__)].end)
            continue
        for at in stops:
            earlier = sum(1 for other in first if other < at)
            if limit is not None and earlier >= limit:
                continue  # it begins once one of those has ended, and then none begins
            if at in first or any(order[at] < order[other] for other in first):
                parts = [
                    arm if each == at else arm.cut(begun=named, weaker=each in order and order[each] < order[at])
                    for each, arm in enumerate(arms)
                ]
                yield all_of(parts, arms[at].end)


def one_by_one(options: Sequence[list[World]]) -> Iterator[World]:
    """Yield the worlds of steps one after the other, none after a stop that is no question."""
    drawn: list[list[World]] = [[]]
    for worlds in options:
        drawn = few(
            [*before, arm_ended(world)] if not before or before[-1].end.kind in ("ok", "suspended") else before
            for before in drawn
            for world in (worlds if not before or before[-1].end.kind in ("ok", "suspended") else worlds[:1])
        )
    for arms in drawn:
        stops = [arm.end for arm in arms if arm.end.kind != "ok"]
        end = min(stops, key=lambda end: end.rank) if stops else End("ok", [arm.end.value for arm in arms])
        yield all_of(arms, end)


def named(worlds: Iterable[World], ids: Sequence[str]) -> Iterator[World]:
    """Yield *worlds* with their outputs as a mapping by *ids*."""
    for world in worlds:
        if world.end.kind == "ok":
            world = replace(world, end=End("ok", dict(zip(ids, world.end.value, strict=True))))
        yield world
