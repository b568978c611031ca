"""
Source check: what ``commit()`` finds in the fields of a declarative map.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from inspect import isclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from procession.messages.value import Value
from procession.workflows.paths import Path
from procession.workflows.sources import REQUIRED, Constant, Fields, FromStep, FromValue, Source
from procession.workflows.structures import is_typed_dict
from procession.workflows.template import Template
from procession.workflows.typeflow import Outputs, Type, function_types, name_of

__all__ = ["ABSENT", "Problem", "check_fields", "type_at"]

ABSENT: Any = object()
"""The type of what cannot be there."""

_BARE = (str, int, float, bool, bytes, type(None))


class Problem(Value):
    """
    Something wrong in a field.
    """

    code: str
    message: str
    hint: str
    steps: tuple[str, ...] = ()


def check_fields(
    name: str, fields: Fields, known: Mapping[str, Type], all_ids: Collection[str], current: Type
) -> tuple[list[Problem], Type]:
    """
    Return what is wrong in the fields of map *name*, and the type of what it gives.

    *known* are the types of the outputs of the steps before it, *current* that of its value; *all_ids* are those of the
    workflow.
    """
    problems: list[Problem] = []
    for field, source in fields.reads():
        where = f"{name!r} makes {field!r} of"
        if isinstance(source, FromStep):
            for step in source.steps:
                if step in known:
                    problems += _path(where, f"the output of {step!r}", source.path, known[step], (step,))
                else:
                    problems.append(_unknown(where, step, known, all_ids))
        elif isinstance(source, FromValue):
            problems += _path(where, "the value", source.path, current, ())
    return problems, Outputs({field: _type_of(source, known, current) for field, source in fields.sources})


def _unknown(where: str, step: str, known: Mapping[str, Type], all_ids: Collection[str]) -> Problem:
    near = get_close_matches(step, known, 1)
    return Problem(
        "invalid-map-reference",
        f"{where} {step!r}, " + ("which runs later" if step in all_ids else "which is no step before it"),
        f"did you mean {near[0]!r}?" if near else f"there is {', '.join(known) or 'nothing before it'}",
        (step,),
    )


def _path(where: str, what: str, path: Path, given: Type, steps: tuple[str, ...]) -> list[Problem]:
    if type_at(given, path) is not ABSENT:
        return []
    shown = ".".join(path)
    message = f"{where} {shown!r} of {what}, which is {name_of(given)} and has nothing there"
    return [Problem("invalid-map-path", message, _instead(given, path), steps)]


def _instead(given: Type, path: Path) -> str:
    """
    Return what may have been meant: a name like the first that is not there, or all names that are.
    """
    for part in path:
        found = _part(given, part)
        if found is ABSENT:
            names = _names(given)
            near = get_close_matches(part, names, 1)
            return f"did you mean {near[0]!r}?" if near else f"there is {', '.join(names) or 'nothing to go into'}"
        given = found
    return "check the path against the annotation"


def _names(given: Type) -> list[str]:
    if isinstance(given, Outputs):
        return list(given.types)
    kind = _origin(given) or given
    has_fields = hasattr(kind, "model_fields") or is_typed_dict(kind) or hasattr(kind, "__dataclass_fields__")
    return (
        [name for name in get_type_hints(kind) if not name.startswith("_") and name != "model_config"]
        if has_fields
        else []
    )


def _type_of(source: Any, known: Mapping[str, Type], current: Type) -> Type:
    """
    Return the type of a field, or ``None`` where it is not known.
    """
    if isinstance(source, Template):
        return str
    if isinstance(source, Constant):
        return source.value.__class__
    if getattr(source, "default", REQUIRED) is not REQUIRED:
        return None
    if isinstance(source, FromStep) and len(source.steps) == 1:
        found = type_at(known.get(source.steps[0]), source.path)
    elif isinstance(source, FromValue):
        found = type_at(current, source.path)
    else:
        return None if isinstance(source, Source) else function_types(source)[1]
    return None if found is ABSENT else found


def type_at(given: Type, path: Path) -> Type:
    """
    Return the type of what stands at *path* in a value of a type: ``None`` where it is not known, ``ABSENT`` where
    nothing can stand there.

    >>> type_at(dict[str, list[int]], ("counts", "0")), type_at(int, ("name",)) is ABSENT
    (<class 'int'>, True)
    """
    for part in path:
        given = _part(given, part)
        if given is None or given is ABSENT:
            return given
    return given


def _part(given: Type, part: str) -> Type:
    while _origin(given) is Annotated:
        given = get_args(given)[0]
    given = getattr(given, "__supertype__", given)  # what a NewType stands for
    if isinstance(given, Outputs):
        return given.types.get(part, ABSENT)
    origin, arguments = _origin(given), get_args(given)
    if origin in (Union, UnionType):
        found = [each for each in (_part(option, part) for option in arguments) if each is not ABSENT]
        return ABSENT if not found else found[0] if len(found) == 1 else None
    kind = origin or given
    if not isclass(kind):
        return None
    if kind in _BARE:
        return ABSENT
    if kind in (list, tuple):
        if not part.removeprefix("-").isdecimal():
            return ABSENT
        return arguments[0] if len(arguments) == 1 or (kind is tuple and arguments[1:] == (Ellipsis,)) else None
    if kind is dict:
        return arguments[1] if len(arguments) == 2 else None
    return _field(kind, part)


def _field(kind: Any, part: str) -> Type:
    model = getattr(kind, "model_fields", None)
    if model is not None and getattr(kind, "model_config", {}).get("extra") == "allow":
        return None
    if model is None and not is_typed_dict(kind) and not hasattr(kind, "__dataclass_fields__"):
        return None
    try:
        return get_type_hints(kind).get(part, ABSENT)
    except Exception:  # a name that exists only for the type checker
        return None


def _origin(type: Type) -> Any:
    return get_origin(type)
