"""A list of processors, workflows and functions as one workflow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from procession.errors import ProcessorDefinitionError
from procession.processors.chain import chain, owners, processor_steps
from procession.processors.processor import Processor, processor
from procession.steps.step import StepContext, step
from procession.workflows.workflow import create_workflow


class Guard(Processor):
    """A processor with one hook."""

    id = "guard"

    def process_input(self, ctx: Any) -> None:
        """Do nothing."""


def steps_of(*things: Any) -> list[str]:
    """Return the ids of the steps of a list."""
    return [made.id for made in processor_steps(things, where="input_processors")]


def plain(ctx: Any) -> None:
    """Do nothing."""


def refused(*things: Any) -> ProcessorDefinitionError:
    """Return why a list is refused."""
    with pytest.raises(ProcessorDefinitionError) as caught:
        processor_steps(things, where="input_processors")
    return caught.value


def test_what_a_list_may_hold() -> None:
    """Processors, functions made with ``@processor``, their steps, workflows and any object with an id and a hook."""

    class Duck:
        id = "duck"

        def process_input(self, ctx: Any) -> None: ...

    nested = create_workflow("nested", kind="processor").then(Guard(id="inner"))
    assert steps_of(Guard(), processor(hook="process_input")(plain), Guard(id="step").as_step(), nested, Duck()) == [
        "processor:guard", "processor:plain", "processor:step", "nested", "processor:duck",
    ]  # fmt: skip
    assert nested.committed


NAMELESS: Callable[[Any], None] = lambda ctx: None


@pytest.mark.parametrize("function", [plain, NAMELESS])
def test_a_plain_function_is_refused(function: Any) -> None:
    """A function does not say which hook it is for; the error does."""
    error = refused(Guard(), function)
    assert error.message.startswith("input_processors[1]: ")
    assert "plain function" in error.message
    assert "@processor(hook=" in str(error.hint)


@pytest.mark.parametrize("thing", [object(), 3, None, "guard", Guard, partial(plain), {"id": "guard"}])
def test_what_is_no_processor_is_refused(thing: Any) -> None:
    """Whatever is no processor is refused, naming the list and the place in it."""
    assert refused(thing).message.startswith("input_processors[0]")


def test_a_class_in_place_of_an_instance_is_refused() -> None:
    """A processor whose parentheses were forgotten is refused, and told so."""
    error = refused(Guard)
    assert error.message == "input_processors[0]: Guard is a class"
    assert error.hint == "give an instance: Guard(...)"


def test_a_processor_without_an_id_is_refused() -> None:
    """A subclass that has not been given an id is refused."""

    class Nameless(Processor):
        def process_input(self, ctx: Any) -> None: ...

    assert "no string id" in refused(Nameless()).message


def test_what_is_wrong_with_a_processor_is_said_with_its_place() -> None:
    """A misspelt hook is refused with the place in the list and the nearest hook."""

    class Misspelt(Guard):
        def process_outptu_step(self, ctx: Any) -> None: ...

    error = refused(Guard(id="a"), Misspelt())
    assert error.message.startswith("input_processors[1]: ")
    assert error.hint == "did you mean 'process_output_step'?"


def test_a_step_that_is_no_processor_is_refused() -> None:
    """An ordinary step has no hook, and a workflow of such steps neither."""

    @step
    def shout(ctx: StepContext[str]) -> str:
        return ctx.input

    assert "'shout' is no processor" in refused(shout).message
    assert "has no processor in it" in refused(create_workflow("w").then(shout)).message


def test_a_broken_workflow_is_refused() -> None:
    """What ``commit()`` finds in a workflow of a list is said with its place."""
    broken = create_workflow("broken", kind="processor").then(Guard()).then(Guard())
    error = refused(broken)
    assert error.message.startswith("input_processors[0]: ")
    assert "processor:guard" in error.message


@pytest.mark.parametrize("things", ["guard", b"guard", 3, None])
def test_a_list_is_a_list(things: Any) -> None:
    """What is no list is refused as a whole."""
    with pytest.raises(ProcessorDefinitionError, match="input_processors is"):
        processor_steps(things, where="input_processors")


def test_two_of_one_id_are_refused() -> None:
    """Two different processors of one id would share their state; the error names the fix."""
    error = refused(Guard(), Guard(id="other"), Guard())
    assert "'guard'" in error.message
    assert "id=" in str(error.hint)


def test_two_of_one_id_are_refused_in_nested_workflows() -> None:
    """It does not matter how deep in workflows they stand."""
    inner = create_workflow("inner", kind="processor").parallel([Guard(), Guard(id="b")])
    outer = create_workflow("outer", kind="processor").then(inner.commit())
    assert "'guard'" in refused(outer, Guard()).message


def test_owners_are_found_at_any_depth() -> None:
    """The processors behind a list are found in order, nested ones included."""
    guards = [Guard(id=name) for name in "abc"]
    nested = create_workflow("nested", kind="processor").parallel(guards[1:])
    assert list(owners(processor_steps([guards[0], nested], where="x"))) == guards


def test_a_chain() -> None:
    """A list that is not empty is one committed workflow; an empty one is none."""
    workflow = chain(processor_steps([Guard(), Guard(id="b")], where="x"), "list")
    assert workflow is not None
    assert (workflow.id, workflow.committed) == ("list", True)
    assert [node.id for node in workflow.nodes] == ["processor:guard", "processor:b"]
    assert chain([], "list") is None
