"""
SharedState: what the steps of a run set for each other to see (D29).

It is made of contributions, each of one step: so those of an attempt that failed can be taken back, and a reducer
counts every one of them once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from procession.errors import MergeConflict
from procession.runtime.isolate import isolated
from procession.steps.state_type import ANYTHING, StateType

__all__ = ["UNSET", "Contribution", "Forks", "SharedState"]

UNSET: Any = object()
"""Contributed to a key, it takes the key away."""

Contribution: TypeAlias = tuple[str, Any]
"""A key and what a step has set it to, or ``UNSET``."""

FORGOTTEN: Any = object()
"""Stands for what was there before a contribution so old that it is not remembered."""

REMEMBERED = 64
"""How many contributions to a key can be taken back without making the value from the first of them again."""

Forks: TypeAlias = Sequence[tuple[str, frozenset[str]]]
"""The prefix and the arms' keys of what is running in branches."""


class _Entry:
    """
    What one step has set a key to, and what it was before.
    """

    __slots__ = ("before", "path", "value")

    def __init__(self, path: str, value: Any, before: Any) -> None:
        self.path = path
        self.value = value
        self.before = before


class SharedState:
    """
    The values by key, and who set them.

    >>> from procession.runtime.shared_state import SharedState
    >>> state = SharedState(reducers={"n": lambda old, new: old + new})
    >>> for path in ("a", "b"):
    ...     state.set(path, "n", 1)
    >>> state.undo("b")
    >>> state.values
    {'n': 1}
    """

    __slots__ = ("_by", "_first", "_logs", "reducers", "type", "values")

    def __init__(
        self,
        first: Mapping[str, Any] | None = None,
        *,
        reducers: Mapping[str, Callable[[Any, Any], Any]] | None = None,
        type: StateType = ANYTHING,
    ) -> None:
        """
        Make the state of a run that begins with *first*.

        Raises ``SchemaError`` where that is not of the *type*.
        """
        self.reducers = reducers or {}
        self.type = type
        self._first: dict[str, Any] = type.first(first) if first or type is not ANYTHING else {}
        self.values: dict[str, Any] = dict(self._first)
        """What is set now; to read."""
        self._logs: dict[str, list[_Entry]] = {}
        """Who set each key, in order."""
        self._by: dict[str, list[Contribution]] = {}

    @property
    def first(self) -> Mapping[str, Any]:
        """
        What the run began with.
        """
        return self._first

    def begin(self, first: Mapping[str, Any]) -> None:
        """
        Let the run begin with *first*, as it did when it was begun.
        """
        self._first, self.values = dict(first), dict(first)

    def copy(self) -> dict[str, Any]:
        """
        Return the values, of which nothing that is done to them comes back.
        """
        copied: dict[str, Any] = isolated(self.values)
        return copied

    def set(self, path: str, key: str, value: Any, forks: Forks = ()) -> None:
        """
        Let the step at *path* set *key*; visible at once.

        Raises ``MergeConflict`` where a branch beside it has set another value and there is no reducer for the key, and
        ``SchemaError`` where the value is not of the key's type.
        """
        value = isolated(self.type.check(key, value, path))
        if forks and key not in self.reducers and self.values.get(key, UNSET) != value:
            self._refuse_race(key, path, forks)
        self._add(path, key, value)

    def unset(self, path: str, key: str, forks: Forks = ()) -> None:
        """
        Let the step at *path* take *key* away, whether it is there or not.

        Raises ``MergeConflict`` where a branch beside it has set the key, ``SchemaError`` where there can be no such key.
        """
        self.type.check_key(key, path)
        if forks and key in self.values:
            self._refuse_race(key, path, forks)
        self._add(path, key, UNSET)

    def undo(self, path: str, *, below: bool = False) -> None:
        """
        Take back what the step at *path* has set, and with *below* what was called inside it.
        """
        gone = {path} & self._by.keys()
        if below:
            inside = path + "/"
            gone.update(writer for writer in self._by if writer.startswith(inside))
        taken = Counter(key for writer in gone for key, _ in self._by.pop(writer))
        for key, count in taken.items():
            self._take(key, count, gone)

    def _take(self, key: str, count: int, gone: Collection[str]) -> None:
        """
        Take the *count* entries of the writers in *gone* out of the log of *key*.
        """
        log = self._logs[key]
        at = len(log)
        while count:
            at -= 1
            count -= log[at].path in gone
        if log[at].before is FORGOTTEN:
            at = 0
        before = log[at].before if at else self._first.get(key, UNSET)
        kept = [each for each in log[at:] if each.path not in gone]
        del log[at:]
        if before is UNSET:
            self.values.pop(key, None)
        else:
            self.values[key] = before
        for each in kept:
            self._append(each.path, key, each.value)

    def written_by(self, path: str) -> list[Contribution]:
        """
        Return what the step at *path* has set, in order.
        """
        return list(self._by.get(path, ()))

    def restore(self, path: str, contributions: Sequence[Contribution]) -> None:
        """
        Let what the step at *path* had set be set again, as :meth:`written_by` gave it.
        """
        for key, value in contributions:
            self._add(path, key, value)

    def _add(self, path: str, key: str, value: Any) -> None:
        self._append(path, key, value)
        self._by.setdefault(path, []).append((key, value))

    def _append(self, path: str, key: str, value: Any) -> None:
        before = self.values.get(key, UNSET)
        reduce = self.reducers.get(key)
        made = value
        if reduce is not None and before is not UNSET and value is not UNSET:
            # The reducer may change what it is given: what was there before stays as it was.
            made = self.type.check(key, reduce(isolated(before), isolated(value)), path)
        log = self._logs.setdefault(key, [])
        log.append(_Entry(path, value, before))
        if len(log) > REMEMBERED:
            log[-REMEMBERED - 1].before = FORGOTTEN
        if made is UNSET:
            self.values.pop(key, None)
        else:
            self.values[key] = made

    def _refuse_race(self, key: str, path: str, forks: Forks) -> None:
        log = self._logs.get(key)
        if not log:
            return
        before = log[-1].path
        for prefix, keys in forks:
            mine, other = _arm(path, prefix, keys), _arm(before, prefix, keys)
            if mine is not None and other is not None and mine != other:
                raise MergeConflict(
                    f"state {key!r} was set to different values by {before!r} and {path!r}, which run at the same time",
                    branches=(before, path),
                    path=path,
                    hint=f"give the workflow a reducer: create_workflow(..., reducers={{{key!r}: function}})",
                )


def _arm(path: str, prefix: str, keys: frozenset[str]) -> str | None:
    """
    Return the part of *path* that names a branch of the fork at *prefix*, or ``None`` where it is in no branch of it.
    """
    if not path.startswith(prefix):
        return None
    head = path[len(prefix) :].partition("/")[0]
    return head if head in keys or head.partition("[")[0] in keys else None
