"""
R2: what a retry does to step numbers, steps and counts (D15, D37).
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.rules.reading import Run, runs_of
from tests.conformance.scenario import Json

__all__ = ["retries"]

STEP_HOOKS = frozenset({
    "process_input_step", "process_llm_request", "process_llm_response", "process_output_step", "process_tool_result",
})  # fmt: skip


def retries(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Move rejected attempts from ``result.steps`` to ``result.rejected`` (of which ``tripwire`` and ``tool_calls`` are
    compared); let ``step`` of the step hooks not count the attempts that processors rejected before; let
    ``steps_so_far`` and the ``result.steps`` that ``process_output_result`` sees not count any rejected attempt.
    """
    for run in runs_of(setup, expected):
        _renumber(run)
        result = run.record.get("result")
        if result and result.get("steps"):
            rejected = [step for step in run.steps if step.get("finish_reason") == "retry"]
            if rejected:
                result["steps"] = [step for step in run.steps if step.get("finish_reason") != "retry"]
                result["rejected"] = [
                    {key: step[key] for key in ("tripwire", "tool_calls") if key in step} for step in rejected
                ]


def _renumber(run: Run) -> None:
    rejections = run.rejections
    complete = bool(run.record.get("result"))
    for entry, attempt in run.hooks():
        before = rejections[:attempt]
        if entry["hook"] == "process_output_result":
            if "result" in entry and complete:
                entry["result"]["steps"] -= sum(by is not None for by in rejections)
            continue
        if entry["hook"] in STEP_HOOKS and "step" in entry:
            entry["step"] -= before.count("processor")
        if "steps_so_far" in entry:
            gone = sum(by is not None for by in before) if complete else before.count("processor")
            entry["steps_so_far"] = max(entry["steps_so_far"] - gone, 0)
