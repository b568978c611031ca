"""What the tests of this room draw from: messages, parts, values, and changes of a message list."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

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
ids = st.sampled_from(["m0", "m1", "m2", "m3", "m9"])
changes = st.lists(
    st.one_of(
        st.tuples(st.just("text"), ids, texts),
        st.tuples(st.just("note"), ids, texts),
        st.tuples(st.just("redact"), ids, texts),
        st.tuples(st.just("remove"), ids, st.none()),
        st.tuples(st.just("add"), st.sampled_from(["n1", "n2", "n3"]), texts),
        st.tuples(st.just("source"), ids, st.sampled_from(["memory", "response", "context"])),
        st.tuples(st.just("system"), st.sampled_from(["a", "b"]), texts),
        st.tuples(st.just("whole"), ids, messages),
    ),
    max_size=6,
)


def change(message_list: MessageList, doings: list[tuple[str, str, Any]]) -> None:
    """Carry out changes, as a branch would; those of a message that is not there are passed over."""
    for doing, target, detail in doings:
        message = message_list.get_by_id(target)
        if doing == "add":
            message_list.add(Message("user", detail, id=target, created_at=START + timedelta(seconds=1)))
        elif doing == "system":
            message_list.add_system(detail, target)
        elif message is None:
            continue
        elif doing == "text":
            message_list.replace(message.with_text(detail))
        elif doing == "note":
            message_list.replace(message.with_metadata(note=detail))
        elif doing == "redact":
            message_list.replace(message.with_text(detail), redacted=True)
        elif doing == "remove":
            message_list.remove([target])
        elif doing == "source":
            message_list.replace(message, detail)
        else:
            message_list.replace(detail.replace(id=target))


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
