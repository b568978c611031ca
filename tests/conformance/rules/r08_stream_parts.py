"""
R8: ``stream_parts`` (D37).
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.scenario import Json, listing

__all__ = ["settle_stream_parts", "stream_parts"]


def stream_parts(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Do not compare ``stream_parts``: it is kept only for processors that say ``uses_stream_parts``, and for those it is
    the number of their own calls in the run, which the run itself tells.
    """
    for entry in listing(expected.get("timeline")):
        entry.pop("stream_parts", None)


def settle_stream_parts(actual: dict[str, Json]) -> None:
    """
    Take the number out of a run where it is that of the processor's own calls; a wrong one stays and is reported.
    """
    for entry in listing(actual.get("timeline")):
        if "stream_calls" in entry and entry["stream_calls"] == entry.get("stream_parts"):
            del entry["stream_calls"], entry["stream_parts"]
