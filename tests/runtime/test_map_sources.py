"""Maps whose fields are made of sources: what they read when they run."""

from __future__ import annotations

from typing import Any

import anyio.lowlevel
import pytest
from tests.runtime.kit import Doc, make, plus, run

from procession.errors import RunError
from procession.runtime.runtime import Runtime
from procession.steps.request_context import RequestContext
from procession.workflows.sources import from_context, from_init_data, from_state, from_step, from_value, literal
from procession.workflows.template import template
from procession.workflows.workflow import create_workflow

PAGE = {"title": "Home", "user": {"name": "Eva", "tags": ["a", "b"]}, "none": None}


def fetched(ctx: Any) -> Any:
    """Get a page, and note it in the state."""
    ctx.set_state(seen=["home"], n=2)
    return PAGE


async def slowly(value: Any) -> str:
    """Answer later."""
    await anyio.lowlevel.checkpoint()
    return str(value)


async def test_fields_are_made_of_all_there_is() -> None:
    """Steps, the input of the run, its state, the request, the value, text, constants and functions."""
    workflow = (
        create_workflow("w")
        .then(make("fetch", fetched))
        .then(make("processor:last", lambda ctx: 7))
        .map(
            {
                "name": from_step("fetch", "user.name"),
                "tag": from_step("fetch", "user.tags[1]"),
                "none": from_step("fetch", "none"),
                "query": from_init_data("query"),
                "seen": from_state("seen", "0"),
                "tenant": from_context("tenant", "id"),
                "n": literal(3),
                "value": from_value(),
                "text": template("Hello ${init_data.query}${step.fetch.none}, ${step.processor:last} ${state.seen}"),
                "double": lambda value: value * 2,
                "later": slowly,
            }
        )
        .commit()
    )
    made = Runtime().create_run(workflow, request_context=RequestContext({"tenant": {"id": "acme"}}))
    assert (await made.start({"query": "q"})).output == {
        "name": "Eva",
        "tag": "b",
        "none": None,
        "query": "q",
        "seen": "home",
        "tenant": "acme",
        "n": 3,
        "value": 7,
        "text": 'Hello q, 7 ["home"]',
        "double": 14,
        "later": "7",
    }


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (from_step("fetch", "user.nmae"), "'user.nmae' of step 'fetch'"),
        (from_step("fetch", "user.tags[2]"), "'user.tags.2' of step 'fetch'"),
        (from_init_data("q"), "'q' of init_data"),
        (from_state("k"), "'k' of state"),
        (from_context("who"), "'who' of context"),
        (from_value("x"), "'x' of value"),
        (template("a ${step.fetch.nothing}"), "'nothing' of step 'fetch'"),
    ],
)
async def test_what_is_missing_is_an_error(source: Any, told: str) -> None:
    """What is not there is no ``None``: the error names the map, the field and what was read, unless there is a default."""
    workflow = create_workflow("w").then(make("fetch", fetched)).map({"it": source}, id="m").commit()
    result = await run(workflow, {})
    assert isinstance(result.error, RunError)
    assert f"map 'm' reads {told} for 'it'" in str(result.error)
    assert result.error.path == "m"
    with_default = source.replace(default="-") if hasattr(source, "default") else template(source.text, default="-")
    workflow = create_workflow("w").then(make("fetch", fetched)).map({"it": with_default}).commit()
    assert (await run(workflow, {})).output["it"].endswith("-")


async def test_after_a_branch_the_first_that_ran_is_taken() -> None:
    """Of several steps the first that ran gives its output, right after the branch and later."""
    branch = create_workflow("w").branch([(lambda n: n > 0, plus("a", 1)), (lambda n: n <= 0, plus("b", 10))])
    early = branch.clone("early").map({"n": from_step(["a", "b"])}).commit()
    assert [(await run(early, n)).output for n in (1, 0)] == [{"n": 2}, {"n": 10}]
    late = branch.clone("late").map(lambda both: 0).then(plus("c", 1)).map({"n": from_step(["a", "b"])}).commit()
    assert [(await run(late, n)).output for n in (1, 0)] == [{"n": 2}, {"n": 10}]
    one = branch.clone("one").map({"n": from_step("a")}).commit()
    assert "'a' for 'n', which is not there" in str((await run(one, 0)).error)
    given = branch.clone("given").map({"n": from_step("a", default=0)}).commit()
    assert (await run(given, 0)).output == {"n": 0}


async def test_a_map_inside_reads_the_steps_beside_it() -> None:
    """In a workflow inside another, in each round and for each item, the steps are those of that round and item."""
    inner = create_workflow("inner").then(plus("a", 1)).then(plus("b", 1)).map({"a": from_step("a")}).commit()
    outer = create_workflow("w").then(plus("a", 100)).map(lambda n: [n, n + 1]).foreach(inner, concurrency=2).commit()
    assert (await run(outer, 0)).output == [{"a": 101}, {"a": 102}]
    made = Runtime().create_run(outer, sparse=True)
    assert (await made.start(0)).output == [{"a": 101}, {"a": 102}]


async def test_fields_do_not_replace_what_is_merged() -> None:
    """After branches over a value that is merged, fields are no such value: the run fails instead of losing it."""
    strike = make("strike", lambda ctx: ctx.input.strike("a"))
    workflow = create_workflow("w").parallel([strike, make("b", lambda ctx: ctx.input)]).map({"x": literal(1)}).commit()
    assert (await run(workflow, Doc(("a",)))).status == "failed"


async def test_what_a_source_gives_is_nobody_elses() -> None:
    """A step may change what a map gave it: constants, defaults, the state, the input and outputs stay as they were."""

    def spoil(ctx: Any) -> Any:
        for each in ctx.input.values():
            each.append("spoilt")
        return ctx.state["seen"]

    fields = {
        "constant": literal([]),
        "default": from_value("gone", default=[]),
        "state": from_state("seen"),
        "input": from_init_data("given"),
        "output": from_step("fetch", "user.tags"),
        "again": from_step("fetch", "user.tags"),
    }
    left = {
        "constant": literal([]),
        "default": from_state("gone", default=[]),
        "input": from_init_data("given"),
        "output": from_step("fetch", "user.tags"),
    }
    workflow = (
        create_workflow("w").then(make("fetch", fetched)).map(fields).then(make("spoil", spoil)).map(left).commit()
    )
    given: dict[str, Any] = {"given": []}
    for _ in range(2):
        result = await run(workflow, given)
        assert result.output == {"constant": [], "default": [], "input": [], "output": ["a", "b"]}
        assert result.steps["spoil"].output == ["home"]
    assert given == {"given": []}
