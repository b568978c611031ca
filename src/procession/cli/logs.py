"""
Where the log goes while a command runs.
"""

from __future__ import annotations

import logging
import sys

__all__ = ["log_to_stderr"]


def log_to_stderr() -> None:
    """
    Keep warnings out of what a command writes, unless the target has said where it wants its log.
    """
    import structlog

    if not structlog.is_configured():
        structlog.configure(
            logger_factory=structlog.PrintLoggerFactory(sys.stderr),
            wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        )
