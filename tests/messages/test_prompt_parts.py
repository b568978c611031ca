"""What of a message's parts a model is sent."""

from __future__ import annotations

from typing import Any

import pytest

from procession.messages.message import Message
from procession.messages.parts import (
    Approval,
    DataPart,
    ErrorPart,
    FilePart,
    Part,
    ReasoningPart,
    SourcePart,
    TextPart,
    ToolCallPart,
)
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.prompt_parts import signal_content, step_entries, tool_output, user_content

CALL = ToolCallPart("c1", "clock", {"zone": "Z"}, "result", "noon")


@pytest.mark.parametrize(
    ("changes", "output"),
    [
        ({}, {"type": "text", "value": "noon"}),
        ({"result": {"temp": 21}}, {"type": "json", "value": {"temp": 21}}),
        ({"result": None}, {"type": "json", "value": None}),
        ({"is_error": True}, {"type": "error-text", "value": "noon"}),
        ({"is_error": True, "result": 1}, {"type": "error-json", "value": 1}),
        ({"state": "output-error", "error_text": "kaput"}, {"type": "error-text", "value": "kaput"}),
        ({"model_output": "HIDDEN"}, {"type": "text", "value": "HIDDEN"}),
        ({"model_output": {"a": 1}}, {"type": "json", "value": {"a": 1}}),
        ({"model_output": {"type": "content", "value": [1]}}, {"type": "content", "value": [1]}),
        ({"model_output": {"type": "sound", "value": 1}}, {"type": "json", "value": {"type": "sound", "value": 1}}),
        ({"state": "output-denied", "approval": Approval("a", False, "no")}, {"type": "error-text", "value": "no"}),
    ],
)
def test_outputs_of_tools(changes: dict[str, Any], output: dict[str, Any]) -> None:
    """A tool's outcome has the type that providers expect; what was made for the model goes first."""
    assert tool_output(CALL.replace(**changes)) == output


def test_a_denied_call_says_so() -> None:
    """A call that was denied without a reason has an output all the same."""
    assert tool_output(CALL.replace(state="output-denied"))["value"]


@pytest.mark.parametrize("state", ["call", "partial-call", "approval-requested", "approval-responded"])
def test_calls_without_an_answer_are_left_out(state: Any) -> None:
    """A call that waits is not sent, nor is a step of such calls alone."""
    assert step_entries([CALL.replace(state=state)]) == []
    assert len(step_entries([TextPart("x"), CALL.replace(state=state)])) == 1


def test_what_is_sent_of_a_step() -> None:
    """Texts, thoughts, files and calls are sent in their order, data, sources, errors and blanks are not."""
    thought = ReasoningPart("hm", signature="s")
    parts: list[Part] = [
        thought, TextPart("a"), DataPart("data-x", 1), CALL, SourcePart("s"), ErrorPart("E", "x"), TextPart(""),
        ReasoningPart(""), TextPart("b"),
    ]  # fmt: skip
    assert step_entries(parts) == [
        PromptMessage(
            "assistant", (thought, TextPart("a"), PromptToolCall("c1", "clock", {"zone": "Z"}), TextPart("b"))
        ),
        PromptMessage("tool", (PromptToolResult("c1", "clock", {"type": "text", "value": "noon"}),)),
    ]


def test_what_a_provider_ran_stays_in_place() -> None:
    """The result of a tool that the provider ran stands beside its call."""
    (entry,) = step_entries([CALL.replace(provider_executed=True), TextPart("x")])
    assert [part.type for part in entry.content] == ["tool-call", "tool-result", "text"]


def test_names_that_providers_refuse_are_cleaned() -> None:
    """Characters that no provider takes in a tool's name become underlines, in call and result alike."""
    call, tool = step_entries([CALL.replace(tool_name="my clock!")])
    assert [part.tool_name for part in (*call.content, *tool.content)] == ["my_clock_"] * 2  # type: ignore[union-attr]


def test_files() -> None:
    """Of a data URI its content is sent, anything else stays what it is."""
    sent = user_content(
        [
            TextPart("look"),
            FilePart("data:image/png;base64,aGk=", "image/jpeg"),
            FilePart("data:,a%20b", "text/plain"),
            FilePart("https://a.example/x.png", "image/png"),
            FilePart("data:broken", "text/plain"),
            CALL,
        ]
    )
    assert sent == (
        TextPart("look"),
        FilePart("aGk=", "image/png"),
        FilePart(b"a b", "text/plain"),
        FilePart("https://a.example/x.png", "image/png"),
        FilePart("data:broken", "text/plain"),
    )


@pytest.mark.parametrize(
    ("signal", "text"),
    [
        ({"type": "reactive", "tagName": "system-reminder"}, '<system-reminder>a &lt; "b"</system-reminder>'),
        ({"type": "state"}, '<system-reminder>a &lt; "b"</system-reminder>'),
        ({"type": "user"}, 'a < "b"'),
        (
            {"tag_name": "no te", "attributes": {"q": 'x"y<z&', "n": 5, "yes": True, "none": None, "a b": 1}},
            '<no_te q="x&quot;y&lt;z&amp;" n="5" yes="true" a_b="1">a &lt; "b"</no_te>',
        ),
    ],
)
def test_signals_are_marked_up(signal: dict[str, Any], text: str) -> None:
    """A signal is sent between tags, and what it holds cannot pose as a tag."""
    message = Message("signal", [TextPart('a < "b"'), FilePart("x", "text/plain")], metadata={"signal": signal})
    assert signal_content(message) == (TextPart(text), FilePart("x", "text/plain"))


def test_notes_of_a_message_are_those_of_its_last_part() -> None:
    """What a message says to a provider is said by its last part, unless that says something of the same name."""
    notes: dict[str, Any] = {"a": {"x": 1}, "b": {"y": 2}}
    parts = (TextPart("one"), TextPart("two", {"b": {"y": 3}}))
    first, last = user_content(parts, notes)
    assert first is parts[0]
    assert last == TextPart("two", {"a": {"x": 1}, "b": {"y": 3}})
    assert user_content((), notes) == ()
