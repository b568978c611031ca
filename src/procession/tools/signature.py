"""
Signature: what a model is told of a function, and how its arguments are checked.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_type_hints

from procession.errors import ToolArgumentsError, ToolDefinitionError
from procession.messages.value import Value
from procession.tools.context import ToolContext

__all__ = ["Signature", "read_signature"]


class Signature(Value):
    """
    A function as a tool: its description, the JSON schema of its parameters and the check of its arguments.
    """

    description: str
    parameters: Mapping[str, Any]
    check: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """Returns the arguments as the annotations ask for them, or raises ``ToolArgumentsError``."""
    context: str | None = None
    """The name of the parameter that takes the :class:`ToolContext`."""


def read_signature(function: Callable[..., Any], name: str) -> Signature:
    """
    Read the parameters of *function* from its annotations, defaults and docstring.

    Raises ``ToolDefinitionError`` where a parameter cannot be given by name or its annotation is no schema.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:
        raise ToolDefinitionError(
            f"tool {name!r}: an annotation cannot be read: {error}",
            hint="a name that is imported under TYPE_CHECKING does not exist when the tool is made: import it for real",
        ) from error
    description, told = _read_docstring(inspect.getdoc(function) or "")
    fields: dict[str, Any] = {}
    context: str | None = None
    open_ended = False
    for parameter in inspect.signature(function).parameters.values():
        if _takes_context(parameter, hints.get(parameter.name)):
            context = parameter.name
        elif parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
        else:
            _refuse_if_unusable(parameter, name)
            fields[parameter.name] = _field(parameter, hints.get(parameter.name, Any), told.get(parameter.name))
    schema, check = _checked(name, fields, open_ended)
    return Signature(description, schema, check, context)


def _takes_context(parameter: inspect.Parameter, hint: Any) -> bool:
    kinds = (hint, *get_args(hint))
    if any(isinstance(kind, type) and issubclass(kind, ToolContext) for kind in kinds):
        return True
    return parameter.name == "ctx" and hint is None


def _refuse_if_unusable(parameter: inspect.Parameter, name: str) -> None:
    if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
        raise ToolDefinitionError(
            f"tool {name!r}: a model cannot give {str(parameter)!r}, since it names what it gives",
            hint="use parameters that can be given by name",
        )
    if parameter.name in ("self", "cls") and parameter.annotation is parameter.empty:
        raise ToolDefinitionError(
            f"tool {name!r} is a method that belongs to no object yet",
            hint="make the tool of the bound method, tool(thing.method), or of a function",
        )


def _field(parameter: inspect.Parameter, hint: Any, told: str | None) -> tuple[Any, Any]:
    from pydantic import Field

    options: dict[str, Any] = {} if told is None else {"description": told}
    if parameter.default is not parameter.empty:
        options["default"] = parameter.default
    elif not options:
        return hint, ...
    return hint, Field(**options)


def _checked(
    name: str, fields: dict[str, Any], open_ended: bool
) -> tuple[Mapping[str, Any], Callable[[Mapping[str, Any]], Mapping[str, Any]]]:
    from pydantic import ConfigDict, ValidationError, create_model
    from pydantic.errors import PydanticUserError

    # Parameters become fields by position, so that no parameter's name can clash with what a model class defines.
    names = {f"argument_{index}": field for index, field in enumerate(fields)}
    aliases = {field: made for made, field in names.items()}
    config = ConfigDict(
        extra="allow" if open_ended else "forbid",
        alias_generator=names.__getitem__,
        arbitrary_types_allowed=False,
        title=name,
    )
    try:
        model: Any = create_model(name, __config__=config, **{aliases[field]: fields[field] for field in fields})
        schema = dict(model.model_json_schema())
    except PydanticUserError as error:
        raise ToolDefinitionError(
            f"tool {name!r}: {str(error).splitlines()[0]}",
            hint="annotate parameters with types that JSON can say: str, int, list[...], a pydantic model, ...",
        ) from error
    _tidy(schema)
    validate: Callable[[Any], Any] = model.__pydantic_validator__.validate_python

    def check(args: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            made = validate(args)
        except ValidationError as error:
            raise ToolArgumentsError(name, _faults(error, fields)) from None
        # What was not given is left to the function's own default.  The model's own dicts are read, as its attributes
        # are what they hold and every tool call comes by here.
        values, more = made.__dict__, made.__pydantic_extra__
        given = {names[field]: values[field] for field in made.__pydantic_fields_set__ if field in names}
        return given | more if more else given

    return schema, check


def _faults(error: Any, fields: Mapping[str, Any]) -> list[str]:
    faults: list[str] = []
    for fault in error.errors(include_url=False, include_input=False, include_context=False):
        place = ".".join(str(step) for step in fault["loc"]) or "arguments"
        if fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1:
            known = f": there are {', '.join(fields)}" if fields else ""
            faults.append(f"{place}: is no argument{known}")
        elif fault["type"] == "missing":
            faults.append(f"{place}: is missing")
        else:
            faults.append(f"{place}: {fault['msg']}")
    return faults


def _tidy(schema: dict[str, Any]) -> None:
    """
    Drop the titles that pydantic makes of field names: they tell a model nothing and cost tokens.
    """
    schema.pop("title", None)
    schema.setdefault("properties", {})
    for entry in schema["properties"].values():
        entry.pop("title", None)


_SECTION = re.compile(r"^(?:args|arguments|parameters|params)\s*:?\s*$", re.IGNORECASE)
_OTHER_SECTION = re.compile(
    r"^(?:returns?|yields?|raises|examples?|notes?|warnings?|see also|attributes)\s*:?\s*$", re.IGNORECASE
)
_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_REST_ENTRY = re.compile(r"^:param\s+(?:[^:]*\s)?(\w+)\s*:\s*(.*)$")


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """
    Return the description and what is told of each parameter, in Google's form or reST's.
    """
    description: list[str] = []
    told: dict[str, str] = {}
    section, current, indent = "description", None, 0
    for line in text.splitlines():
        words, depth = line.strip(), len(line) - len(line.lstrip())
        rest = _REST_ENTRY.match(words)
        if rest is not None:
            section, current, indent = "rest", rest[1], depth
            told[rest[1]] = rest[2]
        elif words.startswith(":") and section == "rest":
            current = None
        elif depth == 0 and _SECTION.match(words):
            section, current, indent = "parameters", None, 0
        elif depth == 0 and _OTHER_SECTION.match(words):
            section, current = "other", None
        elif section == "description":
            description.append(line)
        elif section == "parameters" and words and (entry := _ENTRY.match(words)) and (not indent or depth <= indent):
            current, indent = entry[1], depth
            told[entry[1]] = entry[2]
        elif current is not None and words and depth > indent:
            told[current] = f"{told[current]} {words}".strip()
    return "\n".join(description).strip(), told
