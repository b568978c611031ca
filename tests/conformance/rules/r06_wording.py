"""
R6: what is not compared word for word (D39).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.conformance.compare import ANY
from tests.conformance.rules.reading import runs_of, scenario_texts, user_processors
from tests.conformance.scenario import Json, is_list, is_object, listing, mapping

__all__ = ["wording"]

ERROR_KEYS = frozenset({"error", "thrown", "get_full_output_error", "root_cause", "on_error"})
STRING = r'"(?:[^"\\]|\\.)*"'
HOLES = re.compile(
    rf"!! (?P<failed>{STRING})"
    rf'|\{{"type":"error-text","value":(?P<told>{STRING})\}}'
    r"|error\((?P<part>\{.*?\"createdAt\":0\})\)"
    rf"|<built-in wording>\(content=(?P<content>{STRING})\)"
    rf"|<working-memory instructions>\(template=(?P<template>{STRING}), data=(?P<data>{STRING})\)"
    r"|<built-in instructions>|<tool-search instructions>|<working-memory instructions>"
    rf'|(?P<search>"score":[\d.]+|"message":"Found [^"]*")'
)
RECALLED = "<remembered_from_other_conversation>"
QUOTED = re.compile(r"Message from previous conversation at <time>: \w+: (.*?)(?:\\n|$)")


class _Words:
    """
    The texts of errors and the names of tools that a scenario gives: what must occur where it occurred.
    """

    def __init__(self, setup: Mapping[str, Json]) -> None:
        self.texts, self.names = scenario_texts(setup)

    def within(self, text: str) -> list[str]:
        found = [given for given in sorted(self.texts) if given and given in text]
        return found + [name for name in sorted(self.names) if re.search(rf"\b{re.escape(name)}\b", text)]


def wording(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Compare of errors that there is one, its status, and the texts and names that the scenario gives; of built-in
    prompts the content that they quote and, of the agent's instructions, how they start; of the verdicts of built-ins
    everything but their words, unless the setup gives them; of a tool search the names; of logs nothing.
    """
    expected.pop("logs", None)
    words = _Words(setup)
    _structurers(expected, setup)
    for key in ("timeline", "model_calls", "runs", "process_output_result"):
        if key in expected:
            expected[key] = _worded(expected[key], words)
    _verdicts(expected, setup)


def _worded(value: Json, words: _Words) -> Json:
    if _is_search(value):
        results = [{**_worded(each, words), "score": ANY} for each in value["results"]]
        return {"results": results, "message": ANY}
    if is_object(value):
        return {
            key: _error(inner, words) if key in ERROR_KEYS and is_object(inner) else _worded(inner, words)
            for key, inner in value.items()
        }
    if is_list(value):
        return [_worded(inner, words) for inner in value]
    return _holed(value, words) if isinstance(value, str) else value


def _is_search(value: Json) -> bool:
    """
    Whether *value* is what a search for tools answered.
    """
    if not is_object(value) or value.keys() != {"results", "message"} or not is_list(value["results"]):
        return False
    results: list[Json] = value["results"]
    return all(is_object(each) and each.keys() == {"name", "description", "score"} for each in results)


def _error(error: Mapping[str, Json], words: _Words) -> Json:
    if "$either" in error or "$error" in error:
        return error
    said = f"{error.get('message', '')} / {mapping(error.get('root_cause')).get('message', '')}"
    wanted: dict[str, Json] = {"contains": words.within(said)}
    if "status" in error:
        wanted["status"] = error["status"]
    return {"$error": wanted}


def _inner(text: str | None) -> list[str]:
    return [text[1:-1]] if text else []


def _holed(text: str, words: _Words) -> Json:
    """
    Return the text, with a hole for each wording that need not be reproduced.
    """
    if RECALLED in text:
        head = text.partition('"')[0]
        return {"$text": [f'{head}"', {"contains": QUOTED.findall(text)}, '"']}
    pieces: list[Json] = []
    at = 0
    for found in HOLES.finditer(text):
        groups: dict[str, Any] = found.groupdict()
        start, end = found.start(), found.end()
        if groups["failed"] or groups["told"]:
            kept = groups["failed"] or groups["told"]
            offset = found.group(0).index(kept) + start
            start, end = offset + 1, offset + len(kept) - 1
            contains = words.within(kept)
        elif groups["part"]:
            start, end, contains = start + len("error("), end - 1, words.within(groups["part"])
        else:
            contains = _inner(groups["content"]) + _inner(groups["template"])
            contains += [data for data in _inner(groups["data"]) if data != "null"]
        pieces += [text[at:start], {"contains": contains}]
        at = end
    return {"$text": [*pieces, text[at:]]} if pieces else text


def _structurers(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Leave open the prompt of a structuring model, and what structured output adds to the main system message.
    """
    options = [mapping(mapping(call.get("options")).get("structured_output")) for call in listing(setup.get("calls"))]
    structurers = {str(option["model"]) for option in options if "model" in option}
    if not structurers:
        return
    instructions = str(mapping(setup.get("agent")).get("instructions", "You are a parrot."))
    texts = [str(mapping(run.record.get("result")).get("text") or "") for run in runs_of(setup, expected)]
    for call in listing(expected.get("model_calls")):
        if call.get("model") in structurers:
            call["prompt"] = [
                _opened(entry, [text for text in texts if text and text in entry]) for entry in call["prompt"]
            ]
        elif call["prompt"] and len(call["prompt"][0]) > len(instructions) + 20:
            head = "system: " + json.dumps(instructions, ensure_ascii=False)[:-1]
            if call["prompt"][0].startswith(head):
                call["prompt"][0] = {"$text": [head, {"contains": []}, '"']}


def _opened(entry: str, contains: list[str]) -> Json:
    role = entry.partition(": ")[0]
    return {"$text": [f"{role}: ", {"contains": contains}]}


def _verdicts(expected: dict[str, Json], setup: Mapping[str, Json]) -> None:
    """
    Leave open the words of built-ins: ``reason``, ``message``, ``detail.phase`` and errors in their metadata.
    """
    own = set(user_processors(setup)) | {"prepare-step"}
    builtins = [spec for spec in mapping(setup.get("builtin_processors")).values() if is_object(spec)]
    spoken = any("message" in spec["options"] for spec in builtins if is_object(spec.get("options")))
    for tripwire in _tripwires(listing(expected.get("runs"))):
        if tripwire.get("processor_id") not in own:
            if not spoken and builtins:
                tripwire["reason"] = ANY
            _open_errors(tripwire.get("metadata"))
    for told in mapping(expected.get("violations")).values():
        for violation in told:
            if "processor_id" in violation and violation["processor_id"] not in own:
                if not spoken:
                    violation["message"] = ANY
                detail = violation.get("detail")
                _open_errors(detail)
                if is_object(detail) and "phase" in detail:
                    detail["phase"] = ANY


def _open_errors(metadata: Json) -> None:
    if is_object(metadata):
        for key, value in metadata.items():
            if key in ERROR_KEYS:
                metadata[key] = ANY
            else:
                _open_errors(value)


def _tripwires(value: Json) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = []
    if is_object(value):
        if "reason" in value and ("processor_id" in value or value.get("type") == "tripwire"):
            found.append(value)
        for inner in value.values():
            found += _tripwires(inner)
    elif is_list(value):
        for inner in value:
            found += _tripwires(inner)
    return found
