"""
HidingPayload: a payload that holds text outside the messages, in which what a guard hid must stay hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from procession.errors import MergeConflict
from procession.messages.message_list import MessageList
from procession.messages.shapes import is_form
from procession.processors.payload import HookPayload
from procession.processors.result_notes import ResultNotes
from procession.steps.forkable import MergePolicy

__all__ = ["HidingPayload"]


class HidingPayload(HookPayload):
    """
    One with a field that holds text outside the messages: it counts how often a guard has hidden some of it.
    """

    __slots__ = ("notes", "redactions")

    def __init__(self, message_list: MessageList, **where: Any) -> None:
        super().__init__(message_list, **where)
        self.notes: ResultNotes | None = None
        """What the provider said beside the field; branches share it."""
        self.redactions = 0
        """How often a processor that hides things has changed the field: a branch that has more of them hid some."""

    def merge(self, outputs: Mapping[str, Any], policy: MergePolicy) -> HookPayload:
        """
        Put the branches' payloads together; what any of them hid stays hidden under every policy (D26).
        """
        hiding = self._hiding(outputs)
        kept = self._kept_hidden(outputs) if policy == "priority" and hiding else {}
        super().merge(outputs, policy)
        for field, value in kept.items():
            setattr(self, field, value)
        self._settle(outputs.values())
        return self

    def adopt(self, outputs: Any, picked: Any, *, allow_drop: bool) -> HookPayload:
        """
        Go on with what a map picked; the redactions of all branches count as made.
        """
        super().adopt(outputs, picked, allow_drop=allow_drop)
        self._settle((*(outputs.values() if is_form(outputs) else ()), picked))
        return self

    def _hiding(self, outputs: Mapping[str, Any]) -> dict[str, Self]:
        """
        Return the branches in which something was hidden.
        """
        return {
            key: branch
            for key, branch in outputs.items()
            if isinstance(branch, type(self)) and branch.redactions > self.redactions
        }

    def _settle(self, branches: Iterable[Any]) -> None:
        # They add up: a join in a graph may compare with a state in which only one of two branches has hidden something.
        known = {id(branch): branch.redactions for branch in branches if isinstance(branch, HidingPayload)}
        self.redactions += sum(max(number - self.redactions, 0) for number in known.values())

    def _refuse_dropped(self, outputs: Mapping[str, Any], picked: HookPayload) -> None:
        super()._refuse_dropped(outputs, picked)
        dropped = [
            key
            for key, branch in self._hiding(outputs).items()
            if branch is not picked and isinstance(picked, type(self)) and self._drops(branch, picked)
        ]
        if dropped:
            raise MergeConflict(
                f"the map drops what {', '.join(map(repr, dropped))} hid in {self.phase}",
                branches=tuple(dropped),
                hint="pick that branch, leave the map out so that the branches are merged, or say allow_drop=True",
            )

    def _drops(self, branch: Any, picked: Any) -> bool:
        """
        Return whether *picked* shows what *branch* hid.
        """
        raise NotImplementedError

    def _kept_hidden(self, outputs: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return the fields that are not to be what the first branch says, since another one hid something in them.
        """
        raise NotImplementedError
