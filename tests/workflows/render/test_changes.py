"""What changed between two graphs, drawn."""

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.workflows.render.sample import explicit, shout, whisper
from tests.workflows.test_difference import CASES

from procession.errors import InputError
from procession.workflows.describe import graph_spec
from procession.workflows.render.changes import CHANGE_FORMATS, ChangeFormat, draw_changes
from procession.workflows.spec import GraphSpec
from procession.workflows.workflow import create_workflow


def before() -> GraphSpec:
    inner = create_workflow("inner", str).parallel([shout, whisper], id="both").map(len, id="count").commit()
    return graph_spec(create_workflow("outer", str).then(inner).then(_any("last")).commit())


def after() -> GraphSpec:
    inner = create_workflow("inner", str).parallel([shout, _any("new")], id="both").map(len, id="count").commit()
    return graph_spec(create_workflow("outer", str).then(inner).then(_any("fresh")).then(_any("more")).commit())


def _any(id: str) -> Any:
    return shout.replace(id=id, input_type=None, output_type=None)


def test_as_text() -> None:
    """One line for each difference: a breaking one has an exclamation mark."""
    assert draw_changes(before(), after()) == (
        "! step 'last' is no longer there\n"
        "! step 'inner/whisper' is no longer there\n"
        "+ step 'inner/new' is new\n"
        "+ step 'fresh' is new\n"
        "+ step 'more' is new\n"
    )
    assert draw_changes(before(), before()) == "nothing has changed\n"


def test_as_json() -> None:
    """Programs get both hashes, every difference, and whether any breaks."""
    content = json.loads(draw_changes(before(), after(), "json"))
    assert (content["old"], content["new"]) == (before().graph_hash, after().graph_hash)
    assert content["breaking"] is True
    assert content["differences"][1] == {
        "path": "inner/whisper",
        "text": "step 'inner/whisper' is no longer there",
        "breaking": True,
        "change": "removed",
        "part": "node",
        "hashed": True,
    }


def test_as_a_drawing_of_both() -> None:
    """Both graphs are drawn in one, with classes, signs and words at nodes and edges that are new or gone."""
    text = draw_changes(before(), after(), "mermaid")
    for line in ('"whisper<br/>− removed"', '"new<br/>+ added"', "classDef added", "classDef removed", '|"+ "|'):
        assert line in text
    assert '-.->|"- "|' in text
    assert [line for line in draw_changes(before(), after(), "ascii").splitlines() if line[-1] in "dw"] == [
        "│  │  ├─ new                                  + added",
        "│  │  └─ whisper  [3 attempts, timeout 2.5s]  − removed",
        "├─ last                                       − removed",
        "├─ fresh                                      + added",
        "└─ more                                       + added",
    ]


@pytest.mark.parametrize("format", CHANGE_FORMATS)
@pytest.mark.parametrize("name", CASES)
def test_every_change_can_be_drawn(name: str, format: ChangeFormat) -> None:
    """All formats draw all kinds of changes, the same way each time, also where old and new edges form a circle."""
    old, new, _ = CASES[name]()
    drawn = draw_changes(old, new, format)
    assert drawn == draw_changes(old, new, format)
    if format == "svg":
        ElementTree.fromstring(drawn)


def test_steps_that_changed_places() -> None:
    """The old order is there as well: its edges are marked as removed."""
    old, new, _ = CASES["steps that changed places"]()
    text = draw_changes(old, new, "mermaid")
    assert text.count("-.->") == 3 and text.count('-->|"+ "|') == 3


def test_a_dependency_that_is_gone_is_not_said_to_be_there() -> None:
    """The tree names what a step comes after now."""
    old, new, _ = CASES["dependencies"]()
    assert "after whisper: · join" in draw_changes(old, new, "ascii")


def test_unknown_format() -> None:
    """A format that does not exist is an error that names those that do."""
    with pytest.raises(InputError, match="png"):
        draw_changes(graph_spec(explicit()), graph_spec(explicit()), "png")  # type: ignore[arg-type]
