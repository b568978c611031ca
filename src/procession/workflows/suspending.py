"""
can_suspend(): whether a step may end its run with a question.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CodeType
from typing import Any

from procession.steps.step import Step

__all__ = ["can_suspend"]


def can_suspend(step: Step[Any, Any]) -> bool:
    """
    Return whether *step* has a ``resume_type`` or a ``suspend_type``, or is seen to call ``suspend``.

    Its own code is looked at, not that of what it calls: a step that suspends through a helper must say so by a type.

    >>> from procession.steps.step import StepContext, step
    >>> @step
    ... async def ask(ctx: StepContext[str]) -> bool:
    ...     return bool(await ctx.suspend({"approve": ctx.input}))
    >>> can_suspend(ask)
    True
    """
    if step.resume_type is not None or step.suspend_type is not None:
        return True
    hooks = (getattr(step.owner, hook, None) for hook in sorted(step.hooks)) if step.kind == "processor" else ()
    return any("suspend" in code.co_names for thing in (step.execute, *hooks) for code in _codes(thing))


def _codes(thing: Any) -> Iterator[CodeType]:
    """
    Yield the code of a function, however it is wrapped, and of the functions written inside it.
    """
    while isinstance(thing, functools.partial):
        thing = thing.func
    for _ in range(8):  # a decorator's wrapper is looked through, a circle of them is not followed
        code = getattr(thing, "__code__", None)
        if code is None and not isinstance(thing, type):
            code = getattr(getattr(thing, "__call__", None), "__code__", None)  # noqa: B004
        if isinstance(code, CodeType):
            yield from _with_those_inside(code)
        thing = getattr(thing, "__wrapped__", None)
        if thing is None:
            return


def _with_those_inside(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_those_inside(constant)
