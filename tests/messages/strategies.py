"""What the tests of this room draw from: messages, parts, values, and changes of a message list."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

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
from procession.messages.patch import Patch

START = datetime(2025, 1, 1, tzinfo=UTC)

words = st.sampled_from(["call", "me", "at", "555", "now", "é", "😀", "ﬁ", "", " ", ", ", "\n"])
texts = st.lists(words, max_size=8).map(" ".join)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "$c", "type"]), inner, max_size=3)
    ),
    max_leaves=6,
)
notes = st.none() | st.dictionaries(st.sampled_from(["lang", "score", "seen"]), plain, min_size=1, max_size=3)

text_parts = st.builds(TextPart, texts, notes)
tool_parts = st.builds(
    ToolCallPart,
    st.sampled_from(["c1", "c2", "c3"]),
    st.sampled_from(["weather", "clock tower"]),
    st.dictionaries(st.sampled_from(["city", "zone"]), texts, max_size=2),
    st.sampled_from(["call", "result", "output-error", "output-denied"]),
    plain,
    st.none() | texts,
    st.booleans(),
    st.none() | texts,
    st.none() | st.builds(Approval, st.just("ap"), st.none() | st.booleans(), st.none() | texts),
    st.none() | texts,
    st.booleans(),
    st.none() | texts,
    notes,
)
parts: st.SearchStrategy[Part] = st.one_of(
    text_parts,
    tool_parts,
    st.builds(ReasoningPart, texts, st.none() | texts, st.none() | texts, notes),
    st.builds(FilePart, st.binary(max_size=6) | st.just("aGk="), st.sampled_from(["image/png", "text/plain"])),
    st.builds(
        SourcePart, st.just("s1"), st.sampled_from(["url", "document"]), st.none() | st.just("https://a.example")
    ),
    st.builds(StepStartPart, st.none() | st.just("openai/gpt")),
    st.builds(ErrorPart, st.just("Error"), texts),
    st.builds(DataPart, st.sampled_from(["data-a", "data-b"]), plain),
)
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "signal"]),
    st.lists(parts, max_size=5),
    id=st.sampled_from(["m1", "m2", "m3", "m4", "m5"]),
    created_at=st.integers(0, 20).map(lambda seconds: START + timedelta(seconds=seconds)),
    thread_id=st.none() | st.just("t"),
    metadata=notes,
    provider_metadata=notes,
)


def numbered(count: int, text: str = "message number") -> MessageList:
    """Return a list of *count* user messages with the ids m0, m1 and so on, a second apart."""
    return MessageList(
        [Message("user", f"{text} {at}", id=f"m{at}", created_at=START + timedelta(seconds=at)) for at in range(count)]
    )


def said(message_list: MessageList) -> list[str]:
    """Return the texts of a list."""
    return [message.text for message in message_list]


def redacted(base: MessageList, message_id: str, secret: str, stand_in: str) -> Patch:
    """Return the patch of a branch that hides a text of one message."""
    branch = base.fork()
    message = base.get_by_id(message_id)
    assert message is not None
    start = message.text.index(secret)
    branch.replace(
        message.with_text(message.text.replace(secret, stand_in)),
        redacted={0: [(start, start + len(secret), stand_in)]},
    )
    return branch.diff()


def edited(base: MessageList, message: Message) -> Patch:
    """Return the patch of a branch that replaced one message."""
    branch = base.fork()
    branch.replace(message)
    return branch.diff()
