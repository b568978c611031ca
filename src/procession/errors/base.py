"""
The root of the errors.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = ["ProcessionError"]


class ProcessionError(Exception):
    """
    The root of all errors.  ``code`` is stable, ``hint`` says what to do.
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})" if self.hint else self.message
