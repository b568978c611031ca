"""draw(): the door to all drawings."""

import json
from typing import Any

import pytest
from tests.workflows.render.sample import everything

from procession.errors import InputError
from procession.workflows.describe import graph_spec
from procession.workflows.render.draw import FORMATS, DrawFormat, draw


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_graph_gives_the_same_text(format: DrawFormat) -> None:
    """Drawing a workflow that is built anew gives the same bytes; text ends with a line break."""
    drawn = draw(everything(), format)
    assert drawn == draw(everything(), format)
    assert isinstance(drawn, bytes) or (drawn.endswith("\n") and not drawn.endswith("\n\n"))


@pytest.mark.parametrize("format", FORMATS)
def test_a_spec_draws_like_its_workflow(format: DrawFormat) -> None:
    """A graph as data is enough to draw it."""
    assert draw(graph_spec(everything()), format) == draw(everything(), format)


def test_json_is_the_spec() -> None:
    """The JSON drawing is the graph as data, to be read by people and programs."""
    assert json.loads(draw(everything(), "json")) == graph_spec(everything()).to_dict()


def test_unknown_format() -> None:
    """A format that does not exist is an error that names those that do."""
    with pytest.raises(InputError, match="ascii, boxes, mermaid, dot, svg, html, json, png"):
        draw(everything(), "pdf")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"theme": "sepia"}, "no theme is called 'sepia'\n  hint: there are auto, light, dark"),
        ({"direction": "up"}, "no direction is called 'up'"),
        ({"scale": 0}, "scale=0 is no size"),
        ({"colour": "red"}, "drawings have no option 'colour'"),
    ],
)
def test_wrong_options(options: dict[str, Any], said: str) -> None:
    """An option that does not exist, and one with a value that does not, is an error that names what there is."""
    with pytest.raises(InputError) as raised:
        draw(everything(), **options)
    assert said in str(raised.value) or said.partition("\n")[0] in str(raised.value)
