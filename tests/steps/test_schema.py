"""Schemas: what may cross a border."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from procession.errors import SchemaError
from procession.steps.schema import Schema, schema_of

T = TypeVar("T")


class Order(BaseModel):
    """An order."""

    id: int
    lines: list[str]


def test_values_are_validated_and_converted() -> None:
    """A value comes out as its type asks for it."""
    assert Schema(int).validate("3", where="here") == 3
    assert Schema(Order).validate({"id": 1, "lines": []}, where="here") == Order(id=1, lines=[])


def test_an_error_names_the_field_and_never_the_value() -> None:
    """What does not fit is told by place and field; the value may be private."""
    with pytest.raises(SchemaError) as caught:
        Schema(Order).validate({"id": "secret", "lines": [1]}, where="input of step 'x'", path="w/x")
    message = str(caught.value)
    assert message.startswith("input of step 'x': id:")
    assert "lines.0" in message
    assert "secret" not in message
    assert caught.value.path == "w/x"
    assert caught.value.hint == "expected Order"
    with pytest.raises(SchemaError, match="value:"):
        Schema(int).validate("x", where="here")


@pytest.mark.parametrize("type", [None, Any, T, list[T]])  # type: ignore[valid-type]
def test_what_says_nothing_has_no_schema(type: Any) -> None:
    """``Any``, a type variable and what contains one are not checked."""
    assert schema_of(type) is None


def test_classes_that_pydantic_does_not_know_are_not_checked() -> None:
    """A class of the user's own needs no schema; a known type has one, made once."""

    class Mine:
        pass

    assert schema_of(Mine) is None
    assert schema_of(int) is schema_of(int) is not None
    assert schema_of(Order) is not None


def test_a_schema_can_be_shown() -> None:
    """A schema is JSON schema for whoever needs it so."""
    assert Schema(Order).json_schema()["required"] == ["id", "lines"]
