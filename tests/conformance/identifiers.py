"""
Placeholders: ids in order of appearance, and times, as the traces write them.
"""

from __future__ import annotations

import re

from tests.conformance.scenario import Json, is_list, is_object

__all__ = ["numbered"]

ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")


def numbered(value: Json) -> Json:
    """
    Return *value* with ``<id-N>`` for each generated id and ``<ts>`` for each time.

    >>> numbered({"id": "0198a7c0-0000-7000-8000-000000000000", "at": "2025-01-01T00:00:00Z"})
    {'id': '<id-1>', 'at': '<ts>'}
    """
    seen: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        return seen.setdefault(found[0], f"<id-{len(seen) + 1}>")

    def write(part: Json) -> Json:
        if isinstance(part, str):
            return TIME.sub("<ts>", ID.sub(name, part))
        if is_object(part):
            return {write(key): write(inner) for key, inner in part.items()}
        return [write(inner) for inner in part] if is_list(part) else part

    return write(value)
