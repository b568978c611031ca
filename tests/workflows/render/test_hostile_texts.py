"""Texts that would do something to whoever looks at a drawing: in every place of a graph, in every format."""

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any, get_args

import pytest
from tests.workflows.render.sample import shout

from procession.errors import InputError
from procession.messages.shapes import is_form, is_items
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step
from procession.workflows.describe import graph_spec
from procession.workflows.render.changes import CHANGE_FORMATS, ChangeFormat, draw_changes
from procession.workflows.render.draw import TextFormat, draw
from procession.workflows.render.text import clean
from procession.workflows.spec import GraphSpec
from procession.workflows.template import template
from procession.workflows.workflow import create_workflow

HOSTILE = '\x1b]0;x\x07\x9b31m"><script>alert(1)</script>\u202e\u2028\ud800'


def places(content: Any, kind: str = "", place: tuple[Any, ...] = ()) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield where in JSON a text stands, and what kind of thing it is a field of."""
    if is_form(content):
        kind = str(content.get("kind", kind))
        for key, each in content.items():
            yield from places(each, kind, (*place, key))
    elif is_items(content):
        for index, each in enumerate(content):
            yield from places(each, kind, (*place, index))
    elif isinstance(content, str):
        yield f"{kind} {[each for each in place if isinstance(each, str)]}", place


def _same(ctx: Any) -> Any:
    return ctx.input


def _never(value: Any) -> bool:
    return False


def _in_a_list(value: Any) -> list[Any]:
    return [value]


def graph() -> GraphSpec:
    """Return a graph with a container of each kind, and what is said of each of them."""
    twice: Step[Any, Any] = Step(id="twice", execute=_same, retry=RetryPolicy(2), timeout=3)
    inner = create_workflow("inner").do_while(twice, _never, max_iterations=3).commit()
    workflow = (
        create_workflow("w", str).parallel([shout, inner], merge="priority").map({"x": template("${value.inner}!")})
    )
    workflow.branch([(_never, twice.clone("when"))], default=twice, on_no_match="skip").map(_in_a_list)
    return graph_spec(workflow.foreach(twice.clone("each"), on_error="collect").sleep(1).commit())


@cache
def hostile_graphs() -> tuple[GraphSpec, ...]:
    """Return a graph for each text in one, with something hostile in its place; those that are refused are left out."""
    given = json.loads(graph().to_json())
    made: list[GraphSpec] = []
    for place in dict(places(given)).values():
        changed = deepcopy(given)
        at = changed
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] += HOSTILE
        try:
            made.append(GraphSpec.from_json(json.dumps(changed)))
        except InputError:
            continue
    return tuple(made)


def check_harmless(text: str) -> None:
    """Nothing in *text* is obeyed by a terminal, or is a script."""
    text.encode()
    assert not [
        char for char in text if (char < " " and char != "\n") or "\x7f" <= char < "\xa0" or char in "\u202e\u2028"
    ]


@pytest.mark.parametrize("format", get_args(TextFormat))
def test_nothing_in_a_graph_is_obeyed_by_who_shows_it(format: TextFormat) -> None:
    """Escape sequences, directions and markup of any field are written out; in JSON they read back as they were."""
    seen = 0
    for spec in hostile_graphs():
        text = draw(spec, format, show_types=True)
        check_harmless(text)
        if format == "json":
            assert json.loads(text) == spec.to_dict()
        elif format in ("svg", "html", "mermaid"):
            assert "<script" not in text
        seen += 1
    assert seen > 40


@pytest.mark.parametrize("format", CHANGE_FORMATS)
def test_nothing_in_what_changed_is_obeyed(format: ChangeFormat) -> None:
    """The graphs that are compared may come from files that somebody else wrote."""
    before = graph()
    for spec in hostile_graphs():
        for text in (draw_changes(before, spec, format), draw_changes(spec, before, format)):
            check_harmless(text)
            assert format not in ("svg", "html", "mermaid") or "<script" not in text


def test_names_that_differ_look_different() -> None:
    """What cannot be seen is written out; what joins letters or emoji to one is not."""
    assert [clean(f"a{char}b") for char in ("\u200b", "\ufeff", "\u00ad", "\U000e0041")] == [
        "a\\u200bb", "a\\ufeffb", "a\\xadb", "a\\U000e0041b",
    ]  # fmt: skip
    assert clean("👩\u200d🔬") == "👩\u200d🔬"
