"""
The ASGI application: the door that every request comes in by, and the routes behind it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from procession.errors import RequestRefused
from procession.ids import new_id
from procession.processors.tenant import SERVED
from procession.server import (
    agents,
    calls,
    health,
    openapi,
    resumed_calls,
    run_changes,
    run_replay,
    run_routes,
    run_tools,
    studio,
    threads,
    workflow_runs,
    workflows,
)
from procession.server.endpoint import Endpoint, asked, json_bytes, respond
from procession.server.errors import error_body, status_of
from procession.server.going import GRACE, gone
from procession.server.guard import CHANGES
from procession.server.mcp import routes as mcp_routes
from procession.server.openai import chat
from procession.server.openai.refused import chat_error, chat_headers
from procession.server.redaction import DEFAULT
from procession.server.refusals import check_served

if TYPE_CHECKING:
    from procession.server.served import Served

__all__ = ["Door", "build", "endpoints"]

_MODULES: Final = (
    health,
    agents,
    calls,
    resumed_calls,
    workflows,
    workflow_runs,
    run_routes,
    run_changes,
    run_replay,
    run_tools,
    threads,
    chat,
    mcp_routes,
    studio,
)
"""What has ``routes(app)``: a list of ``Endpoint``, or of Starlette routes, which the document does not describe."""
_GOOD_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_HEADERS: Final = (
    (b"content-security-policy",
     b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
     b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)  # fmt: skip
"""What every answer says: a page may load its own scripts alone, and be shown inside of no other."""


def endpoints(app: Served) -> list[Endpoint | BaseRoute]:
    """
    Return all that *app* answers, in the order in which it is looked through.
    """
    return [each for module in _MODULES for each in module.routes(app)]


def build(app: Served) -> Door:
    """
    Return *app* as an ASGI application.

    Raises ``DefinitionError`` for what cannot be served.
    """
    check_served(app)
    if app.redact is DEFAULT:
        DEFAULT("the rules are made ready now, and not while the first answer is streamed")
    every = endpoints(app)
    declared = [each for each in every if isinstance(each, Endpoint)]
    every.append(openapi.described(declared, token_needed=app.guard.needs_token))
    return Door(app, [_Guarded(app, each) if isinstance(each, BaseRoute) else _route(app, each) for each in every])


def _route(app: Served, endpoint: Endpoint) -> Route:
    return Route(endpoint.path, _Behind(app, endpoint), methods=[endpoint.method], include_in_schema=False)


class _Behind:
    """
    An endpoint as the ASGI application behind its route.
    """

    def __init__(self, app: Served, endpoint: Endpoint) -> None:
        self._app = app
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app, endpoint = self._app, self._endpoint
        SERVED.set(True)
        app.guard.authorize(scope["procession.headers"], open=endpoint.open)
        if endpoint.is_change:
            app.guard.refuse_read_only()
        request = Request(scope, receive, send)
        if not endpoint.calls and not endpoint.reads:
            response = await respond(endpoint, await asked(app, endpoint, request, None))
            await response(scope, receive, send)
            return
        with app.service.call() if endpoint.calls else app.service.reader() as going:
            given = await asked(app, endpoint, request, going)

            async def work() -> None:
                response = await respond(endpoint, given)
                await response(scope, _nothing, send)

            async def leaves() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass

            await going.attend(work, leaves, seconds=app.limits.seconds, grace=GRACE if endpoint.calls else 0)


class _Guarded(BaseRoute):
    """
    A route of Starlette's own, such as a mount, behind the token as well.
    """

    def __init__(self, app: Served, route: BaseRoute) -> None:
        self._app = app
        self._route = route

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return self._route.matches(scope)

    def url_path_for(self, name: str, /, **path_params: Any) -> Any:
        return self._route.url_path_for(name, **path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        SERVED.set(True)
        self._app.guard.authorize(scope["procession.headers"])
        await self._route.handle(scope, receive, send)


class Door:
    """
    What every request passes: it is given an id and counted, looked at by the guard, and its errors become JSON.
    """

    def __init__(self, app: Served, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._router: ASGIApp = Router(routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Answer by the ASGI protocol.
        """
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})  # there are none: 403

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        started = False
        try:
            async with self._app.service.running():
                await send({"type": "lifespan.startup.complete"})
                started = True
                await receive()
        except BaseException as error:
            which = "shutdown" if started else "startup"
            await send({"type": f"lifespan.{which}.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), value)
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = given if _GOOD_ID.fullmatch(given) else new_id()
        scope = {**scope, "procession.request_id": request_id, "procession.headers": headers}
        scope.setdefault("app", self)
        answer = _Answer(send, request_id, self._app, _is_chat(scope))
        try:
            self._app.guard.admit(scope, headers)
            allowed = answer.allow_origin(headers)
            if scope["method"] == "OPTIONS" and allowed:
                await Response(None, 204, _PREFLIGHT)(scope, receive, answer.send)
                return
            if scope["method"] in CHANGES:
                self._app.guard.refuse_simple(scope["method"], headers)
            await self._router(scope, _bounded(receive, headers, self._app.limits.body), answer.send)
        except ClientDisconnect:
            pass
        except HTTPException as error:
            await answer.refuse(RequestRefused(_WORDS.get(error.status_code, error.detail), status=error.status_code,
                                               reason=_REASONS.get(error.status_code, "http")))  # fmt: skip
        except Exception as error:
            await answer.refuse(error)


_PREFLIGHT: Final = {
    "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": "Authorization, Content-Type, Last-Event-ID, X-Procession, X-Request-ID",
    "access-control-max-age": "600",
}
_WORDS: Final = {404: "there is nothing at this path", 405: "this path is not asked like that"}
_REASONS: Final = {404: "not-found", 405: "method-not-allowed"}


class _Answer:
    """
    Adds to an answer what every answer says, and knows whether it has begun.
    """

    def __init__(self, send: Send, request_id: str, app: Served, chat: bool) -> None:
        self._send = send
        self._id = request_id
        self._app = app
        self._chat = chat
        """Whether errors are told as Chat Completions tell them."""
        self._begun = False
        self._origin: bytes | None = None

    def allow_origin(self, headers: Mapping[bytes, bytes]) -> bool:
        """
        Let the page that asks read the answer, if its origin is one of those that may; whether it is.
        """
        origin = headers.get(b"origin", b"")
        if origin.decode("latin-1").lower() in self._app.guard.origins:
            self._origin = origin
        return self._origin is not None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            there = {name.lower() for name, _ in message.get("headers", ())}
            more = [each for each in (*_HEADERS, (b"cache-control", b"no-store")) if each[0] not in there]
            more.append((b"x-request-id", self._id.encode()))
            if self._origin is not None:
                more += [(b"access-control-allow-origin", self._origin), (b"vary", b"Origin")]
                more.append((b"access-control-expose-headers", b"X-Request-ID, Retry-After"))
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        with anyio.move_on_after(self._app.limits.stalled) as limit:
            await self._send(message)
        if limit.cancelled_caught:
            raise gone()

    async def refuse(self, error: Exception) -> None:
        """
        Answer with *error*; where the answer has begun, break it off: a shortened one must not pass for a whole one.
        """
        status = status_of(error)
        if status >= 500 and not isinstance(error, RequestRefused):
            _log(error, self._id)
        if self._begun or status == 499:  # the server closes the connection: to raise would have it log private text
            return
        headers: dict[str, str] = {}
        if isinstance(error, RequestRefused) and error.after is not None:
            headers["retry-after"] = str(error.after)
        if status == 401:
            headers["www-authenticate"] = "Bearer"
        if self._chat:
            headers |= chat_headers(error)
        body = (chat_error if self._chat else error_body)(error, self._id)
        response = Response(json_bytes(body), status, headers, "application/json")
        await response({"type": "http"}, _nothing, self.send)


def _is_chat(scope: Scope) -> bool:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")).startswith("/v1/")


def _bounded(receive: Receive, headers: dict[bytes, bytes], limit: int) -> Receive:
    """
    Return *receive* for bodies of at most *limit* bytes.
    """
    refusal = RequestRefused(
        f"the body is longer than {limit} bytes",
        status=413,
        reason="body-too-long",
        hint="App(limits=Limits(body=...))",
    )
    said = headers.get(b"content-length", b"0")
    if said.isdigit() and int(said) > limit:
        raise refusal
    taken = 0

    async def bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > limit:
            raise refusal
        return message

    return bounded


async def _nothing() -> Message:
    await anyio.sleep_forever()
    raise AssertionError


def _log(error: Exception, request_id: str) -> None:
    """
    Say that a request failed; the message may hold private text.
    """
    import structlog

    structlog.get_logger("procession.server").error(
        "a request failed", error=type(error).__name__, request_id=request_id
    )
