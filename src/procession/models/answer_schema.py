"""
AnswerSchema: what an answer must be: any type that pydantic knows, or a plain JSON schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from procession.errors import DefinitionError, SchemaError
from procession.messages.shapes import is_form
from procession.steps.schema import Schema
from procession.tools.json_schema import faults_of

__all__ = ["AnswerSchema", "answer_schema"]

_WRAP = "value"
"""The field in which a model is to put a value that is no object: providers want an object."""
_WHERE = "the answer"
_WORDS = frozenset({"type", "properties", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "items", "$schema"})


class AnswerSchema:
    """
    What an answer must be.

    ``json_schema`` is what the model is told.  It always describes an object: other values are *wrapped* in one.
    """

    __slots__ = ("_adapter", "_rules", "fields", "json_schema", "name", "wrapped")

    def __init__(self, described: Any) -> None:
        """
        Raises ``DefinitionError`` for what is neither a type that pydantic knows nor a JSON schema.
        """
        self._adapter: Schema | None = None
        self._rules: Mapping[str, Any] = {}
        if is_form(described):
            if _WORDS.isdisjoint(described):
                raise DefinitionError(
                    "structured_output is a mapping that is no JSON schema",
                    hint='give {"type": "object", ...}, or StructuredOutput(schema, model=...) where options are meant',
                )
            rules: Mapping[str, Any] = described
            self._rules = rules
            self.name = str(rules.get("title") or "answer")
        elif described is None or isinstance(described, (str, bytes, int, float)):
            raise DefinitionError(
                f"structured_output is {type(described).__name__}", hint="give a pydantic model or a JSON schema"
            )
        else:
            try:
                self._adapter = Schema(described)
                rules = self._adapter.json_schema()
            except Exception as error:
                raise DefinitionError(
                    f"structured_output: {type(error).__name__}: no JSON schema can be made of {_named(described)}",
                    hint="give a pydantic model, another type that pydantic can describe in JSON, or a JSON schema",
                ) from error
            self.name = _named(described)
        root = _root(rules)
        self.wrapped = root.get("type") != "object"
        """Whether the model is to put the value into an object of one field."""
        self.fields: tuple[str, ...] = tuple(root.get("properties") or ()) if not self.wrapped else ()
        self.json_schema = _in_an_object(rules) if self.wrapped else root

    def unwrapped(self, value: Any) -> Any:
        """
        Return what the model meant: the value itself where it was wrapped as the schema asks.
        """
        if self.wrapped and is_form(value) and len(value) == 1 and _WRAP in value:
            return value[_WRAP]
        return value

    def check(self, value: Any) -> Any:
        """
        Return JSON data as the type asks for it; with a plain JSON schema, as it is.

        Raises ``SchemaError``, whose ``faults`` quote none of the values.
        """
        if self._adapter is not None:
            return self._adapter.read_json(json.dumps(value), where=_WHERE)
        faults = faults_of(value, self._rules)
        if faults:
            raise SchemaError(f"{_WHERE}: {'; '.join(faults)}", faults=faults)
        return value

    def given(self, value: Any) -> Any:
        """
        Return a *value* that the application gives, as the type asks for it.

        Raises ``SchemaError`` where it does not fit.
        """
        return self._adapter.validate(value, where=_WHERE) if self._adapter is not None else self.check(value)

    def plain(self, value: Any) -> Any:
        """
        Return what JSON can say of a *value* that fits.
        """
        return self._adapter.plain(value) if self._adapter is not None else value


def _root(rules: Mapping[str, Any]) -> Mapping[str, Any]:
    """
    Return *rules* with a reference at their root replaced by what it stands for.
    """
    ref = rules.get("$ref")
    definitions = rules.get("$defs")
    if not isinstance(ref, str) or not ref.startswith("#/$defs/") or not is_form(definitions):
        return rules
    found = definitions.get(ref.removeprefix("#/$defs/"))
    return {**found, "$defs": definitions} if is_form(found) and "$ref" not in found else rules


def _in_an_object(rules: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = {key: value for key, value in rules.items() if key not in ("$defs", "$schema")}
    made: dict[str, Any] = {
        "type": "object",
        "properties": {_WRAP: inner},
        "required": [_WRAP],
        "additionalProperties": False,
    }
    return {**made, "$defs": rules["$defs"]} if "$defs" in rules else made


def _named(described: Any) -> str:
    return getattr(described, "__name__", None) or "answer"


def answer_schema(described: Any) -> AnswerSchema:
    """
    Return the schema of *described*, made once for each type.
    """
    try:
        return _cached(described)
    except TypeError:  # a mapping, or an annotation that cannot be hashed
        return AnswerSchema(described)


@lru_cache(maxsize=256)
def _cached(described: Any) -> AnswerSchema:
    return AnswerSchema(described)
