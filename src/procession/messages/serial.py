"""
Serial: everything that is said, as plain JSON types and back.

Plain data stays what it is.  What JSON has no word for is an object with one marked key: ``$bytes``, ``$time``,
``$moment`` (a time that nobody gave), ``$tuple``, ``$float``, ``$map`` (a mapping whose keys are no plain texts), ``$error``, and ``$type`` for the values
of this room, whose fields stand beside it unless they have their default.
"""

from __future__ import annotations

import base64
import json
import math
from datetime import datetime
from typing import TYPE_CHECKING, Any

from procession.errors import MessageError, ProcessionError, RunError
from procession.messages import changes, chunks, edits, parts, patch, prompt, splices, tripwire
from procession.messages.message import Message, Moment, SystemMessage
from procession.messages.message_list import MessageList
from procession.messages.parts import Parts
from procession.messages.patch import Edited, Patch
from procession.messages.shapes import is_dict, is_form
from procession.messages.usage import Usage
from procession.messages.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

__all__ = ["from_data", "from_json", "to_data", "to_json"]


def _values(*modules: ModuleType) -> Iterable[type[Value]]:
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Value) and value.__module__ == module.__name__:
                yield value


_KINDS: list[type[Value]] = [
    Message,
    SystemMessage,
    Usage,
    *_values(parts, chunks, prompt, splices, edits, patch, changes, tripwire),
]
_TYPES = {kind.__name__: kind for kind in _KINDS}
"""The values that may be written, by name.  Chunks and parts have different names throughout."""


def to_data(value: Any) -> Any:
    """
    Return *value* (a message, part, chunk, message list, patch, or plain data that holds some) as plain JSON types.

    >>> to_data(Usage(10, 5))
    {'$type': 'Usage', 'input_tokens': 10, 'output_tokens': 5}

    Raises ``MessageError`` for a type that cannot be written, naming it and where it stands.
    """
    return _written(value, "value")


def from_data(data: Any) -> Any:
    """
    Return what ``to_data`` was given.

    Raises ``MessageError`` for a type that is not known, or fields that it does not have.
    """
    return _read(data, "value")


def to_json(value: Any) -> str:
    """
    Return *value* as JSON text; see ``to_data``.
    """
    return json.dumps(to_data(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def from_json(text: str) -> Any:
    """
    Return what ``to_json`` was given.
    """
    return from_data(json.loads(text))


# --- writing ---------------------------------------------------------------------


def _written(value: Any, where: str) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, list):
        return [_written(one, f"{where}[{at}]") for at, one in enumerate(value)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, (tuple, Parts)):
        items = [_written(one, f"{where}[{at}]") for at, one in enumerate(value)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return {"$tuple": items} if isinstance(value, tuple) else items
    if is_form(value):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: _written(one, f"{where}[{key!r}]") for key, one in value.items()}
        return {"$map": [[_written(key, where), _written(one, f"{where}[{key!r}]")] for key, one in value.items()]}
    if isinstance(value, Value):
        return _written_value(value, where)
    if isinstance(value, datetime):
        return {"$moment" if value.__class__ is Moment else "$time": value.isoformat()}
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, MessageList):
        return _list_data(value)
    if isinstance(value, Patch):
        return {
            "$type": "Patch",
            "changes": [_written(one, where) for one in value.changes],
            "system": _written(value.system, where),
        }
    if isinstance(value, Edited):
        return {
            "$type": "Edited",
            "id": value.id,
            "flags": value.flags,
            "edits": [_written(one, where) for one in value.edits],
        }
    if isinstance(value, BaseException):
        code = value.code if isinstance(value, ProcessionError) else None
        return {"$error": {"name": type(value).__name__, "message": str(value), "code": code}}
    raise MessageError(
        f"{where} is of type {type(value).__name__}, which cannot be written as JSON",
        hint="put plain data, bytes or a time there",
    )


def _written_value(value: Value, where: str) -> dict[str, Any]:
    cls = type(value)
    if _TYPES.get(cls.__name__) is not cls:
        raise MessageError(f"{where} is of type {cls.__name__}, which is not known here")
    data: dict[str, Any] = {"$type": cls.__name__}
    for field in cls.__fields__:
        one = getattr(value, field)
        default = cls.__field_defaults__.get(field, data)
        if type(one) is not type(default) or one != default:
            data[field] = _written(one, f"{where}.{field}")
    return data


def _list_data(messages: MessageList) -> dict[str, Any]:
    """
    Return a message list with its sources and system messages as plain JSON types.
    """
    state = messages.state()
    return {"$type": "MessageList", **{name: _written(value, f"list.{name}") for name, value in state.items()}}


# --- reading ---------------------------------------------------------------------


def _read(data: Any, where: str) -> Any:
    if isinstance(data, list):
        return [_read(one, f"{where}[{at}]") for at, one in enumerate(data)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if not is_dict(data):
        return data
    if "$type" in data:
        return _read_value(data["$type"], {key: one for key, one in data.items() if key != "$type"}, where)
    # Not the first key: a store may have changed their order.
    mark = next((key for key in data if key.startswith("$")), None)
    if mark is None:
        return {key: _read(one, f"{where}[{key!r}]") for key, one in data.items()}
    body = data[mark]
    if mark == "$tuple":
        return tuple(_read(body, where))
    if mark == "$time":
        return datetime.fromisoformat(body)
    if mark == "$moment":
        return Moment.fromisoformat(body)
    if mark == "$bytes":
        return base64.b64decode(body)
    if mark == "$float":
        return float(body)
    if mark == "$map":
        return {_read(key, where): _read(one, where) for key, one in body}
    if mark == "$error":
        error = RunError(body["message"])
        error.add_note(f"this was a {body['name']} before it was stored")
        return error
    raise MessageError(f"{where} has the unknown mark {mark!r}")


def _read_value(name: str, data: dict[str, Any], where: str) -> Any:
    fields = {key: _read(one, f"{where}.{key}") for key, one in data.items()}
    try:
        if name == "MessageList":
            return MessageList.from_state(fields)
        if name == "Patch":
            return Patch(fields["changes"], fields["system"])
        if name == "Edited":
            return Edited(fields["id"], fields["flags"], edits=fields["edits"])
        kind = _TYPES.get(name)
        if kind is None:
            raise MessageError(f"{where} is of the unknown type {name!r}", hint="was it written by a newer version?")
        return kind(**fields)
    except (TypeError, KeyError) as error:
        raise MessageError(f"{where} does not fit the type {name!r}: {error}") from error
