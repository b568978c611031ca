"""
Scores: what was found, what was missed and what was found wrongly, by tier and type.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Count", "Score"]


@dataclass
class Count:
    """
    Things that were right, missed, and wrong.
    """

    right: int = 0
    missed: int = 0
    wrong: int = 0
    clean: int = 0
    """Items with nothing to find in which nothing was found."""
    left: int = 0
    """Things that were found, and of which something was left over when they were hidden."""

    @property
    def precision(self) -> float:
        """
        How much of what was found is right; 1 where nothing was found.
        """
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """
        How much of what is there was found; 1 where nothing is there.
        """
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    @property
    def f1(self) -> float:
        """
        The harmonic mean of precision and recall.
        """
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def false_positive_rate(self) -> float:
        """
        In how much of what is harmless something was found; 0 where nothing is harmless.
        """
        return self.wrong / (self.wrong + self.clean) if self.wrong + self.clean else 0.0

    def take(self, other: Count) -> None:
        """
        Add *other* to it.
        """
        for name in ("right", "missed", "wrong", "clean", "left"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def as_json(self) -> dict[str, Any]:
        """
        Return the figures.
        """
        return {
            "precision": round(self.precision, 4), "recall": round(self.recall, 4), "f1": round(self.f1, 4),
            "right": self.right, "missed": self.missed, "wrong": self.wrong, "left_over": self.left,
        }  # fmt: skip


@dataclass
class Score:
    """
    The counts of one guard on one corpus, and the ids of all items that went wrong.
    """

    items: int = 0
    seconds: float = 0.0
    size: int = 0
    tiers: dict[str, Count] = field(default_factory=lambda: defaultdict(Count))
    types: dict[str, dict[str, Count]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(Count)))
    faults: list[str] = field(default_factory=list[str])

    def add(self, tier: str, type: str, what: str, item_id: str, note: str = "") -> None:
        """
        Count one thing: ``right``, ``missed``, ``wrong``, ``clean`` or ``left``.
        """
        for count in (self.tiers[tier], self.types[tier][type]):
            setattr(count, what, getattr(count, what) + 1)
        if what in ("missed", "wrong", "left"):
            self.faults.append(f"{item_id} {tier} {what} {type}{f' ({note})' if note else ''}")

    def together(self) -> Score:
        """
        Return the same with all tiers as one, called ``all``.
        """
        whole = Score(self.items, self.seconds, self.size, faults=self.faults)
        for count in self.tiers.values():
            whole.tiers["all"].take(count)
        for types in self.types.values():
            for type, count in types.items():
                whole.types["all"][type].take(count)
        return whole

    @property
    def us_per_kb(self) -> float:
        """
        Microseconds that a kilobyte of text took.
        """
        return self.seconds * 1e6 / (self.size / 1024) if self.size else 0.0
