"""
Joins: what a forkable value is after any of the steps of a graph, each step's changes in it exactly once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from procession.errors import RunError
from procession.runtime.fanin import is_forkable
from procession.workflows.plan import DagItem

__all__ = ["Joins"]


class Joins:
    """
    The states of one value on its way through a graph.

    A state belongs to a set of steps with all that came before them, written as a bit mask of their positions.  A
    state is never changed: who runs a step on one forks it.  What a step changed is what its fork says about the
    state that the step was given, so two states come together where that state is the common one: step by step, in
    an order in which each is given nothing but what is there already.
    """

    __slots__ = ("before", "items", "states")

    def __init__(self, items: Sequence[DagItem], value: Any) -> None:
        self.items = items
        self.states: dict[int, Any] = {0: value}
        self.before = [0] * len(items)
        """The steps before each step, once it has begun."""

    def begin(self, index: int) -> Any:
        """
        Return the state that a step is given, whose needs are all done.
        """
        state, self.before[index] = self.after(self.items[index].needs)
        return state

    def end(self, index: int, output: Any) -> None:
        """
        Note what a step made of its fork.
        """
        self.states[self.before[index] | 1 << index] = output

    def after(self, needs: Sequence[int]) -> tuple[Any, int]:
        """
        Return the state after all of *needs*, and which steps are in it.

        Raises ``MergeConflict`` where two of them do not go together, ``RunError`` where one gave something else than
        a value that can be forked.
        """
        before = self.before
        wanted, common = 0, -1
        for need in needs:
            if not any(before[other] >> need & 1 for other in needs):
                wanted |= before[need] | 1 << need
                common &= before[need] | 1 << need
        if wanted not in self.states:
            self.states[wanted] = self._joined(wanted, common)
        return self.states[wanted], wanted

    def _joined(self, wanted: int, common: int) -> Any:
        before = self.before
        for at in _members(wanted):
            if not is_forkable(output := self.states[before[at] | 1 << at]):
                raise RunError(
                    f"step {self.items[at].id!r} gave {type(output).__name__}, which cannot be merged with other outputs",
                    hint="return what it was given, or let no other step lead to where this one does",
                )
        known = [mask for at in _members(wanted) for mask in (before[at], before[at] | 1 << at) if not mask & ~common]
        done = max(known, key=int.bit_count)
        state = self.states[done]
        order = sorted(_members(wanted & ~done), key=lambda at: (before[at].bit_count(), before[at], at))
        for given, group in groupby(order, key=before.__getitem__):
            base = self.states[given]
            outputs: dict[str, Any] = {}
            if done != given:
                name = " + ".join(self.items[at].id for at in _members(done & ~given))
                outputs[name] = base.fork().adopt({name: state}, state, allow_drop=True)
            for at in group:
                done |= 1 << at
                outputs[self.items[at].id] = self.states[given | 1 << at]
            state = base.fork().merge(outputs, "strictest")
        check = getattr(state, "refuse_said_again", None)
        if check is not None:
            check({self.items[at].id: self.states[before[at] | 1 << at] for at in _members(wanted)})
        return state


def _members(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
