"""draw(): the door to all drawings."""

import json

import pytest
from tests.workflows.render.sample import everything

from procession.errors import InputError
from procession.workflows.describe import graph_spec
from procession.workflows.render.draw import FORMATS, DrawFormat, draw


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_graph_gives_the_same_text(format: DrawFormat) -> None:
    """Drawing a workflow that is built anew gives the same bytes, ending with a line break."""
    text = draw(everything(), format)
    assert text == draw(everything(), format)
    assert text.endswith("\n") and not text.endswith("\n\n")


@pytest.mark.parametrize("format", FORMATS)
def test_a_spec_draws_like_its_workflow(format: DrawFormat) -> None:
    """A graph as data is enough to draw it."""
    assert draw(graph_spec(everything()), format) == draw(everything(), format)


def test_json_is_the_spec() -> None:
    """The JSON drawing is the graph as data, to be read by people and programs."""
    assert json.loads(draw(everything(), "json")) == graph_spec(everything()).to_dict()


def test_unknown_format() -> None:
    """A format that does not exist is an error that names those that do."""
    with pytest.raises(InputError, match="ascii, boxes, mermaid, dot, svg, json"):
        draw(everything(), "png")  # type: ignore[arg-type]
