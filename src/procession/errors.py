"""
Every exception that Procession raises, one tree:

    ProcessionError                      code, message, hint
    ├── DefinitionError                  something was built wrongly: raised before anything runs
    │   ├── WorkflowDefinitionError      findings of ``commit()``
    │   ├── ProcessorDefinitionError     an object that is no processor, or two with one id
    │   └── ToolDefinitionError          a function that cannot be a tool
    ├── InputError                       something was given wrongly: raised before or at a step
    │   ├── MessageError                 a message that cannot be read
    │   ├── AlreadyAnswered              an answer to a question that has been answered
    │   ├── SchemaError                  a value that does not fit its schema
    │   │   └── ToolArgumentsError       arguments that a tool cannot be called with
    │   └── TargetError                  a file or ``module:name`` that names nothing
    └── RunError                         a run went wrong
        ├── StepError                    a step's code raised
        ├── ApprovalError                whether a tool call needs approval could not be told
        ├── StepTimeout                  a step took longer than it may
        ├── ProcessorError               a processor's code raised
        ├── ConditionError               a branch or loop condition raised
        ├── NoArmMatched                 no arm of a branch was true
        ├── MergeConflict                parallel branches changed one thing in two ways
        ├── RunCancelled                 the run was cancelled
        ├── RunSuspended                 the run waits for an answer from outside
        ├── ThreadBusy                   another call was running on the thread
        ├── RunAlreadyClaimed            somebody else resumes the run, or has brought it to its end
        ├── StoreError                   a store cannot be used
        ├── StructuredOutputError        an answer is not what the schema asks for
        ├── TripwireError                a processor stopped the run, and the caller asked to be told by raising
        └── ModelError                   a model or its server failed

Signals (a tripwire, a suspension, a bail) are not errors: ``steps/signals.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

__all__ = [
    "AlreadyAnswered", "ApprovalError", "ConditionError", "DefinitionError", "Finding", "InputError", "MergeConflict", "MessageError", "ModelError",
    "NoArmMatched", "ProcessionError", "ProcessorDefinitionError", "ProcessorError", "RunAlreadyClaimed",
    "RunCancelled", "RunError", "RunSuspended", "SchemaError", "StepError", "StepTimeout", "StoreError",
    "StructuredOutputError", "TargetError", "ThreadBusy",
    "ToolArgumentsError", "ToolDefinitionError",
    "TripwireError", "WorkflowDefinitionError",
]  # fmt: skip


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


class DefinitionError(ProcessionError):
    """
    Something was built wrongly.
    """

    code: ClassVar[str] = "definition"


class Finding:
    """
    One thing that ``commit()`` found: an error or a warning, where it is and what to do about it.
    """

    __slots__ = ("code", "hint", "message", "severity", "source", "steps")

    def __init__(
        self,
        code: str,
        message: str,
        *,
        severity: Literal["error", "warning"] = "error",
        hint: str | None = None,
        steps: Sequence[str] = (),
        source: str | None = None,
    ) -> None:
        self.code = code
        """Stable name of the check."""
        self.message = message
        self.severity = severity
        self.hint = hint
        self.steps = tuple(steps)
        """Ids of the steps involved."""
        self.source = source
        """File and line of the definition, if known."""

    def __str__(self) -> str:
        place = f" [{self.source}]" if self.source else ""
        hint = f"\n    hint: {self.hint}" if self.hint else ""
        return f"{self.severity}: {self.code}: {self.message}{place}{hint}"

    def __repr__(self) -> str:
        return f"Finding({self.code!r}, {self.message!r}, severity={self.severity!r})"


class WorkflowDefinitionError(DefinitionError):
    """
    A workflow that cannot work; ``findings`` lists everything that was found, warnings included.
    """

    code: ClassVar[str] = "workflow-definition"

    def __init__(self, workflow_id: str, findings: Sequence[Finding]) -> None:
        errors = [finding for finding in findings if finding.severity == "error"]
        super().__init__(
            f"workflow {workflow_id!r} has {len(errors)} error{'s' if len(errors) != 1 else ''}:\n"
            + "\n".join(f"  {finding}" for finding in findings)
        )
        self.workflow_id = workflow_id
        self.findings = tuple(findings)


class ProcessorDefinitionError(DefinitionError):
    """
    An object that is no processor, a hook that does not exist, or two processors with one id.
    """

    code: ClassVar[str] = "processor-definition"


class ToolDefinitionError(DefinitionError):
    """
    A function that cannot be a tool.
    """

    code: ClassVar[str] = "tool-definition"


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
    """

    code: ClassVar[str] = "step"


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


class StoreError(RunError):
    """
    A store cannot be used: its file is none of ours, was written by a newer version, or cannot be opened.
    """

    code: ClassVar[str] = "store"


class StructuredOutputError(RunError):
    """
    An answer is not what the schema of the structured output asks for; ``faults`` says what is wrong, and where.

    The answer itself is not quoted: it may be private.  What found the fault is the ``__cause__``.
    """

    code: ClassVar[str] = "structured-output"

    def __init__(self, faults: Sequence[str], *, hint: str | None = None) -> None:
        super().__init__(f"the answer is not what the schema asks for: {'; '.join(faults)}", hint=hint)
        self.faults = tuple(faults)


class TripwireLike(Protocol):
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

    def __init__(self, tripwire: TripwireLike) -> None:
        super().__init__(tripwire.message or tripwire.reason)
        self.tripwire = tripwire


ModelErrorKind = Literal["rejected", "rate_limited", "unavailable", "stream", "timeout", "other"]


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
