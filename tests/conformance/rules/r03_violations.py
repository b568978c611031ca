"""
R3: ``on_violation`` (D13).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.compare import mark_of
from tests.conformance.rules.reading import runs_of, user_processors
from tests.conformance.scenario import Json, is_object, listing, mapping

__all__ = ["settle_violations", "take_violations", "violations"]

OTHERS = "*"
"""Stands for the built-ins that a trace does not name."""

DEFAULT_STRATEGY: Mapping[str, str] = {"TokenCostControl": "block"}


def take_violations(trace: dict[str, Json]) -> dict[str, list[Json]]:
    """
    Take the ``on_violation`` entries out of a timeline, on either side, and return them by processor.
    """
    found: dict[str, list[Json]] = {}
    kept: list[Json] = []
    for entry in listing(trace.get("timeline")):
        if entry.get("hook") == "on_violation":
            found.setdefault(str(entry["processor"]), []).append(entry["violation"])
        else:
            kept.append(entry)
    if "timeline" in trace:
        trace["timeline"] = kept
    return found


def violations(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Compare ``on_violation`` entries as lists of their own, per processor: every recorded one, exactly one for each
    run that ends in a tripwire of a processor with an ``on_violation``, one or none for each attempt that it sent back,
    and any number of further ones for a built-in whose strategy is not ``block``.
    """
    due: list[tuple[str, Json]] = []
    for run in runs_of(setup, expected):
        recorded = [
            (str(entry["processor"]), entry["violation"])
            for entry in run.entries
            if entry.get("hook") == "on_violation"
        ]
        due += recorded
        for step in run.steps:
            if step.get("finish_reason") == "retry":
                due += [(label, {"$optional": told}) for label, told in _owed(setup, step, recorded)]
        due += _owed(setup, mapping(run.record.get("result")), recorded)
    take_violations(expected)
    found: dict[str, list[Json]] = {}
    for label, violation in due:
        found.setdefault(label, []).append(violation)
    if "timeline" not in expected:
        return
    if _lenient(setup):
        own = set(user_processors(setup).values())
        found = {label: told if label in own else [*told, {"$more": True}] for label, told in found.items()}
        found[OTHERS] = [{"$more": True}]
    expected["violations"] = found


def settle_violations(expected: dict[str, Json], actual: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Do to a run what was done to the trace; drop what built-ins said that the trace does not name, where they may.

    A tripwire that a patch has put into the trace owes an entry as well, unless the patch brings it along.
    """
    told = take_violations(actual)
    if "violations" not in expected:
        return
    for run in runs_of(setup, expected) if OTHERS not in expected["violations"] else []:
        for label, violation in _owed(setup, mapping(run.record.get("result")), []):
            known: list[Json] = expected["violations"].setdefault(label, [])
            if all(mark_of(each) is not None for each in known):
                known.append(violation)
    if expected["violations"].pop(OTHERS, None) is not None:
        own = set(user_processors(setup).values())
        told = {label: each for label, each in told.items() if label in expected["violations"] or label in own}
    actual["violations"] = told


def _owed(
    setup: Mapping[str, Json], record: Mapping[str, Json], recorded: list[tuple[str, Json]]
) -> list[tuple[str, Json]]:
    """
    Return the entry that the tripwire of a run or of an attempt owes to a processor that listens, if it was not recorded.
    """
    tripwire = record.get("tripwire")
    label = _listens(setup, tripwire.get("processor_id")) if tripwire else None
    if tripwire is None or label is None:
        return []
    told: dict[str, Json] = {"processor_id": tripwire.get("processor_id"), "message": tripwire["reason"]}
    if "metadata" in tripwire:
        told["detail"] = tripwire["metadata"]
    return [] if (label, told) in recorded else [(label, told)]


def _listens(setup: Mapping[str, Json], processor_id: Any) -> str | None:
    """
    Return the label of the processor of this id, if its setup has an ``on_violation``.  A patch may leave the id open.
    """
    if not isinstance(processor_id, str):
        return None
    labels = user_processors(setup)
    for key, spec in mapping(setup.get("processors")).items():
        if is_object(spec) and spec.get("on_violation") and str(spec.get("id", key)) == processor_id:
            return labels[processor_id]
    if processor_id in labels:
        return None
    listening = [
        spec
        for spec in mapping(setup.get("builtin_processors")).values()
        if is_object(spec) and spec.get("on_violation")
    ]
    return processor_id if listening else None


def _lenient(setup: Mapping[str, Json]) -> bool:
    """
    Whether there is a built-in with an ``on_violation`` and a strategy other than ``block``.
    """
    return any(
        is_object(spec)
        and bool(spec.get("on_violation"))
        and mapping(spec.get("options")).get("strategy", DEFAULT_STRATEGY.get(str(spec["class"]))) != "block"
        for spec in mapping(setup.get("builtin_processors")).values()
    )
