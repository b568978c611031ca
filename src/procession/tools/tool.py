"""
Tool: something that a model may call, and ``@tool``, which makes one of a function.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast, overload

from procession.errors import DefinitionError, InputError, StepTimeout, ToolArgumentsError, ToolDefinitionError
from procession.messages.shapes import is_dict, yields
from procession.messages.value import Value
from procession.steps.own_task import Overdue, OwnTask, leave, within_grace, within_limit
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext
from procession.tools.context import ToolContext
from procession.tools.json_schema import accepts, faults_of

__all__ = ["Approver", "Tool", "client_tool", "tool"]

Out = TypeVar("Out")

Approver: TypeAlias = "bool | Callable[[Mapping[str, Any], ToolContext], bool | Awaitable[bool]]"
"""Says whether a person must agree to a tool call."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}


class Tool(Value, Generic[Out], kw_only=True):
    """
    Something that a model may call: a name, a description, a JSON schema of its arguments, and what it does.

    Most tools are made with ``@tool``.  One whose arguments are described by a plain JSON schema takes them as a
    mapping:

    >>> def add(args, ctx):
    ...     return args["a"] + args["b"]
    >>> number = {"type": "number"}
    >>> adder = Tool(
    ...     name="add",
    ...     parameters={"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]},
    ...     execute=add,
    ... )
    >>> import anyio
    >>> anyio.run(adder.run, {"a": 1, "b": 2})
    3
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = _NO_PARAMETERS
    """JSON schema of the arguments."""
    execute: Callable[[Mapping[str, Any], ToolContext], Any] | None = None
    """Takes the checked arguments and the context; plain or async.  ``None`` is a tool of the client."""
    check: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    """Checks the arguments, and may convert them; without it they are checked against ``parameters``."""
    requires_approval: Approver = False
    """Whether a person must agree to a call before it is run: to each, or as a function of the checked arguments and the
    context says, plain or async.  Only ``False`` lets a call pass."""
    client_side: bool = False
    """Whether the caller runs it: the agent's run ends with the call."""
    to_model_output: Callable[[Any], Any] | None = None
    """What the model is told of a result: a text, or an output such as ``{"type": "json", "value": ...}``."""
    timeout: float | None = None
    """Seconds that one attempt of an async tool may take."""
    retry: RetryPolicy | None = None
    blocking: bool = False
    """Whether a plain ``execute`` runs in a worker thread."""
    output_type: Any = None
    source: str | None = None
    """File and line of the definition."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ToolDefinitionError(
                f"{self.name!r} cannot be the name of a tool",
                hint="providers take 1 to 64 letters, digits, underscores and hyphens",
            )
        for name in ("execute", "check", "requires_approval", "to_model_output"):
            if yields(getattr(self, name)):
                raise _yielding(f"{name} of tool {self.name!r}")
        if not (isinstance(self.requires_approval, bool) or callable(self.requires_approval)):
            raise ToolDefinitionError(
                f"requires_approval of tool {self.name!r} is {type(self.requires_approval).__name__}",
                hint="give True, False, or a function of the arguments and the context",
            )
        if (self.execute is None) != self.client_side:
            raise ToolDefinitionError(
                f"tool {self.name!r} {'has both execute and client_side' if self.client_side else 'has no execute'}",
                hint="give execute, or make it a tool of the client: client_tool(...)",
            )

    @property
    def id(self) -> str:
        """
        The name.
        """
        return self.name

    @property
    def provider_tool(self) -> Mapping[str, Mapping[str, Any]] | None:
        """
        What providers that run the tool themselves know it by; ``None`` for what is run here or by the client.
        """
        return None

    def read_arguments(self, args: Any) -> Mapping[str, Any]:
        """
        Return *args* checked and converted: a mapping, or JSON text of one; nothing at all is no arguments.

        Raises ``ToolArgumentsError``, whose ``faults`` a model can mend its call by.
        """
        if self.check is None and accepts(args, self.parameters):
            quick: Mapping[str, Any] = args
            return quick
        if isinstance(args, str):
            args = _parsed(self.name, args)
        elif args is None:
            args = {}
        if not is_dict(args) and not isinstance(args, Mapping):
            raise ToolArgumentsError(self.name, [f"should be an object, not {type(args).__name__}"])
        given = cast("Mapping[str, Any]", args)
        if self.check is not None:
            return self.check(given)
        faults = faults_of(given, self.parameters)
        if faults:
            raise ToolArgumentsError(self.name, faults)
        return given

    async def run(self, args: Any, ctx: ToolContext | None = None) -> Out:
        """
        Run the tool once, with its retries and its timeout, and return what it returned.

        Raises ``ToolArgumentsError`` before anything ran, ``StepTimeout``, or what the tool's code raised.
        """
        ctx = ctx if ctx is not None else ToolContext(tool_name=self.name)
        given = self.read_arguments(args)
        if self.retry is None:
            if self.timeout is not None or self.blocking or self.execute is None:
                return await self._attempt(given, ctx)
            result: Any = self.execute(given, ctx)  # the usual case, without a detour
            if hasattr(result, "__await__"):
                result = await (self._apart(result, ctx) if ctx.apart else result)
            made: Out = result
            return made
        for delay in self.retry.delays(f"{ctx.run_id}:{ctx.tool_call_id}"):
            try:
                return await self._attempt(given, ctx)
            except InputError:
                raise
            except self.retry.retry_on:
                from anyio import sleep

                await sleep(delay)
            ctx.begin_again()
        return await self._attempt(given, ctx)

    async def _attempt(self, args: Mapping[str, Any], ctx: ToolContext) -> Out:
        if self.timeout is None:
            made: Out = await (self._apart(self._call(args, ctx), ctx) if ctx.apart else self._call(args, ctx))
            return made
        try:
            made = await within_limit(
                lambda: self._call(args, ctx), self.timeout, ctx.scope.grace, partial(self._leave, ctx)
            )
        except Overdue as error:
            raise StepTimeout(f"tool {self.name!r} {error}") from None
        return made

    def _apart(self, waiting: Awaitable[Any], ctx: ToolContext) -> Awaitable[Any]:
        """
        Await what the tool returned in a task of its own: where its run is aborted it is waited for within the grace
        period, whether or not it stops.
        """
        return within_grace(lambda: waiting, ctx.scope.grace, partial(self._leave, ctx))

    def _leave(self, ctx: ToolContext, task: OwnTask) -> None:
        leave(ctx.scope, f"tool {self.name!r}", task)

    async def _call(self, args: Mapping[str, Any], ctx: ToolContext) -> Out:
        if self.execute is None:
            raise InputError(
                f"tool {self.name!r} is run by the client, not here", hint="the agent's run ends with its call"
            )
        if self.blocking:
            from anyio.to_thread import run_sync

            result = await run_sync(self.execute, args, ctx)
        else:
            result = self.execute(args, ctx)
        made: Out = await result if hasattr(result, "__await__") else result
        return made

    async def model_output(self, result: Any) -> Mapping[str, Any]:
        """
        Return what the model is told of *result*: ``{"type": "text" | "json" | ..., "value": ...}``.
        """
        if self.to_model_output is not None:
            result = self.to_model_output(result)
            if inspect.isawaitable(result):
                result = await result
            if isinstance(result, Mapping) and "type" in result and "value" in result:
                return cast("Mapping[str, Any]", result)
        return {"type": "text" if isinstance(result, str) else "json", "value": result}

    def as_step(self) -> Step[Mapping[str, Any], Out]:
        """
        Return a step that takes the arguments and returns the result; the step does the retries and the timeout.

        Raises ``DefinitionError`` for a tool of the client.
        """
        if self.client_side:
            raise DefinitionError(f"tool {self.name!r} is run by the client and cannot stand in a workflow")
        return Step(
            id=self.name,
            execute=self._execute_step,
            kind="tool",
            output_type=self.output_type,
            description=self.description,
            retry=self.retry,
            timeout=self.timeout,
            owner=self,
            source=self.source,
        )

    async def _execute_step(self, ctx: StepContext[Mapping[str, Any]]) -> Out:
        context = ToolContext(
            tool_call_id=f"{ctx.run_id}:{ctx.path}",
            tool_name=self.name,
            scope=ctx.scope,
            run_id=ctx.run_id,
            emit=ctx.emit,
            caller=lambda step, value, path: ctx.call(step, value),
        )
        context.attempt = ctx.attempt
        return await self._call(self.read_arguments(ctx.input), context)


def client_tool(name: str, description: str = "", parameters: Mapping[str, Any] | None = None) -> Tool[Any]:
    """
    Make a tool that the caller runs: the model may call it, and the agent's run ends with the call.

    >>> client_tool("open_door", "Opens the door of the caller.").client_side
    True
    """
    return Tool(
        name=name, description=description, parameters=parameters or _NO_PARAMETERS, execute=None, client_side=True
    )


@overload
def tool(function: Callable[..., Awaitable[Out]], /) -> Tool[Out]: ...
@overload
def tool(function: Callable[..., Out], /) -> Tool[Out]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    requires_approval: Approver = False,
    to_model_output: Callable[[Any], Any] | None = None,
    timeout: float | None = None,
    retry: RetryPolicy | None = None,
    blocking: bool = False,
) -> _ToolDecorator: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """
    Make a tool of a function: its parameters become the schema, its docstring the description.

    A parameter annotated with :class:`ToolContext` is given the context and left out of the schema.  Descriptions of
    parameters are read from the docstring (``Args:`` or ``:param:``).  *parameters*, a JSON schema, replaces what the
    signature says.

    Raises ``ToolDefinitionError`` for a function without a name, for one that yields, and for parameters that cannot be
    given as JSON.

    >>> @tool
    ... async def weather(city: str, days: int = 1) -> str:
    ...     '''Say what the weather will be.
    ...
    ...     Args:
    ...         city: Where.
    ...     '''
    ...     return f"{city}: {days} days of sun"
    >>> weather.description, weather.parameters["properties"]["city"]
    ('Say what the weather will be.', {'description': 'Where.', 'type': 'string'})
    """
    if function is None:
        return partial(_make_tool, **options)
    return _make_tool(function, **options)


class _ToolDecorator(Protocol):
    @overload
    def __call__(self, function: Callable[..., Awaitable[Out]], /) -> Tool[Out]: ...
    @overload
    def __call__(self, function: Callable[..., Out], /) -> Tool[Out]: ...


def _make_tool(function: Any, **options: Any) -> Tool[Any]:
    name = options.pop("name", None) or getattr(function, "__name__", "")
    if not callable(function) or not name or name == "<lambda>":
        raise ToolDefinitionError(
            f"{function!r} cannot be a tool", hint="give a function with a name, or pass name='...'"
        )
    if yields(function):
        raise _yielding(f"tool {name!r}")
    from procession.tools.signature import read_signature  # with the first function that becomes a tool

    signature = read_signature(function, name)
    description, parameters = options.pop("description", None), options.pop("parameters", None)
    context = signature.context

    def execute(args: Mapping[str, Any], ctx: ToolContext) -> Any:
        return function(**args) if context is None else function(**args, **{context: ctx})

    code = getattr(function, "__code__", None)
    return Tool(
        name=name,
        description=description if description is not None else signature.description,
        parameters=parameters if parameters is not None else signature.parameters,
        execute=execute,
        check=signature.check if parameters is None else None,
        source=f"{code.co_filename}:{code.co_firstlineno}" if code is not None else None,
        **options,
    )


def _yielding(what: str) -> ToolDefinitionError:
    return ToolDefinitionError(
        f"{what} is a generator function, of which a call runs nothing",
        hint="return the whole result; what is to be shown meanwhile goes to the context's writer",
    )


def _parsed(name: str, text: str) -> Any:
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except ValueError as error:
        raise ToolArgumentsError(name, [f"are no JSON: {error}"]) from None
