"""
The JSON form of an event: what happened, and on request what was said.

Only what is named here is written without a request, so that a new kind of payload is not shown by mistake.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from typing import Any, Final

from procession.errors import ProcessionError
from procession.messages.shapes import is_form, is_items
from procession.messages.tripwire import TripwireInfo
from procession.messages.value import Value

__all__ = ["payload_data", "plain"]

OPEN: Final = frozenset({
    "again", "bailed", "branches", "chosen", "completed", "condition", "conditions", "conflicts", "delay", "index",
    "instead", "kind", "label", "policy", "reason", "round", "skipped", "status", "total", "workflow",
})  # fmt: skip
"""The fields of payloads that hold no text of a user: names, counts, decisions."""
CLOCK: Final = frozenset({"budget", "elapsed", "wakes_at"})
"""The fields that a clock has said."""
DEEPEST: Final = 60


def payload_data(payload: Mapping[str, Any], *, with_values: bool, with_times: bool) -> dict[str, Any]:
    """
    Return the payload of an event as JSON knows it; see ``WorkflowEvent.as_dict``.
    """
    data: dict[str, Any] = {}
    for key, value in payload.items():
        if isinstance(value, BaseException):
            data[key] = _error(value, with_values=with_values)
        elif isinstance(value, TripwireInfo):
            data[key] = _tripwire(value, with_values=with_values)
        elif (key in CLOCK and with_times) or key in OPEN or (with_values and key not in CLOCK):
            data[key] = plain(value)
    return data


def _error(error: BaseException, *, with_values: bool) -> dict[str, Any]:
    cause = error.__cause__
    data: dict[str, Any] = {
        "name": type(error).__name__,
        "code": error.code if isinstance(error, ProcessionError) else None,
        "cause": None if cause is None else type(cause).__name__,
    }
    return data | {"message": str(error)} if with_values else data


def _tripwire(info: TripwireInfo, *, with_values: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"processor_id": info.processor_id, "retry": info.retry}
    if with_values:
        data |= {"reason": info.reason, "metadata": plain(info.metadata), "message": info.message}
    return data


def plain(value: Any, depth: int = 0) -> Any:
    """
    Return *value* as JSON knows it, the same for the same content.

    Values of the library, dataclasses and pydantic models become mappings, sets sorted lists, bytes base64, and what
    JSON has no word for the name of its class alone.

    >>> plain({"ids": (1, 2), "seen": {"b", "a"}, "by": object()})
    {'ids': [1, 2], 'seen': ['a', 'b'], 'by': {'$type': 'object'}}
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Enum):
        return plain(value.value, depth)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if depth > DEEPEST:
        return {"$type": type(value).__name__}
    return _many(value, depth + 1)


def _many(value: Any, deeper: int) -> Any:
    if is_form(value):
        return {str(plain(key, deeper)): plain(one, deeper) for key, one in value.items()}
    if is_items(value):
        return [plain(one, deeper) for one in value]
    if issubclass(type(value), Set):
        items = [plain(one, deeper) for one in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    return _other(value, deeper)


def _other(value: Any, deeper: int) -> Any:
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, BaseException):
        return _error(value, with_values=True)
    if isinstance(value, Value):
        names = [str(name) for name in type(value).__fields__]
        kind: Any = getattr(value, "type", None)
        return ({"type": kind} if isinstance(kind, str) else {}) | {
            name: plain(getattr(value, name), deeper) for name in names
        }
    if isinstance(value, type):
        return {"$type": value.__name__}
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name), deeper) for field in fields(value)}
    dump: Any = getattr(value, "model_dump", None)
    if dump is not None:
        return plain(dump(), deeper)
    return {"$type": type(value).__name__}
