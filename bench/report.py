"""
The table at the end: each benchmark with its target, and whether it is met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.targets import targets_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.harness import Row

__all__ = ["missed", "table"]

_HEAD = ("benchmark", "us/op", "floor", "ratio", "peak MB", "target", "met")


def table(rows: Sequence[Row], *, targets: bool = True) -> str:
    """
    Return the rows as text, a line for each target and for each row that has none; without *targets*, one for each row.
    """
    head = _HEAD if targets else _HEAD[:-2]
    lines: list[tuple[str, ...]] = [head]
    for row in rows:
        name = f"{row['bench']}.{row['variant']}"
        numbers = tuple(_shown(row[key]) for key in ("per_op_us", "floor_us", "ratio", "peak_mb"))
        found = targets_for(row) if targets else []
        if not found:
            lines.append((name, *numbers, "", "")[: len(head)])
        for target in found:
            shown = str(target)
            if target.metric not in ("ratio", "peak_mb", "per_op_us"):
                shown = f"{target.metric} {_shown(row.get(target.metric))} {shown}"
            lines.append((name, *numbers, shown, "yes" if target.met(row) else "NO"))
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if 0 < column < 5 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def missed(rows: Sequence[Row]) -> list[str]:
    """
    Return the names of the rows that miss a target.
    """
    return [
        f"{row['bench']}.{row['variant']}" for row in rows if not all(target.met(row) for target in targets_for(row))
    ]


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
