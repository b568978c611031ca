"""What ``commit`` finds: one example of each code, as the error shows it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import TypedDict

from procession.errors import WorkflowDefinitionError
from procession.steps.budget import Budget
from procession.steps.step import Step
from procession.workflows.nodes import arm, pick
from procession.workflows.workflow import Workflow, check, create_workflow

GOLDEN = Path(__file__).parent / "data" / "findings.txt"
Build = Callable[[], Workflow[Any, Any]]
EXAMPLES: dict[str, Build] = {}


class Order(TypedDict):
    id: str
    total: float


class Late(TypedDict):
    at: "Nowhere"  # type: ignore[name-defined]  # noqa: F821, UP037  # pyright: ignore[reportUndefinedVariable]


class Redactor:
    """Stands for a processor that redacts."""

    redacts = True


def example(code: str) -> Callable[[Build], Build]:
    """Keep what builds a workflow in which *code* is found."""

    def keep(build: Build) -> Build:
        EXAMPLES[code] = build
        return build

    return keep


def typed(id: str, wanted: Any, given: Any) -> Step[Any, Any]:
    """Return a step whose types only ``commit`` knows of: a checker would refuse what is wrong with them."""
    return Step(id=id, execute=lambda ctx: ctx.input, input_type=wanted, output_type=given)


def any_step(id: str) -> Step[Any, Any]:
    """Return a step of no type."""
    return Step(id=id, execute=lambda ctx: ctx.input)


def begun(input_type: Any = None, id: str = "orders", **options: Any) -> Workflow[Any, Any]:
    """Begin a workflow of a type that the checkers do not know."""
    return create_workflow(id, input_type, **options)


def mutator(id: str, *, redacts: bool = False) -> Step[Any, Any]:
    """Return the step of a processor that changes messages."""
    return Step(
        id=f"processor:{id}",
        inline=lambda value, run, path: value,
        kind="processor",
        hooks=frozenset(["process_input"]),
        mutates=True,
        owner=Redactor() if redacts else None,
    )


number = typed("number", int, int)
text = typed("text", str, str)
load = typed("load", str, Order)


@example("empty-workflow")
def empty_workflow() -> Workflow[Any, Any]:
    return begun()


@example("empty-parallel")
def empty_parallel() -> Workflow[Any, Any]:
    return begun().parallel([])


@example("empty-branch")
def empty_branch() -> Workflow[Any, Any]:
    return begun().branch([])


@example("missing-step-id")
def missing_step_id() -> Workflow[Any, Any]:
    return begun(id=" ").then(any_step("")).parallel([any_step("a")], id="  ")


@example("duplicate-step-id")
def duplicate_step_id() -> Workflow[Any, Any]:
    return (
        begun()
        .then(any_step("clean"))
        .then(any_step("clean-2"))
        .parallel([any_step("other"), any_step("clean")])
        .foreach(any_step("clean"))
    )


@example("invalid-step-id")
def invalid_step_id() -> Workflow[Any, Any]:
    return begun().then(any_step("load/orders")).then(any_step("item[0]")).then(any_step(" padded")).sleep(1, id="a@b")


@example("invalid-nested-workflow-id")
def invalid_nested_workflow_id() -> Workflow[Any, Any]:
    inner = begun(id="billing/eu").then(any_step("a")).commit()
    return begun().then(inner)


@example("unstable-id")
def unstable_id() -> Workflow[Any, Any]:
    return (
        begun()
        .then(any_step("<function load at 0x7f3a2c0d1e50>"))
        .then(any_step("<lambda>"))
        .then(any_step("step-9f1b7c52-6d1c-4f35-9f0e-6f1f5d1b3c11"))
        .then(any_step("step-139826741952"))
        .then(any_step("step-1398267419521"))
    )


@example("generator-function")
def generator_function() -> Workflow[Any, Any]:
    def asks(value: Any) -> Any:
        yield False

    async def asks_later(value: Any) -> Any:
        yield False

    return (
        begun()
        .branch([(asks, any_step("a"))])
        .do_while(any_step("b"), asks)
        .do_until(any_step("c"), asks_later)
        .map(asks)
        .foreach(any_step("d"), concurrency=asks)
        .sleep(asks)
    )


@example("not-committed")
def not_committed() -> Workflow[Any, Any]:
    return begun().then(begun(id="billing").then(any_step("a")))


@example("self-reference")
def self_reference() -> Workflow[Any, Any]:
    outer = begun()
    inner = begun(id="billing").then(outer)
    return outer.then(any_step("a")).then(inner).then(outer)


@example("unknown-dependency")
def unknown_dependency() -> Workflow[Any, Any]:
    return begun().add(any_step("load")).add(any_step("check"), after=["laod"]).add(any_step("z"), after=["nothing"])


@example("cycle")
def cycle() -> Workflow[Any, Any]:
    workflow = begun().add(any_step("start"))
    workflow.add(any_step("a"), after=["start", "c"]).add(any_step("b"), after=["a"]).add(any_step("c"), after=["b"])
    return workflow.add(any_step("after"), after=["c"])


@example("unreachable-step")
def unreachable_step() -> Workflow[Any, Any]:
    def is_big(value: Any) -> bool:
        return bool(value)

    return begun().branch([(is_big, any_step("a")), (is_big, any_step("b"))], mode="first").then(any_step("a"))


@example("invalid-map-reference")
def invalid_map_reference() -> Workflow[Any, Any]:
    return begun().then(any_step("redactor")).map(pick("redactro")).map(pick("later")).then(any_step("later"))


@example("incompatible-schema")
def incompatible_schema() -> Workflow[Any, Any]:
    return (
        begun(str, output_type=list[Order])
        .then(number)
        .map(lambda n: n)
        .then(load)
        .then(typed("ship", TypedShip, str))
        .parallel([typed("count", None, int), typed("label", None, dict[str, str])])
        .then(number.renamed("twice"))
        .map(takes_text)
        .then(typed("lines", str, list[int]))
        .then(number.renamed("line"))
    )


class TypedShip(TypedDict):
    id: str
    street: str


def takes_text(value: str) -> str:
    return value


@example("invalid-foreach")
def invalid_foreach() -> Workflow[Any, Any]:
    def lanes(items: str) -> int:
        return len(items)

    return begun(list[int]).foreach(number, concurrency=lanes).parallel([any_step("a")]).foreach(any_step("b"))


@example("invalid-conditional")
def invalid_conditional() -> Workflow[Any, Any]:
    def is_long(value: str) -> bool:
        return len(value) > 10

    return begun(int).branch([(is_long, number)])


@example("invalid-loop")
def invalid_loop() -> Workflow[Any, Any]:
    def is_long(value: str) -> bool:
        return len(value) > 10

    return begun(str).do_while(typed("split", str, list[str]), is_long)


@example("unsupported-annotation")
def unsupported_annotation() -> Workflow[Any, Any]:
    return begun().then(typed("late", Late, int))


@example("redactor-dropped")
def redactor_dropped() -> Workflow[Any, Any]:
    inner = begun(id="inner").then(mutator("pii", redacts=True)).commit()
    return begun().parallel([inner, any_step("other")]).map(pick("other"))


@example("guard-skipped")
def guard_skipped() -> Workflow[Any, Any]:
    guard = any_step("guard").replace(kind="processor", hooks=frozenset({"process_input"}))
    skipping = Budget(seconds=1, on_exceed="skip")
    return begun().parallel([arm(guard, budget=skipping), any_step("other")])


@example("two-mutators-parallel")
def two_mutators_parallel() -> Workflow[Any, Any]:
    return begun().parallel([mutator("a"), mutator("b"), any_step("c")]).then(any_step("d"))


@example("hook-never-runs")
def hook_never_runs() -> Workflow[Any, Any]:
    return begun().parallel([arm(mutator("a"), on=["process_output_result"])]).then(any_step("b"))


def shown(build: Build) -> str:
    """Return the error of a workflow as it is printed, with lines counted from that of its function."""
    start = inspect.getsourcelines(build)[1]
    workflow = build()
    printed = str(WorkflowDefinitionError(workflow.id, check(workflow)))
    return re.sub(
        re.escape(__file__) + r":(\d+)",
        lambda match: f"orders.py:{int(match[1]) - start:+}" if int(match[1]) > start else "orders.py",
        printed,
    )


def golden() -> Mapping[str, str]:
    """Return what is printed for each code."""
    parts = re.split(r"^=== (.*)\n", GOLDEN.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], (part.strip("\n") for part in parts[1::2]), strict=True))


@pytest.mark.parametrize("code", EXAMPLES)
def test_each_code_as_it_is_printed(code: str) -> None:
    """Each code has an example, whose whole error is as it was read and found good."""
    build = EXAMPLES[code]
    findings = check(build())
    assert code in [finding.code for finding in findings]
    assert shown(build) == golden()[code]
    for finding in findings:
        assert finding.hint
        assert finding.file == __file__
        assert finding.line is not None


def test_nothing_is_golden_without_an_example() -> None:
    """The file holds what is printed for the examples, and nothing else."""
    assert list(golden()) == list(EXAMPLES)
