"""
What the processors room logs.  structlog is imported when there is something to say.
"""

from __future__ import annotations

from typing import Any

__all__ = ["log_callback_error", "log_embedding", "log_not_written", "log_once", "log_overwritten", "log_skipped"]

_said: set[tuple[str, str]] = set()


def _logger() -> Any:
    import structlog

    return structlog.get_logger("procession.processors")


def log_callback_error(processor_id: str, error: BaseException, callback: str = "on_violation") -> None:
    """
    Say that a *callback* raised; the message of the error may hold private text and is left out.
    """
    _logger().warning(f"{callback} failed", processor_id=processor_id, error=type(error).__name__)


def log_skipped(processor_id: str, hook: str, error: BaseException) -> None:
    """
    Say that a processor with ``on_error="skip"`` failed and was left out.
    """
    _logger().warning("processor skipped", processor_id=processor_id, hook=hook, error=type(error).__name__)


def log_once(processor_id: str, message: str, **where: Any) -> None:
    """
    Warn of *message* the first time a processor gives cause for it.
    """
    if (processor_id, message) not in _said:
        _said.add((processor_id, message))
        _logger().warning(message, processor_id=processor_id, **where)


def log_not_written(what: str, error: BaseException) -> None:
    """
    Say that something that a memory was to keep could not be written; neither it nor the error's words are told.
    """
    _logger().warning(f"{what} was not written", error=type(error).__name__)


def log_overwritten(what: str, fields: int) -> None:
    """
    Say that two have changed so many *fields* at the same time, and that the later one's values stand.
    """
    _logger().warning(f"fields of {what} were changed by two at once", fields=fields)


def log_embedding(message: str, index: str, error: BaseException | None = None) -> None:
    """
    Say how it goes with what is embedded beside the runs; what an error says may quote private text and is left out.
    """
    failed = {"error": type(error).__name__} if error is not None else {}
    _logger().warning(message, index=index, **failed)
