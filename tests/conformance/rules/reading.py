"""
Reading a trace: which run, attempt and model call an entry of the timeline belongs to, and what a setup names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.conformance.scenario import Json, is_list, is_object, listing, mapping

__all__ = ["Run", "Scripts", "agent_models", "runs_of", "scenario_texts", "user_processors"]

AGAIN = frozenset({"process_input_step", "process_llm_request", "process_output_step"})
"""The hooks of the reference that are told how often their step was tried."""
BEFORE_CALL = frozenset({"process_input_step", "process_llm_request"})
"""The hooks that belong to the model call that comes after them."""


@dataclass(slots=True)
class Run:
    """
    One call of a scenario: what of the timeline and of the model calls belongs to it.
    """

    number: int
    call: Mapping[str, Json]
    record: dict[str, Json]
    """Its entry in ``expected.runs``."""
    entries: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    model_calls: list[str] = field(default_factory=list[str])
    """``name#n`` of the agent's own model calls, in order."""
    attempts: list[int] = field(default_factory=list[int])
    """For each entry, the index of the model call that it belongs to."""

    @property
    def streams(self) -> bool:
        return self.call.get("method") == "stream"

    @property
    def steps(self) -> list[dict[str, Json]]:
        return listing(mapping(self.record.get("result")).get("steps"))

    @property
    def rejections(self) -> list[str | None]:
        """
        For each model call: who rejected the attempt (``processor``, ``error``), or ``None``.
        """
        if self.record.get("result"):
            return [_rejected_by(step) for step in self.steps]
        if "chunks" not in self.record:
            return self._rejections_told()
        found: list[str | None] = []
        for chunk in listing(self.record.get("chunks")):
            if chunk.get("type") == "step-finish":
                nothing = not any(chunk.get("usage") or [None])
                found.append(None if chunk.get("reason") != "retry" else "error" if nothing else "processor")
        return found

    def _rejections_told(self) -> list[str | None]:
        """
        Read it from the hooks: the attempt after a rejected one is shown a ``retry_count``.
        """
        found: list[str | None] = [None] * len(self.model_calls)
        for entry, attempt in self.hooks():
            if entry["hook"] in AGAIN and entry.get("retry_count") and 0 < attempt <= len(found):
                asked = any(each["hook"] == "process_api_error" for each, of in self.hooks() if of == attempt - 1)
                found[attempt - 1] = "error" if asked else "processor"
        return found

    def hooks(self) -> Iterator[tuple[dict[str, Json], int]]:
        """
        Yield the entries that are hooks, each with its attempt.
        """
        for entry, attempt in zip(self.entries, self.attempts, strict=True):
            if "hook" in entry:
                yield entry, attempt


def _rejected_by(step: Mapping[str, Json]) -> str | None:
    if step.get("finish_reason") != "retry":
        return None
    return "processor" if "tripwire" in step else "error"


def agent_models(setup: Mapping[str, Json]) -> set[str]:
    """
    Return the models that the agent itself calls: not those of detectors and structurers.
    """
    others: set[str] = set()
    for builtin in mapping(setup.get("builtin_processors")).values():
        if is_object(builtin) and is_object(builtin.get("options")):
            others.add(str(builtin["options"].get("model")))
    for call in listing(setup.get("calls")):
        structured = mapping(mapping(call.get("options")).get("structured_output"))
        others.add(str(structured.get("model")))
    return set(mapping(setup.get("models"))) - others


def runs_of(setup: Mapping[str, Json], expected: Mapping[str, Json]) -> list[Run]:
    """
    Return the runs of a trace, one for each call.
    """
    calls: list[Json] = listing(setup.get("calls"))
    records: list[Json] = listing(expected.get("runs"))
    runs = [Run(number, call, record) for number, (call, record) in enumerate(zip(calls, records, strict=False))]
    if not runs:
        return []
    own, count = agent_models(setup), 0
    current: Run = runs[0]
    for entry in listing(expected.get("timeline")):
        if "call" in entry and entry["call"] < len(runs):
            current = runs[int(entry["call"])]
            count = 0
        if "model_call" in entry and str(entry["model_call"]).rpartition("#")[0] in own:
            current.model_calls.append(entry["model_call"])
            count += 1
        current.entries.append(entry)
        ahead = entry.get("hook") in BEFORE_CALL or entry.get("hook") == "process_input"
        current.attempts.append(count if ahead else max(count - 1, 0))
    return runs


def user_processors(setup: Mapping[str, Json]) -> dict[str, str]:
    """
    Return the ids of the scenario's own processors, each with its label.
    """
    found: dict[str, str] = {}
    for key, spec in mapping(setup.get("processors")).items():
        if is_object(spec):
            found[str(spec.get("id", key))] = str(spec.get("label", key))
    return found


def _ops(value: Json) -> Iterator[Mapping[str, Json]]:
    if is_object(value):
        if "op" in value:
            yield value
        for inner in value.values():
            yield from _ops(inner)
    elif is_list(value):
        for inner in value:
            yield from _ops(inner)


class Scripts:
    """
    What a setup's models are scripted to do.
    """

    def __init__(self, setup: Mapping[str, Json]) -> None:
        self.entries: dict[str, list[Mapping[str, Json]]] = {}
        self.repeats: set[str] = set()
        for name, model in mapping(setup.get("models")).items():
            self.entries[name] = model["script"] if is_object(model) else model
            if is_object(model) and model.get("repeat_last"):
                self.repeats.add(name)

    def entry(self, call: str) -> Mapping[str, Json]:
        """
        Return what the model call ``name#n`` answers.
        """
        name, _, number = call.rpartition("#")
        entries, index = self.entries.get(name, []), int(number)
        if index < len(entries):
            return entries[index]
        return entries[-1] if entries and name in self.repeats else {"error": {}}

    def usage(self, call: str) -> tuple[int, int]:
        """
        Return the tokens of a model call: none where it fails.
        """
        entry = self.entry(call)
        if "error" in entry:
            return 0, 0
        given: Sequence[int] = entry.get("usage") or (10, 5)
        return given[0], given[1]


def scenario_texts(setup: Mapping[str, Json]) -> tuple[set[str], set[str]]:
    """
    Return the texts of errors that a scenario gives, and the names of its tools.
    """
    texts = {str(op["message"]) for op in _ops(setup) if op.get("op") == "throw" and "message" in op}
    names = {str(name) for name in mapping(setup.get("tools"))}
    for tool in mapping(setup.get("tools")).values():
        if is_object(tool) and "throws" in tool:
            texts.add(str(tool["throws"]))
    for entries in Scripts(setup).entries.values():
        for entry in entries:
            for key in ("error", "stream_error"):
                if is_object(entry.get(key)) and "message" in entry[key]:
                    texts.add(str(entry[key]["message"]))
            names |= {str(call.get("name")) for call in listing(entry.get("tool_calls"))}
    return texts, names
