"""
ItemError: what stands in the list of a ``foreach`` for an item that failed, where failures are collected.
"""

from __future__ import annotations

from typing import Any

from procession.errors import StepError
from procession.messages.value import Value

__all__ = ["ItemError"]


class ItemError(Value):
    """
    An item that failed: the name of the exception's class, its message, where it was raised and which item it was.

    It is data, and goes through JSON; ``error`` is the exception itself where it was raised in this process.

    >>> from procession.steps.item_error import ItemError
    >>> ItemError.of(ValueError("no number"), path="parse[2]", index=2)
    ItemError(type='ValueError', message='no number', path='parse[2]', index=2)
    """

    type: str
    message: str
    path: str
    """Of the step that failed: ``parse[2]``, or deeper where the body is a workflow."""
    index: int
    """Of the item in the list, from 0."""
    error: Exception | None = None

    @classmethod
    def of(cls, error: Exception, *, path: str, index: int) -> ItemError:
        """
        Return what stands for *error*: for the exception of the step's own code, where the engine has wrapped it.
        """
        cause = error.__cause__
        found = cause if isinstance(error, StepError) and isinstance(cause, Exception) else error
        return cls(found.__class__.__name__, str(found), path, index, found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ItemError) and self._data() == other._data()

    def __hash__(self) -> int:
        return hash(tuple(self._data().values()))

    def __repr__(self) -> str:
        return f"ItemError({', '.join(f'{field}={value!r}' for field, value in self._data().items())})"

    def _data(self) -> dict[str, Any]:
        return {"type": self.type, "message": self.message, "path": self.path, "index": self.index}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        text, number = core_schema.str_schema(), core_schema.int_schema()
        fields = {"type": text, "message": text, "path": text, "index": number}
        data = core_schema.typed_dict_schema({key: core_schema.typed_dict_field(kind) for key, kind in fields.items()})
        read = core_schema.no_info_after_validator_function(_read, data)
        return core_schema.json_or_python_schema(
            json_schema=read,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), read]),
            serialization=core_schema.plain_serializer_function_ser_schema(_written, return_schema=data),
        )


def _read(data: dict[str, Any]) -> ItemError:
    return ItemError(**data)


def _written(error: ItemError) -> dict[str, Any]:
    return {"type": error.type, "message": error.message, "path": error.path, "index": error.index}
