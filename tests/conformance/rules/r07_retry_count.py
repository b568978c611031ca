"""
R7: ``retry_count`` (D16).
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.rules.reading import runs_of
from tests.conformance.scenario import Json

__all__ = ["retry_count"]


def retry_count(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Let ``retry_count`` of ``process_output_stream`` and ``process_tool_result`` be the number of attempts of the step
    so far, like that of the other step hooks.
    """
    for run in runs_of(setup, expected):
        rejections = run.rejections
        for entry, attempt in run.hooks():
            if entry["hook"] not in ("process_output_stream", "process_tool_result"):
                continue
            count = 0
            for by in reversed(rejections[:attempt]):
                if by is None:
                    break
                count += 1
            if entry["hook"] == "process_tool_result" or count:
                entry["retry_count"] = count
