"""
What a client of Chat Completions is refused, and errors as that API has them.
"""

from __future__ import annotations

from typing import Any, Final

from procession.errors import RequestRefused
from procession.server.errors import error_body, status_of

__all__ = ["chat_error", "chat_headers", "refused"]

_TYPES: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def refused(param: str, message: str, *, code: str = "invalid_value", status: int = 400) -> RequestRefused:
    """
    Return the error for a field that cannot be as it is; *param* says which, such as ``messages[2].content``.

    >>> refused("n", "only one answer is given").message
    'n: only one answer is given'
    """
    return RequestRefused(f"{param}: {message}", status=status, reason=code, param=param)


def chat_error(error: BaseException, request_id: str) -> dict[str, Any]:
    """
    Return what a client of Chat Completions is told of *error*, in that API's own form.

    >>> chat_error(refused("n", "only one answer is given"), "r1")["error"]["type"]
    'invalid_request_error'
    """
    said = error_body(error, request_id)["error"]
    status = status_of(error)
    message = f"{said['message']} ({said['hint']})" if said["hint"] else said["message"]
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    param = error.param if isinstance(error, RequestRefused) else None
    return {"error": {"message": message, "type": kind, "param": param, "code": said["code"], "request_id": request_id}}


def chat_headers(error: BaseException) -> dict[str, str]:
    """
    Return what the official clients are told beside *error*: to ask once more is to run the agent once more, tools and all.
    """
    return {} if isinstance(error, RequestRefused) or status_of(error) < 500 else {"x-should-retry": "false"}
