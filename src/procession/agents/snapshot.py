"""
Snapshot: a suspended run as JSON text, and back.

It holds the conversation as processors left it, the steps, what was counted, what guards found and have let pass, and
the calls that wait.  Processors' state, the request's values and what cannot be written, such as tools and callbacks,
are not in it; neither is what the attempts said that were rejected.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from procession.agents.collector import Collector
from procession.agents.output import AgentStep
from procession.agents.state import Attempt, LoopState
from procession.agents.structured_start import ask_again
from procession.agents.suspended_call import SuspendedCall
from procession.errors import MessageError, RunError
from procession.messages.chunks import TextDelta
from procession.messages.serial import from_data, to_data
from procession.messages.shapes import is_dict, is_items
from procession.messages.value import Value
from procession.processors.hold_back import PASSED
from procession.processors.hooks import Hook
from procession.processors.violation import Violation

__all__ = ["INSIDE", "RESUMED", "check_writable", "read_snapshot", "restore", "write_snapshot"]

INSIDE = "inside"
"""Whether a run is one of a tool of another run, with which alone it goes on; kept among the request's resources."""

RESUMED = "resumed"
"""Stands among the request's resources of a run that has gone on after a suspension."""

FORMAT = 2
"""The version of what is written here."""

_AGAIN = frozenset({"abort_signal", "context", "instructions", "run_id", "system", "tracing_context"})
"""Options that concern the beginning of a run, or this process alone: nothing is lost with them."""

_COUNTERS = (
    "step_number", "retries", "api_retries", "own_retries", "fallen", "noted", "step_texts_stale", "response_id",
    "sealed", "asked",
)  # fmt: skip

_SAID = ("text", "reasoning", "tool_calls", "taken", "object", "files", "sources")
"""What an attempt said; of a rejected one it is not kept."""

_TO_PROVIDERS = frozenset({"model_settings", "provider_options"})
_CREDENTIALS = ("apikey", "authorization", "cookie", "credential", "password", "secret")
"""What the name of a field of those options ends with that is not to stand in a file."""


def write_snapshot(state: LoopState, done: Mapping[str, str] | None = None) -> str:
    """
    Return the run as JSON text; *done* says by digests which questions have been answered since the run went on.

    Raises ``RunError``, which names the place, for a value that cannot be written.
    """
    return json.dumps({"format": FORMAT, **_run_data(state, done or {})}, separators=(",", ":"), allow_nan=False)


def check_writable(state: LoopState) -> None:
    """
    Raise what ``write_snapshot`` would raise, before anything is done that a failure would leave half done.
    """
    _run_data(state, {})


def read_snapshot(text: str) -> dict[str, Any]:
    """
    Return what was written.

    Raises ``MessageError`` for a format that is not known.
    """
    data: dict[str, Any] = json.loads(text)
    if data.pop("format", None) != FORMAT:
        raise MessageError("the snapshot of the run has a format that is not known", hint="it is of another version")
    found = {name: from_data(value) for name, value in data.items()}
    found["suspended"] = tuple(SuspendedCall(**each) for each in found["suspended"])
    return found


def restore(state: LoopState, snapshot: Mapping[str, Any]) -> None:
    """
    Let *state*, that of a new call, go on where the run in *snapshot* stopped.
    """
    for name in _COUNTERS:
        setattr(state, name, snapshot[name])
    state.sealed = tuple(state.sealed)
    state.fallen = min(state.fallen, len(state.settings.fallbacks))
    state.system = tuple(snapshot["system"])
    state.steps = [_step(each) for each in snapshot["steps"]]
    state.rejected = tuple(_step(each) for each in snapshot["rejected"])
    state.suspended = snapshot["suspended"]
    state.scope.charge(snapshot["usage"], snapshot["guard_usage"])
    state.scope.violations.extend(Violation(**each) for each in snapshot["violations"])
    state.scope.left_behind += tuple(snapshot["left_behind"])
    for processor_id, hooks in snapshot["guards_asked"].items():
        for hook in hooks:
            state.scope.note_look(processor_id, hook)
    for processor_id, passed in snapshot["looked_at"].items():
        state.scope.state(processor_id)[PASSED] = set(passed)
    state.scope.resources[RESUMED] = True
    state.started = True
    step = state.steps[-1]
    # The calls that wait were allowed when they were made.
    using = state.settings.replace(active_tools=None, tool_choice="auto")
    attempt = state.attempt = Attempt(using, step, snapshot["before"])
    attempt.begun = True
    attempt.said = snapshot["said"]
    attempt.collector = _collected(step)
    attempt.passed = Hook(snapshot["passed"]) if snapshot["passed"] is not None else None
    ask_again(state, snapshot["wants"])


def _run_data(state: LoopState, done: Mapping[str, str]) -> dict[str, Any]:
    attempt = state.attempt
    assert attempt is not None  # tools run within one
    kept, missing = _options(state.options)
    scope = state.scope
    snapshot = {
        "messages": state.messages,
        "system": state.system,
        "steps": [_fields(step) for step in state.steps],
        "rejected": [_fields(step, without=_SAID) for step in state.rejected],
        "usage": scope.usage,
        "guard_usage": scope.guard_usage,
        "violations": [_fields(one) for one in scope.violations],
        "left_behind": list(scope.left_behind),
        "guards_asked": {
            id: [hook for other, hook in scope.looked or () if other == id] for id, _ in scope.looked or ()
        },
        "looked_at": {
            id: sorted(held[PASSED]) for id, held in scope.states.items() if isinstance(held.get(PASSED), set)
        },
        "before": attempt.before,
        "said": list(attempt.said),
        "passed": attempt.passed.value if attempt.passed is not None else None,
        "wants": _wants(state),
        "suspended": [_fields(call) for call in state.suspended],
        "done": done,
        "options": kept,
        "missing": missing,
        "inside": scope.resources.get(INSIDE, False),
        "step_tools": _step_tools(state, attempt),
        **{name: getattr(state, name) for name in _COUNTERS},
    }
    try:
        return {name: _data(value, name) for name, value in snapshot.items()}
    except MessageError as error:
        raise RunError(
            f"run {scope.run_id} cannot be suspended: {error.message}",
            hint="keep what JSON, bytes or a time can say in messages, metadata and settings",
        ) from error


def _wants(state: LoopState) -> str:
    """
    Return whether the step asks for the ``own`` structured output of the run, for ``none``, or for an ``other`` one.
    """
    wanted = state.structured.wanted if state.structured is not None else None
    if wanted is state.settings.structured_output:
        return "own"
    return "none" if wanted is None else "other"


def _step_tools(state: LoopState, attempt: Attempt) -> list[str]:
    """
    Return the names of tools that stood in this step alone: on resume the run's own must not take their place.
    """
    own = state.settings.tools
    return [name for name, tool in attempt.using.tools.items() if own.get(name) is not tool]


def _collected(step: AgentStep) -> Collector:
    made = Collector()
    if step.text:
        made.add(TextDelta(step.text))
        made.parts()  # they are in the messages already
    made.tool_calls = list(step.tool_calls)
    return made


def _options(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """
    Return the options of the call that can be written down, and the names of those that must be given again.
    """
    kept: dict[str, Any] = {}
    missing: list[str] = []
    for name, value in given.items():
        if name in _AGAIN or name.startswith("on_"):
            continue
        if name == "request_context" or not _is_plain(value) or (name in _TO_PROVIDERS and _holds_credential(value)):
            missing.append(name)
        else:
            kept[name] = value
    return kept, missing


def _is_plain(value: Any) -> bool:
    if is_items(value):
        return all(_is_plain(each) for each in value)
    if is_dict(value):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    return value is None or type(value) in (str, int, float, bool)


def _holds_credential(value: Any) -> bool:
    if is_items(value):
        return any(_holds_credential(each) for each in value)
    if is_dict(value):
        return any(_is_credential(str(key)) or _holds_credential(each) for key, each in value.items())
    return False


def _is_credential(key: str) -> bool:
    return key.replace("-", "").replace("_", "").lower().endswith(_CREDENTIALS)


def _fields(value: Value | AgentStep, without: Iterable[str] = ()) -> dict[str, Any]:
    names: tuple[str, ...] = type(value).__fields__ if isinstance(value, Value) else AgentStep.__slots__
    return {name: getattr(value, name) for name in names if name not in without}


def _step(fields: Mapping[str, Any]) -> AgentStep:
    made = AgentStep(fields["step_number"], fields["message_id"])
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _data(value: Any, name: str) -> Any:
    try:
        return to_data(value)
    except MessageError as error:
        raise MessageError(error.message.replace("value", name, 1)) from error
