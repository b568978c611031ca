"""Workflows that change while a run waits (C9, B10): refused with the difference named, or accepted; never half."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.runtime.durable.everything import Death, mortal
from tests.storage.journals import Clock

from procession.errors import DefinitionError, GraphChanged, ProcessionError, SchemaError
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, step
from procession.storage.memory import InMemoryJournal
from procession.workflows.workflow import create_workflow


def adding(name: str, more: int = 1, **options: Any) -> Step[int, int]:
    """Return a step that adds."""

    @step(id=name, **options)
    async def adds(ctx: StepContext[int]) -> int:
        return ctx.input + more

    return adds


@step(resume_type=int)
async def asks(ctx: StepContext[int]) -> int:
    """Wait for a number, and add it."""
    return ctx.input + int(await ctx.suspend("?"))


@step(id="before")
async def of_text(ctx: StepContext[int]) -> str:
    """Give a text, where a number was."""
    return str(ctx.input)


@step(id="asks", resume_type=str)
async def asks_for_text(ctx: StepContext[int]) -> int:
    """Wait for a text, where a number was wanted."""
    return ctx.input + len(await ctx.suspend("?"))


@step(id="asks")
async def asks_of_text(ctx: StepContext[str]) -> int:
    """Take a text."""
    return len(ctx.input) + int(await ctx.suspend("?"))


def as_it_was() -> Any:
    """Return the workflow that runs were begun with: before, asks, after."""
    return create_workflow("w", int).then(adding("before")).then(asks).then(adding("after")).commit()


def step_added() -> Any:
    """Add a step."""
    return (
        create_workflow("w", int).then(adding("before")).then(asks).then(adding("new")).then(adding("after")).commit()
    )


def step_removed() -> Any:
    """Remove the last step."""
    return create_workflow("w", int).then(adding("before")).then(asks).commit()


def step_renamed() -> Any:
    """Give the last step another id."""
    return create_workflow("w", int).then(adding("before")).then(asks).then(adding("afterwards")).commit()


def order_changed() -> Any:
    """Let what came first come last."""
    return create_workflow("w", int).then(adding("after")).then(asks).then(adding("before")).commit()


def type_changed() -> Any:
    """Give another type."""
    return create_workflow("w", int).then(of_text).then(asks_of_text).then(adding("after")).commit()


def answers_changed() -> Any:
    """Wait for another type of answer."""
    return create_workflow("w", int).then(adding("before")).then(asks_for_text).then(adding("after")).commit()


def moved() -> Any:
    """Move the step that waits into a container."""
    inner = create_workflow("inner", int).then(asks).commit()
    return create_workflow("w", int).then(adding("before")).then(inner).then(adding("after")).commit()


def made_parallel() -> Any:
    """Let what came one after the other run at the same time."""
    workflow: Any = create_workflow("w", int).then(adding("before")).parallel([asks, adding("after")])
    return workflow.commit()


CHANGES: dict[Callable[[], Any], str] = {
    step_added: "new",
    step_removed: "after",
    step_renamed: "after",
    order_changed: "before",
    type_changed: "before",
    answers_changed: "the answer to step 'asks' takes string; it took integer",
    moved: "asks",
    made_parallel: "after",
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_is_refused_and_leaves_the_run_as_it_is(change: Callable[[], Any]) -> None:
    """C9: the refusal names what differs, nothing is written, the run is free, and the old workflow goes on with it."""
    store = InMemoryJournal()
    await Runtime(store).run(as_it_was(), 1, run_id="r")
    before = await store.row("r"), await store.entries("r")
    with pytest.raises(GraphChanged) as raised:
        await Runtime(store).resume("r", 10, workflow=change())
    assert any(CHANGES[change] in each for each in raised.value.differences), raised.value.differences
    assert "'w' has changed since run r was begun" in str(raised.value)
    assert "accept_changes" in str(raised.value)
    assert (await store.row("r"), await store.entries("r")) == before
    assert (await Runtime(store).resume("r", 10, workflow=as_it_was())).unwrap() == 13


@pytest.mark.parametrize("change", [step_added, step_removed, step_renamed])
async def test_a_change_is_refused_after_a_crash(change: Callable[[], Any]) -> None:
    """C9: a restart refuses as a resume does, and recover() passes such a run by."""
    clock = Clock()
    store = InMemoryJournal(clock=clock)
    workflow = as_it_was()
    await Runtime(store).run(workflow, 1, run_id="r")
    with pytest.raises(Death):
        await Runtime(mortal(store, 2)).resume("r", 10, workflow=workflow)
    clock.now += 60
    before = await store.row("r"), await store.entries("r")
    with pytest.raises(GraphChanged):
        await Runtime(store).restart("r", workflow=change())
    runtime = Runtime(store)
    runtime.registry.add(change())
    assert await runtime.recover() == []
    assert (await store.row("r"), await store.entries("r")) == before
    assert (await Runtime(store).restart("r", workflow=workflow)).unwrap() == 13


async def test_changes_are_accepted_one_by_one() -> None:
    """Each path that differs must be accepted; with less than all of them the run stays as it is."""
    store = InMemoryJournal()
    await Runtime(store).run(as_it_was(), 1, run_id="r")
    with pytest.raises(GraphChanged) as raised:
        await Runtime(store).resume("r", 10, workflow=step_renamed())
    assert len(raised.value.differences) >= 2
    with pytest.raises(GraphChanged) as raised:
        await Runtime(store).resume("r", 10, workflow=step_renamed(), accept_changes=["afterwards"])
    assert {each.split("'")[1] for each in raised.value.differences} == {"after"}
    both = ["after", "afterwards"]
    assert (await Runtime(store).resume("r", 10, workflow=step_renamed(), accept_changes=both)).unwrap() == 13


async def test_an_accepted_change_that_cannot_be_gone_on_with_leaves_the_run() -> None:
    """Whoever insists on a workflow in which what waits is no longer there, or waits for another type, is told so."""
    store = InMemoryJournal()
    await Runtime(store).run(as_it_was(), 1, run_id="r")
    before = await store.row("r"), await store.entries("r")
    other = create_workflow("w", int).then(adding("before")).then(asks_for_text).then(adding("after")).commit()
    with pytest.raises(SchemaError, match="answer to step 'asks'"):
        await Runtime(store).resume("r", 10, workflow=other, accept_changes=["asks"])
    assert (await store.row("r"), await store.entries("r")) == before


async def test_what_is_kept_must_fit_what_is_insisted_on() -> None:
    """A kept output that no longer fits its step fails the run with that, naming the step; nothing is coerced."""
    store = InMemoryJournal()
    await Runtime(store).run(as_it_was(), 1, run_id="r")
    result = await Runtime(store).resume("r", 10, workflow=type_changed(), accept_changes=["before", "asks"])
    assert result.status == "failed"
    assert isinstance(result.error, SchemaError)
    assert "kept output of step 'before'" in str(result.error)
    assert (await Runtime(store).fork("r", "before", workflow=type_changed())).status == "suspended"


def labels_changed() -> Any:
    """Change what is no part of the graph: labels, descriptions, retries, times, and what steps do."""
    before = adding("before", 50, description="it adds", retry=RetryPolicy(4))
    after = adding("after", 2, timeout=30.0)
    return create_workflow("w", int).then(before).then(asks.replace(description="it asks")).then(after).commit()


async def test_what_is_no_change_of_the_graph_is_no_drift() -> None:
    """Descriptions, retries, time limits and the code of steps may change under a run: the new ones hold from then on."""
    store = InMemoryJournal()
    await Runtime(store).run(as_it_was(), 1, run_id="r")
    result = await Runtime(store).resume("r", 10, workflow=labels_changed())
    assert result.unwrap() == 14
    assert result.steps["before"].output == 2


async def test_forks_run_new_code() -> None:
    """A fork of an old run takes the workflow as it is now, is itself held to that, and the old run stays as it is."""
    store = InMemoryJournal()
    await Runtime(store).run(as_it_was(), 1, run_id="old")
    await Runtime(store).resume("old", 10, workflow=as_it_was())
    before = await store.row("old"), await store.entries("old")
    result = await Runtime(store).fork("old", "new", new_run_id="new", workflow=step_added())
    assert result.unwrap() == 14
    forked = await Runtime(store).fork("old", "asks", new_run_id="waits", workflow=step_added())
    assert list(forked.suspended) == ["asks"]
    with pytest.raises(GraphChanged, match="'new'"):
        await Runtime(store).resume("waits", 10, workflow=as_it_was())
    assert (await Runtime(store).resume("waits", 20, workflow=step_added())).unwrap() == 24
    assert (await store.row("old"), await store.entries("old")) == before


async def test_the_workflow_is_that_of_the_run() -> None:
    """A workflow of another id is refused, and a run whose input no longer fits is left as it is."""
    store = InMemoryJournal()
    await Runtime(store).run(as_it_was(), 1, run_id="r")
    before = await store.row("r"), await store.entries("r")
    other = create_workflow("other", int).then(asks).commit()
    with pytest.raises(DefinitionError, match="one of workflow 'w', not of 'other'"):
        await Runtime(store).resume("r", 10, workflow=other)
    begun: Any = create_workflow("w", list[int])
    typed = begun.then(adding("before").replace(input_type=None))
    typed = typed.then(asks).then(adding("after")).commit()
    with pytest.raises(GraphChanged) as raised:
        await Runtime(store).resume("r", 10, workflow=typed)
    with pytest.raises(ProcessionError, match="kept input of 'w'"):
        await Runtime(store).resume("r", 10, workflow=typed, accept_changes=["", "before", "start", "asks", "after"])
    assert raised.value.differences
    assert (await store.row("r"), await store.entries("r")) == before


async def test_what_has_only_the_id_of_the_workflow_is_refused() -> None:
    """A step under the id of the workflow that a run was begun with does not go on with the run, nor the other way round."""

    @step(id="same", resume_type=int)
    async def asks(ctx: StepContext[int]) -> int:
        return int(await ctx.suspend("?"))

    workflow = create_workflow("same", int).then(asks.replace(id="inside")).commit()
    runtime = Runtime(InMemoryJournal())
    await runtime.run(workflow, 1, run_id="of a workflow")
    await runtime.run(asks, 1, run_id="of a step")  # by now, this is what was run last under that id
    with pytest.raises(GraphChanged, match="was begun with a workflow 'same'"):
        await runtime.resume("of a workflow", 5)
    with pytest.raises(GraphChanged, match="was begun with a single step 'same'"):
        await runtime.resume("of a step", 5, workflow=workflow)
    assert (await runtime.resume("of a workflow", 5, workflow=workflow)).unwrap() == 5
    assert (await runtime.resume("of a step", 6, workflow=asks)).unwrap() == 6
