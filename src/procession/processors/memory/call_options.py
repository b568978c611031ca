"""
What a call may say differently from its memory, and what each of these must be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from procession.errors import InputError
from procession.processors.memory.history_limit import history_limit

__all__ = ["checked_options"]


def _flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise InputError(f"memory option {name} is {value!r}", hint="give True or False")


def _recall(name: str, value: Any) -> Any:
    from procession.processors.memory.recalled.settings import recall_override

    return recall_override(value)


def _title(name: str, value: Any) -> Any:
    from procession.processors.memory.titles.settings import title_override

    return title_override(name, value)


_OPTIONS: Mapping[str, Callable[[str, Any], Any]] = {
    "dedupe_resent": _flag,
    "generate_title": _title,
    "last_messages": lambda name, value: history_limit(value),
    "observational": _flag,
    "read_only": _flag,
    "save_per_step": _flag,
    "semantic_recall": _recall,
    "working_memory": _flag,
}
"""By the name of ``Memory``'s option, in the order of the alphabet: returns what is kept of the value, or raises."""


def checked_options(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """
    Return the ``memory_options`` of a call, each as its processor takes it.

    Raises ``InputError`` for an option that does not exist, and for a value that it cannot have.
    """
    if not given:
        return {}
    unknown = sorted(str(name) for name in given if name not in _OPTIONS)
    if unknown:
        raise InputError(f"unknown memory option {unknown[0]!r}", hint=f"there are {', '.join(_OPTIONS)}")
    return {name: _OPTIONS[name](name, value) for name, value in given.items()}
