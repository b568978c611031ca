"""
SuspendedCall: a tool call that waits for somebody, and Declined, the answer that it is not to be run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from procession.messages.value import Value
from procession.tools.answers import check_answer
from procession.tools.json_value import json_value

__all__ = ["APPROVAL_SCHEMA", "Declined", "SuspendedCall", "asked"]

APPROVAL_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
    "additionalProperties": False,
}
"""What a call that needs approval is answered with."""


class Declined(Value):
    """
    The answer that a call is not to be run; the model is told the *reason*.
    """

    reason: str | None = None


class SuspendedCall(Value, kw_only=True):
    """
    A tool call that waits for somebody.

    Of kind ``approval`` it has not been run and needs a yes; of kind ``suspended`` its tool asked for an answer.
    """

    tool_call_id: str
    tool_name: str
    args: Any
    kind: Literal["approval", "suspended"]
    payload: Any = None
    """What the tool said when it asked."""
    resume_schema: Mapping[str, Any] | None = None
    """The JSON schema of the answer; ``None`` where any will do."""
    label: str | None = None
    approved: bool = False
    """Whether somebody has agreed to the call before it was suspended for another reason."""
    answers: Sequence[Any] = ()
    """What earlier questions of the same call were answered."""
    place: int = 0
    """Which of its step's calls it is, from 0: a model may give two of them one id."""
    number: int = 1
    """Which question of the run it is that has this call's id, from 1."""
    inner_run: str | None = None
    """The id of the run that waits inside, where the tool is an agent or a workflow."""

    @property
    def question_id(self) -> str:
        """
        What the answer is given by: the call's id, and for further questions of that id ``<id>#2`` and so on.

        So an answer that is sent twice never meets a question that nobody has seen.
        """
        return self.tool_call_id if self.number == 1 else f"{self.tool_call_id}#{self.number}"

    def answered(self, answer: Any) -> SuspendedCall | Declined:
        """
        Return the call with its *answer*, or that it is not to be run.

        Raises ``InputError`` where the answer does not fit.

        >>> call = SuspendedCall(tool_call_id="c1", tool_name="pay", args={}, kind="approval")
        >>> call.answered({"approved": False, "reason": "too much"})
        Declined(reason='too much')
        """
        if isinstance(answer, Declined):
            return answer
        where = f"the answer to call {self.question_id!r} of tool {self.tool_name!r}"
        schema = APPROVAL_SCHEMA if self.kind == "approval" else self.resume_schema
        plain = check_answer(answer, schema, where)
        if self.kind == "suspended":
            return self.replace(answers=(*self.answers, plain))
        return self.replace(approved=True) if plain["approved"] else Declined(plain.get("reason"))


def asked(agent_id: str, run_id: str, calls: Sequence[SuspendedCall]) -> dict[str, Any]:
    """
    Return the question of a run inside another one, as JSON can say it: which calls of which agent wait.
    """
    found = [
        {
            "question_id": call.question_id,
            "tool_call_id": call.tool_call_id,
            "tool_name": call.tool_name,
            "args": call.args,
            "kind": call.kind,
            "payload": call.payload,
            "resume_schema": call.resume_schema,
        }
        for call in calls
    ]
    question: dict[str, Any] = json_value({"agent": agent_id, "run_id": run_id, "calls": found})
    return question
