"""
Options: what a call of the builder may be given, and what is said of anything else.
"""

from __future__ import annotations

from typing import Any, get_args

from procession.errors import DefinitionError
from procession.messages.shapes import is_form
from procession.steps.budget import Budget
from procession.steps.forkable import MergePolicy
from procession.steps.step import as_step

__all__ = ["check_budget", "check_choice", "check_count", "check_functions", "check_merge", "listed"]

_POLICIES = get_args(get_args(MergePolicy)[0])


def check_choice(what: str, name: str, value: object, choices: Any) -> None:
    """
    Raise ``DefinitionError`` unless *value* is one of *choices*, a ``Literal``.

    >>> from typing import Literal
    >>> check_choice("branch 'route'", "mode", "frist", Literal["all", "first"])
    Traceback (most recent call last):
    procession.errors.definitions.DefinitionError: branch 'route' has mode='frist' (hint: it is 'all' or 'first')
    """
    allowed = get_args(choices)
    if value not in allowed:
        raise DefinitionError(f"{what} has {name}={value!r}", hint=f"it is {' or '.join(map(repr, allowed))}")


def check_merge(what: str, policy: object) -> None:
    """
    Raise ``DefinitionError`` unless *policy* is the name of a merge policy or a function.
    """
    if not (callable(policy) or policy in _POLICIES):
        raise DefinitionError(
            f"{what} has merge={policy!r}",
            hint=f"it is {', '.join(map(repr, _POLICIES))}, or a function of the value before and the outputs",
        )


def check_count(what: str, name: str, value: object) -> None:
    """
    Raise ``DefinitionError`` unless *value* is a whole number of at least 1.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise DefinitionError(f"{what} has {name}={value!r}", hint="it is a whole number, at least 1")


def check_functions(what: str, name: str, value: object) -> None:
    """
    Raise ``DefinitionError`` unless *value* is ``None`` or functions by key.
    """
    if value is None:
        return
    if not is_form(value):
        raise DefinitionError(f"{what} has {name}={value!r}", hint=f'give functions by key: {name}={{"key": function}}')
    for key, function in value.items():
        if not callable(function):
            raise DefinitionError(f"{what} has {name}={{{key!r}: {function!r}}}", hint="give a function of two values")


def check_budget(what: str, budget: object, *, skips: bool = True) -> None:
    """
    Raise ``DefinitionError`` unless *budget* is one that falls back on what can stand in a workflow, and that skips only
    where *skips*.
    """
    if not isinstance(budget, Budget):
        raise DefinitionError(f"{what} has budget={budget!r}", hint="give it a Budget(...)")
    if budget.falls_back_on_step:
        as_step(budget.fallback)
    if budget.on_exceed == "skip" and not skips:
        raise DefinitionError(
            f"{what} has a budget with on_exceed='skip', and its output is needed",
            hint='say on_exceed="fallback" and what is to stand in its place, such as fallback=None',
        )


def listed(what: str, things: Any, example: str) -> list[Any]:
    """
    Return *things* as a list.

    Raises ``DefinitionError`` where a single thing was given instead of a list of them.
    """
    try:
        return list(things)
    except TypeError:
        raise DefinitionError(f"{what} is given {type(things).__name__}, not a list", hint=example) from None
