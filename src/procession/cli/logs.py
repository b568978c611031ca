"""
Where the log goes while a command runs.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

__all__ = ["log_to_stderr"]


def log_to_stderr() -> None:
    """
    Keep warnings out of what a command writes, unless the target has said where it wants its log.
    """
    import structlog

    if not structlog.is_configured():
        structlog.configure(
            processors=[_retries_in_words, *structlog.get_config()["processors"]],
            logger_factory=structlog.PrintLoggerFactory(sys.stderr),
            wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        )


def _retries_in_words(logger: Any, method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """
    Say of a model call that is made again what it means to somebody at a terminal, and nothing of how it is done.
    """
    if line.get("event") != "stamina.retry_scheduled":
        return line
    return {"event": f"no answer yet ({line.get('caused_by')}): asked again in {line.get('wait_for')} s"}
