"""
Errors of what was given wrongly: raised before a step, or at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from procession.errors.base import ProcessionError

__all__ = [
    "AlreadyAnswered",
    "InputError",
    "MessageError",
    "RequestRefused",
    "ResumeError",
    "RunNotFound",
    "UntypedValue",
    "SchemaError",
    "TargetError",
    "ToolArgumentsError",
]


class InputError(ProcessionError):
    """
    Something was given wrongly.
    """

    code: ClassVar[str] = "input"


class MessageError(InputError):
    """
    A message that cannot be read.
    """

    code: ClassVar[str] = "message"


class AlreadyAnswered(InputError):
    """
    The question of a suspended run has been answered before; the answer that came again was not used.
    """

    code: ClassVar[str] = "already-answered"


class SchemaError(InputError):
    """
    A value that does not fit its schema; ``path`` is the step whose border it crossed, ``faults`` what is wrong where.
    """

    code: ClassVar[str] = "schema"

    def __init__(
        self, message: str, *, path: str | None = None, hint: str | None = None, faults: Sequence[str] = ()
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.faults = tuple(faults)


class ToolArgumentsError(SchemaError):
    """
    Arguments that a tool cannot be called with; ``faults`` says what is wrong with each, for the model to read.
    """

    code: ClassVar[str] = "tool-arguments"

    def __init__(self, tool_name: str, faults: Sequence[str], *, path: str | None = None) -> None:
        super().__init__(f"arguments of tool {tool_name!r}: {'; '.join(faults)}", path=path, faults=faults)
        self.tool_name = tool_name


class TargetError(InputError):
    """
    A file or ``module:name`` that names nothing usable.
    """

    code: ClassVar[str] = "target"


class ResumeError(InputError):
    """
    A run that cannot be resumed so; ``waiting`` holds the paths, or labels, that wait for an answer.
    """

    code: ClassVar[str] = "resume"

    def __init__(
        self, message: str, *, run_id: str | None = None, waiting: Sequence[str] = (), hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.run_id = run_id
        self.waiting = tuple(waiting)


class RunNotFound(InputError):
    """
    No run of that id is in the store.
    """

    code: ClassVar[str] = "run-not-found"


class UntypedValue(SchemaError):
    """
    A value that cannot be kept, because no type says how it is to be read again.
    """

    code: ClassVar[str] = "untyped-value"


class RequestRefused(InputError):
    """
    A server does not do what a request asks for; ``status`` is the HTTP status, ``reason`` what programs read.
    """

    code: ClassVar[str] = "request-refused"

    def __init__(
        self,
        message: str,
        *,
        status: int,
        reason: str,
        hint: str | None = None,
        after: int | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.reason = reason
        self.after = after
        """After how many seconds it may be asked again, where that helps."""
        self.param = param
        """The field of the request that cannot be as it is, where that is known."""
