"""
Errors of a run that went wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

from procession.errors.base import ProcessionError

__all__ = [
    "ApprovalError",
    "BudgetExceeded",
    "GraphChanged",
    "RunTimeout",
    "ConditionError",
    "MergeConflict",
    "ModelError",
    "ModelErrorKind",
    "NoArmMatched",
    "NotForgotten",
    "ProcessorError",
    "RunAlreadyClaimed",
    "RunCancelled",
    "RunError",
    "RunSuspended",
    "StepError",
    "StepTimeout",
    "StoreError",
    "StructuredOutputError",
    "ThreadBusy",
    "ToolServerError",
    "TripwireError",
    "UnreadableRun",
    "UnreadableThread",
]


class RunError(ProcessionError):
    """
    A run went wrong at ``path``.
    """

    code: ClassVar[str] = "run"

    def __init__(self, message: str, *, path: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.path = path


class StepError(RunError):
    """
    A step's code raised; the exception is the ``__cause__``.

    ``attempt`` says in which attempt, from 1, and ``given`` what the step was given: its type and its size, such as
    ``"dict of 2"``, and nothing of what was in it, which may be private.  Both are ``None`` where they are not known.
    """

    code: ClassVar[str] = "step"

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        hint: str | None = None,
        attempt: int | None = None,
        given: str | None = None,
    ) -> None:
        super().__init__(message, path=path, hint=hint)
        self.attempt = attempt
        self.given = given


class ApprovalError(RunError):
    """
    Whether a tool call needs approval could not be told: the function that says so raised, and is the ``__cause__``.
    """

    code: ClassVar[str] = "approval"


class StepTimeout(RunError):
    """
    A step took longer than its ``timeout``.
    """

    code: ClassVar[str] = "step-timeout"


class ProcessorError(RunError):
    """
    A processor's code raised in one of its hooks; the exception is the ``__cause__``, which alone has its text.
    """

    code: ClassVar[str] = "processor"

    def __init__(
        self, message: str, *, processor_id: str, hook: str, path: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, path=path, hint=hint)
        self.processor_id = processor_id
        self.hook = hook

    def __str__(self) -> str:
        where = f" (at {self.path})" if self.path else ""
        return f"{self.message}{where} (hint: {self.hint})" if self.hint else f"{self.message}{where}"


class ConditionError(RunError):
    """
    A branch or loop condition raised (D28).
    """

    code: ClassVar[str] = "condition"


class NoArmMatched(RunError):
    """
    No arm of a branch was true, and it has neither a ``default`` nor ``on_no_match="skip"`` (D28).
    """

    code: ClassVar[str] = "no-arm-matched"


class MergeConflict(RunError):
    """
    Parallel branches changed one thing in two ways; ``branches`` names them (D26).
    """

    code: ClassVar[str] = "merge-conflict"

    def __init__(self, message: str, *, branches: Sequence[str], path: str | None = None, hint: str | None = None):
        super().__init__(message, path=path, hint=hint)
        self.branches = tuple(branches)


class RunCancelled(RunError):
    """
    The run was cancelled before it had a result.
    """

    code: ClassVar[str] = "cancelled"


class RunSuspended(RunError):
    """
    The run waits for an answer from outside, where its outcome is needed now.
    """

    code: ClassVar[str] = "suspended"


class ThreadBusy(RunError):
    """
    Another call was running on ``thread``, and this one was not to wait: ``thread_policy="reject"``.
    """

    code: ClassVar[str] = "thread-busy"

    def __init__(self, message: str, *, thread: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.thread = thread


class RunAlreadyClaimed(RunError):
    """
    Somebody else resumes the run at this moment, or has brought it to its end: a suspension has one winner (D30).
    """

    code: ClassVar[str] = "already-claimed"


class GraphChanged(RunError):
    """
    The workflow is no longer the one that the run was begun with; ``differences`` says in what, one line each.
    """

    code: ClassVar[str] = "graph-changed"

    def __init__(self, message: str, *, differences: Sequence[str] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.differences = tuple(differences)


class BudgetExceeded(RunError):
    """
    A branch has used up its budget; ``what`` is ``seconds``, ``tokens`` or ``money``.
    """

    code: ClassVar[str] = "budget-exceeded"

    def __init__(self, message: str, *, what: str = "", path: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, path=path, hint=hint)
        self.what = what


class RunTimeout(RunError):
    """
    The run took longer than it may.
    """

    code: ClassVar[str] = "run-timeout"


class StoreError(RunError):
    """
    A store cannot be used: its file is none of ours, was written by a newer version, or cannot be opened.
    """

    code: ClassVar[str] = "store"


class UnreadableRun(StoreError):
    """
    What the store has of one run cannot be read: something else has written it, or a newer version.
    """

    code: ClassVar[str] = "unreadable-run"


class UnreadableThread(StoreError):
    """
    A store could not say what was said in a thread; what it failed with is the ``__cause__``.
    """

    code: ClassVar[str] = "unreadable-thread"


class NotForgotten(StoreError):
    """
    Not all that was to be deleted could be: ``failed`` says what is left and why, ``deleted`` what is gone all the same.

    What is gone stays gone: to do it again deletes the rest.
    """

    code: ClassVar[str] = "not-forgotten"

    def __init__(self, failed: Sequence[str], deleted: Any) -> None:
        super().__init__(
            f"not all could be deleted: {'; '.join(failed)}", hint="do it again once the store can be used"
        )
        self.failed = tuple(failed)
        self.deleted = deleted


class StructuredOutputError(RunError):
    """
    An answer is not what the schema of the structured output asks for; ``faults`` says what is wrong, and where.

    The answer itself is not quoted: it may be private.  What found the fault is the ``__cause__``.
    """

    code: ClassVar[str] = "structured-output"

    def __init__(self, faults: Sequence[str], *, hint: str | None = None) -> None:
        super().__init__(f"the answer is not what the schema asks for: {'; '.join(faults)}", hint=hint)
        self.faults = tuple(faults)


class _TripwireLike(Protocol):
    """
    What a tripwire says of itself: ``messages.chunks.TripwireInfo``.
    """

    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str | None: ...
    @property
    def processor_id(self) -> str | None: ...


class TripwireError(RunError):
    """
    A processor stopped the run, and the caller asked for ``raise_on_tripwire=True`` (D36).
    """

    code: ClassVar[str] = "tripwire"

    def __init__(self, tripwire: _TripwireLike) -> None:
        super().__init__(tripwire.message or tripwire.reason)
        self.tripwire = tripwire


ModelErrorKind = Literal["rejected", "rate_limited", "unavailable", "stream", "timeout", "other"]


class ToolServerError(RunError):
    """
    A server of tools cannot be reached, ended, did not answer in time, or answered what it must not; or its tool failed,
    and the message is what it said.
    """

    code: ClassVar[str] = "tool-server"


class ModelError(RunError):
    """
    A model or its server failed.  ``body`` is scrubbed of keys.
    """

    code: ClassVar[str] = "model"

    def __init__(
        self,
        message: str,
        *,
        kind: ModelErrorKind = "other",
        status_code: int | None = None,
        retryable: bool = False,
        provider_code: str | None = None,
        request_id: str | None = None,
        body: Mapping[str, Any] | str | None = None,
        headers: Mapping[str, str] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind: ModelErrorKind = kind
        self.status_code = status_code
        self.retryable = retryable
        self.provider_code = provider_code
        self.request_id = request_id
        self.body = body
        self.headers = headers
        self.earlier: Sequence[ModelError] = ()
        """Where several models were asked and all failed: why those before this one did, in their order."""
