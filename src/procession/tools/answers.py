"""
Answers to a suspended tool: what they must look like, and reading them strictly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from procession.errors import InputError
from procession.messages.value import Value
from procession.steps.schema import Schema
from procession.tools.json_schema import faults_of
from procession.tools.json_value import json_value

__all__ = ["Question", "check_answer", "read_answer", "schema_as_json"]


class Question(Value, kw_only=True):
    """
    What a tool waits for: what it says, and the JSON schema of the answer, if there is one.
    """

    payload: Any = None
    resume_schema: Mapping[str, Any] | None = None
    label: str | None = None


def schema_as_json(resume_schema: Any) -> Mapping[str, Any] | None:
    """
    Return the JSON schema of an answer: *resume_schema* is one, or a type that pydantic knows.

    Raises ``InputError`` for anything else.
    """
    if resume_schema is None:
        return None
    if isinstance(resume_schema, Mapping):
        found: Mapping[str, Any] = json_value(cast("Mapping[str, Any]", resume_schema))
        return found
    try:
        return Schema(resume_schema).json_schema()
    except Exception as error:
        raise InputError(
            f"{resume_schema!r} says nothing of an answer", hint="give a pydantic model, a type or a JSON schema"
        ) from error


def check_answer(answer: Any, schema: Mapping[str, Any] | None, where: str) -> Any:
    """
    Return *answer* as JSON can say it.

    Raises ``InputError``, which names *where* and what does not fit *schema*, but no value.

    >>> check_answer({"approved": True}, {"type": "object", "required": ["approved"]}, "the answer")
    {'approved': True}
    """
    plain = json_value(answer)
    faults = faults_of(plain, schema) if schema is not None else []
    if faults:
        raise InputError(f"{where} does not fit: {'; '.join(faults)}", hint="see resume_schema of the suspended call")
    return plain


def read_answer(answer: Any, resume_schema: Any, where: str) -> Any:
    """
    Return *answer*, which JSON can say, as *resume_schema* asks for it; nothing is converted but what JSON has no word
    for, such as a date.

    Raises ``InputError`` where it does not fit.
    """
    if resume_schema is None or isinstance(resume_schema, Mapping):
        return check_answer(answer, cast("Mapping[str, Any] | None", resume_schema), where)
    return Schema(resume_schema).validate_json(json.dumps(answer), where=where)
