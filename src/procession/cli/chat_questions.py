"""
What a suspended run waits for, put to the person at the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from procession.agents.suspended_call import Declined, SuspendedCall
from procession.cli.chat_screen import Screen, as_json
from procession.errors import InputError
from procession.models.loose import as_list, as_mapping

__all__ = ["Ask", "answers_to"]

Ask = Callable[[str, bool], str | None]
"""
Puts a question, of which the flag says whether it is one of yes or no, and returns what was typed; ``None`` where
nobody answers.
"""

_YES = ("y", "yes")
_NO = ("n", "no")
_INNER = {"agent", "run_id", "calls"}
"""The fields of what an agent inside asks."""


class _NobodyAnswers(Exception):
    """
    A question of an agent inside that is given no answer: its whole call is declined.
    """


def answers_to(calls: Sequence[SuspendedCall], screen: Screen, ask: Ask) -> dict[str, Any]:
    """
    Return an answer for each of *calls*, as ``resume`` takes them; whoever gives none has declined.
    """
    answers: dict[str, Any] = {}
    for call in calls:
        try:
            answers[call.question_id] = _answer(call, screen, ask)
        except _NobodyAnswers:
            answers[call.question_id] = Declined()
    return answers


def _answer(call: SuspendedCall, screen: Screen, ask: Ask) -> Any:
    payload = as_mapping(call.payload)
    if set(payload) == _INNER:
        inside = [_inner_call(told) for told in as_list(payload["calls"])]
        return {inner.question_id: _answer(inner, screen, ask) for inner in inside}
    if call.kind == "approval":
        screen.mark("ask", f"{call.tool_name} wants to run with {as_json(call.args)}", whole=True)
        return {"approved": _agreed(ask)}
    screen.mark("ask", f"{call.tool_name} asks: {_said(call.payload)}", whole=True)
    while True:
        typed = ask("answer: ", False)
        if typed is None:
            raise _NobodyAnswers
        answer = _value(typed, call.resume_schema)
        try:
            call.answered(answer)
        except InputError as error:
            screen.mark("stop", error.message, whole=True)
        else:
            return answer


def _agreed(ask: Ask) -> bool:
    while True:
        typed = ask("run it? [y/n] ", True)
        if typed is None:
            return False
        word = typed.strip().lower()
        if word in _YES or word in _NO:
            return word in _YES


def _said(payload: Any) -> str:
    """
    Return what a tool says when it asks.
    """
    return payload if isinstance(payload, str) else as_json(payload)


def _value(typed: str, schema: Mapping[str, Any] | None) -> Any:
    """
    Return what was typed as the kind of value that is asked for: a text, yes or no, or else JSON.
    """
    kind = (schema or {}).get("type", "string")
    if kind == "string":
        return typed
    if kind == "boolean" and typed.strip().lower() in _YES + _NO:
        return typed.strip().lower() in _YES
    try:
        return json.loads(typed)
    except (ValueError, RecursionError):
        return typed


def _inner_call(told: Any) -> SuspendedCall:
    """
    Return a call of an agent inside, as the payload of its question tells it.
    """
    call = as_mapping(told)
    return SuspendedCall(
        tool_call_id=str(call.get("question_id")),
        tool_name=str(call.get("tool_name")),
        args=call.get("args"),
        kind="approval" if call.get("kind") == "approval" else "suspended",
        payload=call.get("payload"),
        resume_schema=call.get("resume_schema"),
    )
