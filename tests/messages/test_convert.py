"""The documents' forms of messages, in and out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from tests.messages.strategies import messages

from procession.errors import MessageError
from procession.messages.convert import read_message, to_core, to_db, to_ui
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import (
    Approval,
    DataPart,
    ErrorPart,
    FilePart,
    Part,
    ReasoningPart,
    SourcePart,
    StepStartPart,
    TextPart,
    ToolCallPart,
)

NOTES = {"p": {"k": 1}}
CALL = ToolCallPart("c", "weather", {"city": "A"}, "result", {"temp": 21})
FORMS: list[tuple[dict[str, Any], Part]] = [
    ({"type": "text", "text": "x", "providerMetadata": NOTES, "createdAt": 0}, TextPart("x", NOTES)),
    ({"type": "reasoning", "text": "hm", "signature": "s"}, ReasoningPart("hm", "s")),
    (
        {
            "type": "reasoning",
            "reasoning": "",
            "details": [{"type": "text", "text": "hm", "signature": "s"}, {"type": "redacted", "data": "r"}],
        },
        ReasoningPart("hm", "s", "r"),
    ),
    ({"type": "redacted-reasoning", "data": "r"}, ReasoningPart("", None, "r")),
    ({"type": "file", "data": "aGk=", "mimeType": "text/plain", "filename": "a"}, FilePart("aGk=", "text/plain", "a")),
    ({"type": "file", "url": "https://a.example", "mediaType": "text/plain"}, FilePart("https://a.example", "text/plain")),
    ({"type": "image", "image": b"hi", "mimeType": "image/png"}, FilePart(b"hi", "image/png")),
    ({"type": "image", "image": "https://a.example/b"}, FilePart("https://a.example/b", "image/jpeg")),
    ({"type": "image", "image": "data:image/gif;base64,aGk="}, FilePart("data:image/gif;base64,aGk=", "image/gif")),
    ({"type": "file", "data": bytearray(b"hi"), "media_type": "text/plain"}, FilePart(b"hi", "text/plain")),
    (
        {"type": "source", "source": {"sourceType": "url", "id": "s", "url": "https://a.example", "title": "A"}},
        SourcePart("s", "url", "https://a.example", "A"),
    ),
    ({"type": "source-url", "sourceId": "s", "url": "https://a.example"}, SourcePart("s", "url", "https://a.example")),
    (
        {"type": "source-document", "sourceId": "d", "mediaType": "text/plain", "title": "D", "filename": "d"},
        SourcePart("d", "document", None, "D", "text/plain", "d"),
    ),
    ({"type": "step-start", "model": "openai/gpt"}, StepStartPart("openai/gpt")),
    ({"type": "error", "error": {"name": "E", "message": "x"}}, ErrorPart("E", "x")),
    ({"type": "error", "error": "x"}, ErrorPart("Error", "x")),
    ({"type": "data-x", "data": 1, "id": "d"}, DataPart("data-x", 1, "d")),
    (
        {
            "type": "tool-invocation",
            "toolInvocation": {"state": "result", "toolCallId": "c", "toolName": "weather", "args": {}, "result": 1},
            "providerExecuted": True,
            "title": "W",
            "providerMetadata": {"mastra": {"modelOutput": "seen", "other": 1}},
        },
        ToolCallPart(
            "c", "weather", {}, "result", 1, model_output="seen", provider_executed=True, title="W",
            provider_metadata={"mastra": {"other": 1}},
        ),
    ),
    (
        {"type": "tool-weather", "toolCallId": "c", "state": "output-available", "input": {"a": 1}, "output": 2},
        ToolCallPart("c", "weather", {"a": 1}, "result", 2),
    ),
    (
        {"type": "dynamic-tool", "toolName": "w", "toolCallId": "c", "state": "output-error", "input": {}, "errorText": "e"},
        ToolCallPart("c", "w", {}, "output-error", error_text="e"),
    ),
    (
        {
            "type": "tool-invocation",
            "toolInvocation": {
                "state": "approval-requested", "toolCallId": "c", "toolName": "w", "args": {}, "approval": {"id": "ap"},
            },
        },
        ToolCallPart("c", "w", {}, "approval-requested", approval=Approval("ap")),
    ),
    ({"type": "tool-call", "toolCallId": "c", "toolName": "w", "input": {"a": 1}}, ToolCallPart("c", "w", {"a": 1})),
    (
        {"type": "tool-result", "toolCallId": "c", "toolName": "w", "output": {"type": "json", "value": [1]}},
        ToolCallPart("c", "w", {}, "result", [1]),
    ),
    (
        {"type": "tool-result", "toolCallId": "c", "toolName": "w", "output": {"type": "error-text", "value": "e"}},
        ToolCallPart("c", "w", {}, "output-error", error_text="e", is_error=True),
    ),
    (
        {"type": "tool-result", "tool_call_id": "c", "tool_name": "w", "result": "x", "isError": True},
        ToolCallPart("c", "w", {}, "result", "x", is_error=True),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("form", "part"), FORMS, ids=[form["type"] for form, _ in FORMS])
def test_part_forms_are_read(form: dict[str, Any], part: Part) -> None:
    """Every part object of the documents is read as the part that it is, wherever its list stands."""
    for row in (
        {"role": "assistant", "content": [form]},
        {"role": "assistant", "parts": [form]},
        {"role": "assistant", "content": {"format": 2, "parts": [form]}},
    ):
        assert read_message(row).parts == [part]


@given(messages)
def test_the_db_form_keeps_everything(message: Message) -> None:
    """A message written in the DB form is read as the same message."""
    assert read_message(to_db(message)) == message


@given(messages)
def test_the_ui_form_keeps_everything_but_the_owner(message: Message) -> None:
    """A message written in the UI form is read with the same parts, files as URLs."""
    made = read_message(to_ui(message))
    expected = read_message(to_db(message))
    assert (made.id, made.role, made.created_at, made.metadata) == (
        message.id, message.role, message.created_at, message.metadata,
    )  # fmt: skip
    assert [part for part in made.parts if not isinstance(part, FilePart)] == [
        part for part in expected.parts if not isinstance(part, FilePart)
    ]


def test_the_db_form() -> None:
    """The DB form has the flat text, attachments and owner beside the parts."""
    message = Message(
        "user", [TextPart("a"), TextPart("b"), FilePart(b"hi", "image/png")], id="m",
        created_at=datetime(2025, 1, 1, tzinfo=UTC), thread_id="t", resource_id="r", type="text", metadata={"a": 1},
    )  # fmt: skip
    form = to_db(message)
    assert form["content"]["format"] == 2
    assert form["content"]["content"] == "b"
    assert form["content"]["experimental_attachments"] == [
        {"url": "data:image/png;base64,aGk=", "contentType": "image/png"}
    ]
    assert (form["threadId"], form["resourceId"], form["type"], form["role"]) == ("t", "r", "text", "user")


def test_attachments_are_files() -> None:
    """Attachments become file parts, and those that are parts already are not doubled."""
    row = {
        "role": "user",
        "content": {
            "content": "look",
            "parts": [
                {"type": "text", "text": "look"},
                {"type": "file", "data": "https://a.example/a", "mimeType": "image/png"},
            ],
            "experimental_attachments": [
                {"url": "https://a.example/a", "contentType": "image/png"},
                {"url": "https://a.example/b", "contentType": "image/png", "name": "b.png"},
            ],
        },
    }
    assert [part.data for part in read_message(row).parts if isinstance(part, FilePart)] == [
        "https://a.example/a",
        "https://a.example/b",
    ]
    plain = {"role": "user", "content": "x", "experimental_attachments": [{"url": "u:x"}]}
    assert read_message(plain).parts == [TextPart("x"), FilePart("u:x", "application/octet-stream")]


def test_an_attachment_that_was_changed() -> None:
    """Of a file that is written as a part and as an attachment, the one that was changed holds, and it alone."""
    message = Message(
        "user",
        [FilePart("aGk=", "text/plain", "a.txt"), TextPart("look"), FilePart("https://a.example/b", "image/png")],
    )
    changed = to_db(message)
    changed["content"]["experimental_attachments"][0] = {"url": "https://up.example/a", "contentType": "text/plain"}
    uploaded = [
        FilePart("https://up.example/a", "text/plain", "a.txt"), TextPart("look"),
        FilePart("https://a.example/b", "image/png"),
    ]  # fmt: skip
    assert read_message(changed).parts == uploaded
    changed = to_db(message)
    changed["content"]["parts"][0]["data"] = "https://up.example/a"
    assert [part.data for part in read_message(changed).parts if isinstance(part, FilePart)] == [
        "https://up.example/a",
        "https://a.example/b",
    ]
    assert read_message(to_db(message)).parts[1:] == message.parts[1:]


def test_attachments_of_no_use() -> None:
    """An attachment without a url is told, with the message it is in."""
    for attachment in ({"contentType": "image/png"}, "https://a.example"):
        with pytest.raises(MessageError, match="message 'm' has an attachment without a url"):
            read_message({"id": "m", "role": "user", "content": "x", "experimental_attachments": [attachment]})


@pytest.mark.parametrize(
    "content",
    [{"content": "x"}, {"format": 2, "parts": [], "content": "x"}, {"parts": [{"type": "text", "text": "x"}]}],
)
def test_the_flat_text_stands_in(content: dict[str, Any]) -> None:
    """Where there are no parts the flat text of the content is the text."""
    assert read_message({"role": "user", "content": content}).text == "x"


@pytest.mark.parametrize(
    "given",
    [datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 1, 1), "2025-01-01T00:00:00Z", "2025-01-01", 1735689600000],
)
def test_times(given: Any) -> None:
    """A time may be a datetime, an ISO text or milliseconds, and is UTC unless it says otherwise."""
    for row in ({"createdAt": given}, {"created_at": given}):
        made = read_message({"role": "user", "content": "x", **row})
        assert made.created_at == datetime(2025, 1, 1, tzinfo=UTC)


def test_old_rows_and_other_names() -> None:
    """Rows with names in snake case, and those whose content is a text, are read."""
    made = read_message(
        {
            "id": 7,
            "role": "user",
            "content": "x",
            "thread_id": "t",
            "resourceId": "r",
            "type": "text",
            "metadata": {"a": 1},
        }
    )
    assert (made.id, made.thread_id, made.resource_id, made.type, made.metadata) == ("7", "t", "r", "text", {"a": 1})


def test_signals() -> None:
    """A signal object is a message of role signal, whose note is the rest of it."""
    made = read_message({"id": "s", "type": "reactive", "tagName": "system-reminder", "contents": "Be brief."})
    assert (made.role, made.text, made.id) == ("signal", "Be brief.", "s")
    assert made.metadata == {"signal": {"id": "s", "type": "reactive", "tagName": "system-reminder"}}
    assert read_message({"type": "state", "contents": "x", "createdAt": 0}).created_at.year == 1970


def test_the_core_form() -> None:
    """In the core form a step is a message, and results of its tools are one of role tool."""
    message = Message(
        "assistant",
        [ReasoningPart("hm"), TextPart("a"), CALL, StepStartPart(), DataPart("data-x", 1), FilePart(b"x", "text/plain"),
         FilePart("u:x", "image/png"), ReasoningPart("", None, "r"),
         CALL.replace(state="output-error", error_text="e"), CALL.replace(state="output-denied"), CALL.replace(state="call")],
    )  # fmt: skip
    rows = to_core(message)
    assert [(row["role"], [part["type"] for part in row["content"]]) for row in rows] == [
        ("assistant", ["reasoning", "text", "tool-call"]),
        ("tool", ["tool-result"]),
        ("assistant", ["file", "image", "redacted-reasoning", "tool-call", "tool-call", "tool-call"]),
        ("tool", ["tool-result", "tool-result"]),
    ]
    assert rows[1]["content"][0]["result"] == {"temp": 21}
    assert [part["result"] for part in rows[3]["content"]] == ["e", "denied"]
    assert to_core(Message("signal", "x"))[0]["role"] == "user"


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"text": "x"}, "no type"),
        ({"type": "text"}, "no 'text'"),
        ({"type": "file"}, "no 'data'"),
        ({"type": "image"}, "no 'image'"),
        ({"type": "tool-call", "toolName": "w"}, "no 'toolCallId'"),
        ({"type": "tool-call", "toolCallId": "c"}, "no 'toolName'"),
        ({"type": "tool-w", "toolCallId": "c", "state": "broken"}, "broken"),
        (7, "int"),
    ],
)
def test_parts_that_cannot_be_read(form: Any, told: str) -> None:
    """A part that lacks something is refused, naming the message, the number of the part and what is missing."""
    with pytest.raises(MessageError, match=told):
        read_message({"id": "m", "role": "user", "content": ["fine", form]})


CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "send", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"role": "assistant", "content": "", "tool_calls": [CHAT_CALL]}, "'tool_calls'.*'tool-call'"),
        ({"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}, "'tool_calls'.*'tool-call'"),
        ({"role": "tool", "tool_call_id": "c1", "content": "sent"}, "'tool_call_id'.*'tool-result'"),
    ],
)
def test_calls_of_another_form_are_not_lost(form: Any, told: str) -> None:
    """Chat Completions' form of a call is refused, rather than a message without it shown to guards (TOOL-009)."""
    with pytest.raises(MessageError, match=told):
        read_message({"id": "m", **form})
    with pytest.raises(MessageError, match="message 'm'"):
        read_message({"id": "m", **form})


def test_calls_that_there_are_not() -> None:
    """A message that was dumped with a list of no calls is a text."""
    several: list[Any] = [None, []]
    for nothing in several:
        assert read_message({"role": "assistant", "content": "Hi", "tool_calls": nothing}).text == "Hi"


@pytest.mark.parametrize("content", [7, {"format": 2}])
def test_contents_that_cannot_be_read(content: Any) -> None:
    """A content that holds no parts is refused."""
    with pytest.raises(MessageError, match="'m'"):
        read_message({"id": "m", "role": "user", "content": content})


def test_one_message_is_one() -> None:
    """Asking for one message refuses several, and system messages."""
    several: list[Any] = [["a", "b"], {"role": "system", "content": "x"}, []]
    for rows in several:
        with pytest.raises(MessageError):
            read_message(rows)
    assert read_message("x").created_at.year > 2000


def test_the_documents_views() -> None:
    """Views are fresh lists in the documents' forms: no signals for users, drained messages only where asked for."""
    found = MessageList("hi")
    found.add({"role": "assistant", "content": "hello"}, "response")
    found.add({"type": "reactive", "contents": "psst"}, "context")
    found.add("old", "memory")
    assert [row["content"] for row in found.get.all.ui()] == ["hi", "hello", "old"]
    assert [row["content"][0]["text"] for row in found.get.all.core()] == ["hi", "hello", "psst", "old"]
    assert [message.text for message in found.get.remembered.db()] == ["old"]
    assert [message.text for message in found.get.context.db()] == ["psst"]
    found.get.all.db().clear()
    assert len(found) == 4
    found.drain_unsaved()
    assert found.get.input.db() == found.get.response.ui() == []
    assert [message.text for message in found.get_persisted.input.db()] == ["hi"]
    assert [message.text for message in found.get_persisted.response.db()] == ["hello"]
