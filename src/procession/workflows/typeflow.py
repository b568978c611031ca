"""
Type flow: the types of what goes from step to step, as far as annotations tell.
"""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from inspect import isclass, isfunction, signature
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_type_hints

from procession.workflows.structures import bare, origin_of

__all__ = [
    "Either",
    "Outputs",
    "Type",
    "UNIONS",
    "either",
    "function_types",
    "is_forked",
    "is_unknown",
    "item_type",
    "list_of",
    "name_of",
    "takes_one",
]  # fmt: skip

UNIONS = (Union, types.UnionType)


class Outputs:
    """
    The type of what branches give: a mapping whose keys are known, of which those in ``optional`` may be absent.
    """

    __slots__ = ("optional", "types")

    def __init__(self, types: Mapping[str, Type], optional: Collection[str] = ()) -> None:
        self.types = types
        self.optional = frozenset(optional)


class Either:
    """
    The type of what comes from one of several ways.
    """

    __slots__ = ("types",)

    def __init__(self, *types: Type) -> None:
        self.types = types


Type: TypeAlias = Any
"""An annotation, :class:`Outputs`, :class:`Either`, or ``None`` where nothing is known."""


def either(*types: Type) -> Type:
    """
    Return the type of what is one of *types*: unknown where one of them is.
    """
    if any(each is None for each in types):
        return None
    return types[0] if len(types) == 1 else Either(*types)


def is_forked(given: Type) -> bool:
    """
    Return whether a value of type *given* may be forked for branches and merged again, or is not known not to be.
    """
    given = given if isinstance(given, Outputs | Either) else bare(given)
    if isinstance(given, Outputs):
        return False
    if isinstance(given, Either) or origin_of(given) in UNIONS:
        members: tuple[Type, ...] = given.types if isinstance(given, Either) else get_args(given)
        return any(is_forked(each) for each in members)
    return is_unknown(given) or hasattr(given, "adopt")


def is_unknown(given: Type) -> bool:
    """
    Return whether a type says nothing.
    """
    return given is None or given is Any or given is object or isinstance(given, TypeVar | str)


def item_type(given: Type) -> tuple[bool, Type]:
    """
    Return whether *given* can be a list, and the type of its items.
    """
    if isinstance(given, Outputs):
        return False, None
    if not isinstance(given, Either):
        given = bare(given)
        if is_unknown(given):
            return True, None
    if isinstance(given, Either) or origin_of(given) in UNIONS:
        members: tuple[Type, ...] = given.types if isinstance(given, Either) else get_args(given)
        items = [item for can, item in map(item_type, members) if can]
        return bool(items), either(*items) if items else None
    kind = origin_of(given) or given
    if not isclass(kind):
        return True, None
    arguments = get_args(given)
    try:
        fits = issubclass(kind, list | tuple) or issubclass(list, kind)
    except TypeError:  # a protocol that cannot be asked
        return True, None
    if not fits:
        return False, None
    one = len(arguments) == 1 or (len(arguments) == 2 and arguments[1] is Ellipsis)
    return True, arguments[0] if one else None


def list_of(item: Type) -> Type:
    """
    Return the type of a list of items of a type that may be unknown.
    """
    return list if item is None or isinstance(item, Outputs | Either) else list[item]


def function_types(function: Callable[..., Any]) -> tuple[Type, Type]:
    """
    Return the annotations of a function's first parameter and of its result, ``None`` where there are none.

    Those of a function inside another by ``functools.wraps`` say nothing of the other.
    """
    if not getattr(function, "__annotations__", None) or hasattr(function, "__wrapped__"):
        return None, None
    try:
        hints = get_type_hints(function)
        first = next(iter(signature(function).parameters), None)
    except Exception:  # a name that exists only for the type checker
        return None, None
    return hints.get(first) if first is not None else None, _awaited(hints.get("return"))


def takes_one(function: Callable[..., Any]) -> bool:
    """
    Return whether a function can be called with one argument, as far as its signature tells.
    """
    if isfunction(function):
        code = function.__code__
        if code.co_argcount == 1 and not code.co_kwonlyargcount:
            return True
    try:
        signature(function, follow_wrapped=False).bind(None)
    except TypeError:
        return False
    except ValueError:  # a builtin that does not tell
        return True
    return True


def _awaited(result: Type) -> Type:
    origin = origin_of(result)
    if origin is Awaitable or origin is Coroutine:
        return get_args(result)[-1]
    return result


def name_of(type: Type) -> str:
    """
    Return a type as one would write it.
    """
    if isinstance(type, Outputs):
        return f"a mapping of {', '.join(type.types)}"
    if isinstance(type, Either):
        return " or ".join(name_of(each) for each in type.types)
    arguments = get_args(type)
    if isclass(type) and not arguments:
        return type.__name__
    if origin_of(type) in UNIONS:
        return " | ".join("None" if each is None.__class__ else name_of(each) for each in arguments)
    if isclass(origin_of(type)) and all(isclass(each) or get_args(each) for each in arguments):
        return f"{origin_of(type).__name__}[{', '.join(map(name_of, arguments))}]"
    return str(type).replace("typing.", "")
