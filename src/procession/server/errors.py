"""
Errors as JSON: what whoever asks is told, and nothing that is private.
"""

from __future__ import annotations

from typing import Any, Final

from procession.errors import (
    AlreadyAnswered,
    BudgetExceeded,
    GraphChanged,
    InputError,
    ModelError,
    ProcessionError,
    ProcessorError,
    RequestRefused,
    ResumeError,
    RunAlreadyClaimed,
    RunCancelled,
    RunNotFound,
    RunSuspended,
    RunTimeout,
    SchemaError,
    StepTimeout,
    ThreadBusy,
    TripwireError,
)

__all__ = ["error_body", "not_found", "status_of"]

_STATUSES: Final[tuple[tuple[type[ProcessionError], int], ...]] = (
    (RunNotFound, 404),
    (AlreadyAnswered, 409),
    (ResumeError, 409),
    (RunAlreadyClaimed, 409),
    (ThreadBusy, 409),
    (GraphChanged, 409),
    (SchemaError, 422),
    (InputError, 400),
    (TripwireError, 422),
    (StepTimeout, 504),
    (RunTimeout, 504),
    (ModelError, 502),
)
"""The status of each kind of error; the first that fits is it, and 500 where none does."""

_OPEN: Final = (
    InputError, ProcessorError, StepTimeout, RunTimeout, BudgetExceeded, ThreadBusy, RunAlreadyClaimed, GraphChanged,
    RunCancelled, RunSuspended,
)  # fmt: skip
"""The errors whose message names what went wrong without what was said; that of any other may quote it."""


def status_of(error: BaseException) -> int:
    """
    Return the HTTP status that says what kind of error it is.
    """
    if isinstance(error, RequestRefused):
        return error.status
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def error_body(error: BaseException, request_id: str) -> dict[str, Any]:
    """
    Return what whoever asked is told of *error*: its code, and its message where that holds nothing private.

    >>> error_body(ValueError("a secret"), "r1")["error"]["message"]
    'the server failed: ValueError'
    """
    code = error.code if isinstance(error, ProcessionError) else "internal"
    hint = error.hint if isinstance(error, ProcessionError) else None
    if isinstance(error, RequestRefused):
        code = error.reason
    if isinstance(error, ProcessionError) and isinstance(error, _OPEN):
        message = error.message
    elif isinstance(error, ProcessionError):
        message, hint = f"the run went wrong: {type(error).__name__}", None
    else:
        message = f"the server failed: {type(error).__name__}"
    made: dict[str, Any] = {"code": code, "message": message, "hint": hint, "request_id": request_id}
    if isinstance(error, SchemaError):  # whose message has them as well: a form shows each at its field
        made["faults"] = list(error.faults)
    return {"error": made}


def not_found(what: str, hint: str | None = None) -> RequestRefused:
    """
    Return the error of something that is not there.
    """
    return RequestRefused(f"there is no {what}", status=404, reason="not-found", hint=hint)
