"""
Step: one named unit of work, and what it is given when it runs.

A step is inert until an engine runs it.  Whatever can stand in a workflow has ``as_step()``.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Generic, Literal, Protocol, TypeVar, overload, runtime_checkable

from procession.errors import DefinitionError
from procession.messages.chunks import Chunk
from procession.messages.shapes import yields
from procession.messages.usage import Usage
from procession.messages.value import Value
from procession.steps.request_context import RequestContext
from procession.steps.retry import RetryPolicy, check_retry
from procession.steps.scope import RequestScope
from procession.steps.times import check_timeout

__all__ = [
    "Definition", "InlineRun", "Step", "StepContext", "StepKind", "SupportsStep", "as_step", "step",
]  # fmt: skip

In = TypeVar("In")
Out = TypeVar("Out")
In_co = TypeVar("In_co", covariant=True)
In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)

StepKind = Literal["step", "processor", "tool", "agent", "workflow", "map", "hook", "model"]


class Definition(Protocol):
    """
    Something made of nodes: a workflow.  Drawn, addressed and journalled through its nodes.
    """

    @property
    def id(self) -> str:
        """Its name."""
        ...

    @property
    def nodes(self) -> Sequence[Any]:
        """What it is made of."""
        ...


@runtime_checkable
class SupportsStep(Protocol[In_contra, Out_co]):
    """
    Anything that can stand in a workflow: ``Step``, ``Workflow``, ``Tool``, ``Processor``, ``Agent``.
    """

    def as_step(self) -> Step[In_contra, Out_co]:
        """Return it as a step."""
        ...


class StepContext(Protocol[In_co]):
    """
    What a step is given when it runs.
    """

    @property
    def input(self) -> In_co:
        """The value from the step before, validated."""
        ...

    @property
    def init_data(self) -> Any:
        """The value that the run was started with."""
        ...

    @property
    def request_context(self) -> RequestContext:
        """The values of this request."""
        ...

    @property
    def scope(self) -> RequestScope:
        """What the request carries beside its payload."""
        ...

    @property
    def run_id(self) -> str:
        """The id of the run."""
        ...

    @property
    def path(self) -> str:
        """Where in the workflow this step stands, e.g. ``outer/inner[2]/step``."""
        ...

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        ...

    @property
    def state(self) -> dict[str, Any]:
        """The run's shared state, a copy."""
        ...

    def set_state(self, **values: Any) -> None:
        """Write to the run's shared state; visible at once."""
        ...

    def unset_state(self, *keys: str) -> None:
        """Take keys out of the run's shared state."""
        ...

    def result_of(self, step_id: str) -> Any:
        """The output of a step that has completed; ``KeyError`` names those that have."""
        ...

    async def call(self, step: SupportsStep[Any, Any], value: Any) -> Any:
        """Run another definition inside this step and return its output."""
        ...

    async def emit(self, chunk: Chunk) -> None:
        """Send a chunk to whoever reads the run's stream."""
        ...

    def bail(self, value: Any = None, *, scope: Literal["workflow", "branch", "run"] = "workflow") -> Any:
        """End the workflow that contains this step with *value* as its result; never returns."""
        ...

    def cancel_run(self) -> Any:
        """Cancel the run; never returns."""
        ...

    def suspend(self, payload: Any = None, *, label: str | None = None) -> Awaitable[Any]:
        """Wait for an answer: the run ends as suspended; resumed, the step runs again and this returns the answer."""
        ...

    async def memoize(self, key: str, function: Callable[[], Any]) -> Any:
        """Call *function*, plain or async, and keep what it gives: once that is written down it is not called again."""
        ...

    def spend(self, usage: Usage | None = None, *, money: float = 0.0, model: str = "") -> None:
        """Report what the step has used by itself; ``BudgetExceeded`` where a budget around it is used up by now."""
        ...

    @property
    def idempotency_key(self) -> str:
        """The same for every time this step runs in this run, whatever happens: for services that take such a key."""
        ...


class InlineRun(Protocol):
    """
    The little of a run that an *inline* step sees: no context is made for it.
    """

    @property
    def scope(self) -> RequestScope:
        """What the request carries beside its payload."""
        ...

    @property
    def request_context(self) -> RequestContext:
        """The values of this request."""
        ...

    @property
    def run_id(self) -> str:
        """The id of the run."""
        ...

    async def call(
        self, definition: SupportsStep[Any, Any], value: Any, path: str, only: frozenset[str] | None = None
    ) -> Any:
        """
        Run *definition* at *path* and return its output.

        With *only*, processors that have none of these hooks let the value pass, at no cost.
        Raises the signal or the error that ended it, already recorded.
        """
        ...

    def is_due(self) -> bool:
        """Whether it is 10 ms since the run last let others have their turn and looked whether it is cancelled."""
        ...

    async def breathe(self) -> None:
        """Let others have their turn, cancellation among them."""
        ...


class Step(Value, Generic[In_contra, Out_co], kw_only=True):
    """
    One named unit of work.

    ``execute`` takes a :class:`StepContext`; plain functions run in place, or in a worker thread where ``blocking``.
    ``inline`` is a form of ``execute`` for the hot paths of this library: it takes the value, the run and the path,
    and no context is made.  A step with neither is a place where nothing stands: it is drawn and passes its input on.
    """

    id: str
    execute: Callable[[Any], Any] | None = None
    inline: Callable[[Any, InlineRun, str], Any] | None = None
    inline_async: bool = True
    """Whether ``inline`` returns an awaitable."""
    kind: StepKind = "step"
    body: Definition | None = None
    """What a nested definition is made of."""
    hooks: frozenset[str] = frozenset()
    """Of a processor, or of a workflow of processors: the hooks it takes part in."""
    mutates: bool = False
    """Whether it may change messages or chunks."""
    blocking: bool = False
    """Whether a plain ``execute`` runs in a worker thread."""
    input_type: Any = None
    output_type: Any = None
    description: str = ""
    resume_type: Any = None
    """The annotation of the answers that it waits for; they must fit it strictly."""
    suspend_type: Any = None
    """The annotation of the questions that it asks."""
    retry: RetryPolicy | None = None
    timeout: float | None = None
    """Seconds that one attempt may take."""
    total_timeout: float | None = None
    """Seconds that all attempts and the delays between them may take."""
    owner: Any = None
    """The processor, tool or workflow that this step stands for."""
    source: str | None = None
    """File and line of the definition."""
    abandon: Callable[[str, Any], Awaitable[None]] | None = None
    """
    Ends what waits elsewhere for this step, such as the run of an agent, once the step's own run has ended without its
    output: given the step's ``idempotency_key``, and the store that the runtime was given, or ``None``.
    """

    def as_step(self) -> Step[In_contra, Out_co]:
        """
        Return the step itself.
        """
        return self

    def renamed(self, id: str) -> Step[In_contra, Out_co]:
        """
        Return the same step under another *id*.
        """
        return self.replace(id=id)

    def clone(self, id: str) -> Step[In_contra, Out_co]:
        """
        Return the same step under another *id*, as ``renamed`` does; workflows are cloned by the same word.
        """
        return self.renamed(id)


def as_step(thing: SupportsStep[Any, Any] | Callable[..., Any]) -> Step[Any, Any]:
    """
    Return *thing* as a step, or say why it cannot stand in a workflow.

    Raises ``DefinitionError`` for anything that neither has ``as_step()`` nor is a named function.
    """
    convert = getattr(thing, "as_step", None)
    if convert is not None and not isinstance(thing, type):
        made: Step[Any, Any] = convert()
        return made
    if inspect.isfunction(thing) and thing.__name__ != "<lambda>":
        return step(thing)
    is_lambda = inspect.isfunction(thing)
    raise DefinitionError(
        "a lambda cannot stand in a workflow as a step: it has no name"
        if is_lambda
        else f"{thing!r} cannot stand in a workflow",
        hint="give a function with a name, or something that has as_step(): a step, a workflow, a processor, a tool"
        + ("; .map(lambda value: ...) takes a lambda" if is_lambda else ""),
    )


@overload
def step(function: Callable[[StepContext[In]], Awaitable[Out]], /) -> Step[In, Out]: ...
@overload
def step(function: Callable[[StepContext[In]], Out], /) -> Step[In, Out]: ...
@overload
def step(
    *,
    id: str | None = None,
    retry: RetryPolicy | None = None,
    timeout: float | None = None,
    total_timeout: float | None = None,
    blocking: bool = False,
    resume_type: Any = None,
    suspend_type: Any = None,
    description: str | None = None,
) -> _StepDecorator: ...
def step(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """
    Make a step of a function that takes a :class:`StepContext`.

    The function's name, or *id*, names the step; the annotations of the context's input and of the result are its
    schemas.  A plain function runs in place; with ``blocking=True`` it runs in a worker thread.  *timeout* is how many
    seconds one attempt may take, *total_timeout* all of them together with the delays between; a function that neither
    waits nor is ``blocking`` cannot be interrupted.
    A step that suspends says in *suspend_type* what it asks and in *resume_type* what the answer must be.

    Raises ``DefinitionError`` for a function that yields, and for times that cannot be.

    >>> @step
    ... async def shout(ctx: StepContext[str]) -> str:
    ...     return ctx.input.upper()
    >>> shout.id
    'shout'
    """
    if function is None:
        return partial(_make_step, **options)
    return _make_step(function, **options)


class _StepDecorator(Protocol):
    @overload
    def __call__(self, function: Callable[[StepContext[In]], Awaitable[Out]], /) -> Step[In, Out]: ...
    @overload
    def __call__(self, function: Callable[[StepContext[In]], Out], /) -> Step[In, Out]: ...


def _make_step(function: Callable[..., Any], **options: Any) -> Step[Any, Any]:
    from procession.steps.schema import context_types  # pydantic is imported when the first step is made

    if yields(function):
        raise DefinitionError(
            f"step {options.get('id') or function.__name__!r} is a generator function, of which a call runs nothing",
            hint="return the whole result; what is to be shown meanwhile goes to ctx.emit",
        )
    for name in ("timeout", "total_timeout"):
        check_timeout(f"step {options.get('id') or function.__name__!r}", name, options.get(name))
    check_retry(f"step {options.get('id') or function.__name__!r}", options.get("retry"))
    input_type, output_type = context_types(function)
    code = getattr(function, "__code__", None)
    description = options.pop("description", None)
    return Step(
        id=options.pop("id", None) or function.__name__,
        execute=function,
        input_type=input_type,
        output_type=output_type,
        description=description if description is not None else inspect.getdoc(function) or "",
        source=f"{code.co_filename}:{code.co_firstlineno}" if code is not None else None,
        **options,
    )
