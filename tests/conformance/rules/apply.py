"""
The rules of the comparer, applied to what was recorded: pure functions of a trace (R1 to R13).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy

from tests.conformance.compare import Difference
from tests.conformance.rules.r01_steps_seen import steps_seen
from tests.conformance.rules.r02_retries import retries
from tests.conformance.rules.r03_violations import settle_violations, violations
from tests.conformance.rules.r04_threads import threads
from tests.conformance.rules.r05_thrown import thrown
from tests.conformance.rules.r06_wording import wording
from tests.conformance.rules.r07_retry_count import retry_count
from tests.conformance.rules.r08_stream_parts import settle_stream_parts, stream_parts
from tests.conformance.rules.r09_internal_keys import internal_keys
from tests.conformance.rules.r10_tripwires import tripwires
from tests.conformance.rules.r11_token_counter import rounded, token_counter
from tests.conformance.rules.r12_one_text import check_texts, one_text, settle_texts
from tests.conformance.rules.r13_workflows import settle_workflow, workflows
from tests.conformance.scenario import Json, is_list, is_object, listing, mapping

__all__ = ["RULES", "ruled", "settle"]

RULES: tuple[Callable[[dict[str, Json], Mapping[str, Json]], None], ...] = (
    steps_seen,  # R1, before the renumbering of R2
    retry_count,  # R7, reads the rejected steps that R2 moves away
    tripwires,  # R10, names the processors that R3 looks for
    violations,  # R3
    retries,  # R2
    threads,  # R4
    thrown,  # R5
    stream_parts,  # R8
    internal_keys,  # R9
    token_counter,  # R11
    one_text,  # R12
    wording,  # R6
    workflows,  # R13
)

SELDOM_RECORDED = ("reasoning-delta",)
"""Chunks of which too few were recorded to know what the traces say of them: what they say is compared."""

ONLY_WHERE_RECORDED = ("on_finish_called", "on_error", "ui_messages_metadata", "awaited")
"""What only some traces record of a run."""

OF_EVERY_CALL = frozenset({
    "model", "call", "kind", "prompt", "tools", "tool_choice", "temperature", "top_p", "provider_options",
    "response_format",
})  # fmt: skip
"""What the traces record of every model call that has it; of the other settings only some do."""


def ruled(expected: Mapping[str, Json], setup: Mapping[str, Json]) -> dict[str, Json]:
    """
    Return what a trace expects once all rules are applied.
    """
    changed: dict[str, Json] = deepcopy(dict(expected))
    for rule in RULES:
        rule(changed, setup)
    return mapping(_counted(changed))


def _counted(value: Json) -> Json:
    """
    Write usage that nobody reported as 0: our ``Usage`` has numbers only.
    """
    if is_object(value):
        return {
            key: [count or 0 for count in inner]
            if key == "usage" and is_list(inner) and all(isinstance(each, int | None) for each in inner)
            else _counted(inner)
            for key, inner in value.items()
        }
    return [_counted(inner) for inner in value] if is_list(value) else value


def settle(
    expected: Mapping[str, Json], actual: Mapping[str, Json], setup: Mapping[str, Json]
) -> tuple[dict[str, Json], dict[str, Json], list[Difference]]:
    """
    Return both sides, ready to be compared, and where the run contradicts itself.

    *expected* is ruled, and patched where it is superseded.  What a rule takes out of a trace is taken out of the run.
    """
    wanted: dict[str, Json] = deepcopy(dict(expected))
    run: dict[str, Json] = rounded(dict(actual))
    _limit_fields(wanted, run)
    found = check_texts(run)
    settle_stream_parts(run)
    settle_violations(wanted, run, setup)
    settle_texts(wanted, run, setup)
    if "flow" in setup:
        run = settle_workflow(wanted, run, setup)
    for theirs, ours in zip(listing(wanted.get("runs")), listing(run.get("runs")), strict=False):
        for key in ONLY_WHERE_RECORDED:
            if key not in theirs:
                ours.pop(key, None)
    settings = {key for call in listing(wanted.get("model_calls")) for key in call}
    for call in listing(run.get("model_calls")):
        for key in set(call) - OF_EVERY_CALL - settings:
            del call[key]
    return wanted, run, found


def _limit_fields(expected: Json, actual: Json) -> None:
    """
    Take the fields out of a run's seldom recorded chunks that no such chunk of the trace has.
    """
    for kind in SELDOM_RECORDED:
        known = {key for chunk in _of_type(kind, expected) for key in chunk}
        for chunk in _of_type(kind, actual):
            for key in set(chunk) - known - {"type"}:
                del chunk[key]


def _of_type(kind: str, value: Json) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = []
    if is_object(value):
        found += [value] if value.get("type") == kind else []
        for inner in value.values():
            found += _of_type(kind, inner)
    elif is_list(value):
        for inner in value:
            found += _of_type(kind, inner)
    return found
