"""Messages as processors edit them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from tests.messages.strategies import messages

from procession.errors import MessageError
from procession.messages.draft import MessageDraft, PartDraft, drafts_of
from procession.messages.message import Message
from procession.messages.parts import FilePart, ReasoningPart, StepStartPart, TextPart, ToolCallPart

CALL = ToolCallPart("c", "find", {"q": ["x"]}, "result", {"mail": "bob@x.io"})


def answer() -> Message:
    """Return a message with something of everything."""
    return Message(
        "assistant",
        [ReasoningPart("hm", signature="s"), TextPart("call 555"), CALL, StepStartPart(), TextPart("now")],
        id="m",
        metadata={"seen": {"by": ["a"]}},
    )


@given(messages)
def test_reading_leaves_the_very_same_message(message: Message) -> None:
    """However much of a draft was read, the message that comes back is the one that went in."""
    draft = MessageDraft(message)
    assert draft.freeze() is message
    assert draft.text == message.text
    assert draft.metadata == (message.metadata or {})
    for part, original in zip(draft.parts, message.parts, strict=True):
        for field in type(original).__fields__:
            assert getattr(part, field) == getattr(original, field)
        assert part.freeze() is original
    assert (draft.id, draft.role, draft.created_at) == (message.id, message.role, message.created_at)
    assert draft.content.parts is draft.parts
    assert draft.freeze() is message
    assert draft == message


def set_part(draft: Any) -> None:
    """Edit a part in place."""
    draft.parts[1].text = "call me"


def set_part_by_the_documents(draft: Any) -> None:
    """Edit a part in place, as the documents write it."""
    for part in draft.content.parts:
        if part.type == "text" and part.text == "call 555":
            part.text = "call me"


def set_text(draft: Any) -> None:
    """Set the text of the message."""
    draft.text = "call me"


def set_content(draft: Any) -> None:
    """Set the flat text of the content."""
    draft.content.content = "call me"


@pytest.mark.parametrize(
    ("edit", "texts"),
    [
        (set_part, ["call me", "now"]),
        (set_part_by_the_documents, ["call me", "now"]),
        (set_text, ["call me"]),
        (set_content, ["call me"]),
    ],
)
def test_text_edits_touch_texts_only(edit: Callable[[Any], None], texts: list[str]) -> None:
    """However a text is replaced, tool calls, reasoning and borders are the same objects as before."""
    message = answer()
    draft = MessageDraft(message)
    edit(draft)
    made = draft.freeze()
    assert [part.text for part in made.parts if isinstance(part, TextPart)] == texts
    assert draft.text == made.text == "".join(texts)
    assert all(any(part is kept for kept in made.parts) for part in message.parts if not isinstance(part, TextPart))
    assert message == answer().replace(created_at=message.created_at)
    assert made.id == "m"


def test_what_is_inside_is_a_copy() -> None:
    """Changing a tool's result or the metadata in place changes the draft and never the message."""
    message = answer()
    draft = MessageDraft(message)
    draft.parts[2].result["mail"] = "[MAIL]"
    draft.parts[2].args["q"].append("y")
    draft.metadata["seen"]["by"].append("b")
    made = draft.freeze()
    assert CALL.result == {"mail": "bob@x.io"}
    assert CALL.args == {"q": ["x"]}
    assert message.metadata == {"seen": {"by": ["a"]}}
    assert made.parts[2] == CALL.replace(result={"mail": "[MAIL]"}, args={"q": ["x", "y"]})
    assert made.metadata == {"seen": {"by": ["a", "b"]}}
    draft.metadata["seen"]["by"].append("c")
    draft.parts[2].result["mail"] = "again"
    assert made.metadata == {"seen": {"by": ["a", "b"]}}
    assert made.parts[2].result == {"mail": "[MAIL]"}  # type: ignore[union-attr]


def test_an_edit_shares_the_steps_before_it() -> None:
    """An edit in the last step leaves the earlier segments of the parts as they are."""
    message = Message("assistant", [TextPart("one")], id="m")
    message = message.with_parts(message.parts.extended([StepStartPart(), TextPart("two")]))
    draft = MessageDraft(message)
    draft.parts[2].text = "three"
    assert draft.freeze().parts.before is message.parts.before


def test_parts_may_be_put_in_and_taken_out() -> None:
    """Parts, part objects and drafts are parts; anything else is refused, naming the message."""
    draft = MessageDraft(answer())
    draft.parts = [draft.parts[1], TextPart("b"), {"type": "text", "text": "c"}]
    assert draft.text == "call 555bc"
    assert draft.freeze().parts == [TextPart("call 555"), TextPart("b"), TextPart("c")]
    draft.text = "one"
    assert draft.freeze().parts == [TextPart("one")]
    draft.parts.clear()
    draft.text = "new"
    assert draft.freeze().parts == [TextPart("new")]
    draft.parts.append(7)
    with pytest.raises(MessageError, match="'m'"):
        draft.freeze()


def test_content_may_be_set_whole() -> None:
    """A content in any of the documents' shapes may be assigned."""
    message = answer()
    for content, expected in (
        ("x", "x"),
        ([{"type": "text", "text": "y"}], "y"),
        ({"parts": [TextPart("z")], "metadata": {"a": 1}}, "z"),
        (MessageDraft(Message.user("w")).content, "w"),
    ):
        draft = MessageDraft(message)
        draft.content = content
        assert draft.freeze().text == expected
    draft = MessageDraft(message)
    draft.content.parts = [TextPart("a")]
    draft.content.metadata = {"b": 1}
    assert (draft.content.content, draft.content.metadata) == ("a", {"b": 1})


def test_unknown_fields_are_refused() -> None:
    """A misspelt field is an error, on a message as on a part, not a silent nothing."""
    draft = MessageDraft(answer())
    with pytest.raises(AttributeError, match="'colour'"):
        draft.colour = "red"
    with pytest.raises(AttributeError, match="'txt'"):
        draft.parts[1].txt = "x"
    with pytest.raises(AttributeError):
        draft.parts[1].nothing  # noqa: B018


def test_drafts_are_fresh() -> None:
    """Each list of drafts is a new one, equal by content and readable."""
    message = Message.user("x", id="m")
    one, other = drafts_of([message])[0], drafts_of([message])[0]
    one.text = "y"
    one.role = "assistant"
    assert other.text == "x"
    assert one != other
    assert other == MessageDraft(message)
    assert "'y'" in repr(one)
    assert one.original is message
    assert one.freeze() == message.with_text("y").replace(role="assistant")
    assert PartDraft(TextPart("a")) == TextPart("a")
    one.metadata = None
    assert one.freeze().metadata is None


def test_methods_of_a_message_see_the_edits() -> None:
    """A draft has the methods of its message; what they return is a message with the edits made so far."""
    draft = MessageDraft(Message.user("x", id="m"))
    draft.metadata["a"] = 1
    made = draft.with_text("y")
    assert (made.text, made.metadata) == ("y", {"a": 1})
    assert isinstance(made, Message)


def test_attachments_of_a_draft() -> None:
    """The documents' attachments are the files: setting them changes, adds and takes out file parts."""
    message = Message("user", [TextPart("look"), FilePart("aGk=", "text/plain", "a.txt")], id="m")
    (draft,) = drafts_of([message])
    (attachment,) = draft.content.experimental_attachments
    assert attachment == {"url": "data:text/plain;base64,aGk=", "contentType": "text/plain"}
    with pytest.raises(TypeError):
        attachment["url"] = "lost"  # type: ignore[index]
    draft.content.experimental_attachments = [attachment]
    assert draft.freeze() is message
    draft.content.experimental_attachments = [
        {**attachment, "url": "https://up.example"},
        {"url": "https://b.example/b.png", "contentType": "image/png"},
    ]
    assert draft.freeze().parts == [
        TextPart("look"),
        FilePart("https://up.example", "text/plain", "a.txt"),
        FilePart("https://b.example/b.png", "image/png"),
    ]
    draft.content.experimental_attachments = []
    assert draft.freeze().parts == [TextPart("look")]
    assert draft.content.experimental_attachments == ()
    draft.content = {
        "parts": [{"type": "text", "text": "x"}],
        "experimental_attachments": [{"url": "https://c.example"}],
    }
    assert [part.type for part in draft.freeze().parts] == ["text", "file"]


def test_a_result_of_an_open_call() -> None:
    """An open tool call that is given a result is answered; of one that is set to nothing it stays open."""
    (draft,) = drafts_of([Message("assistant", [ToolCallPart("c", "find", {}), ToolCallPart("d", "find", {})], id="m")])
    draft.parts[0].result = "x"
    draft.parts[1].result = None
    assert draft.freeze().parts == [ToolCallPart("c", "find", {}, "result", "x"), ToolCallPart("d", "find", {})]
