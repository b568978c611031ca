"""Server-sent events: whatever bytes come, cut wherever, the same events come of them, at the same cost for each byte."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.errors import ModelError
from procession.models.transport.sse import Event, EventDecoder

ENDS = [b"\n", b"\r\n", b"\r"]
WORDS = [b"data: ", b"data:", b"data", b"event: ", b"event:", b"id: ", b"retry: ", b": ", b":", b"other: ", b" "]
TEXTS = [
    b"x",
    b"\xef\xbb\xbf",
    b"\0",
    b"\xc3\xa9",
    b"\xe2\x80\xa8",
    b"\xf0\x9f\xa7\x82",
    b"\xc2\x85",
    b"\x0c",
    b"\xff",
    b"\xe2",
]


def events_of(pieces: Iterable[bytes], **options: Any) -> list[tuple[str, str]]:
    """Return the names and data of the events that come of these pieces."""
    decoder = EventDecoder("local/m", **options)
    return [(event.name, event.data) for piece in pieces for event in decoder.feed(piece)]


streams = st.lists(st.sampled_from([*WORDS, *TEXTS, *ENDS, *ENDS, *ENDS]), max_size=40).map(b"".join)
"""What is nearly a stream of events: lines of every kind, with ends of every kind, and other bytes."""


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    """Cut a stream into pieces, of which some are empty."""
    at = sorted(place % (len(stream) + 1) for place in places)
    return [stream[a:b] for a, b in zip([0, *at], [*at, len(stream)], strict=True)]


def by_the_standard(stream: bytes) -> list[tuple[str, str]]:
    """Read a whole stream as the standard words it, line by line."""
    lines = stream.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]
    events: list[tuple[str, str]] = []
    name, data = "", list[str]()
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                events.append((name or "message", "\n".join(data)))
            name, data = "", []
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)
    return events


@given(streams | st.binary(max_size=60), st.lists(st.integers(0, 400), max_size=12))
def test_cuts_change_nothing(stream: bytes, places: list[int]) -> None:
    """Any bytes can be read, and the events are those that the standard describes, wherever the stream is cut."""
    assert events_of(cut(stream, places)) == by_the_standard(stream)


@pytest.mark.parametrize("end", ENDS, ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 1_000])
def test_all_line_ends_at_every_cut(end: bytes, size: int) -> None:
    """CR, LF and CR LF end lines; U+2028, U+2029, U+0085 and their like do not."""
    text = "Brød \u2028 og \u2029 salt \x85 \x0b \x0c \x1c \U0001f9c2"
    stream = end.join([b": hello", b"event: said", b"data: " + text.encode(), b"data: more", b"", b"data:", b"", b""])
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert events_of(pieces) == [("said", f"{text}\nmore"), ("message", "")]


@pytest.mark.parametrize("end", ENDS, ids=["LF", "CRLF", "CR"])
def test_event_does_not_wait_for_the_next(end: bytes) -> None:
    """An event comes with the line that ends it, and not only when more is sent."""
    decoder = EventDecoder("local/m")
    assert [*decoder.feed(b"data: x" + end + end)] == [Event("x")]
    assert [*decoder.feed(b"data: y" + end + end)] == [Event("y")]


@pytest.mark.parametrize(
    ("last", "given"),
    [
        (b"data: [DONE]", "[DONE]"),
        (b'data: {"a": 1}\n', '{"a": 1}'),
        (b'data: {"a":\r\ndata: 1}\r', '{"a":\n1}'),
        (b'data: {"a": 1', None),
        (b"data: half", None),
        (b"data: 1", None),
        (b"da", None),
        (b": x", None),
    ],
)
def test_event_that_the_stream_ends_in(last: bytes, given: str | None) -> None:
    """What is not ended by an empty line is an event only where it cannot be half of one."""
    decoder = EventDecoder("local/m")
    assert [*decoder.feed(b"data: whole\n\n" + last)] == [Event("whole")]
    assert [*decoder.end()] == ([Event(given)] if given is not None else [])


@pytest.mark.parametrize(
    "endless",
    [
        pytest.param(b"data: " + b"x" * 100, id="one line"),
        pytest.param(b"data: x\n", id="one event of many lines"),
        pytest.param(b"event: x\n", id="names"),
        pytest.param(b": still here\n\n", id="comments"),
        pytest.param(b"\n\r\n\r", id="empty lines"),
        pytest.param(b"id: 1\nretry: 2\n\n", id="events without data"),
        pytest.param(b"\0", id="zeros"),
    ],
)
@pytest.mark.parametrize("times", [1, 7, 10_000])
def test_event_that_does_not_end(endless: bytes, times: int) -> None:
    """What goes on without an event is an error at the limit, in small pieces as in large ones."""
    decoder = EventDecoder("local/m", largest=2_000)
    fed = 0
    with pytest.raises(ModelError, match=r"local/m: .* 2,000 bytes") as caught:
        while fed < 100_000:
            fed += len(endless) * times
            list(decoder.feed(endless * times))
    assert (caught.value.kind, caught.value.retryable) == ("stream", False)
    assert fed <= 2 * 2_000 + len(endless) * times  # a CR LF counts as one


def test_limit_is_for_each_event() -> None:
    """A stream may be of any length while its events end, and what came before a piece too many was given."""
    event = b": comment\ndata: " + b"x" * 900 + b"\n\n"
    assert len(events_of([event * 10] * 10, largest=1_000)) == 100
    decoder = EventDecoder("local/m", largest=1_000)
    seen: list[Event] = []
    with pytest.raises(ModelError):
        seen.extend(decoder.feed(event + b"data: " + b"x" * 1_000 + b"\n\n"))
    with pytest.raises(ModelError):
        for found in EventDecoder("local/m", largest=1_000).feed(event + b"data: " + b"x" * 1_000 + b"\n\n"):
            seen.append(found)
    assert len(seen) == 2


def steps_of(work: Callable[[], object]) -> int:
    """Return how many lines and calls Python goes through in *work*: a measure that no slow machine changes."""
    steps = 0

    def count(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize("size", [1, 16, 4_096])
@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b"data: x\n\n", id="small events"),
        pytest.param(b"x", id="one line"),
        pytest.param(b"data: x\r\n", id="one event"),
        pytest.param(b"\r", id="CR"),
        pytest.param(b": c\n", id="comments"),
    ],
)
def test_twice_as_much_takes_twice_as_long(stream: bytes, size: int) -> None:
    """The steps grow with the bytes and not with their square, however they are cut."""

    def steps(length: int) -> int:
        whole = stream * (length // len(stream))
        return steps_of(lambda: events_of(whole[at : at + size] for at in range(0, len(whole), size)))

    once, twice = steps(4_096 * 2), steps(4_096 * 4)
    assert twice <= 2.2 * once
