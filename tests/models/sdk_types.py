"""
A request body against the types that a provider's own SDK has for it, so that one key too many is found as well.

pydantic as it is would not do: an SDK's types ignore keys that they do not know, look into an ``Iterable`` when it is
read, and let a request hold the objects of answers, which take anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_core import SchemaValidator

_NOT_SCHEMAS = frozenset({"config", "metadata", "serialization"})


class RequestTypes:
    """
    The SDK's type of a request, made strict: no unknown keys, nothing converted, everything looked into.
    """

    def __init__(self, params: Any) -> None:
        schema: Any = TypeAdapter(params).core_schema
        self._answers = {one["ref"] for one in schema.get("definitions", ()) if one["type"] == "model"}
        self._validator = SchemaValidator(self._strict(schema))

    def check(self, body: Mapping[str, Any]) -> None:
        """
        Raise ``ValidationError`` where *body* is not what the SDK would send.
        """
        self._validator.validate_python(body, strict=True)

    def _strict(self, schema: Any) -> Any:
        """
        Return a core schema of pydantic's made strict, or ``None`` for that of an object of answers.
        """
        if isinstance(schema, tuple):  # a choice with its label
            return self._strict(schema[0])
        if isinstance(schema, list):
            entries: list[Any] = [*schema]
            return [made for made in map(self._strict, entries) if made is not None]
        if not isinstance(schema, dict):
            return schema
        rules = cast("dict[str, Any]", schema)
        kind = rules.get("type")
        if kind == "model" or rules.get("schema_ref") in self._answers:
            return None
        made = {key: value if key in _NOT_SCHEMAS else self._strict(value) for key, value in rules.items()}
        if kind == "union" and not made["choices"]:
            return None
        if any(key.endswith("schema") and made[key] is None for key in rules):
            return None
        if kind == "typed-dict" and "extra_fields_behavior" not in rules.get("config", {}):
            made["extra_behavior"] = "forbid"
        if kind == "generator":
            made["type"] = "list"
        return made
