"""
Fits: whether a value of one type can be taken where another is asked for.

What fits is what pydantic would take at run time, conversions included.  Only what can never work does not fit: where
a type is unknown, or code decides, everything does.  Of a list or a mapping its items decide: that an empty one fits
any other is no use to anybody.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from enum import Enum
from inspect import isclass
from typing import Any, Literal, get_args

from procession.workflows.structures import Field, Structure, bare, is_own, is_typed_dict, origin_of, structure_of
from procession.workflows.typeflow import UNIONS, Either, Outputs, Type, is_unknown, name_of

__all__ = ["fits", "misfit"]

_DEEP = 8

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


def fits(given: Type, wanted: Type) -> bool:
    """
    Return whether a value annotated *given* can be one annotated *wanted*; ``False`` only where it cannot.

    >>> fits(int, str), fits(list[int], list[str]), fits(int, int | None), fits(None, str)
    (False, False, True, True)
    """
    return given is wanted or misfit(given, wanted) is None


def misfit(given: Type, wanted: Type, depth: int = 0) -> str | None:
    """
    Return why a value annotated *given* can never be one annotated *wanted*, or ``None`` where it may be.

    The reason is empty where the two types say it all.

    >>> misfit(int, str), misfit(Outputs({"a": int}), dict[str, str])
    ('', "'a' is int, not str")
    """
    if given is wanted or depth > _DEEP or is_unknown(given) or is_unknown(wanted):
        return None
    if isinstance(given, Either):
        return _first([misfit(each, wanted, depth) for each in given.types])
    wanted = bare(wanted)
    if not isinstance(given, Outputs):
        given = bare(given)
    if given is wanted or is_unknown(given) or is_unknown(wanted):
        return None
    return _apart(given, wanted, depth + 1)


def _apart(given: Type, wanted: Type, depth: int) -> str | None:
    given_origin, wanted_origin = origin_of(given), origin_of(wanted)
    if given_origin in UNIONS:
        return _first([misfit(each, wanted, depth) for each in get_args(given)])
    if wanted_origin in UNIONS:
        return _first([misfit(given, each, depth) for each in get_args(wanted)])
    if given_origin is Literal:
        values = get_args(given)
        if wanted_origin is Literal:
            return None if set(values) & set(get_args(wanted)) or _has_enum((*values, *get_args(wanted))) else ""
        return _first([misfit(type(each), wanted, depth) for each in values])
    if wanted_origin is Literal:
        return _first([misfit(given, type(each), depth) for each in get_args(wanted)])
    given_class, wanted_class = given_origin or given, wanted_origin or wanted
    known = given if isinstance(given, Outputs) else _keys_of(given)
    if known is not None:
        return _mapping_apart(known, wanted, wanted_class, depth)
    structure = structure_of(wanted_class)
    if structure is not None and not get_args(wanted) and given_class is dict:
        return _dict_apart(given, structure, depth)
    if not _classes_fit(given_class, wanted_class):
        return ""
    return _arguments_apart(given, wanted, depth)


def _first(reasons: list[str | None]) -> str | None:
    """
    Return ``None`` where one way works, the only reason where there is one, and no reason where there are several.
    """
    if None in reasons:
        return None
    return reasons[0] if len(reasons) == 1 else ""


def _has_enum(values: tuple[Any, ...]) -> bool:
    return any(isinstance(each, Enum) for each in values)


# --- mappings of known keys --------------------------------------------------------------------------------------------


def _keys_of(given: Type) -> Outputs | None:
    """
    Return a typed dictionary as a mapping of known keys, or ``None`` where it is none or may have more.
    """
    if not is_typed_dict(given):
        return None
    structure = structure_of(given)
    if structure is None or structure.kept:
        return None
    kinds = {field.keys[0]: field.type for field in structure.fields}
    return Outputs(kinds, frozenset(field.keys[0] for field in structure.fields if not field.required))


def _mapping_apart(given: Outputs, wanted: Type, wanted_class: Any, depth: int) -> str | None:
    structure = structure_of(wanted_class)
    if structure is not None:
        return None if get_args(wanted) else _fields_apart(given, structure, depth)
    if not isclass(wanted_class) or is_typed_dict(wanted_class):
        return None
    if wanted_class is dict or wanted_class is Mapping or issubclass(wanted_class, Mapping):
        return _values_apart(given, get_args(wanted), depth)
    return "" if wanted_class in _CONVERTS or _only_instances(wanted_class) else None


def _fields_apart(given: Outputs, wanted: Structure, depth: int) -> str | None:
    taken: set[str] = set()
    for field in wanted.fields:
        taken.update(field.keys)
        key = next((key for key in field.keys if key in given.types), None)
        if key is None:
            if field.required:
                return f"{field.keys[0]!r} is missing"
        elif len([each for each in field.keys if each in given.types]) == 1 and (
            field.required or key not in given.optional
        ):
            reason = misfit(given.types[key], field.type, depth)
            if reason is not None and (field.required or len(field.keys) == 1):
                return _inside(key, given.types[key], field.type, reason)
    if not wanted.extra:
        for key in given.types:
            if key not in taken and key not in given.optional:
                return f"{key!r} is no field of it"
    return None


def _values_apart(given: Outputs, arguments: tuple[Any, ...], depth: int) -> str | None:
    if len(arguments) != 2:
        return None
    for key, kind in given.types.items():
        if key not in given.optional:
            reason = misfit(kind, arguments[1], depth)
            if reason is not None:
                return _inside(key, kind, arguments[1], reason)
    return None


def _dict_apart(given: Type, wanted: Structure, depth: int) -> str | None:
    arguments = get_args(given)
    if len(arguments) == 2:
        field: Field
        for field in wanted.fields:
            reason = misfit(arguments[1], field.type, depth) if field.required else None
            if reason is not None:
                return _inside(field.keys[0], arguments[1], field.type, reason)
    return None


def _inside(key: str, given: Type, wanted: Type, reason: str) -> str:
    return f"{key!r} is {name_of(given)}, not {name_of(wanted)}" + (f": {reason}" if reason else "")


# --- classes ----------------------------------------------------------------------------------------------------------


def _classes_fit(given: Any, wanted: Any) -> bool:
    if not (isclass(given) and isclass(wanted)) or is_own(wanted):
        return True
    if is_typed_dict(wanted):  # the given one is no mapping whose keys are known
        return not (given in _CONVERTS and given is not dict) and not _is_built(given)
    if _may_be(given, wanted):
        return True
    if given in _CONVERTS and wanted in _CONVERTS:
        return wanted in _CONVERTS[given]
    if given in _CONVERTS:
        if hasattr(wanted, "__pydantic_fields__"):
            return given is dict or (given is tuple and _reads_attributes(wanted))  # a pair of an object and a mapping
        return not _only_instances(wanted)
    if wanted in _CONVERTS:
        if wanted in (list, tuple):  # of anything, a model can be one: it is read field by field
            return True
        return is_own(given) or not hasattr(given, "__pydantic_fields__")
    if _is_special(given) or _is_special(wanted):
        return True
    # Two classes of which neither is the other's base: no instance of one is made into one of the other.
    return not (_is_plain(given) and _is_plain(wanted)) or _reads_attributes(wanted)


def _may_be(given: type, wanted: type) -> bool:
    """
    Return whether an instance of one class may be one of the other, as far as the classes tell.
    """
    try:
        if issubclass(given, wanted) or issubclass(wanted, given):
            return True
    except TypeError:  # a protocol that cannot be asked
        return True
    if getattr(wanted, "_is_protocol", False) or getattr(given, "_is_protocol", False):
        return True
    ours, theirs = (getattr(each, "__pydantic_generic_metadata__", {}).get("origin") for each in (given, wanted))
    return bool(ours or theirs) and (ours or given) is (theirs or wanted)


def _is_built(given: type) -> bool:
    """
    Return whether values of a class are instances with fields, and never mappings.
    """
    return hasattr(given, "__pydantic_fields__") and not is_own(given)


def _only_instances(wanted: type) -> bool:
    """
    Return whether nothing but an instance is ever taken for a class: one that is not known to pydantic, and is plain.
    """
    return (
        type(wanted) is type
        and not _is_special(wanted)
        and not is_own(wanted)
        and not hasattr(wanted, "__dataclass_fields__")
        and not issubclass(wanted, tuple | dict | list | set | frozenset | str | bytes | int | float)
    )


def _is_special(kind: type) -> bool:
    """
    Return whether pydantic may know how to make a class from others: an enum, or one that comes with Python.
    """
    return issubclass(kind, Enum) or kind.__module__.partition(".")[0] in sys.stdlib_module_names


def _is_plain(kind: type) -> bool:
    return not getattr(kind, "__abstractmethods__", None)


def _reads_attributes(kind: type) -> bool:
    config = getattr(kind, "model_config", None) or getattr(kind, "__pydantic_config__", None)
    return bool(config and config.get("from_attributes"))


def _arguments_apart(given: Type, wanted: Type, depth: int) -> str | None:
    wanted_arguments, given_arguments = get_args(wanted), get_args(given)
    origin = origin_of(wanted)
    if not given_arguments or not wanted_arguments or not isclass(origin) or not issubclass(origin, Collection):
        return None
    if Ellipsis in given_arguments and len(wanted_arguments) == 1:
        given_arguments = given_arguments[:1]
    if len(given_arguments) != len(wanted_arguments) or Ellipsis in wanted_arguments or Ellipsis in given_arguments:
        return None
    reasons = [misfit(have, want, depth) for have, want in zip(given_arguments, wanted_arguments, strict=True)]
    return "" if any(reason is not None for reason in reasons) else None
