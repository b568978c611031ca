"""Every text inside a message."""

from __future__ import annotations

from hypothesis import given
from tests.messages.strategies import messages

from procession.messages.message import Message
from procession.messages.parts import FilePart, Part, TextPart, ToolCallPart
from procession.messages.texts import map_texts, texts_in


@given(messages)
def test_nothing_changed_is_the_same_object(message: Message) -> None:
    """Where no text changes, the very same values come back."""
    assert map_texts(message, lambda text: text) is message


def test_texts_are_found_wherever_they_are() -> None:
    """Texts of parts, arguments, results and metadata are found; names and ids are not."""
    parts: list[Part] = [
        TextPart("a"),
        ToolCallPart("c", "tool", {"k": ["b", ("c",)]}, "result", {"x": "d"}),
        FilePart(b"", "e/f"),
    ]
    message = Message("assistant", parts, id="m", metadata={"n": "g"})
    assert set(texts_in([message.parts, message.metadata])) == {"a", "b", "c", "d", "g"}


def test_a_change_reaches_every_text() -> None:
    """Changing texts makes new values of the same shape and leaves the old ones."""
    call = ToolCallPart("c", "tool", {"k": ["b", ("c",)]})
    made = map_texts(call, str.upper)
    assert made == ToolCallPart("c", "tool", {"k": ["B", ("C",)]})
    assert call.args == {"k": ["b", ("c",)]}
