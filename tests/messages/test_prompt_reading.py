"""A prompt as the documents write it."""

from __future__ import annotations

from typing import Any

import pytest

from procession.errors import MessageError
from procession.messages.message import Message
from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.messages.prompt_reading import read_prompt
from procession.messages.serial import to_data

OUTPUT = {"type": "json", "value": {"a": 1}}
CALL = {"toolCallId": "c1", "toolName": "f"}
SNAKE = {"tool_call_id": "c1", "tool_name": "f"}
NOTES = {"p": {"k": 1}}
READ: list[tuple[str, Any, PromptPart]] = [
    ("system", "Be kind.", TextPart("Be kind.")),
    ("user", "Hi", TextPart("Hi")),
    ("user", ["Hi"], TextPart("Hi")),
    ("user", [{"type": "text", "text": "Hi", "providerOptions": NOTES}], TextPart("Hi", NOTES)),
    ("user", [{"type": "file", "data": b"x", "mediaType": "image/png", "filename": "a"}],
     FilePart(b"x", "image/png", "a")),
    ("user", [{"type": "file", "data": b"x", "media_type": "image/png"}], FilePart(b"x", "image/png")),
    ("assistant", [{"type": "text", "text": "Hi"}], TextPart("Hi")),
    ("assistant", [{"type": "reasoning", "text": "hm"}], ReasoningPart("hm")),
    ("assistant", [{"type": "tool-call", **CALL, "input": {"x": 1}, "providerExecuted": True}],
     PromptToolCall("c1", "f", {"x": 1}, True)),
    ("assistant", [{"type": "tool-call", **SNAKE, "args": {"x": 1}, "provider_metadata": NOTES}],
     PromptToolCall("c1", "f", {"x": 1}, False, NOTES)),
    ("assistant", [{"type": "tool-result", **CALL, "output": OUTPUT}], PromptToolResult("c1", "f", OUTPUT)),
    ("tool", [{"type": "tool-result", **CALL, "output": OUTPUT}], PromptToolResult("c1", "f", OUTPUT)),
    ("tool", [{"type": "tool-result", **SNAKE, "result": "no", "is_error": True}],
     PromptToolResult("c1", "f", {"type": "error-text", "value": "no"})),
    ("tool", [{"type": "tool-result", **CALL, "output": [1]}],
     PromptToolResult("c1", "f", {"type": "json", "value": [1]})),
]  # fmt: skip


@pytest.mark.parametrize(("role", "content", "part"), READ)
def test_the_documents_form(role: Any, content: Any, part: PromptPart) -> None:
    """Roles and parts are read in camel and snake case; a text for a content is one part."""
    assert read_prompt([{"role": role, "content": content}]) == [PromptMessage(role, (part,))]


@pytest.mark.parametrize(("role", "content", "part"), READ)
def test_our_own_forms(role: Any, content: Any, part: PromptPart) -> None:
    """An entry stays what it is, also among others; entries and parts that were kept as plain data are read."""
    entry = PromptMessage(role, (part,))
    assert read_prompt([entry, {"role": "user", "content": "Hi"}])[0] is entry
    assert read_prompt((to_data(entry), {"role": role, "content": [part, to_data(part)]})) == [
        entry, PromptMessage(role, (part, part)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("Hi", "the prompt is str"),
        ({"role": "user", "content": "Hi"}, "the prompt is dict"),
        ([1], "entry 0 is int"),
        ([Message("user", (TextPart("Hi"),))], "entry 0 is Message"),
        ([{"content": "Hi"}], "entry 0 has none of the roles"),
        ([{"role": "robot", "content": "Hi"}], "entry 0 has none of the roles"),
        ([{"role": ["user"], "content": "Hi"}], "entry 0 has none of the roles"),
        ([PromptMessage("robot", (TextPart("Hi"),))], "entry 0 has none of the roles"),  # type: ignore[arg-type]
        ([{"role": "user"}], "entry 0 has content=NoneType"),
        ([PromptMessage("user", "Hi")], "entry 0 has content=str"),  # type: ignore[arg-type]
        ([{"role": "user", "content": [5]}], "entry 0, part 0 is int"),
        ([{"role": "user", "content": [{"text": "Hi"}]}], "entry 0, part 0 has no type"),
        ([{"role": "user", "content": [{"type": "text", "text": 5}]}], "entry 0, part 0 has text=int"),
        ([{"role": "user", "content": [{"type": "text"}]}], "entry 0, part 0 of type 'text' has no 'text'"),
        ([{"role": "user", "content": [{"type": "zzz"}]}], "entry 0, part 0 has the unknown type"),
        ([{"role": "user", "content": [{"type": "reasoning", "text": "hm"}]}], "ReasoningPart, which an entry of role"),
        ([{"role": "tool", "content": "Hi"}], "entry 0, part 0 is TextPart"),
        ([{"role": "tool", "content": [{"type": "tool-result", **CALL}]}], "has no 'output'"),
        ([{"role": "assistant", "content": [{"type": "tool-call", "toolName": "f"}]}], "has no 'tool_call_id'"),
        ([{"role": "assistant", "content": [{"type": "step-start"}]}], "part 0 is StepStartPart"),
    ],
)
def test_what_is_no_prompt(given: Any, said: str) -> None:
    """What no model takes is refused with the entry and the part."""
    with pytest.raises(MessageError, match=said):
        read_prompt(given)


def test_a_part_of_a_message_is_none_of_a_prompt() -> None:
    """A tool's invocation, which holds both call and result, is refused."""
    part: Any = {"type": "tool-invocation", **CALL}
    with pytest.raises(MessageError, match="ToolCallPart"):
        read_prompt([{"role": "assistant", "content": [part]}])
