"""
Logging: what the engine says to an operator, bound with run, step, processor and attempt.

No text of a payload is ever logged: not a value, not a reason, not an error's message.

Where the application has configured structlog, its configuration is used.  Else everything goes to the standard
library's logger ``procession``, and nothing is done at all while that has no handler.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from procession.errors import ProcessionError
from procession.runtime.records import Record
from procession.steps.result import Blocked, Failed, Stop

__all__ = ["log_stop", "log_unread", "log_unseen", "step_log"]

Say: TypeAlias = Callable[..., Any]

_logger = logging.getLogger("procession")
_logger.addHandler(logging.NullHandler())
_level_names = {logging.DEBUG: "debug", logging.INFO: "info", logging.WARNING: "warning"}


def _wanted(level: int) -> bool:
    structlog = sys.modules.get("structlog")
    is_configured = getattr(structlog, "is_configured", None)  # another thread may be importing it
    if structlog is not None and is_configured is not None and is_configured():
        ask = getattr(structlog.get_logger("procession").bind(), "is_enabled_for", None)
        return bool(ask(level)) if ask is not None else True
    if not _logger.isEnabledFor(level):
        return False
    logger: logging.Logger | None = _logger
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


def _say(level: int, event: str, **values: Any) -> None:
    import structlog  # at the first line that is logged: importing it takes as long as a hundred thousand steps

    if structlog.is_configured():
        logger: Any = structlog.get_logger("procession")
    else:
        logger = structlog.wrap_logger(
            _logger,
            processors=[structlog.stdlib.render_to_log_kwargs],
            wrapper_class=structlog.stdlib.BoundLogger,
            context_class=dict,
        )
    bound = logger.bind(**{key: value for key, value in values.items() if value is not None})
    cast("Say", getattr(bound, _level_names[level]))(event)


def _place(run_id: str, record: Record) -> dict[str, Any]:
    step: Any = getattr(record.node, "step", None)
    processor = getattr(step.owner, "id", None) if step is not None and step.kind == "processor" else None
    return {"run_id": run_id, "step": record.path, "processor": processor, "attempt": record.attempt}


def log_unread(run_id: str, error: ProcessionError) -> None:
    """
    Log that a run could not be taken up, as a warning.
    """
    if _wanted(logging.WARNING):
        _say(logging.WARNING, "run not recovered", run_id=run_id, error=type(error).__name__, code=error.code)


def log_unseen(run_id: str, error: Exception) -> None:
    """
    Log that an observer failed and sees no more of a run, as a warning.
    """
    if _wanted(logging.WARNING):
        _say(logging.WARNING, "run not observed", run_id=run_id, error=type(error).__name__)


def log_stop(run_id: str, record: Record, stop: Stop) -> None:
    """
    Log that a step failed, as a warning, or was blocked, as information.
    """
    if isinstance(stop, Failed) and _wanted(logging.WARNING):
        error = stop.error
        code = error.code if isinstance(error, ProcessionError) else None
        cause = type(error.__cause__).__name__ if error.__cause__ is not None else None
        place = _place(run_id, record)
        _say(logging.WARNING, "step failed", **place, error=type(error).__name__, code=code, cause=cause)
    elif isinstance(stop, Blocked) and _wanted(logging.INFO):
        place = _place(run_id, record)
        place["processor"] = stop.tripwire.processor_id or place["processor"]
        _say(logging.INFO, "step blocked", **place, retry=stop.tripwire.retry)


def step_log(run_id: str) -> Callable[[Any], None] | None:
    """
    Return what logs the start and the end of every step of a run, or ``None`` where nobody wants to know.
    """
    if not _wanted(logging.DEBUG):
        return None
    started: set[int] = set()

    def log(entry: Any) -> None:
        if not isinstance(entry, Record):
            return
        place = _place(run_id, entry)
        if entry.status == "running":
            if id(entry) not in started:
                started.add(id(entry))
                _say(logging.DEBUG, "step started", **place, kind=entry.kind)
        else:
            milliseconds = round(entry.seconds * 1000, 3)
            _say(logging.DEBUG, "step ended", **place, status=entry.status, milliseconds=milliseconds)

    return log
