"""
What a server's answer is made of: events, or one body of JSON, whatever its headers call it.
"""

from __future__ import annotations

from collections.abc import Iterator

from procession.errors import ModelError
from procession.models.transport.sse import LARGEST_EVENT, Event, EventDecoder

__all__ = ["AnswerBody"]

_BLANK = b"\xef\xbb\xbf \t\r\n"
"""What may stand before everything: a byte order mark, also half of one, and blanks."""
_FIELDS = (b":", b"d", b"e", b"i", b"r")
"""How the lines of an event stream begin: comments, ``data``, ``event``, ``id``, ``retry``."""


class AnswerBody:
    """
    Takes a body as its pieces come, and gives its events; JSON without events is one.

    What it is, its first character says: servers stream what they call JSON, plain text or a web page, and send one
    object where they said that they would stream.

    >>> body = AnswerBody("text/event-stream", model="local/m")
    >>> [*body.feed(b'{"choices"'), *body.feed(b": []}"), *body.end()]
    [Event(data='{"choices": []}', name='message')]
    """

    __slots__ = ("_events", "_is_json", "_largest", "_model", "_size", "_whole")

    def __init__(self, content_type: str, *, model: str, largest: int = LARGEST_EVENT) -> None:
        """
        *model* is named in errors; *largest* is how many bytes JSON, or one event, may have.
        """
        self._is_json = content_type.partition(";")[0].strip().lower().endswith("json")
        self._model = model
        self._largest = largest
        self._events: EventDecoder | None = None
        self._whole: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[Event]:
        """
        Yield the events that *piece* completes.

        Raises ``ModelError``: of kind ``rejected`` for a web page, of kind ``stream`` for an event, or JSON, that does
        not end.
        """
        if self._events is not None:
            return self._events.feed(piece)
        return self._begin(piece)

    def end(self) -> Iterator[Event]:
        """
        Yield what is complete now that nothing more comes: the JSON, or the event that the stream ended in.
        """
        if self._events is not None:
            yield from self._events.end()
        elif self._whole:
            yield Event(b"".join(self._whole).decode("utf-8", "replace"))

    def _begin(self, piece: bytes) -> Iterator[Event]:
        self._size += len(piece)
        if self._size > self._largest:
            raise ModelError(f"{self._model}: the answer is larger than {self._largest:,} bytes", kind="stream")
        if self._whole:
            self._whole.append(piece)
            return
        piece = piece.lstrip(_BLANK)
        if not piece:
            return
        if piece.startswith(b"<"):
            raise ModelError(
                f"{self._model} failed: the server sent a web page instead of an answer",
                kind="rejected",
                hint="check the base URL, which usually ends in /v1, Gemini's in /v1beta",
            )
        if piece.startswith((b"{", b"[")) or (self._is_json and not piece.startswith(_FIELDS)):
            self._whole.append(piece)
            return
        self._events = EventDecoder(self._model, largest=self._largest)
        yield from self._events.feed(piece)
