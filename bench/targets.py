"""
Targets: how fast each benchmark should be.  Ratios hold everywhere; microseconds and megabytes on a machine of today.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.harness import Row

__all__ = ["TARGETS", "Metric", "Target", "targets_for"]

Metric = Literal["ratio", "wall_ratio", "per_op_us", "ms", "added_ms", "block_ms", "peak_mb"]


class Target(NamedTuple):
    """
    The most that one number of a benchmark may be.  ``variant`` may hold ``*``.
    """

    bench: str
    variant: str
    metric: Metric
    most: float

    def met(self, row: Row) -> bool:
        """
        Return whether *row* stays within the target; a number that could not be taken does not.
        """
        value = row.get(self.metric)
        return value is not None and value <= self.most

    def __str__(self) -> str:
        unit = {
            "ratio": "x",
            "wall_ratio": "x",
            "per_op_us": " us",
            "ms": " ms",
            "added_ms": " ms",
            "block_ms": " ms",
            "peak_mb": " MB",
        }[self.metric]
        return f"<= {self.most:g}{unit}"


TARGETS: Sequence[Target] = (
    # Events, a result for each step and cancellation are on.
    Target("workflow", "chain_100", "ratio", 10),
    Target("workflow", "chain_100_def", "ratio", 10),
    # Branches that finish without suspending need no task of their own.
    Target("workflow", "fan_*_async", "ratio", 0.6),
    Target("workflow", "fan_*_def", "ratio", 0.6),
    Target("workflow", "fan_*_sleep", "ratio", 2.5),
    Target("workflow", "growth_fan_*", "ratio", 1.2),
    Target("workflow", "foreach_1000_50", "ratio", 6),
    Target("workflow", "branch_3", "ratio", 40),
    Target("workflow", "build_10", "ratio", 1.5),
    Target("workflow", "build_100", "ratio", 1.5),
    Target("workflow", "build_1000", "ratio", 1.5),
    Target("workflow", "growth_build", "ratio", 1.2),
    # What the stream itself costs, what each processor adds, and that neither grows.
    Target("stream", "[0-9]*_p0", "ratio", 10),
    Target("stream", "added_per_processor", "ratio", 3),
    Target("stream", "added_per_processor_def", "per_op_us", 0.25),
    Target("stream", "growth_*", "ratio", 1.1),
    Target("stream", "parallel_3", "ratio", 6),
    Target("stream", "memory_50k", "peak_mb", 2),
    Target("loop", "steps_*_p0", "ratio", 10),
    Target("loop", "added_*", "per_op_us", 1),
    Target("loop", "growth_*", "ratio", 1.15),
    Target("guards", "*", "added_ms", 0.5),
    Target("many", "runs_1000", "ratio", 4),
    Target("many", "runs_1000", "peak_mb", 50),
    # Each row is written before the call returns.
    Target("journal", "writes_*", "ratio", 2.5),
    Target("journal", "runs_100", "ratio", 2.5),
    Target("journal", "loop_block", "block_ms", 5),
    # And so is each step of a run, before anything that follows it begins.
    Target("journal", "kept_100", "ratio", 2.5),
    Target("journal", "kept_at_once_100", "ratio", 2.5),
    Target("journal", "kept_block", "block_ms", 5),
    Target("recall", "finds_1000", "ratio", 4),
    Target("recall", "turn_1000", "ratio", 5),
    # Nothing of a long thread is read to load its newest messages, or to save a turn.
    Target("memory", "grows_*", "ratio", 1.3),
    Target("memory", "save_*", "ratio", 3),
    # A search among a hundred thousand does not wait for the disk, and nobody waits for it.
    Target("vectors", "exact_100000", "ms", 30),
    Target("vectors", "exact_100000", "ratio", 2),
    Target("vectors", "exact_100000", "block_ms", 5),
    Target("vectors", "small_beside_100000", "ms", 5),
    Target("imports", "bare", "ratio", 1.3),
    Target("imports", "names", "ratio", 1.3),
    Target("imports", "all", "ratio", 1.3),
)


def targets_for(row: Row) -> list[Target]:
    """
    Return the targets of one row, in the order of the table.
    """
    return [
        target for target in TARGETS if target.bench == row["bench"] and fnmatchcase(row["variant"], target.variant)
    ]
