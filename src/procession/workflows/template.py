"""
Template: text with holes that are filled from sources.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from procession.errors import DefinitionError
from procession.workflows.paths import Path, parse_path
from procession.workflows.sources import (
    REQUIRED,
    FromContext,
    FromInitData,
    FromState,
    FromStep,
    FromValue,
    Source,
)

__all__ = ["Template", "filling", "template"]

_HOLE = re.compile(r"\$\$\{|\$\{([^}]*)\}?")
_SCOPES: dict[str, type[FromContext | FromInitData | FromState | FromValue]] = {
    "init_data": FromInitData,
    "value": FromValue,
    "state": FromState,
    "context": FromContext,
}


class Template(Source):
    """
    Text between holes, and the sources of the holes.
    """

    kind: ClassVar[str] = "template"
    text: str
    parts: tuple[str | Source, ...] = ()

    def describe(self) -> dict[str, Any]:
        """
        Return the source as data.
        """
        return {"from": self.kind, "text": self.text}

    def within(self) -> Iterator[Source]:
        """
        Yield the sources of the holes.
        """
        yield from (part for part in self.parts if isinstance(part, Source))


def template(text: str, *, default: Any = REQUIRED) -> Template:
    """
    Make text of *text*, with ``${scope.path}`` filled in; the scopes are ``init_data``, ``value``, ``state``, ``context``
    and ``step``, after which comes the id of a step: ``${step.fetch.title}``, ``${step["a.b"].title}``.

    ``None`` is filled in as nothing, lists and objects as JSON.  What is missing is an error when the map runs, unless
    there is a *default*.  ``$${`` stands for ``${``.

    Raises ``DefinitionError`` for a hole that names nothing.

    >>> from procession.workflows.template import template
    >>> template("Hello ${init_data.user.name}").parts
    ('Hello ', FromInitData(path=('user', 'name')))
    """
    parts: list[str | Source] = []
    end = 0
    for found in _HOLE.finditer(text):
        before = text[end : found.start()]
        end = found.end()
        if found[1] is None:
            parts.append(before + "${")
            continue
        if not found[0].endswith("}"):
            raise DefinitionError(f"a hole of template {text!r} is not closed", hint="${init_data.name}; $${ is ${")
        if before:
            parts.append(before)
        parts.append(_source(found[1], text, default))
    if text[end:]:
        parts.append(text[end:])
    return Template(text, tuple(parts))


def _source(hole: str, text: str, default: Any) -> Source:
    hint = f"a hole begins with one of {', '.join((*_SCOPES, 'step'))}: ${{init_data.name}}, ${{step.fetch.title}}"
    try:
        path: Path = parse_path(hole)
    except DefinitionError as error:
        raise DefinitionError(f"${{{hole}}} in template {text!r}: {error.message}", hint=hint) from None
    scope, rest = (path[0], path[1:]) if path else ("", ())
    if scope == "step" and rest:
        return FromStep(rest[1:], default, rest[:1])
    if scope not in _SCOPES or (scope in ("state", "context") and not rest):
        raise DefinitionError(f"${{{hole}}} in template {text!r} names nothing", hint=hint)
    return _SCOPES[scope](rest, default)


def filling(value: Any) -> str:
    """
    Return what a hole is filled with.

    >>> filling(None), filling("text"), filling({"a": [1, True]})
    ('', 'text', '{"a": [1, true]}')
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None:
        return {name: getattr(value, name) for name in fields}
    return str(value)
