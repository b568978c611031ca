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
    │   │   ├── ToolArgumentsError       arguments that a tool cannot be called with
    │   │   └── UntypedValue             a value that cannot be kept: no type says how to read it again
    │   ├── ResumeError                  a run that cannot be resumed so: it does not wait, or not for that
    │   ├── RunNotFound                  a run that the store does not know
    │   ├── RequestRefused               what a server does not do for whoever asks
    │   └── TargetError                  a file or ``module:name`` that names nothing
    └── RunError                         a run went wrong
        ├── StepError                    a step's code raised
        ├── ApprovalError                whether a tool call needs approval could not be told
        ├── StepTimeout                  a step took longer than it may
        ├── RunTimeout                   a run took longer than it may
        ├── BudgetExceeded               a branch has used up its budget
        ├── ProcessorError               a processor's code raised
        ├── ConditionError               a branch or loop condition raised
        ├── NoArmMatched                 no arm of a branch was true
        ├── MergeConflict                parallel branches changed one thing in two ways
        ├── RunCancelled                 the run was cancelled
        ├── RunSuspended                 the run waits for an answer from outside
        ├── ThreadBusy                   another call was running on the thread
        ├── RunAlreadyClaimed            somebody else resumes the run, or has brought it to its end
        ├── GraphChanged                 the workflow is no longer the one that the run was begun with
        ├── StoreError                   a store cannot be used
        │   ├── UnreadableRun            what it has of one run cannot be read
        │   ├── UnreadableThread         it could not say what was said in a thread
        │   └── NotForgotten             not all that was to be deleted could be
        ├── StructuredOutputError        an answer is not what the schema asks for
        ├── TripwireError                a processor stopped the run, and the caller asked to be told by raising
        ├── ToolServerError          a server of tools failed, or a tool of it
        └── ModelError                   a model or its server failed

Signals (a tripwire, a suspension, a bail) are not errors: ``steps/signals.py``.
"""

from __future__ import annotations

from procession.errors.base import ProcessionError
from procession.errors.definitions import (
    DefinitionError,
    Finding,
    Fix,
    ProcessorDefinitionError,
    ToolDefinitionError,
    WorkflowDefinitionError,
)
from procession.errors.inputs import (
    AlreadyAnswered,
    InputError,
    MessageError,
    RequestRefused,
    ResumeError,
    RunNotFound,
    SchemaError,
    TargetError,
    ToolArgumentsError,
    UntypedValue,
)
from procession.errors.runs import (
    ApprovalError,
    BudgetExceeded,
    ConditionError,
    GraphChanged,
    MergeConflict,
    ModelError,
    ModelErrorKind,
    NoArmMatched,
    NotForgotten,
    ProcessorError,
    RunAlreadyClaimed,
    RunCancelled,
    RunError,
    RunSuspended,
    RunTimeout,
    StepError,
    StepTimeout,
    StoreError,
    StructuredOutputError,
    ThreadBusy,
    ToolServerError,
    TripwireError,
    UnreadableRun,
    UnreadableThread,
)

__all__ = [
    "RunTimeout",
    "BudgetExceeded",
    "GraphChanged",
    "UntypedValue",
    "RunNotFound",
    "ResumeError",
    "AlreadyAnswered",
    "ApprovalError",
    "ConditionError",
    "DefinitionError",
    "Finding",
    "Fix",
    "InputError",
    "MergeConflict",
    "MessageError",
    "ModelError",
    "ModelErrorKind",
    "NoArmMatched",
    "NotForgotten",
    "ProcessionError",
    "ProcessorDefinitionError",
    "ProcessorError",
    "RequestRefused",
    "RunAlreadyClaimed",
    "RunCancelled",
    "RunError",
    "RunSuspended",
    "SchemaError",
    "StepError",
    "StepTimeout",
    "StoreError",
    "StructuredOutputError",
    "TargetError",
    "ThreadBusy",
    "ToolServerError",
    "ToolArgumentsError",
    "ToolDefinitionError",
    "TripwireError",
    "UnreadableRun",
    "UnreadableThread",
    "WorkflowDefinitionError",
]
