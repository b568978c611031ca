"""
R10: tripwires (D13).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.conformance.compare import either
from tests.conformance.rules.reading import Run, Scripts, runs_of
from tests.conformance.scenario import Json, is_object, listing, mapping

__all__ = ["tripwires"]


def tripwires(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Let ``processor_id`` be that of the processor that aborted, and ``usage`` of a run that ended in a tripwire the sum
    of all the agent's model calls; one that was cut while streaming may count or not.
    """
    scripts = Scripts(setup)
    for run in runs_of(setup, expected):
        for tripwire in _tripwires_of(run.record):
            _name(tripwire, setup)
        result = run.record.get("result")
        if result and "tripwire" in result and "usage" in result and run.model_calls:
            whole = _sum(scripts, run.model_calls)
            result["usage"] = either(whole, _sum(scripts, run.model_calls[:-1])) if _cut(run) else whole


def _sum(scripts: Scripts, calls: list[str]) -> list[int]:
    used = [scripts.usage(call) for call in calls]
    tokens_in, tokens_out = sum(each[0] for each in used), sum(each[1] for each in used)
    return [tokens_in, tokens_out, tokens_in + tokens_out]


def _cut(run: Run) -> bool:
    """
    Whether the last model call may have been cut: streamed, and stopped by ``process_output_stream`` or a built-in.
    """
    if not run.streams:
        return False
    tripping = run.record["result"]["tripwire"].get("processor_id")
    hooks = [entry["hook"] for entry in run.entries if entry.get("processor") == tripping and "part" not in entry]
    streamed = [entry for entry in run.entries if entry.get("processor") == tripping and "part" in entry]
    return bool(streamed) or not hooks


def _tripwires_of(record: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    for chunk in listing(record.get("chunks")):
        if is_object(chunk) and chunk.get("type") == "tripwire":
            yield chunk
    result = mapping(record.get("result"))
    if "tripwire" in result:
        yield result["tripwire"]
    for step in [*listing(result.get("steps")), *listing(result.get("rejected"))]:
        if "tripwire" in step:
            yield step["tripwire"]


def _name(tripwire: dict[str, Json], setup: Mapping[str, Json]) -> None:
    if tripwire.get("retry") is False:  # no retry is the same as none said
        del tripwire["retry"]
    workflow = mapping(setup.get("workflow")).get("id")
    given = tripwire.get("processor_id")
    folded = {"agent-input-processor", "agent-output-processor", "agent-error-processor", workflow, None}
    if given not in folded:
        return
    metadata = tripwire.get("metadata")
    if is_object(metadata) and "processorId" in metadata:
        tripwire["processor_id"] = metadata["processorId"]
        return
    builtins = [spec for spec in mapping(setup.get("builtin_processors")).values() if is_object(spec)]
    if len(builtins) == 1:
        tripwire["processor_id"] = IDS.get(str(builtins[0]["class"]), given)


IDS: Mapping[str, str] = {
    "BatchPartsProcessor": "batch-parts",
    "LanguageDetector": "language-detector",
    "ModerationProcessor": "moderation",
    "PIIDetector": "pii-detector",
    "PromptInjectionDetector": "prompt-injection-detector",
    "RegexFilterProcessor": "regex-filter",
    "SystemPromptScrubber": "system-prompt-scrubber",
    "TokenCostControl": "token-cost-control",
    "TokenLimiterProcessor": "token-limiter",
    "ToolCallFilter": "tool-call-filter",
    "ToolSearchProcessor": "tool-search",
    "UnicodeNormalizer": "unicode-normalizer",
}
"""The ids of the built-ins, as the documents give them."""
