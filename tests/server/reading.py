"""Reading a stream of events, as a client does."""

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import httpx
from tests.server.live import Live


class Event(NamedTuple):
    """One event: its id, its name, and what its JSON says."""

    id: str
    type: str
    data: Any


async def read_events(answer: httpx.Response) -> AsyncIterator[Event]:
    """Yield the events of an answer as they come."""
    id = kind = ""
    async for line in answer.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "id":
            id = value
        elif name == "event":
            kind = value
        elif name == "data":
            yield Event(id, kind, json.loads(value))


async def events_of(server: Live, path: str, body: Any = None, **headers: str) -> list[Event]:
    """Ask for a stream, with a body where there is one, and return all of its events."""
    method, accept = ("POST" if body is not None else "GET"), {"Accept": "text/event-stream", **headers}
    async with server.client.stream(method, path, json=body, headers=accept) as answer:
        assert answer.status_code in (200, 204), await answer.aread()
        return [each async for each in read_events(answer)]
