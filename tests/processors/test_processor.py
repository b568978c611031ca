"""What counts as a processor, and what is refused and how."""

from __future__ import annotations

from typing import Any

import pytest

from procession.errors import ProcessorDefinitionError
from procession.processors.adapter import processor_step
from procession.processors.hooks import HOOK_NAMES, INPUT_HOOKS, OUTPUT_HOOKS, Hook, nearest_hook
from procession.processors.processor import FunctionProcessor, Processor, processor
from procession.processors.protocols import (
    ErrorProcessor,
    InputProcessor,
    OutputProcessor,
    hook_methods,
    is_processor,
    option,
)


class Plain:
    """A class that derives from nothing of ours."""

    id = "plain"

    def process_input(self, ctx: Any) -> None:
        """Do nothing."""


def test_the_nine_hooks() -> None:
    """There are nine hooks, each named like its method, and each runs in one list or the other."""
    assert [hook.value for hook in Hook] == [
        "process_input", "process_input_step", "process_llm_request", "process_output_stream", "process_api_error",
        "process_llm_response", "process_output_step", "process_tool_result", "process_output_result",
    ]  # fmt: skip
    assert {hook.value for hook in Hook} == HOOK_NAMES
    assert set(Hook) == INPUT_HOOKS | OUTPUT_HOOKS
    assert {Hook.API_ERROR} == INPUT_HOOKS & OUTPUT_HOOKS


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("process_inputs", "process_input"),
        ("process_output", "process_output_step"),
        ("processInput", "process_input"),
        ("process_llm_respose", "process_llm_response"),
        ("process_tools_result", "process_tool_result"),
        ("frobnicate", None),
    ],
)
def test_the_nearest_hook(name: str, nearest: str | None) -> None:
    """A misspelt hook has a nearest one, a word of another kind has none."""
    found = nearest_hook(name)
    assert found == nearest or (
        nearest == "process_output_step" and found is not None and found.startswith("process_output")
    )


def test_any_object_with_an_id_and_a_hook() -> None:
    """An object need not derive from anything: an id and a hook make it a processor."""
    assert is_processor(Plain())
    assert isinstance(Plain(), InputProcessor)
    step = processor_step(Plain())
    assert (step.id, step.kind, step.hooks) == ("processor:plain", "processor", frozenset({"process_input"}))


def test_protocols() -> None:
    """The public protocols tell the three kinds apart by their usual hook."""

    class Out:
        id = "out"

        def process_output_result(self, ctx: Any) -> None: ...

    class Err:
        id = "err"

        def process_api_error(self, ctx: Any) -> None: ...

    assert isinstance(Out(), OutputProcessor)
    assert not isinstance(Out(), InputProcessor)
    assert isinstance(Err(), ErrorProcessor)


@pytest.mark.parametrize("thing", [Plain, object(), None, 3, "guard", print])
def test_what_is_no_processor(thing: Any) -> None:
    """A class, a function and things without id or hook are none."""
    assert not is_processor(thing)


def test_an_id_is_a_text() -> None:
    """An object whose id is no text is refused, and told how to give it one."""

    class Numbered(Plain):
        id = 7  # type: ignore[assignment]

    with pytest.raises(ProcessorDefinitionError, match="has no string id") as caught:
        hook_methods(Numbered())
    assert "id = " in str(caught.value.hint)


def test_a_misspelt_hook_is_refused() -> None:
    """A method named like a hook that is none is refused, naming the nearest."""

    class Misspelt(Plain):
        def process_imput_step(self, ctx: Any) -> None: ...

    with pytest.raises(ProcessorDefinitionError, match="'process_imput_step', which is no hook") as caught:
        hook_methods(Misspelt())
    assert caught.value.hint == "did you mean 'process_input_step'?"


def test_a_processor_without_a_hook_is_refused() -> None:
    """A processor that would do nothing is refused, and told what hooks there are."""

    class Idle(Processor):
        id = "idle"

    with pytest.raises(ProcessorDefinitionError, match="has no hook") as caught:
        Idle().as_step()
    assert "process_output_stream" in str(caught.value.hint)


def test_options_are_no_misspelt_hooks() -> None:
    """The switches whose names begin like hooks' are not taken for any."""

    class Curious(Plain):
        process_data_parts = True
        process_tool_errors = True

    assert set(hook_methods(Curious())) == {Hook.INPUT}
    assert option(Curious(), "process_data_parts")


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("on_error", "stop"), ("timeout", None), ("blocking", False), ("mutates", False), ("redacts", False),
        ("fails_closed", False), ("process_data_parts", False), ("process_tool_errors", False),
        ("uses_stream_parts", False), ("description", ""), ("name", None),
    ],
)  # fmt: skip
def test_defaults_hold_for_every_object(name: Any, default: Any) -> None:
    """An object that derives from nothing has the same defaults as one that derives from ``Processor``."""
    assert option(Plain(), name) == default
    assert getattr(Processor, name) == default


def test_on_error_is_checked() -> None:
    """``on_error`` is one of two words."""

    class Odd(Plain):
        on_error = "ignore"

    with pytest.raises(ProcessorDefinitionError, match="on_error='ignore'"):
        processor_step(Odd())


def test_an_id_may_be_given() -> None:
    """One class may stand twice in a list under two ids."""

    class Twice(Processor):
        id = "twice"

        def process_input(self, ctx: Any) -> None: ...

    assert [Twice().id, Twice(id="again").id, Twice.id] == ["twice", "again", "twice"]
    assert Twice(id="again").as_step().id == "processor:again"
    assert repr(Twice(id="again")) == "Twice(id='again')"


def test_a_callback_may_be_set_later() -> None:
    """``on_violation`` may be given or set after construction."""
    told: list[Any] = []
    made = processor(hook="process_input")(print)
    assert made.on_violation is None
    made.on_violation = told.append
    assert Processor(id="x", on_violation=told.append).on_violation == told.append


def test_a_step_says_what_it_is() -> None:
    """The step carries what pictures and the engine need to know."""

    class Redactor(Processor):
        id = "redactor"
        description = "Hides things."
        mutates = True

        def process_input(self, ctx: Any) -> None: ...
        def process_output_stream(self, ctx: Any) -> Any: ...

    owner = Redactor()
    step = owner.as_step()
    assert (step.description, step.mutates, step.owner) == ("Hides things.", True, owner)
    assert step.hooks == {"process_input", "process_output_stream"}


def test_a_function_becomes_a_processor() -> None:
    """``@processor`` makes a processor of a function: its name the id, its docstring the description."""

    @processor(hook="process_output_step")
    def check_tone(ctx: Any) -> None:
        """Look at the tone."""

    assert isinstance(check_tone, FunctionProcessor)
    assert (check_tone.id, check_tone.description) == ("check-tone", "Look at the tone.")
    assert set(hook_methods(check_tone)) == {Hook.OUTPUT_STEP}
    assert processor(hook=Hook.INPUT, id="other")(print).id == "other"


@pytest.mark.parametrize(("hook", "hint"), [("process_inptu", "did you mean 'process_input'?"), ("x", "the hooks are")])
def test_a_function_needs_a_hook_that_exists(hook: str, hint: str) -> None:
    """A hook that does not exist is refused where the function is decorated."""
    with pytest.raises(ProcessorDefinitionError, match="is no hook") as caught:
        processor(hook=hook)
    assert str(caught.value.hint).startswith(hint)
