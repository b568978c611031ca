"""
Type flow: whether what one step gives can be what the next one takes.

Only what cannot work is said not to fit: an unknown type fits everything, and so does one that pydantic may convert.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping
from inspect import isclass, signature
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["Outputs", "Type", "fits", "function_types", "item_type", "list_of", "name_of"]

_UNIONS = (Union, types.UnionType)

# What pydantic makes of a value of one built-in type where another is asked for, besides itself.
_CONVERTS: dict[type, frozenset[type]] = {
    int: frozenset((float, bool)),
    float: frozenset((int, bool)),
    bool: frozenset((int, float)),
    str: frozenset((int, float, bool, bytes)),
    bytes: frozenset((str, int, float, bool)),
    dict: frozenset(),
    list: frozenset((tuple, set, frozenset)),
    tuple: frozenset((list, set, frozenset)),
    set: frozenset((list, tuple, frozenset)),
    frozenset: frozenset((list, tuple, set)),
    type(None): frozenset(),
}


class Outputs:
    """
    The type of what parallel branches give: a mapping whose keys are known.
    """

    __slots__ = ("types",)

    def __init__(self, types: Mapping[str, Type]) -> None:
        self.types = types


Type: TypeAlias = Any
"""An annotation, :class:`Outputs`, or ``None`` where nothing is known."""


def fits(given: Type, wanted: Type) -> bool:
    """
    Return whether a value annotated *given* can be one annotated *wanted*; ``False`` only where it cannot.

    >>> fits(int, str), fits(list[int], list[str]), fits(int, int | None), fits(None, str)
    (False, False, True, True)
    """
    if given is wanted or _unknown(given) or _unknown(wanted):
        return True
    if isinstance(given, Outputs):
        origin = _origin(wanted) or wanted
        return not isclass(origin) or origin not in _CONVERTS or origin is dict
    given, wanted = _bare(given), _bare(wanted)
    given_origin, wanted_origin = _origin(given), _origin(wanted)
    if given_origin in _UNIONS:
        return any(fits(each, wanted) for each in get_args(given))
    if wanted_origin in _UNIONS:
        return any(fits(given, each) for each in get_args(wanted))
    if given_origin is Literal:
        if wanted_origin is Literal:
            return bool(set(get_args(given)) & set(get_args(wanted)))
        return any(fits(type(each), wanted) for each in get_args(given))
    if wanted_origin is Literal:
        return any(fits(given, type(each)) for each in get_args(wanted))
    return _classes_fit(given_origin or given, wanted_origin or wanted) and _arguments_fit(given, wanted)


def _origin(type: Type) -> Any:
    return get_origin(type)


def _unknown(type: Type) -> bool:
    return type is None or type is Any or type is object or isinstance(type, TypeVar | str)


def _bare(type: Type) -> Type:
    while _origin(type) is Annotated:
        type = get_args(type)[0]
    return getattr(type, "__supertype__", type)  # what a NewType stands for


def _classes_fit(given: Type, wanted: Type) -> bool:
    if not (isclass(given) and isclass(wanted)):
        return True
    try:
        if issubclass(given, wanted) or issubclass(wanted, given):
            return True
    except TypeError:  # a protocol that cannot be asked
        return True
    if getattr(wanted, "_is_protocol", False) or getattr(given, "_is_protocol", False):
        return True
    if given in _CONVERTS and wanted in _CONVERTS:
        return wanted in _CONVERTS[given]
    if given in _CONVERTS or wanted in _CONVERTS:
        return _may_convert(given, wanted)
    # Two classes of which neither is the other's base: no instance of one is made into one of the other.
    return not (_is_plain(given) and _is_plain(wanted)) or _reads_attributes(wanted)


def _may_convert(given: type, wanted: type) -> bool:
    """
    Return whether a built-in becomes something else, or the other way round: a model is made of a mapping, much else
    (times, paths, enums) of text and numbers.
    """
    if hasattr(wanted, "model_fields"):
        return given is dict
    return not hasattr(given, "model_fields")


def _is_plain(kind: type) -> bool:
    return not getattr(kind, "__abstractmethods__", None)


def _reads_attributes(kind: type) -> bool:
    config = getattr(kind, "model_config", None)
    return bool(config and config.get("from_attributes"))


def _arguments_fit(given: Type, wanted: Type) -> bool:
    wanted_arguments, given_arguments = get_args(wanted), get_args(given)
    origin = _origin(wanted)
    if len(given_arguments) != len(wanted_arguments) or not isclass(origin) or Ellipsis in wanted_arguments:
        return True
    if not issubclass(origin, Collection) and origin not in (list, dict, tuple, set, frozenset):
        return True
    return all(fits(have, want) for have, want in zip(given_arguments, wanted_arguments, strict=True))


def item_type(given: Type) -> tuple[bool, Type]:
    """
    Return whether *given* can be a list, and the type of its items.
    """
    given = _bare(given) if given is not None and not isinstance(given, Outputs) else given
    if _unknown(given):
        return True, None
    if isinstance(given, Outputs):
        return False, None
    origin = _origin(given)
    if origin in _UNIONS:
        found = [item_type(each) for each in get_args(given)]
        return any(can for can, _ in found), None
    kind = origin or given
    if not isclass(kind):
        return True, None
    arguments = get_args(given)
    if issubclass(kind, list | tuple) or issubclass(list, kind):
        one = len(arguments) == 1 or (len(arguments) == 2 and arguments[1] is Ellipsis)
        return True, arguments[0] if one else None
    return False, None


def list_of(item: Type) -> Type:
    """
    Return the type of a list of items of a type that may be unknown.
    """
    return list if item is None or isinstance(item, Outputs) else list[item]


def function_types(function: Callable[..., Any]) -> tuple[Type, Type]:
    """
    Return the annotations of a function's first parameter and of its result, ``None`` where there are none.
    """
    if not getattr(function, "__annotations__", None):
        return None, None
    try:
        hints = get_type_hints(function)
        first = next(iter(signature(function).parameters), None)
    except Exception:  # a name that exists only for the type checker
        return None, None
    result = hints.get("return")
    return hints.get(first) if first is not None else None, result


def name_of(type: Type) -> str:
    """
    Return a type as one would write it.
    """
    if isinstance(type, Outputs):
        return f"a mapping of {', '.join(type.types)}"
    return type.__name__ if isclass(type) and not get_args(type) else str(type).replace("typing.", "")
