"""
Sources: what the fields of a map are made of, as data.

``map({"name": from_step("fetch", "user.name"), "text": template("Hello ${init_data.name}")})``: unlike a function, a source
can be checked when the workflow is committed, drawn, and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias

from procession.errors import DefinitionError
from procession.messages.value import Value
from procession.workflows.paths import Path, parse_path

__all__ = [
    "REQUIRED", "Constant", "Fields", "FromContext", "FromInitData", "FromState", "FromStep", "FromValue", "Source",
    "fields_of", "from_context", "from_init_data", "from_state", "from_step", "from_value", "literal",
]  # fmt: skip


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Any = _Required()
"""Stands for no default: what is missing is an error then."""


class Source(Value):
    """
    Where a value comes from.
    """

    kind: ClassVar[str] = ""

    def describe(self) -> dict[str, Any]:
        """
        Return the source as data.
        """
        return {"from": self.kind}

    def within(self) -> Iterator[Source]:
        """
        Yield the sources that are read for this one: itself.
        """
        yield self


class _At(Source):
    """
    A source with a path in it.
    """

    path: Path = ()
    default: Any = REQUIRED

    def describe(self) -> dict[str, Any]:
        """
        Return the source as data.
        """
        made: dict[str, Any] = {"from": self.kind}
        if self.path:
            made["path"] = list(self.path)
        if self.default is not REQUIRED:
            made["default"] = _shown(self.default)
        return made


class FromStep(_At):
    """
    The output of a step; of several the first that ran.
    """

    kind: ClassVar[str] = "step"
    steps: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """
        Return the source as data.
        """
        return super().describe() | {"steps": list(self.steps)}


class FromInitData(_At):
    """
    The value that the run was started with.
    """

    kind: ClassVar[str] = "init_data"


class FromValue(_At):
    """
    The value that the map is given.
    """

    kind: ClassVar[str] = "value"


class FromState(_At):
    """
    The run's shared state; the path begins with a key of it.
    """

    kind: ClassVar[str] = "state"


class FromContext(_At):
    """
    The values of the request; the path begins with a name of theirs.
    """

    kind: ClassVar[str] = "context"


class Constant(Source):
    """
    A value that is always the same.
    """

    kind: ClassVar[str] = "literal"
    value: Any

    def describe(self) -> dict[str, Any]:
        """
        Return the source as data.
        """
        return {"from": self.kind, "value": _shown(self.value)}


Maker: TypeAlias = Source | Callable[[Any], Any]
"""What a field is made of: a source, or a function of the value."""


class Fields(Value):
    """
    A declarative map: what each field is made of, in the order in which they are made.
    """

    sources: tuple[tuple[str, Maker], ...]

    def reads(self) -> Iterator[tuple[str, Source]]:
        """
        Yield the name of each field and each source in it, those of the holes of a template one by one.
        """
        for name, source in self.sources:
            if isinstance(source, Source):
                yield from ((name, each) for each in source.within())

    def describe(self, function_text: Callable[[Any], str]) -> dict[str, Any]:
        """
        Return what each field is made of as data; *function_text* says what stands for a function.
        """
        return {
            name: source.describe()
            if isinstance(source, Source)
            else {"from": "function", "text": function_text(source)}
            for name, source in self.sources
        }


def fields_of(mapping: Mapping[Any, Any], name: str) -> Fields:
    """
    Return *mapping* as fields of the map *name*.

    Raises ``DefinitionError`` for a mapping without fields, and for what a field cannot be made of.
    """
    for key, source in mapping.items():
        if not isinstance(key, str):
            raise DefinitionError(f"map {name!r} has a field {key!r}", hint="fields are named by text")
        if not (isinstance(source, Source) or callable(source)):
            raise DefinitionError(
                f"map {name!r} makes {key!r} of {type(source).__name__}",
                hint="from_step(), from_init_data(), from_state(), from_context(), template(), a function, or literal(...)",
            )
    if not mapping:
        raise DefinitionError(
            f"map {name!r} has no fields", hint="name at least one: map({'text': from_step('write')})"
        )
    return Fields(tuple(mapping.items()))


def from_step(step: str | tuple[str, ...] | list[str], path: str = "", *, default: Any = REQUIRED) -> FromStep:
    """
    Take the output of a step, or what stands at *path* in it; of several steps the first that ran, as after a branch.

    What is missing is an error when the map runs, unless there is a *default*.

    >>> from procession.workflows.sources import from_step
    >>> from_step("processor:pii", "items[0].text").describe()
    {'from': 'step', 'path': ['items', '0', 'text'], 'steps': ['processor:pii']}
    """
    steps = (step,) if isinstance(step, str) else tuple(step)
    if not steps or not all(steps):
        raise DefinitionError("from_step() names no step", hint='from_step("fetch"), or from_step(["a", "b"])')
    return FromStep(parse_path(path), default, steps)


def from_init_data(path: str = "", *, default: Any = REQUIRED) -> FromInitData:
    """
    Take the value that the run was started with, or what stands at *path* in it.
    """
    return FromInitData(parse_path(path), default)


def from_value(path: str = "", *, default: Any = REQUIRED) -> FromValue:
    """
    Take the value that the map is given, or what stands at *path* in it.
    """
    return FromValue(parse_path(path), default)


def from_state(key: str, path: str = "", *, default: Any = REQUIRED) -> FromState:
    """
    Take what the run's state has under *key*, or what stands at *path* in that.
    """
    return FromState((key, *parse_path(path)), default)


def from_context(name: str, path: str = "", *, default: Any = REQUIRED) -> FromContext:
    """
    Take the value *name* of the request's context, or what stands at *path* in that.
    """
    return FromContext((name, *parse_path(path)), default)


def literal(value: Any) -> Constant:
    """
    Take *value* as it is.
    """
    return Constant(value)


def _shown(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) or value is None else type(value).__name__
