"""
Scenario: one recorded trace, read from ``<directory>/<area>/<name>.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

__all__ = [
    "HERE",
    "Json",
    "Scenario",
    "Unknown",
    "find_scenarios",
    "is_list",
    "is_object",
    "listing",
    "mapping",
    "named",
    "read_scenario",
]

Json: TypeAlias = Any
"""What ``json.loads`` returns."""

HERE = Path(__file__).parent


def is_object(value: Json) -> TypeGuard[dict[str, Json]]:
    """
    Whether a value of a trace is an object.
    """
    return isinstance(value, dict)


def is_list(value: Json) -> TypeGuard[list[Json]]:
    """
    Whether a value of a trace is a list.
    """
    return isinstance(value, list)


def mapping(value: Json) -> dict[str, Json]:
    """
    Return an object of a trace; a missing one, or something else, is an empty one.
    """
    return value if is_object(value) else {}


def listing(value: Json) -> list[Json]:
    """
    Return a list of a trace; a missing one, or something else, is an empty one.
    """
    return value if is_list(value) else []


class Unknown(Exception):
    """
    A scenario uses a word that the runner does not know; ``kind`` says of what sort (``op``, ``class``, ...).
    """

    def __init__(self, kind: str, name: object) -> None:
        super().__init__(f"unknown {kind}: {name}")
        self.kind = kind
        self.name = str(name)


def named(kind: str, found: Mapping[str, Any], name: str) -> Any:
    """
    Return what the scenario calls *name*.  Raises ``Unknown`` where there is no such thing.
    """
    if name not in found:
        raise Unknown(kind, name)
    return found[name]


@dataclass(frozen=True, slots=True)
class Scenario:
    """
    What to build and do (``setup``), and what was recorded when the reference did it (``expected``).
    """

    area: str
    name: str
    setup: Json
    expected: Json
    description: str = ""
    verdict: str = "reference"

    @property
    def key(self) -> str:
        return f"{self.area}/{self.name}"


def read_scenario(path: Path) -> Scenario:
    """
    Read one file.  Raises ``Unknown`` where it holds something else than a trace.
    """
    try:
        raw: Json = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Unknown("file", f"{path.name} is no JSON: {error}") from error
    if not is_object(raw) or not is_object(raw.get("setup")) or not is_object(raw.get("expected")):
        raise Unknown("file", f"{path.name} has no setup and expected")
    trace: dict[str, Json] = raw
    return Scenario(
        area=path.parent.name,
        name=path.stem,
        setup=trace["setup"],
        expected=trace["expected"],
        description=str(trace.get("description", "")),
        verdict=str(trace.get("verdict", "reference")),
    )


def find_scenarios(directory: Path, areas: Iterable[str] = ()) -> list[Path]:
    """
    Return the files of the scenarios in *directory*, of all areas or of those named, in order.
    """
    wanted = set(areas)
    return sorted(path for path in directory.glob("*/*.json") if not wanted or path.parent.name in wanted)
