"""GraphSpec: a workflow as data, and its hash."""

import json
from typing import Any, cast

import pytest
from tests.workflows.render.sample import Blocker, Redactor, everything, explicit, guards, shout, whisper

from procession.steps.step import Step, StepContext, step
from procession.workflows.describe import graph_spec
from procession.workflows.spec import canonical_json
from procession.workflows.workflow import create_workflow


def test_edges_lead_from_start_to_end() -> None:
    """Every node but the start is entered and every node but the end is left, by edges between known nodes."""
    for workflow in (everything(), guards(), explicit()):
        spec = graph_spec(workflow)
        ids = {node.id for node in spec.nodes}
        assert {edge.source for edge in spec.edges} == ids - {"@end"}
        assert {edge.target for edge in spec.edges} == ids - {"@start"}


def test_ids_are_unique() -> None:
    """Ids tell nodes apart, also those that no step stands for."""
    ids = [node.id for node in graph_spec(everything()).nodes]
    assert len(ids) == len(set(ids))


def test_only_a_loop_leads_back() -> None:
    """Without edges of kind back the graph has no cycle."""
    spec = graph_spec(everything())
    order = [node.id for node in spec.nodes]
    backward = [edge for edge in spec.edges if order.index(edge.source) >= order.index(edge.target)]
    assert [(edge.kind, edge.target) for edge in backward if edge.kind == "back"] == [("back", "again")]


def test_explicit_edges_are_the_dependencies() -> None:
    """Of the explicit form the edges are those that were named, skip-level ones included."""
    spec = graph_spec(explicit())
    edges = [(edge.source, edge.target) for edge in spec.edges]
    assert edges == [
        ("@start", "shout"),
        ("@start", "whisper"),
        ("shout", "both"),
        ("whisper", "both"),
        ("both", "last"),
        ("shout", "last"),
        ("last", "@end"),
    ]


def test_processors_show_hooks_and_whether_they_mutate() -> None:
    """A processor's node carries its hooks and whether it changes messages; its group, the merge policy."""
    spec = graph_spec(guards())
    redactor = spec.node("processor:redactor")
    assert (redactor.kind, redactor.hooks, redactor.mutates) == (
        "processor",
        ("process_input", "process_output_result"),
        True,
    )
    (group,) = spec.groups
    assert (group.kind, group.merge, group.children) == (
        "parallel",
        "strictest",
        ("processor:redactor", "processor:blocker"),
    )


def test_nested_workflows_are_stored_once() -> None:
    """A workflow that is used twice is described once, and both nodes refer to it by its hash."""
    inner = create_workflow("inner", str).then(shout).commit()
    spec = graph_spec(create_workflow("outer", str).then(inner).then(inner.as_step().renamed("again")).commit())
    refs = [node.ref_hash for node in spec.nodes if node.kind == "workflow"]
    assert refs[0] == refs[1]
    assert list(spec.workflows) == refs[:1]
    assert spec.workflows[str(refs[0])].graph_hash == refs[0]


def test_schemas_are_kept_by_reference() -> None:
    """Types of steps are JSON schemas, each once; a type that JSON has no word for is named."""

    class Opaque:
        pass

    @step
    def wrap(ctx: StepContext[dict[str, int]]) -> dict[str, int]:
        return ctx.input

    spec = graph_spec(create_workflow("typed", cast("Any", Opaque)).then(wrap).commit())
    node = spec.node("wrap")
    assert node.input_schema_ref == node.output_schema_ref
    assert spec.schemas[str(node.input_schema_ref)] == {"additionalProperties": {"type": "integer"}, "type": "object"}
    assert "Opaque" in spec.schemas[str(spec.node("@start").output_schema_ref)]["x-python-type"]


def test_json_is_canonical() -> None:
    """The same workflow, built twice, gives the same bytes; they are JSON with sorted keys."""
    text = graph_spec(everything()).to_json()
    assert text == graph_spec(everything()).to_json()
    assert canonical_json(json.loads(text)) == text
    assert json.loads(text)["graph_hash"] == graph_spec(everything()).graph_hash


def _base() -> Any:
    return create_workflow("base", str).then(shout).parallel([Redactor(), Blocker()], id="guards")


def test_hash_ignores_labels_and_settings() -> None:
    """Descriptions, conditions' wording, retry, timeout and merge policy leave the hash as it is."""
    plain = graph_spec(_base().commit()).graph_hash
    described = create_workflow("base", str, description="Something else.")
    described.then(shout.replace(description="Louder.", timeout=3.0)).parallel(
        [Redactor(), Blocker()], id="guards", merge="chain"
    )
    assert graph_spec(described.commit()).graph_hash == plain


@pytest.mark.parametrize(
    "changed",
    [
        lambda: create_workflow("other", str).then(shout).parallel([Redactor(), Blocker()], id="guards"),
        lambda: create_workflow("base", cast("Any", int)).then(shout).parallel([Redactor(), Blocker()], id="guards"),
        lambda: create_workflow("base", str).then(whisper).parallel([Redactor(), Blocker()], id="guards"),
        lambda: create_workflow("base", str).then(shout).parallel([Redactor()], id="guards"),
        lambda: create_workflow("base", str).then(shout).then(Redactor()).then(Blocker()),
        lambda: create_workflow("base", str).then(shout).parallel([Redactor(), Blocker(id="stopper")], id="guards"),
    ],
)
def test_hash_knows_ids_edges_kinds_and_schemas(changed: Any) -> None:
    """A changed id, edge, kind or schema changes the hash."""
    assert graph_spec(changed()).graph_hash != graph_spec(_base()).graph_hash


def test_hash_reaches_into_nested_workflows() -> None:
    """A change deep inside changes the hash of what contains it."""

    def nested(inside: Step[str, str]) -> str:
        inner = create_workflow("inner", str).then(inside).commit()
        return graph_spec(create_workflow("outer", str).then(inner).commit()).graph_hash

    assert nested(shout) != nested(whisper)


def test_a_property_called_title_is_no_label() -> None:
    """Titles of schemas are labels, but a property of that name is part of the schema."""

    def spec(schema: dict[str, Any]) -> str:
        base = graph_spec(create_workflow("typed", str).then(shout).commit())
        return base.replace(schemas=dict.fromkeys(base.schemas, schema)).graph_hash

    assert spec({"type": "string", "title": "A"}) == spec({"type": "string", "title": "B"})
    assert spec({"properties": {"title": {"type": "string"}}}) != spec({"properties": {}})
