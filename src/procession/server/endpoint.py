"""
Endpoint: one thing that can be asked for over HTTP, declared once: what serves it and what describes it read the same.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import anyio

from procession.errors import RequestRefused, SchemaError
from procession.messages.shapes import is_form
from procession.messages.value import Value
from procession.server.going import Going
from procession.server.guard import CHANGES
from procession.steps.schema import schema_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from procession.server.served import Served

__all__ = ["Asked", "Endpoint", "Example", "asked", "json_bytes", "respond"]


class Example(Value, kw_only=True):
    """
    How an endpoint is asked, for its readers: a test asks each example.
    """

    path: Mapping[str, str] = {}
    query: Mapping[str, Any] = {}
    body: Any = None


class Endpoint(Value, kw_only=True):
    """
    One thing that can be asked for.

    *handle* is given what was asked and returns what JSON can say, or a Starlette response.
    """

    method: str
    path: str
    """With what differs in braces: ``/api/runs/{run_id}``."""
    handle: Callable[[Asked], Awaitable[Any]]
    summary: str
    """One line for the document."""
    body: Any = None
    """The type of the body, such as a ``TypedDict``: checked, and written into the document."""
    shown_body: Any = None
    """The type that describes the body where *handle* reads it in its own way: written into the document alone."""
    query: Any = None
    """The type of what stands behind the question mark: a ``TypedDict``."""
    answer: Any = None
    """The type of the answer, for the document."""
    event: Any = None
    """The type of one event's data, of what can be answered as events as well."""
    failure: Any = None
    """The type of an error, where it has another form than all others."""
    status: int = 200
    media: str = "application/json"
    """What the answer is; ``text/event-stream`` for events."""
    example: Example | None = None
    open: bool = False
    """Whether it is answered without the token: it must show nothing."""
    changes: bool | None = None
    """Whether it changes something; left out, the method says so."""
    calls: bool = False
    """Whether it counts as a call: only so many go on at once, none begins while the server drains, and one ends early
    where its client leaves: see ``asked.going``."""
    reads: bool = False
    """Whether it is a stream that a reader may stay at; it ends as soon as the server drains."""

    @property
    def is_change(self) -> bool:
        """
        Whether a read-only server refuses it.
        """
        return self.changes if self.changes is not None else self.method in CHANGES


class Asked:
    """
    What an endpoint was asked.
    """

    __slots__ = ("_going", "app", "body", "path", "query", "request", "request_id")

    def __init__(self, app: Served, request: Request, query: Any, body: Any, going: Going | None) -> None:
        self.app = app
        self.request = request
        self.path: Mapping[str, str] = request.path_params
        """What stands in the braces of the path."""
        self.query: Mapping[str, Any] = query
        self.body: Any = body
        self.request_id: str = request.scope["procession.request_id"]
        self._going = going

    @property
    def going(self) -> Going:
        """
        The call while it goes on, of an endpoint with ``calls`` or ``reads``.
        """
        assert self._going is not None, "the endpoint says neither calls=True nor reads=True"
        return self._going


async def asked(app: Served, endpoint: Endpoint, request: Request, going: Going | None) -> Asked:
    """
    Read and check what was asked.

    Raises ``RequestRefused`` for what cannot be read and ``SchemaError`` for what does not fit.
    """
    query: dict[str, Any] = {}
    if endpoint.query is not None:
        query = _checked(endpoint.query, _query(request), "the query")
    body = await _body(app, endpoint, request) if endpoint.body is not None else None
    return Asked(app, request, query, body, going)


def _query(request: Request) -> dict[str, str]:
    """
    Return what stands behind the question mark.

    Raises ``RequestRefused`` for a name that is there twice: whoever checked the request before may have read the other.
    """
    given = request.query_params.multi_items()
    query = dict(given)
    if len(query) != len(given):
        raise RequestRefused("the query says one thing twice", status=400, reason="query", hint="name each once")
    return query


async def _body(app: Served, endpoint: Endpoint, request: Request) -> Any:
    try:
        with anyio.fail_after(app.limits.stalled):
            raw = await request.body()
    except TimeoutError:
        raise RequestRefused("the body did not come", status=408, reason="body-timeout") from None
    try:
        value = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        raise RequestRefused(
            "the body is no JSON", status=400, reason="not-json", hint="send a JSON object, in UTF-8"
        ) from None
    return _checked(endpoint.body, value, "the body")


def _checked(type: Any, value: Any, where: str) -> Any:
    schema = schema_of(type)
    if schema is None:
        return value
    known: dict[str, Any] | None = getattr(type, "__annotations__", None)
    if known is not None and is_form(value):
        strange = [str(key) for key in value if key not in known]
        if strange:
            raise SchemaError(
                f"{where}: there is no {strange[0][:60]!r}", hint=f"there are {', '.join(known)}", faults=strange
            )
    return schema.validate(value, where=where)


def json_bytes(value: Any) -> bytes:
    """
    Return *value* as JSON text in UTF-8.

    >>> json_bytes({"text": "Grüezi"})
    b'{"text":"Gr\\\\u00fcezi"}'
    """
    # Without letters beyond ASCII: half a surrogate pair, which a model can send, has no UTF-8.
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


async def respond(endpoint: Endpoint, given: Asked) -> Response:
    """
    Answer one request.
    """
    from starlette.responses import Response

    answer = await endpoint.handle(given)
    if isinstance(answer, Response):
        return answer
    return Response(json_bytes(answer), endpoint.status, media_type="application/json")
