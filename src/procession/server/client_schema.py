"""
A schema of a client's: the model is told of it, and the client checks the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from procession.errors import SchemaError
from procession.messages.shapes import is_form
from procession.models.answer_schema import AnswerSchema
from procession.models.structured_output import StructuredOutput

__all__ = ["client_output"]


def client_output(schema: Mapping[str, Any]) -> StructuredOutput[Any]:
    """
    Return that an answer is to be as the JSON *schema* of a client says.

    Raises ``DefinitionError`` for what is no JSON schema.

    >>> client_output({"type": "object"}).schema.check({"city": "Paris"})
    {'city': 'Paris'}
    """
    made = StructuredOutput[Any](schema)
    made.schema = _ClientSchema(schema)
    return made


class _ClientSchema(AnswerSchema):
    """
    A schema that a client wrote.

    It is not evaluated here: a pattern, or references in one another, can be made to take for ever, for all.
    """

    __slots__ = ()

    def check(self, value: Any) -> Any:
        """
        Return the value.  Raises ``SchemaError`` for what is no object where one is wanted.
        """
        if not self.wrapped and not is_form(value):
            raise SchemaError("the answer: should be an object", faults=["should be an object"])
        return value
