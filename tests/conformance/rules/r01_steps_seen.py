"""
R1: which steps a hook sees (D16).
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.scenario import Json, listing

__all__ = ["steps_seen"]


def steps_seen(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Count the current step in ``steps_so_far`` of ``process_llm_response`` and ``process_output_step`` (+1), and let
    ``step`` of ``process_tool_result`` be the step that made the call (-1).
    """
    for entry in listing(expected.get("timeline")):
        match entry.get("hook"):
            case "process_llm_response" | "process_output_step" if "steps_so_far" in entry:
                entry["steps_so_far"] += 1
            case "process_tool_result" if "step" in entry:
                entry["step"] -= 1
            case _:
                pass
