"""
What each guard of a run came to, worked out when somebody asks (D36).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import overload

from procession.agents.pipelines import Pipelines
from procession.agents.state import LoopState
from procession.processors.chain import taking_part
from procession.processors.hooks import Hook
from procession.processors.protocols import guards
from procession.processors.violation import GuardOutcome, GuardReport, Violation

__all__ = ["GuardOutcomes", "outcomes_of"]

_STRICTEST_FIRST: tuple[GuardOutcome, ...] = (
    "blocked", "error", "timeout", "modified", "would_block", "warned", "skipped",
)  # fmt: skip
"""Of what was not looked at, such as a file, nobody says that it is allowed."""


def outcomes_of(state: LoopState) -> Sequence[GuardReport]:
    """
    Return what the guards of the run came to; nothing is done for it before it is read.
    """
    scope = state.scope
    return GuardOutcomes(state.pipelines, tuple(scope.violations), tuple(scope.looked or ()))


class GuardOutcomes(Sequence[GuardReport]):
    """
    The reports of a run, in the order of the hooks and of the guards in them; those of inner agents at the end.
    """

    __slots__ = ("_asked", "_made", "_pipelines", "_violations")

    def __init__(
        self, pipelines: Pipelines, violations: Sequence[Violation], asked: Collection[tuple[str, str]]
    ) -> None:
        self._pipelines = pipelines
        self._violations = violations
        self._asked = asked
        self._made: tuple[GuardReport, ...] | None = None

    @overload
    def __getitem__(self, index: int) -> GuardReport: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[GuardReport]: ...
    def __getitem__(self, index: int | slice) -> GuardReport | Sequence[GuardReport]:
        return self._reports()[index]

    def __len__(self) -> int:
        return len(self._reports())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._reports() == tuple(other)  # pyright: ignore[reportUnknownArgumentType]

    def __hash__(self) -> int:
        return hash(self._reports())

    def __repr__(self) -> str:
        return repr(self._reports())

    def _reports(self) -> tuple[GuardReport, ...]:
        if self._made is None:
            self._made = tuple(self._work_out())
        return self._made

    def _work_out(self) -> Iterator[GuardReport]:
        found: dict[tuple[str, str], set[GuardOutcome]] = {}
        for hook in Hook:
            workflows = (self._pipelines.get(hook), self._pipelines.beside if hook is Hook.INPUT else None)
            for workflow in workflows:
                if workflow is not None:
                    for owner in filter(guards, taking_part(workflow, hook.value)):
                        found[owner.id, hook.value] = set()
        for one in self._violations:
            found.setdefault((one.processor_id, one.hook), set()).add(one.outcome)
        asked = set(self._asked)
        for place in self._asked:
            found.setdefault(place, set())
        for place, outcomes in found.items():
            outcome: GuardOutcome = "allowed" if place in asked else "skipped"
            for each in _STRICTEST_FIRST:
                if each in outcomes:
                    outcome = each
                    break
            yield GuardReport(*place, outcome)
