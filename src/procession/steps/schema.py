"""
Schema: pydantic behind one small door.

A schema is made from a type annotation once, when a step or a tool is defined; validating is one bound call.  Nothing
else in the library imports pydantic on its way to a run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import FunctionType
from typing import Any, get_args, get_origin, get_type_hints

from procession.errors import SchemaError

__all__ = ["Schema", "context_types", "misfit", "schema_of"]


class Schema:
    """
    What values may cross a border.

    >>> Schema(int).validate("3", where="step 'count'")
    3
    """

    __slots__ = ("_adapter", "_error", "_validate", "_validate_json", "type")

    def __init__(self, type: Any) -> None:
        from pydantic import TypeAdapter, ValidationError

        self.type = type
        self._adapter: Any = TypeAdapter(type)
        self._validate: Callable[[Any], Any] = self._adapter.validator.validate_python
        self._validate_json: Callable[[str], Any] = self._adapter.validator.validate_json
        self._error = ValidationError

    def validate(self, value: Any, *, where: str, path: str | None = None) -> Any:
        """
        Return *value* as the type asks for it.

        Raises ``SchemaError``, which names *where* and each field at fault but none of the values.
        """
        return self._checked(self._validate, value, where, path)

    def validate_json(self, text: str, *, where: str) -> Any:
        """
        Return what the JSON *text* says as the type asks for it, strictly: nothing is taken for something else.

        Raises ``SchemaError``, as ``validate`` does.
        """
        return self._checked(partial(self._adapter.validate_json, strict=True), text, where, None)

    def validate_strictly(self, value: Any, *, where: str) -> Any:
        """
        Return *value* where it is of the type as it is: nothing is taken for something else.

        Raises ``SchemaError``, as ``validate`` does.

        >>> Schema(tuple[int, ...]).validate_strictly((1, 2), where="the answer")
        (1, 2)
        """
        return self._checked(partial(self._adapter.validate_python, strict=True), value, where, None)

    def _checked(self, check: Callable[[Any], Any], value: Any, where: str, path: str | None) -> Any:
        try:
            return check(value)
        except self._error as error:
            raise misfit(error, self.type, where, path) from None

    def read_json(self, text: str, *, where: str) -> Any:
        """
        Return what the JSON *text* says as the type asks for it, as leniently as the type is.

        Raises ``SchemaError``, as ``validate`` does.

        >>> Schema(tuple[int, ...]).read_json("[1, 2]", where="the answer")
        (1, 2)
        """
        return self._checked(self._validate_json, text, where, None)

    def plain(self, value: Any) -> Any:
        """
        Return what JSON can say of *value*, which fits the schema.
        """
        return self._adapter.dump_python(value, mode="json", by_alias=True, warnings=False)

    def json_schema(self, ref_template: str = "#/$defs/{model}") -> Mapping[str, Any]:
        """
        Return the JSON schema, draft 2020-12; *ref_template* says how it names its parts.
        """
        made: Mapping[str, Any] = self._adapter.json_schema(ref_template=ref_template)
        return made


def misfit(error: Any, type: Any, where: str, path: str | None) -> SchemaError:
    """
    Return what pydantic's *error* says of a value that should be a *type*: each field at fault, and no value.
    """
    faults = [
        f"{'.'.join(str(place) for place in fault['loc']) or 'value'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return SchemaError(f"{where}: {'; '.join(faults)}", path=path, hint=f"expected {_name(type)}", faults=faults)


def _name(type: Any) -> str:
    return getattr(type, "__name__", None) or str(type)


@lru_cache(maxsize=1024)
def _cached(type: Any) -> Schema:
    return Schema(type)


def schema_of(type: Any) -> Schema | None:
    """
    Return the schema of an annotation, or ``None`` where it says nothing or is a class that pydantic cannot check.
    """
    if type is None or type is Any or type is inspect.Parameter.empty or _is_open(type):
        return None
    try:
        return _cached(type)
    except TypeError:  # an annotation that cannot be hashed
        return Schema(type)
    except Exception as error:
        if error.__class__.__name__ == "PydanticSchemaGenerationError":
            return None
        raise


def _is_open(type: Any) -> bool:
    from typing import TypeVar

    return isinstance(type, TypeVar) or any(_is_open(argument) for argument in get_args(type) if argument is not type)


def context_types(function: Callable[..., Any]) -> tuple[Any, Any]:
    """
    Return the types of a step function's input and output, each ``None`` where its annotation does not say.

    ``StepContext[int]`` as the annotation of the only parameter gives ``int``.
    """
    try:
        hints = get_type_hints(function)
    except Exception:  # a name that exists only for the type checker: nothing to check at run time
        return None, None
    output = hints.pop("return", None)
    if isinstance(function, FunctionType) and not hasattr(function, "__wrapped__"):
        parameters = list(function.__code__.co_varnames)  # takes a tenth of the time of a signature
    else:
        parameters = list(inspect.signature(function).parameters)
    context = hints.get(parameters[0]) if parameters else None
    arguments = get_args(context) if get_origin(context) is not None else ()
    return (arguments[0] if arguments and arguments[0] is not Any else None), (output if output is not Any else None)
