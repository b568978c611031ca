"""
RecallSettings: what semantic recall looks for, and where.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from procession.errors import InputError
from procession.messages.value import Value
from procession.storage.vectors import Facts

__all__ = ["RecallGiven", "RecallScope", "RecallSettings", "recall_override", "recall_settings"]

RecallScope: TypeAlias = Literal["thread", "resource"] | None
"""The call's thread, all threads of its resource, or, in so many words, those of every resource (D35)."""


class RecallSettings(Value, kw_only=True):
    """
    What semantic recall looks for, and where.

    >>> RecallSettings(top_k=2, scope="resource").before
    1
    """

    top_k: int = 4
    """How many messages are found."""
    before: int = 1
    """How many messages before each of them come along."""
    after: int = 1
    """How many messages behind each of them come along."""
    scope: RecallScope = "thread"
    """``None`` is every resource."""
    threshold: float | None = None
    """The least cosine that counts, from -1 to 1; ``None`` for any."""
    facts: Facts | None = None
    """What must be true of a message: its ``role``, and the plain values in its metadata by their names."""
    index: str | None = None
    """What its vectors are kept under; ``None`` for a name made of the embedder's id and the length of its vectors."""


RecallGiven: TypeAlias = bool | Mapping[str, Any] | RecallSettings
"""``True`` for what is there by default, ``False`` for none, or what is different, by the names of the settings."""

_NAMES = (*RecallSettings.__fields__, "message_range")


def recall_settings(given: Any, base: RecallSettings | None = None) -> RecallSettings | None:
    """
    Return what ``semantic_recall`` says, laid over *base*; ``None`` for ``False``: nothing is recalled.

    A mapping may have ``message_range``, a count or a mapping of ``before`` and ``after``, in place of these.

    Raises ``InputError`` for what is none of its forms, naming the setting.

    >>> recall_settings({"top_k": 2, "message_range": 0}).after
    0
    """
    base = base if base is not None else RecallSettings()
    if given is False:
        return None
    if given is True:
        return base
    if isinstance(given, Mapping):
        given = base.replace(**_by_name(cast("Mapping[str, Any]", given)))
    if not isinstance(given, RecallSettings):
        raise InputError(
            f"semantic_recall is {type(given).__name__}", hint="give True, False, a mapping or RecallSettings"
        )
    _check(given)
    return given


def recall_override(given: Any) -> Any:
    """
    Return what a call says of ``semantic_recall``, to be laid over what its memory says.

    Raises ``InputError`` for what is none of its forms, and for another index: a memory has one.
    """
    made = recall_settings(given)
    if made is not None and made.index is not None:
        raise InputError("memory option semantic_recall has an index", hint="Memory(semantic_recall={'index': ...})")
    return given


def _by_name(given: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(str(name) for name in given if name not in _NAMES)
    if unknown:
        raise InputError(f"semantic_recall has {unknown[0]!r}", hint=f"there are {', '.join(sorted(_NAMES))}")
    found = dict(given)
    if "message_range" in found:
        both = found.pop("message_range")
        around = cast("Mapping[str, Any]", both) if isinstance(both, Mapping) else {"before": both, "after": both}
        if set(around) - {"before", "after"}:
            raise InputError(
                f"semantic_recall has message_range={both!r}", hint="give a count, or {'before': 1, 'after': 1}"
            )
        found = {**around, **found}
    return found


def _check(settings: RecallSettings) -> None:
    if not _is_count(settings.top_k, 1):
        raise _wrong("top_k", settings.top_k, "give a count of at least 1")
    for name in ("before", "after"):
        if not _is_count(value := getattr(settings, name), 0):
            raise _wrong(name, value, "give a count, 0 for none")
    if settings.scope not in ("thread", "resource", None):
        raise _wrong("scope", settings.scope, "it is 'thread', 'resource', or None for every resource")
    most: Any = settings.threshold
    if most is not None and (
        not isinstance(most, (int, float)) or most is True or most is False or not -1 <= most <= 1
    ):
        raise _wrong("threshold", most, "give a cosine from -1 to 1, or None")
    facts: Any = settings.facts
    if facts is not None and not (
        isinstance(facts, Mapping)
        and all(
            isinstance(name, str) and isinstance(value, (str, int, float, bool))
            for name, value in cast("Mapping[Any, Any]", facts).items()  # type: ignore[redundant-cast]
        )
    ):
        raise InputError("semantic_recall has facts that are none", hint="give texts, numbers and truth values by name")
    index: Any = settings.index
    if index is not None and (not isinstance(index, str) or not index.strip()):
        raise _wrong("index", index, "give a name, or None")


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _wrong(name: str, value: Any, hint: str) -> InputError:
    return InputError(f"semantic_recall has {name}={value!r}", hint=hint)
