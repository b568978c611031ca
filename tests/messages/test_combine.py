"""Two halves or versions of an assistant's message, as one."""

from __future__ import annotations

from hypothesis import given
from tests.messages.strategies import messages

from procession.messages.combine import joined, merged_metadata, recalled, with_parts
from procession.messages.message import Message
from procession.messages.parts import Parts, StepStartPart, TextPart, ToolCallPart

CALL = ToolCallPart("c", "w", {"a": 1})
DONE = CALL.replace(state="result", result=1)


def answer(*parts: TextPart | ToolCallPart | StepStartPart, **fields: object) -> Message:
    """Return an assistant's message."""
    return Message("assistant", parts, id="a", **fields)  # type: ignore[arg-type]


@given(messages)
def test_other_parts_alone(message: Message) -> None:
    """A message with other parts is otherwise the same."""
    parts = Parts([TextPart("x")])
    assert with_parts(message, parts) == message.with_parts(parts)


@given(messages)
def test_what_is_there_is_not_repeated(message: Message) -> None:
    """A message joined with itself is the very same object."""
    assert joined(message, message) is message


def test_equal_parts_count() -> None:
    """A text that is said twice is there twice, one that was there already is not added."""
    one, two = TextPart("one"), TextPart("two")
    assert joined(answer(one), answer(one, one, two)).parts == [one, one, two]


def test_outcomes_go_to_their_calls() -> None:
    """An outcome updates its call with the arguments of both; it never takes a later state back."""
    news = answer(DONE.replace(args={"b": 2}), TextPart("so"))
    assert joined(answer(CALL), news).parts == [DONE.replace(args={"a": 1, "b": 2}), StepStartPart(), TextPart("so")]
    assert joined(answer(DONE), answer(CALL)).parts == [DONE]
    assert joined(answer(CALL.replace(args="")), answer(DONE.replace(args="{"))).parts == [DONE.replace(args="{")]


def test_a_new_call_is_updated_too() -> None:
    """A call and its outcome in one message are one part, and borders do not double."""
    news = answer(CALL, DONE, StepStartPart(), StepStartPart(), TextPart("x"))
    assert joined(answer(TextPart("a")), news).parts == [TextPart("a"), DONE, StepStartPart(), TextPart("x")]


def test_notes_are_merged() -> None:
    """Metadata is merged key by key, a provider's notes one level deeper."""
    first = answer(metadata={"a": 1, "b": 1}, provider_metadata={"p": {"x": 1}, "q": 1})
    second = answer(metadata={"b": 2}, provider_metadata={"p": {"y": 2}, "q": {"z": 3}})
    made = joined(first, second)
    assert made.metadata == {"a": 1, "b": 2}
    assert made.provider_metadata == {"p": {"x": 1, "y": 2}, "q": {"z": 3}}
    assert merged_metadata(None, None) is None
    assert joined(answer(TextPart("x")), answer(metadata={"b": 2})).metadata == {"b": 2}


def test_a_client_can_only_answer() -> None:
    """Of a client's copy of a stored message nothing counts but outcomes; its texts may be forged."""
    stored = answer(TextPart("stored"), CALL)
    assert recalled(stored, answer(TextPart("forged"), DONE), is_response=False).parts == [TextPart("stored"), DONE]
    assert recalled(stored, answer(TextPart("forged"), CALL), is_response=False) is stored
