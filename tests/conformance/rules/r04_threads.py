"""
R4: thread rows (D34).
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.rules.reading import runs_of
from tests.conformance.scenario import Json, mapping

__all__ = ["threads"]


def threads(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Let ``thread_exists`` be false where nothing is stored and no earlier call has stored anything in that thread.
    """
    written: set[str] = set()
    for run in runs_of(setup, expected):
        storage = run.record.get("storage")
        if storage is None:
            continue
        thread = str(mapping(run.call.get("options")).get("thread"))
        if storage.get("messages"):
            written.add(thread)
        elif thread not in written:
            storage["thread_exists"] = False
