"""GraphSpec, written and read again."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.workflows.render.sample import everything, explicit, guards, shout

from procession.errors import InputError, SchemaError
from procession.workflows.describe import graph_spec
from procession.workflows.render.draw import FORMATS, draw
from procession.workflows.spec import EdgeSpec, GraphSpec, GroupSpec, NodeSpec
from procession.workflows.workflow import create_workflow


def deep() -> Any:
    """Make a workflow with one inside that has one inside."""
    return create_workflow("deep", str).then(everything()).commit()


@pytest.mark.parametrize("make", [everything, explicit, guards, deep])
def test_a_graph_that_is_read_again_is_the_same(make: Any) -> None:
    """Written as JSON and read again, a graph is equal, has its hash and is drawn alike."""
    spec = graph_spec(make())
    again = GraphSpec.from_json(spec.to_json())
    assert again == spec
    assert again.graph_hash == spec.graph_hash
    assert again.to_json() == spec.to_json()
    for format in FORMATS:
        assert draw(again, format) == draw(spec, format)


UNREADABLE: list[tuple[Callable[[Any], Any], str]] = [
    (lambda content: content.pop("nodes"), "nodes: Field required"),
    (lambda content: content.update(schema_version=2), "schema_version"),
    (lambda content: content.update(colour="red"), "colour: Extra inputs are not permitted"),
    (lambda content: content["nodes"][1].update(kind="thing"), "nodes.1.kind"),
    (lambda content: content["nodes"][1].update(timeout="soon"), "nodes.1.timeout"),
]


@pytest.mark.parametrize(("change", "said"), UNREADABLE)
def test_what_is_no_graph_names_the_field(change: Any, said: str) -> None:
    """A field that is missing, unknown or of another type is named; so is a version that is not this one."""
    content = graph_spec(everything()).to_dict()
    change(content)
    with pytest.raises(SchemaError, match=said):
        GraphSpec.from_dict(content)


APART: list[tuple[Callable[[Any], Any], str]] = [
    (lambda content: content["nodes"][1].update(id="other"), "lacks node 'inner'"),
    (lambda content: content["nodes"].append(content["nodes"][1]), "some share one"),
    (lambda content: content.update(workflows={}), "lacks workflow 'sha256:"),
    (lambda content: content["groups"][0].update(entry="nowhere"), "lacks node 'nowhere'"),
    (lambda content: content.update(schemas={}), "lacks schema"),
    (lambda content: content.update(workflow_id="other"), "says that its hash is"),
    (lambda content: next(iter(content["workflows"].values())).update(workflow_id="x"), "is not the one of hash"),
]


@pytest.mark.parametrize(("change", "said"), APART)
def test_what_does_not_belong_together_is_refused(change: Any, said: str) -> None:
    """A reference to what is not there, and a hash that is not that of the content, are said."""
    content = graph_spec(everything()).to_dict()
    change(content)
    with pytest.raises(InputError, match=said):
        GraphSpec.from_dict(content)


def test_what_is_no_json_is_said() -> None:
    """Text that is no JSON is a mistake of whoever gave it."""
    with pytest.raises(InputError, match="a graph cannot be read"):
        GraphSpec.from_json("{")


def test_the_schema_knows_every_field() -> None:
    """The JSON schema has the fields of a graph's parts, and only those."""
    schema = GraphSpec.json_schema()
    for part in (NodeSpec, EdgeSpec, GroupSpec):
        assert set(schema["$defs"][part.__name__]["properties"]) == set(part.__fields__)
    assert set(schema["properties"]) == {*GraphSpec.__fields__, "graph_hash", "run"}


def test_bytes_do_not_depend_on_the_process() -> None:
    """Every format has the same bytes in processes whose hashes of strings differ."""
    code = (
        "from tests.workflows.render.sample import everything, explicit, guards\n"
        "from procession.workflows.render.draw import FORMATS, draw\n"
        "for make in (everything, explicit, guards):\n"
        "    for format in FORMATS:\n"
        "        print(draw(make(), format))\n"
    )
    root = Path(__file__).parents[2]
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join((str(root), *sys.path))},
            capture_output=True,
            check=True,
            cwd=root,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(found) == 1


def test_an_empty_path_is_written() -> None:
    """What must be there is written also where it is empty: the start has no path."""
    spec = graph_spec(create_workflow("one", str).then(shout).commit())
    assert spec.to_dict()["nodes"][0]["path"] == ""
