"""What the fields of a declarative map are made of, and what commit() finds in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, ConfigDict

from procession.errors import DefinitionError, ProcessorDefinitionError
from procession.processors.processor import Processor
from procession.steps.step import Step, StepContext, step
from procession.workflows.describe import graph_spec
from procession.workflows.nodes import MapNode
from procession.workflows.paths import MISSING, at, parse_path
from procession.workflows.source_check import ABSENT, type_at
from procession.workflows.sources import (
    Fields,
    FromStep,
    from_context,
    from_init_data,
    from_state,
    from_step,
    from_value,
    literal,
)
from procession.workflows.template import filling, template
from procession.workflows.typeflow import Outputs
from procession.workflows.workflow import Workflow, check, create_workflow


class User(BaseModel):
    """Somebody."""

    name: str
    tags: list[str] = []


class Page(BaseModel):
    """A page of somebody."""

    title: str
    user: User


class Loose(BaseModel):
    """Anything."""

    model_config = ConfigDict(extra="allow")


class Typed(TypedDict):
    """A mapping with known keys."""

    a: int
    b: NotRequired[User]


@dataclass
class Data:
    """A field."""

    inner: User | None


@step
def fetch(ctx: StepContext[str]) -> Page:
    """Get a page."""
    return Page(title=ctx.input, user=User(name="Eva"))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ()),
        ("a", ("a",)),
        ("a.b", ("a", "b")),
        ("a[0].b", ("a", "0", "b")),
        ("a.0.b", ("a", "0", "b")),
        ("a[-1]", ("a", "-1")),
        ("[0][1]", ("0", "1")),
        ('a["x.y z"].b', ("a", "x.y z", "b")),
        ("a['x-id']", ("a", "x-id")),
        ("processor:pii.text", ("processor:pii", "text")),
    ],
)
def test_paths(text: str, path: tuple[str, ...]) -> None:
    """A path is keys with dots between, indexes in brackets or not, and odd keys in quotes."""
    assert parse_path(text) == path


@pytest.mark.parametrize("text", [".", ".a", "a.", "a..b", " a", "a ", "a[", "a[b]", "a]", "[0]a", 'a[""]', 'a"b'])
def test_what_is_no_path(text: str) -> None:
    """What cannot be read as a path is an error where it is written."""
    with pytest.raises(DefinitionError, match="no path"):
        parse_path(text)


def test_what_stands_at_a_path() -> None:
    """Keys, indexes and fields are followed; nothing is called, and what is missing is not made up."""
    value: dict[Any, Any] = {
        "items": [{"id": 1}, {"id": 2}],
        "page": Page(title="t", user=User(name="Eva")),
        3: "three",
        "none": None,
    }
    value["data"] = Data(User(name="Ida"))
    found = {text: at(value, parse_path(text)) for text in ("items[1].id", "page.user.name", "data.inner.name", "3")}
    assert found == {"items[1].id": 2, "page.user.name": "Eva", "data.inner.name": "Ida", "3": "three"}
    assert at(value, ()) is value
    for text in (
        "items[2]",
        "items.id",
        "page.nothing",
        "page.model_dump",
        "none.x",
        "page.title.upper",
        "items.append",
    ):
        assert at(value, parse_path(text)) is MISSING


def test_templates_are_read_when_they_are_made() -> None:
    """The holes of a template are sources; ids of steps may have dots and colons."""
    made = template('a ${init_data.x} $${b} ${step.processor:pii.text}${step["a.b"].c}${state.k}${context.t}${value}')
    assert made.parts == (
        "a ",
        from_init_data("x"),
        " ${",
        "b} ",
        from_step("processor:pii", "text"),
        from_step("a.b", "c"),
        from_state("k"),
        from_context("t"),
        from_value(),
    )
    assert template("").parts == ()


@pytest.mark.parametrize(
    "text", ["${}", "${ init_data.x }", "${input.x}", "${step}", "${state}", "${a", "${init_data..x}"]
)
def test_holes_that_name_nothing(text: str) -> None:
    """A hole that is empty, padded, of no scope or without a key is an error where it is written."""
    with pytest.raises(DefinitionError, match="template"):
        template(text)


def test_what_holes_are_filled_with() -> None:
    """Nothing for ``None``, JSON for what is no text."""
    assert [filling(each) for each in (None, "a", 1, 1.5, True, [None, "ä"], {"a": {"b": 1}})] == [
        "", "a", "1", "1.5", "true", '[null, "ä"]', '{"a": {"b": 1}}',
    ]  # fmt: skip
    assert json.loads(filling([Data(User(name="Eva"))])) == [{"inner": {"name": "Eva", "tags": []}}]


def test_a_map_is_made_of_sources() -> None:
    """A mapping becomes fields in its order; what a field cannot be made of is an error where it is written."""
    workflow = create_workflow("w", str).then(fetch).map({"a": from_step("fetch"), "b": str}, id="both")
    node = workflow.nodes[-1]
    assert isinstance(node, MapNode)
    assert node.function == Fields((("a", FromStep((), steps=("fetch",))), ("b", str)))
    wrong: list[Any] = [{}, {"a": 3}, {1: len}]
    for mapping in wrong:
        with pytest.raises(DefinitionError, match="map 'map-1'"):
            create_workflow("w").map(mapping)
    with pytest.raises(DefinitionError, match="no step"):
        from_step([])


@pytest.mark.parametrize(
    ("given", "path", "found"),
    [
        (Page, "user.name", str),
        (Page, "user.nmae", ABSENT),
        (Page, "user.tags[0]", str),
        (Page, "user.tags.first", ABSENT),
        (Loose, "x.y", None),
        (Typed, "b.name", str),
        (Typed, "c", ABSENT),
        (Data, "inner.name", str),
        (Data, "inner.nmae", ABSENT),
        (dict[str, int], "x", int),
        (dict[str, int], "x.y", ABSENT),
        (dict, "x.y", None),
        (list[User], "0.name", str),
        (tuple[int, ...], "0", int),
        (int | User, "name", str),
        (str, "x", ABSENT),
        (None, "x", None),
        (Any, "x", None),
        (object, "x", None),
        (Outputs({"a": Page}), "a.title", str),
        (Outputs({"a": Page}), "b", ABSENT),
    ],
)
def test_what_annotations_say_of_a_path(given: Any, path: str, found: Any) -> None:
    """A path is followed through models, mappings, dataclasses, lists and unions, as far as is known."""
    made = type_at(given, parse_path(path))
    assert made is found


def test_commit_checks_what_maps_read() -> None:
    """WF-003: steps that are not there or run later, and paths that annotations rule out, are found with hints."""
    workflow: Workflow[Any, Any] = (
        create_workflow("w", str)
        .then(fetch)
        .map(
            {
                "a": from_step("fetsh"),
                "b": from_step("later"),
                "c": from_step("fetch", "user.nmae"),
                "d": template("${step.fetch.titel} ${step.nobody.x}"),
                "e": from_value("user.name"),
                "f": from_step(["fetch", "other"]),
                "ok": from_step("fetch", "user.tags[0]"),
            },
            id="m",
        )
        .then(Step(id="later", execute=print))
    )
    findings = [finding for finding in check(workflow) if finding.severity == "error"]
    assert [(finding.code, finding.steps) for finding in findings] == [
        ("invalid-map-reference", ("m", "fetsh")),
        ("invalid-map-reference", ("m", "later")),
        ("invalid-map-path", ("m", "fetch")),
        ("invalid-map-path", ("m", "fetch")),
        ("invalid-map-reference", ("m", "nobody")),
        ("invalid-map-reference", ("m", "other")),
    ]
    assert findings[0].hint == "did you mean 'fetch'?"
    assert "runs later" in findings[1].message
    assert "'m' makes 'c' of 'user.nmae' of the output of 'fetch', which is Page" in findings[2].message
    assert all(finding.source for finding in findings)


def test_the_fields_of_a_map_have_types() -> None:
    """What a map gives is a mapping whose fields have the types of their sources."""

    @step
    def reads(ctx: StepContext[str]) -> str:
        return ctx.input

    takes: Step[Any, Any] = reads

    workflow = create_workflow("w", str).then(fetch).map({"t": from_step("fetch", "title"), "n": literal(3)})
    assert [finding.code for finding in check(workflow.then(takes))] == ["incompatible-schema"]
    deeper = create_workflow("w", str).then(fetch).map({"t": from_value("title")}).map({"x": from_value("t.y")})
    assert [finding.code for finding in check(deeper)] == ["invalid-map-path"]


def test_a_map_is_drawn_as_data() -> None:
    """The graph says what each field is made of; functions by their text, values that are no data by their class."""
    workflow = create_workflow("w", str).then(fetch)
    workflow.map({"a": from_step("fetch", "user.name", default="?"), "b": lambda v: v.title, "c": literal(object())})
    spec = graph_spec(workflow.map({"d": template("${value.a}")}).commit())
    first, second = (node for node in spec.nodes if node.kind == "map")
    assert (first.label, second.label) == ("{a, b, c}", "{d}")
    assert first.made_of == {
        "a": {"from": "step", "path": ["user", "name"], "default": "?", "steps": ["fetch"]},
        "b": {"from": "function", "text": "v.title"},
        "c": {"from": "literal", "value": "object"},
    }
    assert second.made_of == {"d": {"from": "template", "text": "${value.a}"}}
    assert json.loads(spec.to_json())


def test_fields_have_no_place_in_a_stream() -> None:
    """Where chunks pass there is no run to read from: such a map is refused when the workflow guards a stream."""
    from procession.processors.stream_plan import stream_plan

    class Guard(Processor):
        id = "guard"

        async def process_output_stream(self, ctx: Any) -> Any:
            return None

    workflow = create_workflow("w", kind="processor").parallel([Guard()]).map({"x": literal(1)}).commit()
    with pytest.raises(ProcessorDefinitionError, match="makes fields"):
        stream_plan(workflow)
