"""
Routes that show runs: the list, one of them, and its events, as a page or live.
"""

from __future__ import annotations

import re
from contextlib import aclosing
from typing import Any, Final, Literal

import anyio
from starlette.responses import Response
from typing_extensions import TypedDict

from procession.errors import InputError
from procession.server.endpoint import Asked, Endpoint, Example
from procession.server.served import Served
from procession.server.sse import BEAT, EventStream, Say, event_of
from procession.server.tokens import spent_by_node

__all__ = ["RunPath", "routes"]

RunPath = "/api/runs/{run_id}"
_SEQ: Final = re.compile(r"-?[0-9]{1,18}")
"""What a ``Last-Event-ID`` of ours can be; any other is passed over."""
_MOST_CALLS: Final = 1_000
"""Of how many model calls of a run the tokens and costs are told, by node."""


class RunsQuery(TypedDict, total=False):
    """
    Which runs are listed, the newest first.
    """

    owner: str
    """The id of a workflow or an agent."""
    kind: Literal["agent", "workflow"]
    status: str
    resource: str
    after: str
    """The ``next`` of the page before."""
    limit: int


class EventsQuery(TypedDict, total=False):
    """
    Which events of a run are wanted.
    """

    after: int
    """The number of the last event that is known; -1 for none."""
    types: str
    """Several are separated by commas."""
    limit: int
    """Of a page; 500 unless said otherwise, and 5000 at most."""


def routes(app: Served) -> list[Endpoint]:
    """
    Return the routes that show runs.
    """
    return [
        Endpoint(
            method="GET", path="/api/runs", handle=_list, summary="List the runs that are known, the newest first.",
            query=RunsQuery, answer=dict[str, Any], example=Example(query={"limit": 10}),
        ),
        Endpoint(
            method="GET", path=RunPath, handle=_show, summary="Show how a run stands.", answer=dict[str, Any],
        ),
        Endpoint(
            method="GET", path=RunPath + "/events", handle=_events, query=EventsQuery, answer=dict[str, Any], reads=True,
            summary="Return events of a run: a page, or with `Accept: text/event-stream` all that come, live.",
        ),
    ]  # fmt: skip


async def _list(asked: Asked) -> Any:
    query = dict(asked.query)
    query["limit"] = _limit(query.get("limit", 50), most=500)
    return await asked.app.runs.list(**query)


async def _show(asked: Asked) -> Any:
    run_id = asked.path["run_id"]
    summary = await asked.app.runs.summary(run_id)
    answered = await asked.app.runs.events(run_id, types={"model.answered"}, limit=_MOST_CALLS)
    return {**summary, "spent": spent_by_node(answered["events"])}


async def _events(asked: Asked) -> Any:
    after: int = asked.query.get("after", -1)
    given = asked.query.get("types")
    types = frozenset(given.split(",")) if given else None
    if "text/event-stream" not in asked.request.headers.get("accept", ""):
        limit = _limit(asked.query.get("limit", 500), most=5000)
        return await asked.app.runs.events(asked.path["run_id"], after=after, types=types, limit=limit)
    last = asked.request.headers.get("last-event-id", "")
    if _SEQ.fullmatch(last):
        after = int(last)
    return await _live(asked, after, types)


async def _live(asked: Asked, after: int, types: frozenset[str] | None) -> Response:
    """
    Return the events as they come; a reader that is slow reads on where it stands, and holds nothing up.
    """
    run_id = asked.path["run_id"]
    page = await asked.app.runs.events(run_id, after=after, limit=1)
    if page["ended"] and not page["events"]:
        return Response(None, 204)  # tells a browser not to connect again
    events = await asked.app.runs.read(run_id, after=after, types=types)

    async def produce(say: Say) -> None:
        await say(BEAT)  # at once: whoever waits for the next event knows that the connection stands
        with anyio.CancelScope() as reading:
            asked.going.signal.listen(lambda reason: reading.cancel())  # a whole answer, if a short one
            async with aclosing(events):
                async for one in events:
                    await say(event_of(one.text.encode(), type=one.type, id=one.seq))

    return EventStream(produce, asked)


def _limit(given: int, *, most: int) -> int:
    if not 1 <= given <= most:
        raise InputError(f"limit={given}", hint=f"it is 1 to {most}")
    return given
