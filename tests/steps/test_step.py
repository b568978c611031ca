"""Steps: what can stand in a workflow, and what a function says of itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest

from procession.errors import DefinitionError
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, SupportsStep, as_step, step


@step
async def shout(ctx: StepContext[str]) -> list[str]:
    """
    Say it loudly.
    """
    return [ctx.input.upper()]


def test_a_function_says_what_step_it_is() -> None:
    """Name, annotations, docstring and place of a function become the step's."""
    assert (shout.id, shout.kind, shout.description) == ("shout", "step", "Say it loudly.")
    assert (shout.input_type, shout.output_type) == (str, list[str])
    assert shout.source is not None
    assert shout.source.startswith(f"{__file__}:")


def test_options_are_kept() -> None:
    """Id, retry, timeout, thread and description may be given with the decorator."""
    policy = RetryPolicy(2)

    @step(id="other", retry=policy, timeout=1.5, blocking=True, description="Other.")
    def function(ctx: StepContext[Any]) -> None: ...

    assert (function.id, function.retry, function.timeout, function.blocking) == ("other", policy, 1.5, True)
    assert (function.description, function.input_type) == ("Other.", None)


def test_what_an_annotation_does_not_say_is_not_known() -> None:
    """Without annotations, with ``Any``, or where they cannot be read, a step has no types."""

    def bare(ctx: Any) -> Any:
        return ctx.input

    def unreadable(ctx: StepContext[int]) -> int:
        return ctx.input

    unreadable.__annotations__["return"] = "Nothing"
    for function in (bare, unreadable):
        made: Step[Any, Any] = step(function)
        assert (made.input_type, made.output_type) == (None, None)


def test_a_renamed_step_is_the_same_step() -> None:
    """``renamed`` changes the id alone."""
    other = shout.renamed("again")
    assert other.id == "again"
    assert other.replace(id="shout") == shout
    assert shout.as_step() is shout


def test_anything_with_as_step_can_stand_in_a_workflow() -> None:
    """``as_step`` asks for a method of that name, or makes a step of a function that has a name."""

    class Thing:
        def as_step(self) -> Step[str, list[str]]:
            return shout

    def function(ctx: StepContext[int]) -> int:
        return ctx.input

    assert isinstance(Thing(), SupportsStep)
    assert as_step(Thing()) is shout
    assert as_step(function).id == "function"


NAMELESS: Callable[[Any], Any] = lambda ctx: ctx


@pytest.mark.parametrize("thing", [NAMELESS, 3, "name", Step, None, print])
def test_anything_else_is_refused(thing: Any) -> None:
    """A lambda, a class or a value is no step; the error says what would be."""
    with pytest.raises(DefinitionError, match="as_step"):
        as_step(thing)


async def rows(ctx: StepContext[str]) -> Any:
    """Yield rows."""
    yield ctx.input


def test_a_function_that_yields_is_refused() -> None:
    """A call of a generator function runs nothing of it, so that the step would have succeeded without a stroke."""
    for make in (step, as_step, step(id="rows")):
        with pytest.raises(DefinitionError, match="rows.* is a generator function.*ctx.emit"):
            make(rows)


def test_a_step_cannot_be_changed() -> None:
    """A step is a value."""
    with pytest.raises(AttributeError, match="replace"):
        shout.id = "x"  # type: ignore[misc]
    assert inspect.iscoroutinefunction(shout.execute)


def test_methods_and_wrapped_functions_have_types() -> None:
    """The types of a bound method and of a decorated function are those of what is called in the end."""

    class Thing:
        def method(self, ctx: StepContext[int]) -> str:
            return str(ctx.input)

    def decorate(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @wraps(function)
        def wrapper(whatever: Any) -> Any:
            return function(whatever)

        return wrapper

    def plain(ctx: StepContext[int]) -> str:
        return str(ctx.input)

    assert (step(Thing().method).input_type, step(Thing().method).output_type) == (int, str)
    assert (step(decorate(plain)).input_type, step(decorate(plain)).output_type) == (int, str)
