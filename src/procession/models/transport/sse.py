"""
Server-sent events, from bytes that may be cut anywhere.  No network, and no more memory than one event may take.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from procession.errors import ModelError
from procession.messages.value import Value

__all__ = ["LARGEST_EVENT", "Event", "EventDecoder"]

LARGEST_EVENT = 64 * 1024 * 1024
"""
Bytes that may come without an event being complete.  Pictures are sent inside of events, and vectors by the thousand.
"""


class Event(Value):
    """
    One event of a stream.
    """

    data: str
    name: str = "message"


class EventDecoder:
    r"""
    Takes a stream as its pieces come, and gives each event with the piece that completes it.

    Lines end with LF, CR LF or CR, and nowhere else; what is no UTF-8 is replaced, which is logged once, and an event without data is none.

    >>> decoder = EventDecoder("local/m")
    >>> [*decoder.feed(b"event: greeting\r\nda"), *decoder.feed(b"ta: Hello\r\n\r")]
    [Event(data='Hello', name='greeting')]
    """

    __slots__ = ("_after_cr", "_data", "_held", "_is_broken", "_largest", "_model", "_name", "_rest", "_taken")

    def __init__(self, model: str, *, largest: int = LARGEST_EVENT) -> None:
        """
        *model* is named in errors, and *largest* is how many bytes may come without an event being complete.
        """
        self._model = model
        self._largest = largest
        self._after_cr = False
        self._rest: list[bytes] = []
        self._held = 0
        self._data: list[bytes] = []
        self._name = b""
        self._taken = 0
        self._is_broken = False

    def feed(self, piece: bytes) -> Iterator[Event]:
        """
        Yield the events that *piece* completes.

        Raises ``ModelError`` of kind ``stream`` where an event does not end.
        """
        if self._after_cr and piece:
            piece = piece.removeprefix(b"\n")  # the other half of a CR LF
            self._after_cr = False
        if b"\r" in piece:
            self._after_cr = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = piece.split(b"\n")
        if lines:
            self._rest.append(lines[0])
            lines[0] = b"".join(self._rest)  # once for each line, however many pieces it came in
            self._rest.clear()
            self._held = 0
        if rest:
            self._rest.append(rest)
            self._held += len(rest)
        for line in lines:
            self._taken += len(line) + 1
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif line:
                self._field(line)
            else:
                if self._data:
                    self._check(self._taken)
                    yield self._event()
                self._name = b""
        self._check(self._taken + self._held)

    def end(self) -> Iterator[Event]:
        """
        Yield the event that the stream ended in, if it was not cut: if its data is JSON, or ``[DONE]``.
        """
        return (event for event in self.feed(b"\n\n") if _is_whole(event.data))

    def _field(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        if field == b"data":  # without a colon
            self._data.append(value)
        elif field == b"event":
            self._name = value.removeprefix(b" ")

    def _event(self) -> Event:
        joined = b"\n".join(self._data)
        try:
            data = joined.decode("utf-8")
        except UnicodeDecodeError:
            data = joined.decode("utf-8", "replace")
            self._warn()
        self._data.clear()
        self._taken = 0
        return Event(data, self._name.decode("utf-8", "replace") or "message")

    def _warn(self) -> None:
        """
        Say that characters were lost, once for an answer.
        """
        if self._is_broken:
            return
        self._is_broken = True
        import structlog

        structlog.get_logger("procession.models").warning("the answer is not all UTF-8", model=self._model)

    def _check(self, size: int) -> None:
        if size > self._largest:
            raise ModelError(
                f"{self._model}: an event of the stream is larger than {self._largest:,} bytes, or does not end",
                kind="stream",
            )


def _is_whole(data: str) -> bool:
    if data.strip() == "[DONE]":
        return True
    try:
        return isinstance(json.loads(data), (dict, list))
    except (ValueError, RecursionError):
        return False
