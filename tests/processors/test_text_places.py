"""Which texts of a message a guard looks at, and where what it hides comes back to."""

from __future__ import annotations

from typing import Any

import pytest

from procession.agents.agent import Agent
from procession.messages.message import Message
from procession.messages.parts import StepStartPart, TextPart, ToolCallPart
from procession.messages.text.spans import Span
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.text_places import answer_texts, new_texts
from procession.testing.fake_model import FakeModel
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

RESULT = {"people": [{"mail": "eva@example.net", "age": 3}], "note": "call eva@example.net"}


def with_client_tool(result: Any) -> list[dict[str, Any]]:
    """Return the messages of a call in which a tool of the client has answered."""
    call = {"type": "tool-call", "toolCallId": "1", "toolName": "look", "args": {"who": "eva@example.net"}}
    answer = {"type": "tool-result", "toolCallId": "1", "toolName": "look", "result": result}
    return [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [answer]},
    ]


class Finder:
    """A detector that finds one name, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Look for Zoe."""
        self.asked.append(text)
        at = text.find("Zoe")
        return Verdict({"name": 1.0}, (Span(at, at + 3, "name", "model", 1.0),)) if at >= 0 else Verdict({}, ())


async def asked_with(guard: Any, result: Any) -> tuple[Any, str]:
    """Return the outcome of a call with a client's tool result, and what the model was sent."""
    model = FakeModel(["fine"])
    outcome = await Agent("agent", model=model, input_processors=[guard]).generate(with_client_tool(result))
    return outcome, str([list(request.messages) for request in model.requests])


async def test_results_of_the_clients_tools_are_hidden() -> None:
    """What a tool of the client answered is guarded like new input, however deep; what it was called with stays."""
    outcome, prompt = await asked_with(PIIDetector(redaction="placeholder"), RESULT)
    assert outcome.status == "completed"
    assert prompt.count("[EMAIL]") == 2
    assert prompt.count("eva@example.net") == 1  # the call's arguments


async def test_results_of_the_clients_tools_are_blocked() -> None:
    """A guard that blocks looks into what a tool of the client answered, and the model is not asked."""
    outcome, prompt = await asked_with(PIIDetector(strategy="block"), RESULT)
    assert (outcome.status, prompt) == ("blocked", "[]")


async def test_a_filtered_result_leaves_a_notice() -> None:
    """Under ``filter`` a notice stands in place of the string; the message with the call stays."""
    outcome, prompt = await asked_with(PIIDetector(strategy="filter"), RESULT)
    assert outcome.status == "completed"
    assert prompt.count("[removed]") == 2


async def test_a_guard_that_asks_is_asked_once_for_a_result() -> None:
    """To a guard that asks a model the strings of one result are one question, and what it finds is hidden in them."""
    finder = Finder()
    _, prompt = await asked_with(PIIDetector(detector=finder, redaction="placeholder"), {"a": "for Zoe", "b": "other"})
    assert "Zoe" not in prompt
    assert len(finder.asked) == 2  # the user's text, and the result


async def test_a_hidden_result_survives_a_branch() -> None:
    """Beside a processor that looks only, what a guard hid in a result stays hidden."""
    inner = create_workflow("inner", kind="processor").then(PIIDetector(id="p2", strategy="warn")).commit()
    workflow = create_workflow("w", kind="processor").parallel([PIIDetector(redaction="placeholder"), inner]).commit()
    _, prompt = await asked_with(workflow, "write to eva@example.net")
    assert "write to [EMAIL]" in prompt


def test_each_string_is_a_text_of_its_own() -> None:
    """Text parts and the strings of results are looked at one by one; a call that has no result has none."""
    parts = (
        TextPart("hi"),
        ToolCallPart("1", "f", {"a": "x"}, "result", {"k": "v"}),
        ToolCallPart("2", "g", {"b": "y"}),
    )
    assert list(new_texts(Message("assistant", parts), joined=False).values()) == ["hi", "k", "v"]
    assert list(new_texts(Message("assistant", parts), joined=True).values()) == ["hi", "k\nv"]


def test_the_texts_of_one_step_are_joined() -> None:
    """An answer is looked at part by part and step by step."""
    message = Message("assistant", (TextPart("a"), TextPart("b"), StepStartPart(), TextPart("c")))
    assert list(answer_texts(message, ()).values()) == ["a", "b", "ab", "c"]
