"""
Shapes: what a value of a setup must be, and the check that names what it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.conformance.scenario import Json, Unknown, is_list, is_object

__all__ = ["ANYTHING", "Each", "Form", "Items", "Kinds", "OneOf", "Shape", "check", "check_form"]


@dataclass(frozen=True, slots=True)
class Items:
    """
    A list of values of one shape.
    """

    shape: Shape


@dataclass(frozen=True, slots=True)
class Each:
    """
    An object with names of the scenario's own choice, and values of one shape.
    """

    shape: Shape


@dataclass(frozen=True, slots=True)
class OneOf:
    """
    One of some values.
    """

    values: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """
    An object with the keys named, and no others.
    """

    what: str
    needed: Mapping[str, Shape] = field(default_factory=dict[str, Any])
    optional: Mapping[str, Shape] = field(default_factory=dict[str, Any])
    called: str = ""
    """What an unknown key of it is called; without it the key of *what*."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """
    Objects that one of their keys tells apart (``op``, ``do``): the rest of an object is that kind's form.
    """

    key: str
    forms: Mapping[str, Form]
    common: Mapping[str, Shape] = field(default_factory=dict[str, Any])


Shape: TypeAlias = "type | Items | Each | OneOf | Form | Kinds | tuple[Shape, ...]"
ANYTHING = object


def _fits_type(value: Json, wanted: type) -> bool:
    if wanted in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if wanted is float else wanted)


def check(value: Json, shape: Shape, what: str) -> None:
    """
    Raise ``Unknown`` where *value*, which is called *what*, has another shape.

    >>> check({"text": ["a", "b"]}, Form("a reply", {"text": (str, Items(str))}), "a reply")
    >>> check({"txt": "a"}, Form("a reply", {}, {"text": str}), "a reply")
    Traceback (most recent call last):
    tests.conformance.scenario.Unknown: unknown key of a reply: txt
    """
    match shape:
        case tuple():
            _check_any(value, shape, what)
        case Items():
            if not is_list(value):
                raise Unknown(what, _shown(value))
            for each in value:
                check(each, shape.shape, what)
        case Each():
            if not is_object(value):
                raise Unknown(what, _shown(value))
            for each in value.values():
                check(each, shape.shape, what)
        case OneOf():
            if not any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in shape.values):
                raise Unknown(what, _shown(value))
        case Form():
            check_form(value, shape)
        case Kinds():
            _check_kinds(value, shape, what)
        case type():
            if not _fits_type(value, shape):
                raise Unknown(what, _shown(value))


def check_form(value: Json, form: Form, known: Mapping[str, Shape] | None = None) -> None:
    """
    Raise ``Unknown`` where *value* has a key that *form* does not have, lacks one that it needs, or holds something else.
    """
    if not is_object(value):
        raise Unknown(form.what, _shown(value))
    fields = {**form.needed, **form.optional, **(known or {})}
    for key in value:
        if key not in fields:
            raise Unknown(form.called or f"key of {form.what}", key)
    for key in form.needed:
        if key not in value:
            raise Unknown(form.what, f"one without {key}")
    for key, inner in value.items():
        check(inner, fields[key], f"{key} of {form.what}")


def _check_kinds(value: Json, kinds: Kinds, what: str) -> None:
    kind = value.get(kinds.key) if is_object(value) else None
    if not isinstance(kind, str) or kind not in kinds.forms:
        raise Unknown(what, kind if isinstance(kind, str) else _shown(value))
    check_form(value, kinds.forms[kind], {kinds.key: str, **kinds.common})


def _check_any(value: Json, shapes: tuple[Shape, ...], what: str) -> None:
    """
    Raise what the likeliest of *shapes* has to say: the one of the same sort, else none in particular.
    """
    said: Unknown | None = None
    for shape in shapes:
        try:
            return check(value, shape, what)
        except Unknown as error:
            objects = is_object(value) and isinstance(shape, (Form, Each, Kinds))
            if objects or (is_list(value) and isinstance(shape, Items)):
                said = said or error
    raise said or Unknown(what, _shown(value))


def _shown(value: Json) -> Any:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:80]}..."
