"""
R13: workflows (D24, D29, D31).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.conformance.compare import ANY, either
from tests.conformance.scenario import Json, is_list, is_object, listing, mapping

__all__ = ["EVENT_KINDS", "settle_workflow", "workflows"]

EVENT_KINDS = frozenset({
    "workflow-start", "workflow-step-start", "workflow-step-output", "workflow-step-progress",
    "workflow-step-waiting", "workflow-step-suspended", "workflow-step-result", "workflow-canceled", "workflow-finish",
})  # fmt: skip
MAPPING = re.compile(r"mapping_[\w-]+_\d+")
SLEEP = re.compile(r"sleep_(?:<id(?:-\d+)?>|[\w-]+)")
OPTIONAL_FIELDS = ("payload", "resume_payload", "suspend_payload")

Json_Map = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Siblings:
    """
    Steps that run at the same time, by their names in events.
    """

    names: frozenset[str]
    timed: bool
    """Whether one of them needs time, so that the order in which they end is the run's own."""


def workflows(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Compare events of the listed kinds only, starts of siblings before their results, and results of siblings that need
    no time in any order; let a step that bailed be ``bailed`` or ``success``; leave out ``usage`` of the last event and
    ``input`` of the records.
    """
    if "flow" not in setup:
        return
    for run in listing(expected.get("runs")):
        if "events" in run:
            events = [_event(event) for event in run["events"] if _listed(event)]
            run["events"] = list(_grouped(events, setup, unordered=True))
        records: dict[str, Json] = mapping(mapping(run.get("result")).get("steps"))
        records.pop("input", None)
        for record in records.values():
            if record.get("status") == "bailed" or (record.get("status") == "success" and _may_bail(setup)):
                record["status"] = either(record["status"], "bailed", "success")


def settle_workflow(expected: dict[str, Json], actual: dict[str, Json], setup: Mapping[str, Json]) -> dict[str, Json]:
    """
    Return the run with its events as those of the trace are, without the fields of records whose absence says nothing,
    and with the trace's names for ids that nobody gave: one of ours for one of theirs.
    """
    for run in listing(actual.get("runs")):
        if "events" in run:
            run["events"] = list(_grouped([event for event in run["events"] if _listed(event)], setup, unordered=False))
    names = dict(zip(_mappings(actual), _mappings(expected), strict=False))
    settled: dict[str, Json] = _renamed(actual, lambda text: names.get(text, SLEEP.sub("sleep_<id>", text)))
    for key in ("graph", "runs"):
        if key in expected:
            expected[key] = _renamed(expected[key], lambda text: SLEEP.sub("sleep_<id>", text))
    for wanted, run in zip(listing(expected.get("runs")), listing(settled.get("runs")), strict=False):
        theirs = mapping(mapping(wanted.get("result")).get("steps"))
        for name, record in mapping(mapping(run.get("result")).get("steps")).items():
            for field in OPTIONAL_FIELDS:
                if field in record and field not in mapping(theirs.get(name)):
                    del record[field]
    return settled


def _listed(event: Mapping[str, Json]) -> bool:
    return event.get("type") in EVENT_KINDS or str(event.get("type")).startswith("data-")


def _event(event: dict[str, Json]) -> dict[str, Json]:
    event = dict(event)
    if event.get("type") == "workflow-finish":
        event["output"] = ANY
    if event.get("status") == "bailed":
        event["status"] = either("bailed", "success")
    return event


def _may_bail(setup: Mapping[str, Json]) -> bool:
    return any(
        op.get("op") == "bail" for step in mapping(setup.get("steps")).values() for op in listing(step.get("ops"))
    )


def _siblings(flow: Json, setup: Mapping[str, Json], prefix: str = "") -> Iterator[_Siblings]:
    steps: Mapping[str, Json] = mapping(setup.get("steps"))
    for node in flow:
        arms = [*node.get("parallel", []), *(arm["then"] for arm in node.get("branch", []))]
        if arms:
            names = frozenset(prefix + (arm if isinstance(arm, str) else str(arm["workflow"])) for arm in arms)
            timed = any(
                op.get("op") == "sleep"
                for arm in arms
                if isinstance(arm, str)
                for op in listing(mapping(steps.get(arm)).get("ops"))
            )
            yield _Siblings(names, timed)
        for inner in [*arms, *node.values()]:
            if is_object(inner) and "flow" in inner:
                yield from _siblings(inner["flow"], setup, f"{prefix}{inner['workflow']}.")


def _grouped(events: list[dict[str, Json]], setup: Mapping[str, Json], *, unordered: bool) -> Iterator[Json]:
    """
    Yield the events with those of siblings put together: starts, then the others.
    """
    groups = list(_siblings(setup["flow"], setup))
    at = 0
    while at < len(events):
        group = next((each for each in groups if events[at].get("step") in each.names), None)
        if group is None:
            yield events[at]
            at += 1
            continue
        end = at
        while end < len(events) and events[end].get("step") in group.names:
            end += 1
        together = events[at:end]
        yield from (event for event in together if event["type"] == "workflow-step-start")
        others = [event for event in together if event["type"] != "workflow-step-start"]
        if unordered and not group.timed and len(others) > 1:
            yield {"$unordered": others}
        else:
            yield from others
        at = end


def _mappings(trace: Mapping[str, Json]) -> list[str]:
    found: dict[str, None] = {}

    def note(text: str) -> str:
        if MAPPING.fullmatch(text):
            found.setdefault(text)
        return text

    _renamed(trace.get("graph"), note)
    _renamed(trace.get("runs"), note)
    return list(found)


def _renamed(value: Json, name: Json_Map) -> Json:
    if is_object(value):
        return {name(str(key)): _renamed(inner, name) for key, inner in value.items()}
    if is_list(value):
        return [_renamed(inner, name) for inner in value]
    return name(value) if isinstance(value, str) else value
