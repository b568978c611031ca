"""An agent's lists as workflows: which hooks they serve, and what is told about those that serve none."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.agents.kit import HOOKS, at, spy

from procession.agents.pipelines import Pipelines
from procession.errors import ProcessorDefinitionError
from procession.processors.hooks import Hook
from procession.workflows.workflow import create_workflow


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_has_a_workflow_only_where_somebody_takes_part(hook: str) -> None:
    """Hooks that no processor has cost nothing: there is no workflow to run."""
    lists: dict[str, Any] = {"input": [at(hook, print)], "output": [at(hook, print)]}
    pipelines = Pipelines("parrot", **lists)
    assert [each.value for each in Hook if pipelines.get(each) is not None] == [hook]
    assert (pipelines.stream is not None) is (hook == "process_output_stream")


def test_nested_workflows_take_part() -> None:
    """A workflow in a list serves every hook that a processor in it has."""
    workflow = create_workflow("checks", kind="processor").then(at("process_input", print)).commit()
    assert Pipelines("parrot", input=[workflow]).get(Hook.INPUT) is not None
    assert Pipelines("parrot", input=[workflow]).get(Hook.INPUT_STEP) is None


def test_on_restricts_a_processor_to_hooks() -> None:
    """A node with ``on=`` takes part in those hooks only."""
    workflow = create_workflow("checks", kind="processor").then(spy([]), on=["process_input"]).commit()
    pipelines = Pipelines("parrot", input=[workflow])
    assert pipelines.get(Hook.INPUT) is not None
    assert pipelines.get(Hook.INPUT_STEP) is None


def test_two_of_one_id_are_refused_in_nested_workflows_too() -> None:
    """Two different processors with one id are refused wherever in a list they stand."""
    inner = create_workflow("inner", kind="processor").then(at("process_input", print)).commit()
    outer = create_workflow("outer", kind="processor").then(inner).commit()
    with pytest.raises(ProcessorDefinitionError, match=r"input_processors has two different processors.*'guard'"):
        Pipelines("parrot", input=[at("process_input", print), outer])


def test_one_processor_in_two_lists() -> None:
    """One id may stand in both lists."""
    processor = spy([])
    Pipelines("parrot", input=[processor], output=[processor])
    Pipelines("parrot", input=[spy([])], output=[spy([])])


def test_a_processor_that_never_runs_is_told_of() -> None:
    """A processor none of whose hooks runs in its list is warned about, once."""
    with capture_logs() as logs:
        Pipelines("parrot", input=[at("process_tool_result", print, id="idle")])
        Pipelines("parrot", input=[at("process_tool_result", print, id="idle")])
    assert [(log["processor_id"], log["event"]) for log in logs] == [
        ("idle", "none of its hooks runs in input_processors")
    ]


def test_only_the_user_makes_a_budget() -> None:
    """Failed calls are tried again where the user listed a handler, in any list."""
    handler = at("process_api_error", print)
    assert not Pipelines("parrot").user_handles_errors
    assert not Pipelines("parrot", default_error=[handler]).user_handles_errors
    for listed in ({"input": [handler]}, {"output": [handler]}, {"error": [handler]}):
        lists: dict[str, Any] = {**listed}
        assert Pipelines("parrot", **lists).user_handles_errors


def test_a_listed_handler_takes_the_place_of_the_default() -> None:
    """A default handler that the user lists is not added a second time."""
    pipelines = Pipelines(
        "parrot", error=[at("process_api_error", print)], default_error=[at("process_api_error", print)]
    )
    assert pipelines.error is not None
    assert [node.id for node in pipelines.error.nodes] == ["processor:guard"]
