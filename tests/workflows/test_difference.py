"""differences(): what changed from one graph to another, and what of it breaks."""

from collections.abc import Callable
from typing import Any, Literal, TypedDict

import pytest
from pydantic import BaseModel
from tests.workflows.render.sample import Blocker, Redactor, everything, explicit, guards, shout, whisper

from procession.processors.contexts import InputContext
from procession.processors.processor import Processor
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, step
from procession.workflows.describe import graph_spec
from procession.workflows.difference import differences
from procession.workflows.sources import from_value, literal
from procession.workflows.spec import GraphSpec
from procession.workflows.workflow import create_workflow


class Order(BaseModel):
    number: int
    total: float


class Order2(BaseModel):
    number: int


class Order3(BaseModel):
    number: int
    total: float
    note: str


ANY: Step[Any, Any] = Step(id="any")


class Counts(TypedDict, total=False):
    seen: int


class Names(TypedDict, total=False):
    seen: str
    orders: list[Order]


@step(id="price")
def price(ctx: StepContext[Order]) -> Order:
    return ctx.input


@step(id="price")
def price_without_total(ctx: StepContext[Order]) -> Order2:
    return Order2(number=1)


@step(id="price")
def price_of_less(ctx: StepContext[Order2]) -> Order:
    return Order(number=1, total=1.0)


@step(id="price")
def price_with_note(ctx: StepContext[Order]) -> Order3:
    return Order3(number=1, total=1.0, note="")


@step(id="price")
def price_needs_note(ctx: StepContext[Order3]) -> Order:
    return Order(number=1, total=1.0)


@step(id="size")
def size(ctx: StepContext[str]) -> int:
    return len(ctx.input)


@step(id="size")
def size_or_none(ctx: StepContext[str]) -> int | None:
    return None


@step(id="size")
def size_of_two(ctx: StepContext[Literal["a", "b"]]) -> int:
    return 1


class OutputToo(Redactor):
    def process_input_step(self, ctx: Any) -> None:
        return None


class InputOnly(Processor):
    id = "redactor"
    mutates = True

    def process_input(self, ctx: InputContext) -> None:
        return None


def chain(*steps: Any) -> GraphSpec:
    made = create_workflow("chain")
    for each in steps:
        made.then(each)
    return graph_spec(made.commit())


def beside(*steps: Any, after: Any = None, **options: Any) -> GraphSpec:
    made: Any = create_workflow("beside").parallel([*steps], id="both", **options)
    return graph_spec((made.then(after) if after is not None else made).commit())


def added(*after: str) -> GraphSpec:
    made = create_workflow("explicit", str)
    made.add(shout)
    made.add(whisper)
    return graph_spec(made.add(Step(id="join"), after=[*after]).commit())


Case = tuple[GraphSpec, GraphSpec, list[tuple[bool, str, str]]]

CASES: dict[str, Callable[[], Case]] = {
    "a question whose answer is of another type": lambda: (
        chain(shout.replace(resume_type=bool)),
        chain(shout.replace(resume_type=str)),
        [(True, "shout", "the answer to step 'shout' takes string; it took boolean")],
    ),
    "a step that is gone": lambda: (
        chain(shout, whisper),
        chain(shout),
        [(True, "whisper", "step 'whisper' is no longer there")],
    ),
    "a step that is new": lambda: (
        chain(shout, whisper),
        chain(shout, shout.renamed("more"), whisper),
        [(False, "more", "step 'more' is new")],
    ),
    "steps that changed places": lambda: (
        chain(shout, whisper),
        chain(whisper, shout),
        [
            (True, "whisper", "step 'whisper' no longer comes after step 'shout'"),
            (False, "", "the output of the workflow is that of step 'shout'; it was that of step 'whisper'"),
        ],
    ),
    "another kind": lambda: (
        chain(shout.renamed("x")),
        chain(create_workflow("in").then(shout).commit().as_step().renamed("x")),
        [
            (True, "x", "'x' is a workflow; it was a step"),
            (False, "x", "the input of workflow 'x' is wider"),
            (True, "x", "workflow 'x' has a workflow inside now"),
        ],
    ),
    "a key of an output that is gone": lambda: (
        chain(price),
        chain(price_without_total),
        [(True, "price", "the output of step 'price' no longer has 'total'")],
    ),
    "a key of an output that is new": lambda: (
        chain(price),
        chain(price_with_note),
        [(False, "price", "the output of step 'price' is narrower")],
    ),
    "an input that takes more": lambda: (
        chain(price),
        chain(price_of_less),
        [(False, "price", "the input of step 'price' is wider")],
    ),
    "an input that needs more": lambda: (
        chain(price),
        chain(price_needs_note),
        [(True, "price", "the input of step 'price' now needs 'note'")],
    ),
    "an input that takes less": lambda: (
        chain(size),
        chain(size_of_two),
        [(True, "size", "the input of step 'size' takes 'a' or 'b'; it took string")],
    ),
    "an output that may be more": lambda: (
        chain(size),
        chain(size_or_none),
        [(True, "size", "the output of step 'size' gives integer or null; it gave integer")],
    ),
    "a hook more": lambda: (
        chain(Redactor()),
        chain(OutputToo()),
        [(True, "processor:redactor", "processor 'processor:redactor' now takes part in process_input_step")],
    ),
    "a hook less": lambda: (
        chain(Redactor()),
        chain(InputOnly()),
        [(True, "processor:redactor", "processor 'processor:redactor' no longer takes part in process_output_result")],
    ),
    "an arm that is gone": lambda: (
        beside(shout, whisper),
        beside(shout),
        [(True, "whisper", "step 'whisper' is no longer there")],
    ),
    "an arm that moved out": lambda: (
        beside(shout, Step(id="whisper"), after=Step(id="size")),
        beside(shout, Step(id="size"), after=Step(id="whisper")),
        [
            (True, "whisper", "'whisper' is no longer in parallel 'both'"),
            (False, "size", "'size' is now in parallel 'both'"),
            (True, "both", "join 'both' no longer comes after step 'whisper'"),
            (True, "size", "step 'size' no longer comes after join 'both'"),
            (True, "", "the output of the workflow is that of step 'whisper'; it was that of step 'size'"),
        ],
    ),
    "arms in another order": lambda: (
        beside(shout, whisper),
        beside(whisper, shout),
        [(False, "both", "the order in parallel 'both' is another one")],
    ),
    "a merge policy": lambda: (
        beside(Redactor(), Blocker()),
        beside(Redactor(), Blocker(), merge="chain"),
        [(False, "both", "merge of parallel 'both' is chain; it was strictest")],
    ),
    "a retry": lambda: (
        chain(shout),
        chain(shout.replace(retry=RetryPolicy(3), timeout=2.0)),
        [
            (False, "shout", "the retry of step 'shout' is max_attempts=3; it was not set"),
            (False, "shout", "the timeout of step 'shout' is 2.0; it was not set"),
        ],
    ),
    "another source of a map": lambda: (
        graph_spec(create_workflow("m", str).map({"length": lambda text: len(text)}, id="m").commit()),
        graph_spec(create_workflow("m", str).map({"length": lambda text: 2 * len(text)}, id="m").commit()),
        [(False, "m", "the mapping of map 'm' is length=function 2 * len(text); it was length=function len(text)")],
    ),
    "what holds for all of a workflow": lambda: (
        graph_spec(create_workflow("w", str).then(size).commit()),
        graph_spec(create_workflow("w", str, timeout=5.0, retry=RetryPolicy(2)).then(size).commit()),
        [
            (False, "", "the retry of the workflow is max_attempts=2; it was not set"),
            (False, "", "the timeout of the workflow is 5.0; it was not set"),
        ],
    ),
    "the state": lambda: (
        graph_spec(create_workflow("w", str, state_type=Counts).then(size).commit()),
        graph_spec(create_workflow("w", str, state_type=Names).then(size).commit()),
        [(True, "", "the state of the workflow takes string at 'seen'; it took integer")],
    ),
    "dependencies": lambda: (
        added("shout", "whisper"),
        added("whisper"),
        [
            (True, "join", "step 'join' comes after 'whisper'; it came after 'shout', 'whisper'"),
            (True, "", "the output of the workflow is that of step 'join', step 'shout'; it was that of step 'join'"),
        ],
    ),
    "the input of the workflow": lambda: (
        graph_spec(create_workflow("w", float).map(str, id="m").commit()),
        graph_spec(create_workflow("w", int).map(str, id="m").commit()),
        [(True, "", "the input of the workflow takes integer; it took number")],
    ),
    "another name": lambda: (
        graph_spec(create_workflow("a").then(size).commit()),
        graph_spec(create_workflow("b").then(size).commit()),
        [(True, "", "the workflow is called 'b'; it was 'a'")],
    ),
    "deep inside": lambda: (
        chain(create_workflow("in").then(shout).then(size).commit()),
        chain(create_workflow("in").then(shout).then(size_or_none).commit()),
        [
            (True, "in", "the output of workflow 'in' gives integer or null; it gave integer"),
            (True, "in/size", "the output of step 'in/size' gives integer or null; it gave integer"),
        ],
    ),
    "an output that is another": lambda: (
        chain(shout),
        chain(shout, size),
        [
            (False, "size", "step 'size' is new"),
            (True, "", "the output of the workflow is that of step 'size'; it was that of step 'shout'"),
        ],
    ),
    "an output that is no more than it was": lambda: (
        chain(shout),
        chain(shout, whisper),
        [
            (False, "whisper", "step 'whisper' is new"),
            (False, "", "the output of the workflow is that of step 'whisper'; it was that of step 'shout'"),
        ],
    ),
    "a pause at the end": lambda: (
        graph_spec(create_workflow("w", str).then(shout).commit()),
        graph_spec(create_workflow("w", str).then(shout).sleep(1, id="rest").commit()),
        [(False, "rest", "sleep 'rest' is new")],
    ),
    "a promised output": lambda: (
        graph_spec(create_workflow("w", output_type=Order).then(ANY).commit()),
        graph_spec(create_workflow("w", output_type=Order2).then(ANY).commit()),
        [(True, "", "the output of the workflow no longer has 'total'")],
    ),
    "a key of a map": lambda: (
        graph_spec(create_workflow("w", str).map({"a": from_value(), "b": literal(1)}, id="m").commit()),
        graph_spec(create_workflow("w", str).map({"a": from_value()}, id="m").commit()),
        [
            (True, "m", "the output of map 'm' no longer has 'b'"),
            (False, "m", "the mapping of map 'm' is a=value; it was a=value, b=literal 1"),
            (False, "m", "map 'm' says '{a}'; it said '{a, b}'"),
        ],
    ),
    "failures among outputs": lambda: (
        graph_spec(create_workflow("w", list[str]).foreach(shout).commit()),
        graph_spec(create_workflow("w", list[str]).foreach(shout, on_error="collect").commit()),
        [(True, "shout", "on_error of foreach 'shout' is collect; it was not set")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_difference_is_one_sentence_that_names_the_path(name: str) -> None:
    """What changed is said with its path, and whether it breaks those who rely on the old graph."""
    old, new, expected = CASES[name]()
    found = differences(old, new)
    assert [(each.breaking, each.path, each.text) for each in found] == expected


@pytest.mark.parametrize("name", CASES)
def test_a_difference_is_hashed_where_the_hash_differs(name: str) -> None:
    """Where two hashes differ something hashed is named, and where they agree nothing hashed is."""
    old, new, _ = CASES[name]()
    assert any(each.hashed for each in differences(old, new)) == (old.graph_hash != new.graph_hash)


def test_the_same_graph_has_no_differences() -> None:
    """Described twice, or read again, a graph is the same."""
    for workflow in (everything, guards, explicit):
        spec = graph_spec(workflow())
        assert differences(spec, graph_spec(workflow())) == ()
        assert differences(spec, GraphSpec.from_json(spec.to_json())) == ()


def test_a_reading_order_that_changed_is_said() -> None:
    """Of an explicit workflow the order of declaration is hashed, so that it is named."""
    first, second = create_workflow("e", str), create_workflow("e", str)
    first.add(shout)
    first.add(whisper)
    second.add(whisper)
    second.add(shout)
    (found,) = differences(graph_spec(first.commit()), graph_spec(second.commit()))
    assert (found.breaking, found.text) == (False, "the order in which steps are declared is another one")
