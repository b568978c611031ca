"""
Snapshot: a suspended run as JSON text, and back.

It holds the conversation as processors left it, the steps, what was counted, and the calls that wait.  Processors'
state, the request's values and what cannot be written, such as tools and callbacks, are not in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from procession.agents.collector import Collector
from procession.agents.output import AgentStep
from procession.agents.state import Attempt, LoopState
from procession.agents.suspended_call import SuspendedCall
from procession.errors import MessageError
from procession.messages.chunks import TextDelta
from procession.messages.serial import from_data, to_data
from procession.messages.shapes import is_dict
from procession.messages.value import Value
from procession.processors.violation import Violation

__all__ = ["read_snapshot", "restore", "write_snapshot"]

FORMAT = 1
"""The version of what is written here."""

_AGAIN = frozenset({"abort_signal", "context", "instructions", "run_id", "system", "tracing_context"})
"""Options that concern the beginning of a run, or this process alone: nothing is lost with them."""

_COUNTERS = (
    "step_number", "retries", "api_retries", "own_retries", "noted", "step_texts_stale", "response_id", "sealed",
)  # fmt: skip


def write_snapshot(state: LoopState) -> str:
    """
    Return the run as JSON text.

    Raises ``MessageError``, which names the place, for a value that cannot be written.
    """
    attempt = state.attempt
    assert attempt is not None  # tools run within one
    kept, missing = _options(state.options)
    snapshot = {
        "messages": state.messages,
        "system": state.system,
        "steps": [_fields(step) for step in state.steps],
        "rejected": [_fields(step) for step in state.rejected],
        "usage": state.usage,
        "guards_usage": state.scope.usage,
        "violations": [_fields(one) for one in state.scope.violations],
        "before": attempt.before,
        "said": list(attempt.said),
        "suspended": [_fields(call) for call in state.suspended],
        "options": kept,
        "missing": missing,
        **{name: getattr(state, name) for name in _COUNTERS},
    }
    data = {name: _data(value, name) for name, value in snapshot.items()}
    return json.dumps({"format": FORMAT, **data}, separators=(",", ":"), allow_nan=False)


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
    state.system = tuple(snapshot["system"])
    state.steps = [_step(each) for each in snapshot["steps"]]
    state.rejected = [_step(each) for each in snapshot["rejected"]]
    state.suspended = snapshot["suspended"]
    state.spend(snapshot["usage"])
    state.scope.usage = snapshot["guards_usage"]
    state.scope.violations.extend(Violation(**each) for each in snapshot["violations"])
    state.started = True
    step = state.steps[-1]
    using = state.settings.replace(active_tools=None)  # the calls that wait were allowed when they were made
    attempt = state.attempt = Attempt(using, step, snapshot["before"])
    attempt.said = snapshot["said"]
    attempt.collector = _collected(step)


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
        if name != "request_context" and _is_plain(value):
            kept[name] = value
        else:
            missing.append(name)
    return kept, missing


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(each) for each in cast("list[Any]", value))
    if is_dict(value):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    return value is None or type(value) in (str, int, float, bool)


def _fields(value: Value | AgentStep) -> dict[str, Any]:
    names: tuple[str, ...] = type(value).__fields__ if isinstance(value, Value) else AgentStep.__slots__
    return {name: getattr(value, name) for name in names}


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
