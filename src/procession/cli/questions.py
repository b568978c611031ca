"""
Questions of a run, and an answer put where it belongs: an agent that runs as a step asks for several calls at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from procession.cli.once import parse_json
from procession.cli.told import asked_calls
from procession.errors import InputError
from procession.messages.shapes import is_dict
from procession.messages.value import Value
from procession.runtime.durable.reader import Waiting

__all__ = ["Question", "only"]


class Question(Value, kw_only=True):
    """
    What a run is to be answered, as a command line says it.
    """

    answer: str | None = None
    """JSON."""
    text: str | None = None
    approve: bool | None = None
    step: str | None = None
    """A path or an id; of a call of an agent the ``question_id``."""
    label: str | None = None

    @property
    def value(self) -> Any:
        """
        The answer.

        Raises ``InputError`` where there is none, or several.
        """
        given = [each for each in (self.answer, self.text, self.approve) if each is not None]
        if len(given) != 1:
            raise InputError(
                "a run is resumed with one answer",
                hint='--answer \'{"city": "Bergen"}\', --text, --approve or --decline',
            )
        return parse_json(self.answer, "--answer") if self.answer is not None else given[0]

    def to_step(self, value: Any, waiting: Sequence[Waiting], run_id: str) -> tuple[str | None, Any]:
        """
        Return which step of a workflow the answer *value* is for, and what that step is given.

        A step that is an agent is given the answers by the ids of its calls.  Raises ``InputError`` where it has several,
        and neither the answer nor ``step`` says which is meant.
        """
        for each in waiting:
            if self.step in _ids(each.payload):
                return each.path, self._to_call(value, each.payload, run_id)
        meant = [
            each
            for each in waiting
            if self.step in (None, each.path, each.step_id) and self.label in (None, each.label)
        ]
        if len(meant) != 1:  # the runtime says what there is
            return self.step, value
        return self.step, self._to_call(value, meant[0].payload, run_id)

    def to_approval(self, kind: str, value: Any) -> Any:
        """
        Return the answer *value* as a call of this *kind* is given it.
        """
        return {"approved": value} if self.approve is not None and kind == "approval" else value

    def _to_call(self, value: Any, payload: Any, run_id: str) -> Any:
        ids = _ids(payload)
        if not ids or (self.answer is not None and is_dict(value) and value and value.keys() <= set(ids)):
            return value
        id = self.step if self.step in ids else only(ids, run_id)
        (call,) = [each for each in asked_calls(payload) if each["question_id"] == id]
        return {id: self._to_call(self.to_approval(call["kind"], value), call["payload"], run_id)}


def only(questions: Sequence[str], run_id: str) -> str:
    """
    Return the one question of a run; raises ``InputError`` where it asks several.
    """
    if len(questions) != 1:
        raise InputError(
            f"run {run_id} asks {len(questions)} questions: {', '.join(questions)}", hint="say which with --step"
        )
    return questions[0]


def _ids(payload: Any) -> list[str]:
    return [call["question_id"] for call in asked_calls(payload)]
