"""
What counts as a processor: any object with a string ``id`` and at least one hook.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from procession.errors import ProcessorDefinitionError
from procession.processors.hooks import HOOK_NAMES, Hook, nearest_hook

if TYPE_CHECKING:
    from procession.processors.contexts import APIErrorContext, InputContext, OutputResultContext

__all__ = ["ErrorProcessor", "InputProcessor", "OutputProcessor", "hook_methods", "is_processor", "option"]


@runtime_checkable
class InputProcessor(Protocol):
    """
    An object that takes part on the way in; any input hook will do, ``process_input`` is the usual one.
    """

    id: str

    def process_input(self, ctx: InputContext) -> Any:
        """
        Take part before the first step.
        """
        ...


@runtime_checkable
class OutputProcessor(Protocol):
    """
    An object that takes part on the way out; any output hook will do, ``process_output_result`` is the usual one.
    """

    id: str

    def process_output_result(self, ctx: OutputResultContext) -> Any:
        """
        Take part after the last step.
        """
        ...


@runtime_checkable
class ErrorProcessor(Protocol):
    """
    An object that is asked about failed model calls.
    """

    id: str

    def process_api_error(self, ctx: APIErrorContext) -> Any:
        """
        Say whether a failed call is to be made again.
        """
        ...


HookMethod = Callable[[Any], Awaitable[Any] | Any]

_DEFAULTS: Mapping[str, Any] = {
    "name": None,
    "description": "",
    "process_data_parts": False,
    "process_tool_errors": False,
    "uses_stream_parts": False,
    "on_error": "stop",
    "timeout": None,
    "blocking": False,
    "mutates": False,
    "check_only": False,
    "redacts": False,
    "fails_closed": False,
    "own_retries": False,
    "nested_text": False,
}

OptionName = Literal[
    "name", "description", "process_data_parts", "process_tool_errors", "uses_stream_parts", "on_error", "timeout",
    "blocking", "mutates", "check_only", "redacts", "fails_closed", "own_retries", "nested_text",
]  # fmt: skip


def option(owner: Any, name: OptionName) -> Any:
    """
    Return an option of a processor, whether or not its class derives from ``Processor``.
    """
    return getattr(owner, name, _DEFAULTS[name])


def is_processor(thing: Any) -> bool:
    """
    Whether *thing* is a processor: it has a string ``id`` and at least one hook.
    """
    return (
        not isinstance(thing, type)
        and isinstance(getattr(thing, "id", None), str)
        and any(callable(getattr(thing, name, None)) for name in HOOK_NAMES)
    )


def guards(owner: object) -> bool:
    """
    Whether *owner* is a guard, whose outcome is told of every run: it fails closed, or only checks.
    """
    return bool(option(owner, "fails_closed") or option(owner, "check_only"))


def hook_methods(owner: Any) -> dict[Hook, HookMethod]:
    """
    Return the hooks that *owner* implements.

    Raises ``ProcessorDefinitionError`` for a class, an object without a string id, without any hook, with a method named
    ``process_*`` or ``processSomething`` that is no hook, and names the nearest one, and for a hook that cannot be
    called with the context as its only argument.
    """
    if isinstance(owner, type):
        raise ProcessorDefinitionError(f"{owner.__name__} is a class", hint=f"give an instance: {owner.__name__}(...)")
    identifier = getattr(owner, "id", None)
    if not isinstance(identifier, str) or not identifier:
        raise ProcessorDefinitionError(
            f"{type(owner).__name__} is no processor: it has no string id", hint='give it one, e.g. id = "my-processor"'
        )
    for name in dir(owner):
        snake = re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower() if name.startswith("process") else ""
        if (
            snake.startswith("process_")
            and name not in HOOK_NAMES
            and name not in _DEFAULTS
            and callable(getattr(owner, name, None))
        ):
            near = nearest_hook(snake)
            raise ProcessorDefinitionError(
                f"processor {identifier!r} has a method {name!r}, which is no hook",
                hint=f"did you mean {near!r}?" if near else f"the hooks are {', '.join(sorted(HOOK_NAMES))}",
            )
    methods = {hook: method for hook in Hook if callable(method := getattr(owner, hook.value, None))}
    if not methods:
        raise ProcessorDefinitionError(
            f"{identifier!r} ({type(owner).__name__}) has no hook and would do nothing",
            hint=f"give it one of {', '.join(sorted(HOOK_NAMES))}",
        )
    for hook, method in methods.items():
        if not _takes_context(method):
            raise ProcessorDefinitionError(
                f"{hook.value} of processor {identifier!r} cannot be called with the context alone",
                hint=f"write: async def {hook.value}(self, ctx)",
            )
    return methods


def _takes_context(method: HookMethod) -> bool:
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):  # written in C: it has none to look at
        return True
    try:
        signature.bind(None)
    except TypeError:
        return False
    return True
