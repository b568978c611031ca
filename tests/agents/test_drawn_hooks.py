"""What is drawn at each hook of an agent: what runs there, as ``agent.explain()`` says."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from procession import Agent
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.processor import Processor
from procession.testing.fake_model import FakeModel
from procession.workflows.describe import graph_spec
from procession.workflows.render.serving import serving
from procession.workflows.spec import GraphSpec
from procession.workflows.workflow import create_workflow


class AtInput(Processor):
    id = "at-input"

    def process_input(self, ctx: Any) -> None:
        return None


class AtStep(Processor):
    id = "at-step"

    def process_input_step(self, ctx: Any) -> None:
        return None


class AtEnd(Processor):
    id = "at-end"

    def process_output_result(self, ctx: Any) -> None:
        return None


def agent() -> Agent:
    """Make an agent whose lists serve at several hooks, a workflow with arms among them."""
    beside = (
        create_workflow("beside", kind="processor")
        .parallel([AtInput(id="left"), AtStep(id="right")], id="both")
        .then(AtEnd(id="late"))
        .commit()
    )
    return Agent(
        "bot",
        model=FakeModel("x"),
        input_processors=[AtInput(), AtStep(), PIIDetector(), beside],
        output_processors=[AtEnd(), PIIDetector()],
    )


def drawn(drawing: str) -> Mapping[str, list[str]]:
    """Return the processors that a tree shows at each hook."""
    found: dict[str, list[str]] = {}
    hook = ""
    for line in drawing.splitlines():
        name = re.sub(r"^[│├└─· ]+", "", line).split("  ")[0]
        if re.fullmatch(r"process_\w+", name):
            hook = name
            found[hook] = []
        elif name.startswith("processor:"):
            found[hook].append(name.removeprefix("processor:"))
    return found


def test_a_hook_is_drawn_with_what_runs_there() -> None:
    """No processor is drawn at a hook that it does not serve: the drawing says what ``explain`` says."""
    made = agent()
    explained: dict[str, list[str]] = {}
    for place in made.explain().places:
        explained.setdefault(place.hook.value, []).append(place.processor_id)
    shown = {hook: names for hook, names in drawn(made.draw()).items() if names}
    assert shown == explained
    assert shown["process_input_step"] == ["at-step", "right"]


@pytest.mark.parametrize("format", ["mermaid", "dot", "svg"])
def test_diagrams_show_the_same(format: Any) -> None:
    """So do pictures: each processor is there as often as there are hooks that it serves."""
    text = agent().draw(format)
    assert len(re.findall(r"(?<!/)processor:at-step[^<]*(?:</text>|<br/>|\\n)", text)) == 1


def test_data_has_the_whole_list_and_its_hash() -> None:
    """The graph as data, which kept runs are held against, is as it was."""
    made = agent()
    spec = graph_spec(made.workflow)
    assert GraphSpec.from_json(made.draw("json")) == spec
    inner = next(node for node in spec.nodes if node.id == "process_input")
    assert {node.id for node in spec.workflows[inner.ref_hash or ""].nodes} >= {"processor:at-step"}


def test_what_leads_to_one_that_is_left_out_leads_on() -> None:
    """Edges go round what is left out, an arm that is gone leaves no edge, and a container without arms goes with them."""
    spec = serving(graph_spec(agent().workflow))
    for each in spec.workflows.values():
        ids = {node.id for node in each.nodes}
        assert all({edge.source, edge.target} <= ids for edge in each.edges)
        assert all({group.entry, *group.children, group.exit} <= ids for group in each.groups)
        reached, waiting = {"@start"}, ["@start"]
        while waiting:
            source = waiting.pop()
            new = {edge.target for edge in each.edges if edge.source == source} - reached
            reached |= new
            waiting += new
        assert reached == ids
        for group in each.groups:
            if group.kind == "parallel":
                assert (group.entry, group.exit) not in {(edge.source, edge.target) for edge in each.edges}


def test_a_workflow_of_ones_own_is_drawn_whole() -> None:
    """Outside of an agent nothing is left out, and the graph is the very one."""
    spec = graph_spec(create_workflow("w", kind="processor").then(AtInput()).then(AtEnd()).commit())
    assert serving(spec) is spec
