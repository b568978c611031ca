"""
Marks: values that say themselves what they are, as plain JSON types and back.

Plain data stays what it is.  What JSON has no word for is an object with one marked key, such as
``{"$tuple": [1, 2]}``; a dictionary with a key that begins with ``$`` is kept as pairs, so that it is not taken for one.
The types are a closed set, looked up in a table: reading imports nothing and calls nothing that the data names.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum
from pathlib import Path, PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from procession.errors import MessageError
from procession.messages.message_list import MessageList
from procession.messages.serial import from_data, to_data
from procession.messages.shapes import is_dict
from procession.messages.value import Value
from procession.steps.forkable import kept_kinds
from procession.steps.item_error import ItemError
from procession.steps.sameness import difference, place_of

__all__ = ["DEEPEST", "BadMark", "Unmarkable", "marked", "unmarked"]

DEEPEST = 150
"""How many levels of containers a value may have: half of what readers of JSON put up with."""
_SAFE_BITS = 63
_class_of: Callable[[object], Any] = type
_PATHS: dict[str, type[PurePath]] = {
    kind.__name__: kind for kind in (PurePosixPath, PureWindowsPath, Path, PosixPath, WindowsPath)
}


class Unmarkable(Exception):
    """
    A value that is none of the closed set; ``place`` says where it stands, ``reason`` why it cannot be kept.
    """

    def __init__(self, value: Any, reason: str) -> None:
        super().__init__(reason)
        self.value = value
        self.reason = reason
        self.place = ""


class BadMark(ValueError):
    """
    Data with a mark that is not known, or that does not hold what it says.
    """


def marked(value: Any, *, loose: bool = False) -> Any:
    """
    Return *value* as plain JSON types, such that ``unmarked`` gives back an equal one of the same types.

    >>> marked({"at": date(2026, 3, 1), "keys": {1: (True, None)}})
    {'at': {'$date': '2026-03-01'}, 'keys': {'$map': [[1, {'$tuple': [True, None]}]]}}

    With *loose* what is none of the closed set becomes what it resembles, for a reader that knows the type.
    Raises ``Unmarkable`` for anything else.
    """
    return _write(value, 0, loose)


def unmarked(data: Any) -> Any:
    """
    Return what ``marked`` was given.

    Raises ``BadMark`` where *data* is not what ``marked`` writes.
    """
    try:
        return _read(data)
    except BadMark:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise BadMark(f"a mark does not hold what it says: {type(error).__name__}") from None


# --- writing ---------------------------------------------------------------------


def _write(value: Any, depth: int, loose: bool) -> Any:
    write = _WRITERS.get(_class_of(value))
    if write is None:
        return _write_other(value, depth, loose)
    return write(value, depth, loose)


def _itself(value: Any, depth: int, loose: bool) -> Any:
    return value


def _write_int(value: int, depth: int, loose: bool) -> Any:
    return value if value.bit_length() <= _SAFE_BITS else {"$int": hex(value)}


def _write_float(value: float, depth: int, loose: bool) -> Any:
    return value if math.isfinite(value) else {"$float": repr(value)}


def _write_str(value: str, depth: int, loose: bool) -> Any:
    return value if _is_text(value) else {"$text": _base64(value.encode("utf-8", "surrogatepass"))}


def _is_text(value: str) -> bool:
    """
    Whether *value* has no lone surrogates, which UTF-8 has no bytes for.
    """
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode()


def _items(values: Iterable[Any], depth: int, loose: bool) -> list[Any]:
    if depth >= DEEPEST:
        raise Unmarkable(values, f"holds itself, or is nested more than {DEEPEST} levels deep")
    made: list[Any] = []
    try:
        for one in values:
            made.append(_write(one, depth + 1, loose))
    except Unmarkable as error:
        error.place = f"[{len(made)}]{error.place}"
        raise
    return made


def _write_dict(value: dict[Any, Any], depth: int, loose: bool) -> Any:
    if depth >= DEEPEST:
        raise Unmarkable(value, f"holds itself, or is nested more than {DEEPEST} levels deep")
    made: dict[str, Any] = {}
    key: Any = None
    try:
        for key, one in value.items():
            if type(key) is not str or key.startswith("$") or not _is_text(key):
                break
            made[key] = _write(one, depth + 1, loose)
        else:
            return made
    except Unmarkable as error:
        error.place = place_of(key) + error.place
        raise
    return {"$map": _pairs(value, depth, loose)}


def _pairs(value: dict[Any, Any], depth: int, loose: bool) -> list[Any]:
    made: list[Any] = []
    key: Any = None
    try:
        for key, one in value.items():
            made.append([_write(key, depth + 1, loose), _write(one, depth + 1, loose)])
    except Unmarkable as error:
        error.place = place_of(key) + error.place
        raise
    return made


def _write_datetime(value: datetime, depth: int, loose: bool) -> Any:
    return {"$time": _moment(value, value.tzinfo)}


def _write_time(value: time, depth: int, loose: bool) -> Any:
    return {"$clock": _moment(value, value.tzinfo)}


def _moment(value: datetime | time, zone: tzinfo | None) -> Any:
    if not value.fold and (zone is None or (type(zone) is timezone and len(zone.__getinitargs__()) == 1)):  # type: ignore[attr-defined]
        return value.isoformat()
    return {"at": value.replace(tzinfo=None, fold=0).isoformat(), "fold": value.fold, "zone": _zone(value, zone)}


def _zone(value: datetime | time, zone: tzinfo | None) -> Any:
    if zone is None:
        return None
    kind = type(zone)
    if kind is ZoneInfo and zone.key:  # type: ignore[attr-defined]
        return zone.key  # type: ignore[attr-defined]
    offset = zone.utcoffset(None)
    if offset is not None:
        if kind is timezone:
            return [_span(offset), *zone.__getinitargs__()[1:]]  # type: ignore[attr-defined]
        if kind.__name__ == "TzInfo" and kind.__module__.startswith("pydantic_core"):
            return {"pydantic": int(offset.total_seconds())}
    raise Unmarkable(value, f"has a time zone of type {kind.__name__}")


def _span(value: timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


def _write_path(value: PurePath, depth: int, loose: bool) -> Any:
    return {"$path": [type(value).__name__, _write_str(str(value), depth, loose)]}


def _write_other(value: Any, depth: int, loose: bool) -> Any:
    if isinstance(value, (Value, MessageList)):
        return _write_said(value)
    kept_as = getattr(_class_of(value), "kept_as", None)
    if kept_as in kept_kinds:
        return {"$whole": [kept_as, _write(value.whole(), depth + 1, loose)]}
    if loose:
        resembled = _resembled(value)
        if resembled is not value:
            return _write(resembled, depth, loose)
    raise Unmarkable(value, f"is of type {type(value).__name__}, and no annotation says how it is read again")


def _write_said(value: Any) -> Any:
    try:
        text = json.dumps(to_data(value), ensure_ascii=False, allow_nan=False)
    except MessageError as error:
        raise Unmarkable(value, f"cannot be kept: {error.message}") from None
    except RecursionError:
        raise Unmarkable(value, "holds itself, or is nested too deeply") from None
    data = json.loads(text)
    found = difference(value, from_data(data))
    if found is not None:
        refused = Unmarkable(
            found.kept, f"is of type {type(found.kept).__name__}, and would come back as {type(found.read).__name__}"
        )
        refused.place = found.place
        raise refused
    return {"$said": data if _is_text(text) else _write_str(text, 0, False)}


def _resembled(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    for kind in (dict, list, tuple, set, frozenset, str, int, float, bytes):
        if isinstance(value, kind):
            return cast("Any", kind)(value)
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return to_jsonable_python(value)
    except (PydanticSerializationError, ValueError):
        return value


_WRITERS: dict[type, Callable[[Any, int, bool], Any]] = {
    type(None): _itself,
    bool: _itself,
    int: _write_int,
    float: _write_float,
    str: _write_str,
    list: _items,
    dict: _write_dict,
    tuple: lambda value, depth, loose: {"$tuple": _items(value, depth, loose)},
    set: lambda value, depth, loose: {"$set": _items(value, depth, loose)},
    frozenset: lambda value, depth, loose: {"$frozenset": _items(value, depth, loose)},
    bytes: lambda value, depth, loose: {"$bytes": _base64(value)},
    bytearray: lambda value, depth, loose: {"$bytearray": _base64(value)},
    complex: lambda value, depth, loose: {"$complex": [repr(value.real), repr(value.imag)]},
    datetime: _write_datetime,
    date: lambda value, depth, loose: {"$date": value.isoformat()},
    time: _write_time,
    timedelta: lambda value, depth, loose: {"$span": _span(value)},
    Decimal: lambda value, depth, loose: {"$decimal": str(value)},
    UUID: lambda value, depth, loose: {"$uuid": str(value)},
    ItemError: lambda value, depth, loose: {"$failed": [value.type, value.message, value.path, value.index]},
    **dict.fromkeys(_PATHS.values(), _write_path),
}


# --- reading ---------------------------------------------------------------------


def _read(data: Any) -> Any:
    if _class_of(data) is list:
        return [_read(one) for one in data]
    if not is_dict(data):
        return data
    if len(data) == 1:
        ((mark, body),) = data.items()
        if mark.startswith("$"):
            read = _READERS.get(mark)
            if read is None:
                raise BadMark(f"the mark {mark!r} is not known: was it written by a newer version?")
            return read(body)
    return {key: _read(one) for key, one in data.items()}


def _read_said(body: Any) -> Any:
    try:
        return from_data(json.loads(_read(body)) if set(body) == {"$text"} else body)
    except MessageError as error:
        raise BadMark(error.message) from None


def _read_datetime(body: Any) -> datetime:
    if isinstance(body, str):
        return datetime.fromisoformat(body)
    return datetime.fromisoformat(body["at"]).replace(tzinfo=_read_zone(body["zone"]), fold=body["fold"])


def _read_time(body: Any) -> time:
    if isinstance(body, str):
        return time.fromisoformat(body)
    return time.fromisoformat(body["at"]).replace(tzinfo=_read_zone(body["zone"]), fold=body["fold"])


def _read_zone(zone: Any) -> tzinfo | None:
    if zone is None:
        return None
    if isinstance(zone, str):
        return ZoneInfo(zone)
    if is_dict(zone):
        from pydantic_core import TzInfo

        return TzInfo(zone["pydantic"])
    span, *name = zone
    return timezone(timedelta(*span), *name)


_READERS: dict[str, Callable[[Any], Any]] = {
    "$int": lambda body: int(body, 16),
    "$float": float,
    "$text": lambda body: base64.b64decode(body).decode("utf-8", "surrogatepass"),
    "$map": lambda body: {_read(key): _read(one) for key, one in body},
    "$tuple": lambda body: tuple(_read(body)),
    "$set": lambda body: set(_read(body)),
    "$frozenset": lambda body: frozenset(_read(body)),
    "$bytes": base64.b64decode,
    "$bytearray": lambda body: bytearray(base64.b64decode(body)),
    "$complex": lambda body: complex(float(body[0]), float(body[1])),
    "$time": _read_datetime,
    "$date": date.fromisoformat,
    "$clock": _read_time,
    "$span": lambda body: timedelta(*body),
    "$decimal": Decimal,
    "$uuid": UUID,
    "$failed": lambda body: ItemError(*body),
    "$path": lambda body: _PATHS[body[0]](_read(body[1])),
    "$said": _read_said,
    "$whole": lambda body: kept_kinds[body[0]](_read(body[1])),
}
