"""What ``commit`` finds and what it lets pass; what each finding looks like is in test_findings."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typing_extensions import TypedDict

from procession.errors import Finding
from procession.steps.step import Step
from procession.workflows import validate
from procession.workflows.nodes import pick
from procession.workflows.sources import from_step, from_value
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


def test_warnings_do_not_refuse() -> None:
    """A warning is kept on the workflow, which commits."""
    workflow = create_workflow("w").parallel([mutator("a"), mutator("b")]).then(any_step("c")).commit()
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
        loose(int).branch([(lambda n: True, number)], on_no_match="skip").then(any_step("b")),
        loose(str).branch([(lambda n: True, any_step("a"))], on_no_match="skip").then(text),
        loose(int).parallel([number], merge=lambda base, outputs: str(base)).then(text),
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
        loose(int).branch([(lambda n: True, number)], on_no_match="skip").then(text),
        loose(int).add(number).add(text, after=["number"]),
        loose(int).add(number).add(any_step("a")).add(text, after=["number", "a"]),
    ]
    for workflow in wrong:
        assert [finding.code for finding in check(workflow)] == ["incompatible-schema"], workflow.nodes

    odd = typed("odd", str, dict[str, int])
    assert [finding.code for finding in check(loose(str).do_while(odd, lambda n: False))] == ["invalid-loop"]


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


def test_checking_imports_no_graph_library() -> None:
    """``commit`` checks cycles, references and types without networkx, which only drawing and reading need."""
    program = (
        "import sys\n"
        "from procession import Step, create_workflow\n"
        "create_workflow('w').add(Step(id='a')).add(Step(id='b'), after=['a']).commit()\n"
        "assert 'networkx' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_a_fix_can_be_read_by_a_program() -> None:
    """A fix says what to do to which step, and to what; applied, the finding is gone."""
    workflow = create_workflow("w").then(any_step("a")).then(any_step("a"))
    (finding,) = check(workflow)
    fix = finding.fix
    assert fix is not None
    assert (fix.action, fix.step, fix.to, str(fix)) == ("rename", "a", "a-2", '.then(a.clone("a-2"))')
    assert fix.to is not None
    assert check(create_workflow("w").then(any_step("a")).then(any_step("a").clone(fix.to))) == []
    assert finding.line is not None


def test_many_mistakes_take_time_for_each_of_them_once() -> None:
    """A workflow in which every id is taken is checked, and every fix proposes an id of its own."""
    workflow: Workflow[Any, Any] = create_workflow("w")
    for _ in range(3000):
        workflow.then(any_step("a"))
    fixes = {finding.fix.to for finding in check(workflow) if finding.fix is not None}
    assert len(fixes) == 2999


def test_fields_of_a_map_are_followed() -> None:
    """A declarative map gives a mapping of its fields, whose types the next step is held to."""
    wanted = typed("wanted", dict[str, list[int]], int)
    workflow = loose(int).then(number).map({"n": from_step("number"), "kept": from_step("number", default=None)})
    (finding,) = check(workflow.then(wanted))
    assert (
        finding.message
        == "'wanted' takes dict[str, list[int]], and is given a mapping of n, kept: 'n' is int, not list[int]"
    )
    redacting = create_workflow("w").parallel([mutator("pii", redacts=True), any_step("b")])
    assert [each.code for each in check(redacting.map({"b": from_step("b")}))] == ["redactor-dropped"]
    both = create_workflow("w").parallel([mutator("pii", redacts=True), any_step("b")])
    assert check(both.map({"a": from_step("processor:pii"), "b": from_value("b")})) == []


def test_ids_are_text_that_can_be_written() -> None:
    """Half a character, which no file and no journal can hold, is refused by commit, and the fix is without it."""
    found = check(create_workflow("w").then(Step(id="a\ud800b", execute=lambda ctx: ctx.input)))
    assert [(each.code, each.fix.to if each.fix else None) for each in found] == [("invalid-step-id", "a-b")]


def test_a_merge_that_yields_is_found() -> None:
    """A merge that is a generator function would give a generator in place of what it makes."""

    def merge(value: Any, outputs: Any) -> Any:
        yield value

    beside: Step[Any, Any] = Step(id="a")
    found = check(create_workflow("w").parallel([beside], merge=merge).branch([(bool, Step(id="b"))], merge=merge))
    assert [(each.code, each.steps) for each in found] == [
        ("generator-function", ("parallel-1",)),
        ("generator-function", ("branch-1",)),
    ]


def test_a_fix_can_be_pasted() -> None:
    """A word of the language is no name for a variable."""
    inner = create_workflow("in").then(Step[Any, Any](id="a"))
    assert [each.fix.code for each in check(create_workflow("w").then(inner)) if each.fix] == ["step.commit()"]


class Late(TypedDict):
    at: "Nowhere"  # type: ignore[name-defined]  # noqa: F821, UP037  # pyright: ignore[reportUndefinedVariable]


@pytest.mark.parametrize(("field", "what"), [("resume_type", "answer"), ("suspend_type", "question")])
def test_questions_and_answers_need_a_schema_as_well(field: str, what: str) -> None:
    """A type that pydantic cannot check is found by commit and not when somebody answers, weeks later."""
    types: Any = {field: Late}
    waiting: Step[Any, Any] = Step(id="approve", execute=lambda ctx: ctx.input, **types)
    (found,) = check(create_workflow("orders").then(waiting))
    assert found.code == "unsupported-annotation"
    assert f"no schema can be made of the {what} of 'approve'" in found.message
