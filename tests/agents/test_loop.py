"""The loop as a workflow that can be looked at."""

from __future__ import annotations

from typing import Any

from tests.agents.kit import HOOKS, at, spy

from procession.agents.agent import Agent
from procession.processors.memory.memory import Memory
from procession.testing.fake_model import FakeModel
from procession.workflows.nodes import LoopNode, Node
from procession.workflows.render.draw import draw
from procession.workflows.workflow import Workflow, create_workflow


def nodes_of(agent: Agent) -> tuple[list[str], list[str]]:
    """Return the ids of the loop's nodes and of the nodes inside its step."""
    loop = next(node for node in agent.workflow.nodes if isinstance(node, LoopNode))
    body = loop.body.step.body
    assert isinstance(body, Workflow)
    inner: tuple[Node, ...] = body.nodes
    return [node.id for node in agent.workflow.nodes], [node.id for node in inner]


def test_one_node_per_hook() -> None:
    """The loop has one node for each hook in the order of firing, and one loop node for the steps."""
    outer, inner = nodes_of(Agent("parrot", model=FakeModel("x")))
    assert outer == ["process_input", "step", "process_output_result", "finish"]
    assert inner == [
        "process_input_step", "process_llm_request", "model-call", "process_output_stream", "process_llm_response",
        "process_api_error", "process_output_step", "tool-calls", "process_tool_result", "step-finish",
    ]  # fmt: skip
    assert {node for node in (*outer, *inner) if node.startswith("process_")} == set(HOOKS)


def test_the_loop_is_an_acyclic_graph() -> None:
    """The workflow carries the agent's id and is a graph like any other."""
    workflow = Agent("parrot", model=FakeModel("x")).workflow
    assert workflow.id == "parrot"
    assert workflow.committed
    edges = set(workflow.graph.edges)
    assert ("step/model-call", "step/process_output_stream") in edges


def test_processors_are_drawn_where_they_run() -> None:
    """A picture of the loop has every processor under the node of its hook, nested workflows included."""
    nested = (
        create_workflow("checks", kind="processor").parallel([at("process_output_step", print, id="tone")]).commit()
    )
    agent = Agent(
        "parrot", model=FakeModel("x"),
        input_processors=[at("process_input", print, id="pii")], output_processors=[nested],
    )  # fmt: skip
    lines = [line.strip(" │├└─") for line in draw(agent.workflow).splitlines()]
    after = {line.split()[0]: lines[index + 1 :] for index, line in enumerate(lines) if line}
    assert after["process_input"][0].startswith("processor:pii")
    assert after["process_output_step"][0].startswith("checks")
    assert any(line.startswith("processor:tone") for line in after["process_output_step"][:4])


def test_every_list_is_a_workflow() -> None:
    """Each list that is not empty is one workflow of a fixed name."""
    processor = spy([])
    agent = Agent(
        "parrot", model=FakeModel("x"),
        input_processors=[processor], output_processors=[processor], error_processors=[processor],
    )  # fmt: skip
    assert [workflow.id for workflow in agent.processor_workflows] == [
        "parrot-input-processor", "parrot-output-processor", "parrot-error-processor",
    ]  # fmt: skip
    usual = Agent("parrot", model=FakeModel("x"))
    assert [workflow.id for workflow in usual.processor_workflows] == ["parrot-error-processor"]
    assert Agent("parrot", model=FakeModel("x"), prefill_error_handler=False).processor_workflows == ()


def test_memory_is_first_on_the_way_in_and_last_on_the_way_out() -> None:
    """A memory's processors stand round the user's own."""
    own = spy([], "own")
    agent = Agent("parrot", model=FakeModel("x"), memory=Memory(), input_processors=[own], output_processors=[own])
    ids = [[node.id for node in workflow.nodes] for workflow in agent.processor_workflows]
    assert ids[0] == ["processor:memory-input-filter", "processor:message-history", "processor:own"]
    assert ids[1] == ["processor:own", "processor:message-history"]


def test_lists_that_depend_on_the_request_are_drawn_without_theirs() -> None:
    """Where a list is known only with a request, the loop is drawn without its processors."""

    def later(context: Any) -> list[Any]:
        raise AssertionError("nothing was asked")

    agent = Agent(
        "parrot", model=FakeModel("x"), input_processors=later, output_processors=[at("process_output_step", print)]
    )
    assert [workflow.id for workflow in agent.processor_workflows] == [
        "parrot-output-processor",
        "parrot-error-processor",
    ]
    assert nodes_of(agent)[0][0] == "process_input"


def test_the_loop_is_built_once() -> None:
    """Asking for the workflow again gives the same one."""
    agent = Agent("parrot", model=FakeModel("x"))
    assert agent.workflow is agent.workflow
