"""
What a server's answer is made of: events, or one body of JSON, whatever its headers call it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, ClassVar

from procession.messages.value import Value
from procession.models.failures import failure_of

__all__ = ["Event", "events_of"]

_FIELDS = frozenset(":deir")
"""How the lines of an event stream begin: comments, ``data``, ``event``, ``id``, ``retry``."""


class Event(Value):
    """
    One event of a stream.
    """

    data: str
    name: str = "message"


async def events_of(texts: AsyncIterator[str], *, content_type: str, model: str) -> AsyncGenerator[Event, None]:
    """
    Yield the events of an answer whose body comes as *texts*; JSON without events is one.

    What it is, its first character says: servers stream what they call JSON, plain text or a web page, and send one
    object where they said that they would stream.  The end of the stream ends its last event, if that is complete.

    Raises ``ModelError`` for a web page.
    """
    head = ""
    async for text in texts:
        head = text.lstrip()
        if head:
            break
    kind = content_type.partition(";")[0].strip().lower()
    if head.startswith("<"):
        async for _ in texts:  # whoever reads half a body leaves its generators behind
            pass
        raise failure_of("the server sent a web page instead of an answer", model=model, kind="rejected")
    if head.startswith(("{", "[")) or (kind.endswith("json") and not _FIELDS.issuperset(head[:1])):
        yield Event("".join([head, *[text async for text in texts]]))
        return
    from httpx_sse import EventSource

    body: Any = _Body(head, texts)
    async for event in EventSource(body).aiter_sse():
        if not body.ended or _is_whole(event.data):
            yield Event(event.data, event.event)


class _Body:
    """
    What httpx-sse reads of a response.
    """

    headers: ClassVar[dict[str, str]] = {"content-type": "text/event-stream"}

    def __init__(self, head: str, texts: AsyncIterator[str]) -> None:
        self.ended = False
        self._head = head
        self._texts = texts

    async def aiter_text(self) -> AsyncGenerator[str, None]:
        """
        Yield the text of the body, and then what ends an event that nothing else ended.
        """
        if self._head:
            yield self._head
        async for text in self._texts:
            yield text
        self.ended = True
        yield "\n\n"


def _is_whole(data: str) -> bool:
    """
    Return whether an event that the stream did not end itself was not cut.
    """
    if data.strip() == "[DONE]":
        return True
    try:
        return isinstance(json.loads(data), (dict, list))
    except (ValueError, RecursionError):
        return False
