"""
Options of built-in processors, checked where they are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from procession.errors import ProcessorDefinitionError

__all__ = ["a_detector", "a_flag", "listed", "on_error_of", "one_of", "seconds", "share", "some_of", "whole_number"]


def one_of(name: str, option: str, value: Any, allowed: Sequence[str]) -> Any:
    """
    Return *value*, the *option* of the class *name*, if it is *allowed*; raises ``ProcessorDefinitionError`` if not.
    """
    if value not in allowed:
        raise ProcessorDefinitionError(
            f"{name} has {option}={value!r}", hint=f"it is one of {', '.join(repr(each) for each in allowed)}"
        )
    return value


def some_of(name: str, option: str, values: Any, allowed: Sequence[str]) -> tuple[str, ...]:
    """
    Return *values*, the *option* of the class *name*, if all are *allowed*; raises ``ProcessorDefinitionError`` if not.
    """
    if isinstance(values, str):
        values = (values,)
    return tuple(one_of(name, option, value, allowed) for value in listed(name, option, values))


def listed(name: str, option: str, values: Any) -> tuple[Any, ...]:
    """
    Return *values*, the *option* of the class *name*, if they are several; raises ``ProcessorDefinitionError`` if not.
    """
    try:
        return tuple(values)
    except TypeError:
        raise ProcessorDefinitionError(f"{name} has {option}={values!r}", hint="give a list") from None


def a_flag(name: str, option: str, value: Any) -> bool:
    """
    Return *value*, the *option* of the class *name*, if it is a truth value; raises ``ProcessorDefinitionError`` if not:
    the text ``"no"`` would count as true.
    """
    if isinstance(value, bool):
        return value
    raise ProcessorDefinitionError(f"{name} has {option}={value!r}", hint="give True or False")


def a_detector(name: str, value: Any) -> Any:
    """
    Return *value*, the ``detector`` of the class *name*, if it can be asked; raises ``ProcessorDefinitionError`` if not.
    """
    if callable(getattr(value, "detect", None)):
        return value
    raise ProcessorDefinitionError(
        f"{name} has a detector that has no method detect: {type(value).__name__}",
        hint="give an object with async detect(text, *, scope), which returns a Verdict",
    )


def share(name: str, option: str, value: Any) -> float:
    """
    Return *value*, the *option* of the class *name*, if it is a number from 0 to 1; raises ``ProcessorDefinitionError``
    if not.
    """
    if isinstance(value, (int, float)) and 0 <= value <= 1:
        return value
    raise ProcessorDefinitionError(f"{name} has {option}={value!r}", hint="it is between 0 and 1")


def whole_number(name: str, option: str, value: Any, *, least: int = 1) -> int:
    """
    Return *value*, the *option* of the class *name*, if it is a whole number of at *least* that; raises
    ``ProcessorDefinitionError`` if not.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise ProcessorDefinitionError(f"{name} has {option}={value!r}", hint=f"it is a whole number, at least {least}")


def on_error_of(
    name: str, on_error: Literal["stop", "skip"] | None, error_strategy: Literal["strict", "warn"] | None
) -> Literal["stop", "skip"] | None:
    """
    Return what an exception does, given also in the documents' words: ``strict`` stops, ``warn`` leaves it out.

    Raises ``ProcessorDefinitionError`` where the class *name* is told both, or neither of these words.
    """
    if error_strategy is None:
        return on_error
    if on_error is not None:
        raise ProcessorDefinitionError(
            f"{name} has on_error={on_error!r} and error_strategy={error_strategy!r}", hint="give one of them"
        )
    return "stop" if one_of(name, "error_strategy", error_strategy, ("strict", "warn")) == "strict" else "skip"


def seconds(name: str, option: str, value: Any) -> float:
    """
    Return *value*, the *option* of the class *name*, if it is a time that ends; raises ``ProcessorDefinitionError`` if not.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf"):
        return value
    raise ProcessorDefinitionError(f"{name} has {option}={value!r}", hint="it is a number of seconds, more than 0")
