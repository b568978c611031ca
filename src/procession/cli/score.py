"""
Scores: how right guards were about messages that say what is in them.

The labels are those of a labelled inbox, see docs/cli.md: ``spans`` and ``optional`` (each with ``start``, ``end`` and
``type``), ``injection``, ``lang`` and ``accept``, ``verdict``, ``tier``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from procession.cli.target import Target
from procession.cli.verdict import Verdict
from procession.errors import TargetError
from procession.messages.value import Value

__all__ = ["PIPELINE", "TASKS", "Measure", "Scores", "tasks_of"]

TASKS = ("pii", "secrets", "injection", "language")
"""What a guard can be scored on."""

PIPELINE = "whole pipeline"

Span: TypeAlias = Mapping[str, Any]


def tasks_of(target: Target) -> Mapping[str, str]:
    """
    Return the tasks that a target's module declares in ``guards``: by processor id, what the guard is scored on.

    Raises ``TargetError`` for a task that does not exist.
    """
    tasks = target.setting("guards")
    for guard, task in tasks.items():
        if task not in TASKS:
            raise TargetError(
                f"{target.text}: guards says that {guard!r} is scored on {task!r}", hint=f"there are {', '.join(TASKS)}"
            )
    return tasks


class Measure(Value):
    """
    One figure of one guard: *good* of *total*, for all messages and for each tier.
    """

    guard: str
    name: str
    counts: Mapping[str, tuple[int, int]]
    """``(good, total)`` by tier; ``all`` for all messages."""


class Scores:
    """
    Counts, message by message, what guards found against what the labels say.

    *guards* says which task each guard, by its processor id, is to be scored on.  What a guard did not get to see,
    because another one had stopped the message, is not counted.
    """

    def __init__(self, guards: Mapping[str, str]) -> None:
        self.guards = guards
        self.messages = 0
        self._counts: dict[tuple[str, str], dict[str, list[int]]] = {}

    def add(self, verdict: Verdict) -> None:
        """
        Count one message, if it has labels.
        """
        labels = verdict.line.rest
        tiers = ("all", str(labels["tier"])) if "tier" in labels else ("all",)
        scored = False
        for guard, task in self.guards.items():
            if guard in verdict.ran:
                for name, good in self._judged(guard, task, labels, verdict):
                    self._count(guard, name, tiers, good)
                    scored = True
        if isinstance(labels.get("verdict"), str):
            self._count(PIPELINE, "verdict as labelled", tiers, verdict.verdict == labels["verdict"])
            scored = True
        self.messages += scored

    def measures(self) -> list[Measure]:
        """
        Return the figures, guards in the order in which they were given, precision before recall.
        """
        order = [*self.guards, PIPELINE]
        keys = sorted(self._counts, key=lambda key: (order.index(key[0]), key[1]))
        return [
            Measure(guard, name, {tier: (good, total) for tier, (good, total) in self._counts[guard, name].items()})
            for guard, name in keys
        ]

    def _count(self, guard: str, name: str, tiers: Sequence[str], good: bool) -> None:
        counts = self._counts.setdefault((guard, name), {})
        for tier in tiers:
            count = counts.setdefault(tier, [0, 0])
            count[0] += good
            count[1] += 1

    def _judged(self, guard: str, task: str, labels: Mapping[str, Any], verdict: Verdict) -> Iterator[tuple[str, bool]]:
        findings = [finding for finding in verdict.findings if finding["guard"] == guard]
        match task:
            case "pii" | "secrets" if isinstance(labels.get("spans"), list):
                yield from _spans(task, labels, findings)
            case "injection" if labels.get("injection") in ("attack", "benign"):
                attack, flagged = labels["injection"] == "attack", bool(findings)
                if flagged:
                    yield "precision", attack
                if attack:
                    yield "recall", flagged
            case "language" if isinstance(labels.get("lang"), str) and "language" in verdict.extra:
                said = str(verdict.extra["language"] or "und").partition("-")[0]
                yield "accuracy", said in (labels["lang"], *labels.get("accept", ()))
            case _:
                pass


def _spans(task: str, labels: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool]]:
    """
    Judge findings with a place.

    One that touches neither a labelled nor an optional span is false, whatever its type; a labelled span is found
    where a finding of its type overlaps it (any finding, of a secret: its types are the vendors').
    """
    labelled = cast("list[Span]", labels["spans"])
    known = [*labelled, *cast("list[Span]", labels.get("optional", ()))]
    placed = [finding for finding in findings if "start" in finding]
    for finding in placed:
        yield "precision", any(_overlap(finding, span) for span in known)
    for span in labelled:
        secret = span["type"] == "secret"
        if secret == (task == "secrets"):
            yield (
                "recall",
                any(_overlap(finding, span) and (secret or finding.get("type") == span["type"]) for finding in placed),
            )


def _overlap(one: Span, other: Span) -> bool:
    return bool(one["start"] < other["end"] and other["start"] < one["end"])
