"""
Compared: where what was seen differs from what the oracle says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from tests.runtime.random_graphs.build import Seen
from tests.runtime.random_graphs.described import Flow, Graph, shown, text_of
from tests.runtime.random_graphs.worlds import World

__all__ = ["check", "outcome"]


def check(
    graph: Flow | Graph,
    seen: Seen,
    worlds: Sequence[World],
    where: str,
    *,
    ended: bool = True,
    before: Collection[str] = (),
) -> None:
    """
    Fail with the graph and the nearest world, where *seen* is in none of *worlds*.

    Unless it *ended* by itself, how it ended is left aside.  The steps *before* had their turn in an earlier part of the
    run, and none in this.
    """
    nearest: list[str] | None = None
    for world in worlds:
        found = [*(_ends(seen, world) if ended else ()), *_differences(seen, world, before)]
        if not found:
            return
        if nearest is None or len(found) < len(nearest):
            nearest = found
    lines = [where, shown(graph), f"in none of {len(worlds)} worlds; from the nearest it differs in:", *(nearest or [])]
    raise AssertionError("\n".join(lines))


def outcome(world: World) -> tuple[str, str, tuple[str, str]]:
    """Return status, output and what decided, as they stand in the run's result."""
    end = world.end
    if end.kind in ("ok", "bailed"):
        return "success", text_of(end.value), ("", "")
    return end.kind, "None", (end.path, end.why if end.kind in ("failed", "blocked") else "")


def _ends(seen: Seen, world: World) -> Iterator[str]:
    for name, got, wanted in zip(
        ("status", "output", "decided by"), (seen.status, seen.output, seen.stop), outcome(world), strict=True
    ):
        if got != wanted:
            yield f"  {name}: {got!r} instead of {wanted!r}"


def _differences(seen: Seen, world: World, before: Collection[str]) -> Iterator[str]:
    for path, wanted in world.must.items():
        got = seen.records.get(path, ("absent", ""))
        if got != wanted and got not in world.may.get(path, ()):
            yield f"  record {path}: {got} instead of {wanted}"
    for path, got in seen.records.items():
        if path not in world.must and got not in world.may.get(path, ()):
            yield f"  record {path}: {got} instead of {world.may.get(path, 'none')}"
    for (path, attempt), times in seen.began.items():
        if path in before:
            yield f"  {path}: began again"
        if times > 1:
            yield f"  {path}: attempt {attempt} began {times} times"
        if attempt > world.runs.get(path, 0):
            yield f"  {path}: attempt {attempt}, where there should be {world.runs.get(path, 0)}"
    for path, attempts in world.runs.items():
        if path in world.must and path not in before:
            missing = [each for each in range(1, attempts + 1) if not seen.began[path, each]]
            if missing:
                yield f"  {path}: attempts {missing} never began"
    for key, wanted in _state(world).items():
        if key not in world.maybe and seen.state.get(key) != wanted:
            yield f"  state {key}: {seen.state.get(key)!r} instead of {wanted!r}"
    for key in seen.state:
        if key not in world.maybe and key not in _state(world):
            yield f"  state {key}: {seen.state[key]!r}, which nobody wrote"


def _state(world: World) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in world.writes:
        known = values.get(key)
        values[key] = value if known is None else known + value if key == "sum" else max(known, value)
    return values
