"""
R9: keys that are the reference's own (D11, D30).
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.scenario import Json, is_list, is_object, listing

__all__ = ["internal_keys"]


def internal_keys(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Leave out the names of the reference's payload fields, and ``__workflow_meta``.
    """
    for entry in listing(expected.get("timeline")):
        if "input_data" in entry:
            _without_keys(entry["input_data"])
    _without_meta(expected.get("runs"))


def _without_keys(data: Json) -> None:
    if is_object(data):
        data.pop("keys", None)
        for value in data.values():
            _without_keys(value)


def _without_meta(value: Json) -> None:
    if is_list(value):
        for inner in value:
            _without_meta(inner)
    elif is_object(value):
        for key in list(value):
            _without_meta(value[key])
            if key == "suspend_payload" and is_object(value[key]) and "__workflow_meta" in value[key]:
                del value[key]["__workflow_meta"]
                if not value[key]:
                    del value[key]
