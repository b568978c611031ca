"""
Items of labelled corpora, read from JSON Lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["KINDS", "Item", "Place", "files_in", "places", "read_items"]

Item: TypeAlias = Mapping[str, Any]
Place: TypeAlias = tuple[int, int]
KINDS = ("pii", "secrets", "injection", "benign", "language", "unicode", "streams", "moderation")
"""Names of files that are measured; a file with another name is taken for an inbox if its items look like one."""


def read_items(file: Path) -> Iterator[Item]:
    """
    Yield the objects of *file*.  Raises ``ValueError``, naming the line, for what is no JSON object.
    """
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                item = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{file}, line {number}: {error}") from None
            if isinstance(item, dict):
                yield item
            else:
                raise ValueError(f"{file}, line {number}: this is no object")


def files_in(given: Path) -> list[tuple[str, Path]]:
    """
    Return the corpora in a directory, or the one file that is given, each with its kind.
    """
    files = sorted(given.glob("*.jsonl")) if given.is_dir() else [given]
    found: list[tuple[str, Path]] = []
    for file in files:
        kind = next((kind for kind in KINDS if file.stem == kind or file.stem.startswith(f"{kind}-")), None)
        if kind is None and _looks_like_an_inbox(file):
            kind = "inbox"
        if kind is not None:
            found.append((kind, file))
    return found


def _looks_like_an_inbox(file: Path) -> bool:
    first = next(read_items(file), None)
    return first is not None and {"text", "spans", "injection"} <= set(first)


def places(item: Item, key: str = "spans", kinds: Sequence[str] | None = None) -> list[Place]:
    """
    Return the labelled places of an item, of certain types or all.
    """
    return [(span["start"], span["end"]) for span in item.get(key, ()) if kinds is None or span["type"] in kinds]
