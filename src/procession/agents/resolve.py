"""
What an agent's settings come to for one request: they may be functions of its context, plain or asynchronous.

Each resolver refuses what a function may not return, naming the setting and what to return.  Once a request is
*unwanted* nobody is asked any more: it gets nothing, and does nothing with it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard, TypeVar

from procession.agents.toolset import tools_by_name
from procession.errors import DefinitionError, InputError, ModelError, ProcessionError, ProcessorDefinitionError
from procession.messages.chunks import Chunk
from procession.messages.shapes import is_sequence
from procession.models.model import LanguageModel, ModelRequest
from procession.models.router import resolve_model
from procession.steps.abort import AbortSignal
from procession.steps.event_loop import cancel_scope
from procession.steps.request_context import RequestContext
from procession.tools.tool import Tool

__all__ = [
    "InstructionsSetting", "ModelSetting", "ToolsSetting", "instructions_for", "is_function", "is_models", "models_for",
    "models_of", "processors_for", "tools_for", "tools_of",
]  # fmt: skip

T = TypeVar("T")
_UNWANTED: Any = object()
"""What is given to a request that was aborted."""
OfRequest: TypeAlias = Callable[[RequestContext], T | Awaitable[T]]
Models: TypeAlias = LanguageModel | str | Sequence[LanguageModel | str]
Tools: TypeAlias = Sequence[Any] | Mapping[str, Any]

InstructionsSetting: TypeAlias = str | OfRequest[str | None]
ModelSetting: TypeAlias = Models | OfRequest[Models]
ToolsSetting: TypeAlias = Tools | OfRequest[Tools]


def is_model(value: Any) -> bool:
    """
    Whether *value* is a model, or may be the name of one.
    """
    if isinstance(value, (str, type)):
        return isinstance(value, str)
    return callable(getattr(value, "stream", None)) and hasattr(value, "id")


def is_function(value: Any) -> TypeGuard[Callable[[RequestContext], Any]]:
    """
    Whether *value* is a function of the request context, and no model or tool that happens to be callable.
    """
    return callable(value) and not isinstance(value, (type, Tool)) and not is_model(value)


def is_models(value: Any) -> bool:
    """
    Whether *value* is a model or the name of one, or a list of them with something in it.
    """
    return is_model(value) or (is_sequence(value) and len(value) > 0 and all(map(is_model, value)))


def tools_of(value: Any) -> Mapping[str, Tool[Any]] | Callable[[RequestContext], Any]:
    """
    Return tools by name, or the function of the request that says which.
    """
    return value if is_function(value) else tools_by_name(value)


def models_of(value: Any) -> tuple[LanguageModel, ...]:
    """
    Return the models that *value* stands for: one, or the first and those that are asked where it fails.

    Raises ``InputError`` for a name that stands for nothing.
    """
    return (resolve_model(value),) if is_model(value) else tuple(resolve_model(each) for each in value)


class _NoModel:
    """
    The model of a request that was aborted before its own was known.
    """

    id = "none"

    def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        raise ModelError("the request was aborted")  # nobody asks: the run does not begin


async def models_for(
    configured: Any, context: RequestContext, unwanted: AbortSignal | None = None
) -> tuple[LanguageModel, ...]:
    """
    Return the models of a request, the first and its fallbacks.
    """
    given = await _given(configured, context, unwanted)
    if given is _UNWANTED:
        return (_NoModel(),)
    if not is_models(given):
        raise _returned("model", given, "a model, a name of one, or a list of them")
    return models_of(given)


async def instructions_for(configured: Any, context: RequestContext, unwanted: AbortSignal | None = None) -> str:
    """
    Return the instructions of a request; a function that returns ``None`` gives none.
    """
    given = await _given(configured, context, unwanted)
    if given is None or given is _UNWANTED:
        return ""
    if not isinstance(given, str):
        raise _returned("instructions", given, "a text, or None for no instructions")
    return given


async def tools_for(
    configured: Any, context: RequestContext, unwanted: AbortSignal | None = None
) -> Mapping[str, Tool[Any]]:
    """
    Return the tools of a request by name.
    """
    given = await _given(configured, context, unwanted)
    if given is _UNWANTED:
        return {}
    if not hasattr(given, "__iter__") or isinstance(given, (str, bytes)):
        raise _returned("tools", given, "a list of tools, [] for none")
    try:
        return tools_by_name(given)
    except ProcessionError as error:
        raise DefinitionError(
            f"tools is a function, and in what it returned {error.message}", hint=error.hint
        ) from error


async def processors_for(
    name: str, configured: Any, context: RequestContext, unwanted: AbortSignal | None = None
) -> Sequence[Any]:
    """
    Return the list of processors called *name*, of an agent or a call.
    """
    found: Any = await _given(configured, context, unwanted) if callable(configured) else configured
    if found is _UNWANTED:
        return ()
    if found is None:  # "no list given" it must not mean: the run would be unguarded
        raise ProcessorDefinitionError(
            f"{name} is a function that returned None", hint="return a list of processors, [] for none"
        )
    listed: Sequence[Any] = found
    return listed


async def _given(
    configured: Callable[[RequestContext], Any], context: RequestContext, unwanted: AbortSignal | None
) -> Any:
    if unwanted is not None and unwanted.aborted:
        return _UNWANTED
    given = configured(context)
    if not hasattr(given, "__await__"):
        return given
    if unwanted is None:
        return await given
    with cancel_scope() as scope:

        def stop(reason: str | None) -> None:
            scope.cancel()

        unwanted.listen(stop)
        try:
            return await given
        finally:
            unwanted.forget(stop)
    return _UNWANTED


def _returned(name: str, given: Any, wanted: str) -> InputError:
    kind = "None" if given is None else type(given).__name__
    return InputError(f"{name} is a function that returned {kind}", hint=f"return {wanted}")
