"""Whether a step may end its run with a question."""

from functools import partial, wraps
from typing import Any

import pytest
from pydantic import BaseModel
from tests.workflows.render.sample import Redactor, shout

from procession.errors import WorkflowDefinitionError
from procession.steps.step import Step, StepContext, step
from procession.workflows.describe import graph_spec
from procession.workflows.suspending import can_suspend
from procession.workflows.workflow import create_workflow


@step
async def asks(ctx: StepContext[str]) -> bool:
    return bool(await ctx.suspend({"approve": ctx.input}))


@step
async def asks_inside(ctx: StepContext[str]) -> bool:
    async def ask() -> Any:
        return await ctx.suspend({"approve": ctx.input})

    return bool(await ask())


async def _ask(label: str, ctx: StepContext[str]) -> Any:
    return await ctx.suspend({}, label=label)


class Asker:
    async def __call__(self, ctx: StepContext[str]) -> Any:
        return await ctx.suspend({})


def logged(function: Any) -> Any:
    @wraps(function)
    async def wrapper(ctx: Any) -> Any:
        return await function(ctx)

    return wrapper


@pytest.mark.parametrize(
    "asking",
    [
        asks,
        asks_inside,
        Step[str, Any](id="resumes", resume_type=bool),
        Step[str, Any](id="suspends", suspend_type=str),
        Step[str, Any](id="partial", execute=partial(_ask, "who")),
        Step[str, Any](id="callable", execute=Asker()),
        Step[str, Any](id="wrapped", execute=logged(asks.execute)),
    ],
)
def test_a_call_of_suspend_is_seen(asking: Step[str, Any]) -> None:
    """So is a type of what is asked or answered.  In the function, in one written inside it, and through partials, decorators and callable objects."""
    assert can_suspend(asking)
    assert graph_spec(create_workflow("w", str).then(asking).commit()).node(asking.id).can_suspend


def test_what_does_not_call_it_is_not_marked() -> None:
    """Other steps, empty places and processors are not marked."""
    assert not can_suspend(shout)
    assert not can_suspend(Step[str, str](id="empty"))
    assert not can_suspend(Redactor().as_step())


def test_a_workflow_with_such_a_step_inside_can_suspend() -> None:
    """The node of a nested workflow says what is in it."""
    inner = create_workflow("inner", str).then(asks).commit()
    outer = graph_spec(create_workflow("outer", str).then(inner).commit())
    assert outer.node("inner").can_suspend
    assert not outer.node("@start").can_suspend


def test_the_hash_does_not_depend_on_it() -> None:
    """A question more or less is no other graph."""
    spec = graph_spec(create_workflow("w", str).then(asks).commit())
    plain = spec.replace(nodes=tuple(node.replace(can_suspend=False) for node in spec.nodes))
    assert plain.graph_hash == spec.graph_hash


class Late(BaseModel):
    """A model that is not complete: what it refers to is nowhere."""

    when: "Nowhere"  # type: ignore[name-defined]  # pyright: ignore[reportUndefinedVariable]  # noqa: F821


@pytest.mark.parametrize(("option", "what"), [("resume_type", "answer"), ("suspend_type", "question")])
def test_a_question_that_cannot_be_checked_is_found_at_commit(option: str, what: str) -> None:
    """Types of questions and answers of which no schema can be made are found before a run waits for one."""
    options: Any = {option: Late}
    asking: Step[Any, Any] = Step(id="asking", execute=_asks, **options)
    with pytest.raises(WorkflowDefinitionError, match=f"unsupported-annotation: no schema can be made of the {what}"):
        create_workflow("w", str).then(asking).commit()


async def _asks(ctx: StepContext[str]) -> bool:
    return bool(await ctx.suspend({}))
