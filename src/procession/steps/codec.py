"""
Codec: how a value is kept as JSON, and read again as one that is equal and of the same types throughout.

What the annotation says is written and read by pydantic.  What nothing is said of is kept where it says itself what it is:
``None``, ``bool``, ``int``, ``float``, ``complex``, ``str``, ``bytes``, ``bytearray``, ``list``, ``dict`` with any keys,
``tuple``, ``set``, ``frozenset``, ``datetime``, ``date``, ``time``, ``timedelta``, ``Decimal``, ``UUID``, paths, and the
values of the ``messages`` room.  No class is looked up by a name in the data, and nothing is pickled.

A typed value is read again when it is written, and compared: what would come back as something else (another arm of a
union, a base class, a secret as stars, a field that is left out) is refused then, and not when it is needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn, get_args, get_origin

from procession.errors import SchemaError, UntypedValue
from procession.messages.shapes import is_dict
from procession.steps.marks import BadMark, Unmarkable, marked, unmarked
from procession.steps.sameness import Difference, difference
from procession.steps.schema import misfit

__all__ = ["Codec", "codec_of"]

_MARKED = "$kept"
"""The only key of what is kept by marks under an annotation, as JSON by pydantic would not have done."""
_OPEN = (None, Any, object, inspect.Parameter.empty)
_NATIVE: tuple[Any, ...] = (int, float, str, bool, bytes)
_CONTAINERS: tuple[Any, ...] = (dict, list, tuple, set, frozenset)


class Codec:
    """
    Keeps the values of one annotation; ``codec_of`` makes it once for each.

    >>> from datetime import date
    >>> codec = codec_of(dict[str, date])
    >>> codec.encode({"from": date(2026, 3, 1)}, where="output of step 'x'")
    {'from': '2026-03-01'}
    >>> codec.decode({"from": "2026-03-01"}, where="output of step 'x'")
    {'from': datetime.date(2026, 3, 1)}
    >>> codec_of(None).encode({"from": date(2026, 3, 1)}, where="output of step 'x'")
    {'from': {'$date': '2026-03-01'}}
    """

    __slots__ = ("_kind", "_typed", "type")

    def __init__(self, annotation: Any) -> None:
        self.type = annotation
        self._kind: type | None = None
        """The class that values must be of, where it is all that the annotation says."""
        self._typed: _Typed | None = None
        if not any(annotation is one for one in _OPEN):
            self._kind = _only_class(annotation)
            self._typed = None if self._kind is not None else _typed(annotation)

    def encode(self, value: Any, *, where: str, path: str | None = None) -> Any:
        """
        Return *value* as ``dict``, ``list``, ``str``, ``int``, ``float``, ``bool`` and ``None``, all of them new.

        *where* is what the value is, as an error says it; *path* the step's.  Raises ``UntypedValue``, which names the
        field, where the value could not be read again as what it is.
        """
        if self._typed is not None:
            return self._typed.encode(value, where, path)
        if self._kind is not None and type(value) is not self._kind:
            _refuse(
                where,
                path,
                Difference("", value, None),
                f"is of type {type(value).__name__}, and annotated as {self._kind.__name__}",
            )
        try:
            return marked(value)
        except Unmarkable as error:
            _refuse(where, path, Difference(error.place, error.value, None), error.reason)

    def decode(self, data: Any, *, where: str, path: str | None = None) -> Any:
        """
        Return what ``encode`` was given; *data* may have been through ``json.dumps`` and ``json.loads``.

        Raises ``SchemaError`` where *data* does not fit the annotation.
        """
        try:
            if self._typed is not None:
                return self._typed.decode(data, where, path)
            value = unmarked(data)
        except BadMark as error:
            raise SchemaError(f"{where} cannot be read again: {error}", path=path) from None
        if self._kind is not None and type(value) is not self._kind:
            name = self._kind.__name__
            raise SchemaError(
                f"{where}: value: a {type(value).__name__} is kept for it", path=path, hint=f"expected {name}"
            )
        return value


class _Typed:
    """
    What pydantic writes and reads of one annotation.
    """

    __slots__ = ("_dump", "_dump_json", "_error", "_read", "_read_json", "_to_json", "_type")

    def __init__(self, annotation: Any, adapter: Any) -> None:
        from pydantic import ValidationError
        from pydantic_core import to_json

        self._to_json = to_json
        self._type = annotation
        self._error = ValidationError
        # Bound once: what a call costs is mostly looking things up.
        self._dump_json: Callable[..., bytes] = adapter.serializer.to_json
        self._dump: Callable[..., Any] = adapter.serializer.to_python
        self._read_json: Callable[..., Any] = adapter.validator.validate_json
        self._read: Callable[..., Any] = adapter.validator.validate_python

    def encode(self, value: Any, where: str, path: str | None) -> Any:
        # By the names of the fields, and without what is computed: aliases for reading and for writing may differ.
        try:
            text = self._dump_json(value, by_alias=False, round_trip=True, warnings=False)
            again = self._read_json(text, by_alias=False, by_name=True)
            if difference(value, again) is None and text.find(b"NaN") < 0 and text.find(b"Infinity") < 0:
                data = self._dump(value, mode="json", by_alias=False, round_trip=True, warnings=False)
                if not (is_dict(data) and _MARKED in data):
                    return data
        except Exception:  # whatever a validator raises: JSON has no words for this value
            pass
        return self._encode_marked(value, where, path)

    def _encode_marked(self, value: Any, where: str, path: str | None) -> Any:
        """
        Keep what pydantic makes of *value* in Python, where JSON would lose its types.
        """
        try:
            tree = self._dump(value, mode="python", by_alias=False, round_trip=True, warnings=False)
            data = {_MARKED: marked(tree, loose=True)}
        except Unmarkable as error:
            _refuse(where, path, Difference(error.place, error.value, None), error.reason)
        except Exception as error:
            _refuse(where, path, Difference("", value, None), f"cannot be written: {type(error).__name__}")
        try:
            again = self._read(unmarked(data[_MARKED]), by_alias=False, by_name=True)
        except self._error as error:
            faults = misfit(error, self._type, "", None).faults
            reason = f"would not be read again, as {self._type!r} refuses what is written: {'; '.join(faults)}"
            _refuse(where, path, Difference("", value, None), reason)
        except Exception as error:
            _refuse(where, path, Difference("", value, None), f"would not be read again: {type(error).__name__}")
        found = difference(value, again)
        if found is None:
            return data
        was, becomes = type(found.kept).__name__, type(found.read).__name__
        came = f"as {becomes}" if was != becomes else "with another content"
        _refuse(where, path, found, f"is of type {was}, and would come back {came}")

    def decode(self, data: Any, where: str, path: str | None) -> Any:
        try:
            if is_dict(data) and _MARKED in data:
                return self._read(unmarked(data[_MARKED]), by_alias=False, by_name=True)
            return self._read_json(self._to_json(data), by_alias=False, by_name=True)
        except self._error as error:
            raise misfit(error, self._type, where, path) from None


def _refuse(where: str, path: str | None, found: Difference, reason: str) -> NoReturn:
    raise UntypedValue(f"{where}{found.place} {reason}", path=path, hint=_hint(found)) from None


def _hint(found: Difference) -> str:
    name = type(found.kept).__name__
    if name.startswith("Secret") or hasattr(found.kept, "get_secret_value"):
        return "a secret is not written down: pass it in the request context, or leave it out of what a step returns"
    if name == type(found.read).__name__:
        return "leave out of the model what is excluded, private or changed by a validator, or return plain data"
    if hasattr(found.read, "__pydantic_fields__"):
        return f"annotate it as what it is (`-> {name}`), or as a union of models with a discriminator"
    if callable(found.kept) or hasattr(found.kept, "read"):
        return "return plain data, and make the rest of it in the step that needs it"
    return f"annotate the step's output as what it is, e.g. `-> {name}`"


def _only_class(annotation: Any) -> Any:
    """
    Return the built-in class that *annotation* names without saying anything of what is in it, else ``None``.
    """
    if any(annotation is one for one in (*_CONTAINERS, *_NATIVE)):
        return annotation
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is dict and inside[0] is str:
        inside = inside[1:]
    return (
        origin if origin in _CONTAINERS and all(one is Any or one is object or one is ... for one in inside) else None
    )


def _typed(annotation: Any) -> _Typed | None:
    """
    Return what pydantic does for *annotation*, or ``None`` where it knows nothing of it.
    """
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter
    from pydantic.errors import PydanticSchemaGenerationError

    try:
        return _Typed(annotation, TypeAdapter(annotation))
    except PydanticSchemaGenerationError:
        pass
    except PydanticUserError:  # such as a ``typing.TypedDict`` before Python 3.12
        return None
    try:  # of classes that pydantic does not know, such as a message, it checks that a value is one
        return _Typed(annotation, TypeAdapter(annotation, config=ConfigDict(arbitrary_types_allowed=True)))
    except (PydanticUserError, PydanticSchemaGenerationError):
        return None


@lru_cache(maxsize=1024)
def _cached(annotation: Any, written: str) -> Codec:
    return Codec(annotation)


def codec_of(annotation: Any) -> Codec:
    """
    Return the codec of an annotation; ``None`` and ``Any`` say nothing of the value.

    >>> codec_of(int) is codec_of(int)
    True
    """
    try:
        return _cached(annotation, repr(annotation))  # ``int | str`` is equal to ``str | int``, and read otherwise
    except TypeError:  # an annotation that cannot be hashed
        return Codec(annotation)
