"""What ``commit`` finds: one example of each code, as it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from procession.errors import Finding
from procession.steps.step import Step
from procession.workflows import validate
from procession.workflows.nodes import pick
from procession.workflows.validate import register_check
from procession.workflows.workflow import Workflow, check, create_workflow


def typed(id: str, wanted: Any, given: Any) -> Step[Any, Any]:
    """Return a step whose types only ``commit`` knows of: a checker would refuse what is wrong with them."""
    return Step(id=id, execute=lambda ctx: ctx.input, input_type=wanted, output_type=given)


number = typed("number", int, int)
text = typed("text", str, str)


def loose(input_type: Any, id: str = "w") -> Workflow[Any, Any]:
    """Begin a workflow of a type that the checkers do not know."""
    return create_workflow(id, input_type)


def any_step(id: str) -> Step[Any, Any]:
    """Return a step of no type."""
    return Step(id=id, execute=lambda ctx: ctx.input)


def shown(message: str, hint: str) -> str:
    """Return a finding as it is shown, without its place."""
    return f"{message}\n    hint: {hint}"


class Redactor:
    """Stands for a processor that redacts."""

    redacts = True


def mutator(id: str, *, redacts: bool = False) -> Step[Any, Any]:
    """Return the step of a processor that changes messages."""
    return Step(
        id=f"processor:{id}",
        execute=lambda ctx: ctx.input,
        kind="processor",
        mutates=True,
        owner=Redactor() if redacts else None,
    )


def yielding(value: Any) -> Any:
    """Yield."""
    yield False


async def yielding_later(value: Any) -> Any:
    """Yield, too."""
    yield False


def cyclic() -> Workflow[Any, Any]:
    workflow = create_workflow("w").add(any_step("start"))
    workflow.add(any_step("a"), after=["start", "c"]).add(any_step("b"), after=["a"]).add(any_step("c"), after=["b"])
    return workflow.add(any_step("after"), after=["c"])


EXAMPLES: dict[str, tuple[Callable[[], Workflow[Any, Any]], list[str]]] = {
    "empty-workflow": (
        lambda: create_workflow("w"),
        [shown("error: empty-workflow: workflow 'w' has no steps", "add a step: .then(step)")],
    ),
    "duplicate-step-id": (
        lambda: create_workflow("w").then(any_step("a")).parallel([any_step("b"), any_step("a")]),
        [
            shown(
                "error: duplicate-step-id: two steps have the id 'a' (the first at HERE)",
                "results are kept by id: give one of them another, e.g. by .clone('...') of the step or workflow",
            ),
        ],
    ),
    "empty-parallel": (
        lambda: create_workflow("w").parallel([]),
        [shown("error: empty-parallel: 'parallel-1' has no branches", "give parallel() at least one step")],
    ),
    "empty-branch": (
        lambda: create_workflow("w").branch([]),
        [shown("error: empty-branch: 'branch-1' has no arms", "give branch() at least one (condition, step) pair")],
    ),
    "generator-function": (
        lambda: (
            create_workflow("w")
            .then(any_step("a"))
            .branch([(yielding, any_step("b"))])
            .do_while(any_step("c"), yielding)
            .do_until(any_step("d"), yielding_later)
            .map(yielding)
            .foreach(any_step("e"), concurrency=yielding)
            .sleep(yielding)
        ),
        [
            shown(
                f"error: generator-function: the {what} is a generator function, of which a call runs nothing",
                "let it return its answer; a generator is true whatever it would give",
            )
            for what in (
                "condition of 'branch-1'",
                "condition of 'c'",
                "condition of 'd'",
                "function of 'map-1'",
                "concurrency of 'e'",
                "time of 'sleep-1'",
            )
        ],
    ),
    "not-committed": (
        lambda: create_workflow("w").then(create_workflow("inner").then(any_step("a"))),
        [
            shown(
                "error: not-committed: workflow 'inner' is used as a step and is not committed",
                "call .commit() on it first",
            ),
        ],
    ),
    "unknown-dependency": (
        lambda: create_workflow("w").add(any_step("first")).add(any_step("b"), after=["frist"]),
        [
            shown(
                "error: unknown-dependency: 'b' is to run after 'frist', which is no step of this workflow",
                "did you mean 'first'?",
            ),
        ],
    ),
    "cycle": (
        cyclic,
        [
            shown(
                "error: cycle: steps wait for each other: b -> c -> a -> b",
                "take one of these dependencies away; to repeat steps use do_while() or do_until()",
            ),
            shown(
                "error: unreachable-step: 'after' can never run",
                "it needs, directly or not, a step that waits for itself",
            ),
        ],
    ),
    "invalid-map-reference": (
        lambda: create_workflow("w").then(any_step("redactor")).map(pick("redactro")).then(any_step("later")),
        [
            shown(
                "error: invalid-map-reference: 'map-1' picks 'redactro', which is no step before it",
                "did you mean 'redactor'?",
            ),
        ],
    ),
    "invalid-map-reference of a later step": (
        lambda: create_workflow("w").map(pick("later")).then(any_step("later")),
        ["error: invalid-map-reference: 'map-1' picks 'later', which runs later\n    hint: there is nothing before it"],
    ),
    "incompatible-schema": (
        lambda: loose(int).then(number).then(text),
        [
            shown(
                "error: incompatible-schema: 'text' takes str, and is given int",
                "put a map() between them, or change one of the annotations",
            ),
        ],
    ),
    "incompatible-schema after parallel": (
        lambda: loose(int).parallel([number]).then(text),
        [
            shown(
                "error: incompatible-schema: 'text' takes str, and is given a mapping of number",
                "put a map() between them, or change one of the annotations",
            ),
        ],
    ),
    "incompatible-schema of foreach": (
        lambda: loose(int).foreach(number),
        [
            shown(
                "error: incompatible-schema: 'number' takes list, and is given int",
                "foreach() needs a list: put a map() before it",
            ),
        ],
    ),
    "redactor-dropped": (
        lambda: create_workflow("w").parallel([mutator("pii", redacts=True), any_step("other")]).map(pick("other")),
        [
            shown(
                "error: redactor-dropped: 'map-1' picks 'other' and leaves out what 'processor:pii' redacts",
                "pick 'processor:pii', leave the map away so that both are merged, or say allow_drop=True",
            ),
        ],
    ),
    "redactor-dropped in a workflow": (
        lambda: (
            create_workflow("w")
            .parallel([create_workflow("inner").then(mutator("pii", redacts=True)).commit(), any_step("other")])
            .map(pick("other"))
        ),
        [
            shown(
                "error: redactor-dropped: 'map-1' picks 'other' and leaves out what 'inner' redacts",
                "pick 'inner', leave the map away so that both are merged, or say allow_drop=True",
            ),
        ],
    ),
    "two-mutators-parallel": (
        lambda: create_workflow("w").parallel([mutator("a"), mutator("b"), any_step("c")]).then(any_step("d")),
        [
            shown(
                "warning: two-mutators-parallel: processor:a and processor:b may both change the same text; 'strictest' "
                "has to reconcile them",
                'run them one after the other with merge="chain", or accept that different rewrites are an error',
            )
        ],
    ),
}


@pytest.mark.parametrize("code", EXAMPLES)
def test_each_finding_as_it_is_shown(code: str) -> None:
    """Each code has a message, a hint, the steps concerned and the place where they were written."""
    build, expected = EXAMPLES[code]
    findings = check(build())
    assert [str(finding).replace(f" [{finding.source}]", "") for finding in findings] == [
        each.replace("HERE", findings[0].source or "") for each in expected
    ]
    assert findings[0].code == code.split(" ")[0]
    for finding in findings:
        assert finding.steps or finding.code == "empty-workflow"
        assert finding.source is not None
        assert finding.source.startswith(__file__)


def test_warnings_do_not_refuse() -> None:
    """A warning is kept on the workflow, which commits."""
    workflow = EXAMPLES["two-mutators-parallel"][0]().commit()
    assert [finding.code for finding in workflow.findings] == ["two-mutators-parallel"]


@pytest.mark.parametrize(
    "workflow",
    [
        create_workflow("w").parallel([mutator("a"), mutator("b")], merge="chain"),
        create_workflow("w").parallel([mutator("a"), mutator("b")], merge=lambda base, outputs: base),
        create_workflow("w").parallel([mutator("a"), mutator("b")]).map(lambda both: both),
        create_workflow("w").parallel([mutator("a", redacts=True), any_step("b")]).map(pick("processor:a")),
        create_workflow("w").parallel([mutator("a", redacts=True), any_step("b")]).map(pick("b"), allow_drop=True),
        loose(int).then(any_step("unknown")).then(text),
        loose(int).parallel([number]).map(lambda both: str(both)).then(text),
        loose(int).branch([(lambda n: True, number)], on_no_match="skip").then(text),
        loose(list[int]).foreach(number).foreach(number.renamed("again")),
        create_workflow("w").add(number).add(text).add(any_step("join"), after=["number", "text"]),
    ],
)
def test_what_may_work_is_not_found(workflow: Workflow[Any, Any]) -> None:
    """Nothing is said where types are unknown, a map or a policy decides, or the author insists."""
    assert check(workflow) == []


def test_types_flow_through_every_kind_of_node() -> None:
    """What cannot fit is found behind maps, loops, foreach, nested workflows and in graphs."""

    def length(value: str) -> int:
        return len(value)

    wrong: list[Workflow[Any, Any]] = [
        loose(int).map(length),
        loose(str).map(length).then(text),
        loose(int).do_while(number, lambda n: False).then(text),
        loose(list[int]).foreach(text),
        loose(list[int]).foreach(number).then(text),
        loose(int).then(loose(int, "inner").then(number).commit()).then(text),
        loose(list[int]).then(loose(int, "inner").then(number).commit()),
        loose(int).branch([(lambda n: True, number)]).then(text),
        loose(int).parallel([number, any_step("a")]).map(pick("number")).then(text),
        loose(int).sleep(1).then(text),
        loose(int).add(number).add(text, after=["number"]),
        loose(int).add(number).add(any_step("a")).add(text, after=["number", "a"]),
    ]
    for workflow in wrong:
        assert [finding.code for finding in check(workflow)] == ["incompatible-schema"], workflow.nodes

    odd = typed("odd", str, dict[str, int])
    assert [finding.code for finding in check(loose(str).do_while(odd, lambda n: False))] == ["incompatible-schema"]


@pytest.fixture
def checks() -> Iterator[None]:
    """Forget the checks that a test registers."""
    before = list(validate._checks)  # pyright: ignore[reportPrivateUsage]
    yield
    validate._checks[:] = before  # pyright: ignore[reportPrivateUsage]


@pytest.mark.usefixtures("checks")
def test_rooms_above_may_check_too() -> None:
    """A registered check takes part in every ``commit``, once, however often it was registered."""

    def find(workflow: Any) -> list[Finding]:
        return [Finding("never-runs", workflow.id, severity="warning")]

    register_check(find)
    register_check(find)
    workflow = create_workflow("w").then(any_step("a")).commit()
    assert [finding.code for finding in workflow.findings] == ["never-runs"]
