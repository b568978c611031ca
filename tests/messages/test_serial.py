"""Everything that is said, as JSON and back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.messages.strategies import messages, plain, texts

from procession.errors import MessageError, ModelError
from procession.messages import chunks, parts, tripwire
from procession.messages.message import Message, SystemMessage
from procession.messages.message_list import MessageList
from procession.messages.prompt import PromptMessage, PromptToolCall
from procession.messages.serial import from_data, from_json, to_data, to_json
from procession.messages.usage import Usage
from procession.messages.value import Value

EXAMPLES: dict[str, Any] = {
    "str": "x", "str | bytes": b"\x00\xff", "bool": True, "bool | None": False, "int": 7, "float | None": 1.5, "str | None": "y",
    "Any": {"a": [1, None]}, "Sequence[Any]": ({"w": 1},), "Sequence[tuple[str, Usage]]": (("m", Usage(1, 2)),), "Usage": Usage(1, 2), "BaseException": None, "tuple[Any, ...]": ("w", 1),
    "Mapping[str, Any] | None": {"p": {"k": 1}}, "Metadata": {"p": {"k": 1}}, "Mapping[str, str] | None": {"h": "1"},
    "TripwireInfo": chunks.TripwireInfo("bad", True, {"m": 1}, "p", "no"), "Approval | None": parts.Approval("a", True),
    "ToolState": "result", "Literal['url', 'document']": "document", "Literal[\"url\", \"document\"]": "document",
}  # fmt: skip
KINDS = [
    kind
    for module in (chunks, parts, tripwire)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Value) and kind.__module__ == module.__name__
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_part_and_chunk(kind: type[Value]) -> None:
    """Every part and chunk comes back equal, with every field set and with the fewest."""
    annotations = {
        name: note for base in reversed(kind.__mro__) for name, note in vars(base).get("__annotations__", {}).items()
    }
    full = {field: EXAMPLES[annotations[field]] for field in kind.__fields__}
    few = {field: value for field, value in full.items() if field not in kind.__field_defaults__}
    for fields in (full, few):
        value = kind(**fields)
        assert from_json(to_json(value)) == value


@given(messages)
def test_messages(message: Message) -> None:
    """Every message comes back equal."""
    assert from_json(to_json(message)) == message


times = st.datetimes(timezones=st.just(UTC)).map(lambda time: time.replace(fold=0))


@given(plain | st.binary() | times | st.tuples(texts, st.integers()) | st.floats())
def test_plain_data(value: Any) -> None:
    """Plain data, bytes, times, tuples and odd numbers come back equal, of the same types."""
    made = from_json(to_json({"in": [value]}))["in"][0]
    assert repr(made) == repr(value)


def test_keys_that_are_no_words() -> None:
    """Mappings with other keys than texts, or with marks for keys, come back equal, whatever order a store gives them."""
    value = {1: "a", "$bytes": "b", ("c", 2): {"$type": "Usage"}}
    assert from_json(to_json(value)) == value
    message = to_data(Message.user("hi", id="m"))
    assert from_data(dict(sorted(message.items(), reverse=True))) == from_data(message)


def test_errors_are_told_again() -> None:
    """An error comes back as one that says the same and what it was."""
    made = from_json(to_json(chunks.ErrorChunk(ModelError("rate limit"))))
    assert "rate limit" in str(made.error)
    assert "ModelError" in made.error.__notes__[0]
    assert "ValueError" in from_json(to_json(ValueError("x"))).__notes__[0]


@given(st.lists(messages.map(lambda message: message.replace(thread_id=None)), max_size=5))
def test_lists(given: list[Message]) -> None:
    """A list comes back with its messages, sources, system messages and owner, and is no fork."""
    found = MessageList(thread_id="t", resource_id="r")
    for at, message in enumerate(given):
        found.add(message, ("input", "memory", "response", "context")[at % 4])
    found.drain_unsaved()
    found.add("new")
    found.add_system(["a", SystemMessage("b", "memory")])
    made = from_data(json.loads(json.dumps(to_data(found))))
    assert made.state() == found.state()
    assert made.drain_unsaved() == found.drain_unsaved()
    assert from_json(to_json(found)).system_messages == found.system_messages
    with pytest.raises(MessageError):
        made.diff()


def test_prompts() -> None:
    """What a model is sent comes back equal."""
    entry = PromptMessage("assistant", (parts.TextPart("x"), PromptToolCall("c", "t", {})))
    assert from_json(to_json([entry])) == [entry]


class Stranger(Value):
    """A value that is none of this room."""

    x: int


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"a": [object()]}, r"value\['a'\]\[0\] is of type object"),
        (Stranger(1), "Stranger"),
        (parts.ToolCallPart("c", "t", {"x": {1}}), r"value.args\['x'\] is of type set"),
    ],
)
def test_what_cannot_be_written(value: Any, told: str) -> None:
    """A type that JSON has no word for is named, with the place where it stands."""
    with pytest.raises(MessageError, match=told):
        to_json(value)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"$type": "Spaceship"}, "Spaceship"),
        ({"$type": "Usage", "colour": 1}, "colour"),
        ({"$colour": 1}, "colour"),
        ({"$type": "Patch"}, "changes"),
    ],
)
def test_what_cannot_be_read(data: Any, told: str) -> None:
    """An unknown type, mark or field is named."""
    with pytest.raises(MessageError, match=told):
        from_data(data)


def test_times_keep_their_zone() -> None:
    """A time is written in ISO 8601."""
    assert to_data(datetime(2025, 1, 1, tzinfo=UTC)) == {"$time": "2025-01-01T00:00:00+00:00"}
