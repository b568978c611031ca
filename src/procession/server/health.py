"""
Health, readiness, and what kind of server it is.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

import procession
from procession.server.endpoint import Asked, Endpoint, Example
from procession.server.served import Served

__all__ = ["routes"]


class Health(TypedDict):
    """
    That the server is there.
    """

    status: str


class Info(TypedDict):
    """
    What kind of server it is.
    """

    version: str
    read_only: bool
    redacted: bool
    studio: bool
    token_needed: bool


def routes(app: Served) -> list[Endpoint]:
    """
    Return what says how the server is.
    """
    return [
        Endpoint(
            method="GET", path="/healthz", handle=_healthz, summary="Tell that the process is alive.",
            answer=Health, example=Example(), open=True,
        ),
        Endpoint(
            method="GET", path="/readyz", handle=_readyz, summary="Tell whether calls are taken; 503 while it ends.",
            answer=Health, example=Example(), open=True,
        ),
        Endpoint(
            method="GET", path="/api/info", handle=_info, summary="Say what kind of server it is.",
            answer=Info, example=Example(), open=True,
        ),
    ]  # fmt: skip


async def _healthz(asked: Asked) -> Any:
    return {"status": "ok"}


async def _readyz(asked: Asked) -> Any:
    asked.app.service.refuse_draining()
    return {"status": "ok"}


async def _info(asked: Asked) -> Any:
    app = asked.app
    return {
        "version": procession.__version__,
        "read_only": app.guard.read_only,
        "redacted": app.redact is not None,
        "studio": app.studio,
        "token_needed": app.guard.needs_token,
    }
