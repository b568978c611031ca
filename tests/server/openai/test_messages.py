"""A conversation of Chat Completions as messages."""

from typing import Any

import pytest

from procession.errors import RequestRefused
from procession.messages.parts import FilePart, TextPart, ToolCallPart
from procession.server.openai.messages import chat_messages, is_instruction

CALL = {"id": "c1", "type": "function", "function": {"name": "door", "arguments": '{"n": 1}'}}
PNG = "data:image/png;base64,iVBORw0KGgo="


def read(*entries: Any) -> list[Any]:
    """Return the messages of a conversation."""
    return chat_messages(list(entries))


def test_every_role_is_read() -> None:
    """Users and assistants are themselves; what a client says as system or developer is said by a user, and marked."""
    made = read(
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
        {"role": "user", "content": "Hi", "name": "Ann"},
        {"role": "assistant", "content": "Hello!"},
    )
    assert [(message.role, message.text) for message in made] == [
        ("user", "Be brief."), ("user", "Be kind."), ("user", "Hi"), ("assistant", "Hello!"),
    ]  # fmt: skip
    assert [is_instruction(message) for message in made] == [True, True, False, False]


def test_a_call_and_its_answer_are_one_part() -> None:
    """Calls get the answers that follow them, whatever the order, and arguments that are no object stay text."""
    other = {"id": "c2", "type": "function", "function": {"name": "door", "arguments": "tru"}}
    (message, after) = read(
        {"role": "assistant", "content": None, "tool_calls": [CALL, other]},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "shut"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "open"},
        {"role": "user", "content": "And now?"},
    )
    assert list(message.parts) == [
        ToolCallPart("c1", "door", {"n": 1}, "result", "open"),
        ToolCallPart("c2", "door", "tru", "result", "shut"),
    ]
    assert after.text == "And now?"


def test_images_sounds_and_files_are_parts() -> None:
    """What is no text is a file part of its media type."""
    (message,) = read({
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://example.org/cat"}},
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "JVBERi0xLjc="}},
            {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,aGk="}},
        ],
    })  # fmt: skip
    assert list(message.parts) == [
        TextPart("What is this?"),
        FilePart(PNG, "image/png"),
        FilePart("https://example.org/cat", "image/jpeg"),
        FilePart("UklGRg==", "audio/wav"),
        FilePart("JVBERi0xLjc=", "application/pdf", "a.pdf"),
        FilePart("data:text/plain;base64,aGk=", "text/plain", "a.txt"),
    ]


def test_a_refusal_is_what_the_assistant_said() -> None:
    """An answer that was refused comes back as the text that the user was shown."""
    (message,) = read({"role": "assistant", "content": None, "refusal": "Not that."})
    assert message.text == "Not that."


WRONG: list[tuple[Any, str]] = [
    (None, "messages"),
    ([], "messages"),
    (["Hi"], "messages[0]"),
    ([{"role": "robot", "content": "Hi"}], "messages[0].role"),
    ([{"role": ["user"], "content": "Hi"}], "messages[0].role"),
    ([{"role": "user"}], "messages[0].content"),
    ([{"role": "user", "content": []}], "messages[0].content"),
    ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0].text"),
    ([{"role": "user", "content": [{"type": ["text"]}]}], "messages[0].content[0]"),
    ([{"role": "user", "content": [{"type": "video", "text": "x"}]}], "messages[0].content[0]"),
    (
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}],
        "messages[0].content[0].image_url.url",
    ),
    (
        [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "x", "format": "ogg"}}]}],
        "messages[0].content[0].input_audio.format",
    ),
    (
        [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}],
        "messages[0].content[0].file.file_id",
    ),
    ([{"role": "assistant", "content": None}], "messages[0].content"),
    ([{"role": "assistant", "content": "x", "tool_calls": 5}], "messages[0].tool_calls"),
    ([{"role": "assistant", "tool_calls": [{"id": "c1"}]}], "messages[0].tool_calls[0].function.name"),
    ([{"role": "assistant", "tool_calls": [CALL, CALL]}], "messages[0].tool_calls[1].id"),
    ([{"role": "assistant", "tool_calls": [CALL]}], "messages"),
    ([{"role": "assistant", "tool_calls": [CALL]}, {"role": "user", "content": "x"}], "messages[1]"),
    ([{"role": "tool", "tool_call_id": "c1", "content": "x"}], "messages[0]"),
    (
        [{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c9", "content": "x"}],
        "messages[1].tool_call_id",
    ),
    (
        [{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c1", "content": None}],
        "messages[1].content",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "place"), WRONG)
def test_what_cannot_be_read_is_named(entries: Any, place: str) -> None:
    """Whatever is wrong is refused with 400, naming the place, as OpenAI names it."""
    with pytest.raises(RequestRefused) as refusal:
        chat_messages(entries)
    assert (refusal.value.status, refusal.value.param) == (400, place)
