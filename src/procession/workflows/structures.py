"""
Structures: the fields of models, typed dictionaries and dataclasses, as far as they say what is accepted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import lru_cache
from inspect import isclass
from typing import (
    Annotated,
    Any,
    NamedTuple,
    NotRequired,
    Required,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

__all__ = ["Field", "Structure", "bare", "is_own", "is_typed_dict", "origin_of", "structure_of"]


class Field(NamedTuple):
    """
    One field: the keys it is read from, its type (``None`` where that is for code to say), and whether it must be there.
    """

    keys: tuple[str, ...]
    type: Any
    required: bool


class Structure(NamedTuple):
    """
    A class of known fields; ``extra`` says whether other keys may stand beside them, and be kept or ignored.
    """

    fields: tuple[Field, ...]
    extra: bool
    kept: bool
    """Whether other keys are kept, so that a value may have more than its fields."""


def origin_of(type: Any) -> Any:
    """
    Return what a type with arguments is made of, e.g. ``list``; ``None`` where it has none.
    """
    return get_origin(type)


def bare(type: Any) -> Any:
    """
    Return what an annotation comes to without its constraints; ``None`` where something decides that cannot be read.

    >>> bare(Annotated[int, "at least 1"])
    <class 'int'>
    """
    while True:
        origin = origin_of(type)
        if origin is Annotated:
            if any(_converts(each) for each in type.__metadata__):
                return None
            type = get_args(type)[0]
        elif origin is Required or origin is NotRequired or getattr(origin, "__name__", "") == "ReadOnly":
            type = get_args(type)[0]
        elif hasattr(type, "__supertype__"):  # a NewType
            type = type.__supertype__
        elif hasattr(type, "__value__") and not isclass(type):  # a name made by ``type X = ...``
            if get_args(type):
                return None
            type = type.__value__
        else:
            return type


def is_typed_dict(kind: Any) -> bool:
    """
    Whether a type is a ``TypedDict``, of ``typing`` or of ``typing_extensions``.
    """
    return isclass(kind) and hasattr(kind, "__required_keys__") and hasattr(kind, "__total__")


def is_own(kind: Any) -> bool:
    """
    Whether a class says itself, by code, what it is made of.
    """
    if hasattr(kind, "__get_validators__"):
        return True
    schema = getattr(kind, "__get_pydantic_core_schema__", None)
    if schema is not None:
        if not hasattr(kind, "model_fields"):
            return not hasattr(kind, "__pydantic_fields__")
        from pydantic import BaseModel

        own = getattr(schema, "__func__", schema)
        if own is not BaseModel.__get_pydantic_core_schema__.__func__ or kind.__pydantic_root_model__:  # type: ignore[attr-defined]
            return True
    decorators = getattr(kind, "__pydantic_decorators__", None)
    if decorators is None:
        return False
    modes = {each.info.mode for each in decorators.model_validators.values()}
    return bool(decorators.root_validators) or bool(modes - {"after"})


@lru_cache(maxsize=512)
def structure_of(kind: Any) -> Structure | None:
    """
    Return the fields of a class, or ``None`` where it has none, or its fields do not say what it accepts.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> [(field.keys, field.required) for field in structure_of(Point).fields]
    [(('x',), True), (('y',), False)]
    """
    try:
        if is_typed_dict(kind):
            return _typed_dict(kind)
        if not isclass(kind) or is_own(kind):
            return None
        if hasattr(kind, "model_fields") or hasattr(kind, "__pydantic_fields__"):
            return _pydantic(kind)
        return _dataclass(kind) if dataclasses.is_dataclass(kind) else None
    except Exception:  # a name that exists only for the type checker, a class that is not complete
        return None


def _typed_dict(kind: Any) -> Structure | None:
    config: Mapping[str, Any] = getattr(kind, "__pydantic_config__", {})
    fields: list[Field] = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        required = name in kind.__required_keys__
        outer: Any = hint
        while (origin := origin_of(outer)) in (Annotated, Required, NotRequired):
            if origin is not Annotated:
                required = origin is Required
            elif any(getattr(each, "validation_alias", None) for each in outer.__metadata__):
                return None
            outer = get_args(outer)[0]
        fields.append(Field((name,), _type(hint, config), required))
    return _structure(fields, config)


def _dataclass(kind: Any) -> Structure | None:
    config: Mapping[str, Any] = getattr(kind, "__pydantic_config__", {})
    hints = get_type_hints(kind, include_extras=True)
    fields: list[Field] = []
    for each in dataclasses.fields(kind):
        if type(each.default).__module__.startswith("pydantic"):
            return None
        required = each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING and each.init
        fields.append(Field((each.name,), _type(hints[each.name], config), required))
    return _structure(fields, config) if "__post_init__" not in vars(kind) else None


def _pydantic(kind: Any) -> Structure | None:
    decorators = kind.__pydantic_decorators__
    own: set[str] = set()
    for each in decorators.field_validators.values():
        if each.info.mode != "after":
            own.update(each.info.fields)
    for each in decorators.validators.values():
        own.update(each.info.fields)
    config: Mapping[str, Any] = getattr(kind, "model_config", None) or getattr(kind, "__pydantic_config__", None) or {}
    fields: list[Field] = []
    for name, info in kind.__pydantic_fields__.items():
        alias = info.validation_alias
        if alias is not None and not isinstance(alias, str):
            return None
        keys = (alias, name) if alias is not None and alias != name else (name,)
        open = name in own or "*" in own or any(_converts(meta) for meta in info.metadata)
        fields.append(Field(keys, None if open else _type(info.annotation, config), info.is_required()))
    return _structure(fields, config)


def _structure(fields: list[Field], config: Mapping[str, Any]) -> Structure | None:
    if config.get("alias_generator") is not None and not all(len(field.keys) > 1 for field in fields):
        return None
    extra = config.get("extra")
    return Structure(tuple(fields), extra != "forbid", extra == "allow")


def _type(annotation: Any, config: Mapping[str, Any]) -> Any:
    return None if config.get("coerce_numbers_to_str") else annotation


def _converts(meta: Any) -> bool:
    """
    Return whether what stands beside a type in ``Annotated`` may make a value of it from something else.
    """
    if hasattr(meta, "__get_pydantic_core_schema__") or getattr(meta, "coerce_numbers_to_str", None):
        return True
    inner: Any = getattr(meta, "metadata", None)  # of a pydantic ``Field(...)``
    return isinstance(inner, list) and any(_converts(each) for each in cast("Iterable[Any]", inner))
