"""Calls that cannot be meant are refused where they are written: what is wrong, with what, and what to write instead."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import TypedDict

from procession.errors import DefinitionError, WorkflowDefinitionError
from procession.runtime.runtime import Runtime, run, run_sync
from procession.steps.retry import RetryPolicy
from procession.steps.step import StepContext, step
from procession.workflows.sources import Source, from_step
from procession.workflows.template import template
from procession.workflows.workflow import Workflow, check, create_workflow


@step
def inc(ctx: StepContext[int]) -> int:
    return ctx.input + 1


@step
def big(ctx: StepContext[int]) -> int:
    return ctx.input * 100


def plain(ctx: StepContext[int]) -> int:
    return ctx.input


def begun() -> Any:
    """Return an open workflow that type checkers let one misuse."""
    return create_workflow("w", int)


nameless: Callable[[Any], Any] = lambda ctx: ctx


def keep(before: Any, outputs: Any) -> Any:
    return before


def always(value: int) -> bool:
    return True


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "one step for parallel": (lambda: begun().parallel(inc), r"parallel 'parallel-1' is given Step.*\.parallel\(\[a, b\]\)"),
    "one arm for branch": (lambda: begun().branch((always, inc)), r"has no condition.*pairs of \(condition, step\)"),
    "no list for branch": (lambda: begun().branch(inc), r"branch 'branch-1' is given Step"),
    "steps without conditions": (lambda: begun().branch([inc]), r"has no condition"),
    "a misspelt mode": (lambda: begun().branch([(always, inc)], mode="frist"), r"'branch-1' has mode='frist'.*'all' or 'first'"),
    "a misspelt on_no_match": (lambda: begun().branch([(always, inc)], on_no_match="pass"), r"on_no_match='pass'"),
    "a merge policy that is none": (lambda: begun().parallel([inc, big], merge="last"), r"merge='last'.*'strictest'"),
    "the same of a branch": (lambda: begun().branch([(always, inc)], merge=3), r"'branch-1' has merge=3"),
    "a misspelt on_failure": (lambda: begun().parallel([inc], on_failure="go-on"), r"on_failure='go-on'.*'cancel' or 'wait'"),
    "a misspelt on_block": (lambda: begun().parallel([inc], on_block=True), r"on_block=True"),
    "a misspelt on_error": (lambda: begun().foreach(inc, on_error="skip"), r"foreach 'inc' has on_error='skip'"),
    "a number as text": (lambda: begun().foreach(inc, concurrency="4"), r"foreach 'inc' has concurrency='4'.*whole number"),
    "half a branch at once": (lambda: begun().parallel([inc], concurrency=0.5), r"concurrency=0\.5"),
    "a loop that never runs": (lambda: begun().do_until(inc, always, max_iterations=0), r"loop 'inc' has max_iterations=0"),
    "a loop without a question": (lambda: begun().do_while(inc, True), r"loop 'inc' has no condition"),
    "a lambda as a step": (lambda: begun().then(nameless), r"a lambda cannot .* no name.*\.map\(lambda value: \.\.\.\)"),
    "a number of attempts": (lambda: step(retry=3)(plain), r"step 'plain' has retry=3.*RetryPolicy\(3\)"),  # type: ignore[call-overload]
    "the same of a workflow": (lambda: create_workflow("w", retry=4), r"workflow 'w' has retry=4.*RetryPolicy\(4\)"),  # type: ignore[call-overload]
    "a kind that is none": (lambda: create_workflow("w", kind="agent"), r"workflow 'w' has kind='agent'"),  # type: ignore[call-overload]
    "an id that is no text": (lambda: create_workflow(3), r"workflow 3 has an id of type int"),  # type: ignore[call-overload]
    "a list of reducers": (lambda: create_workflow("w", reducers=[max]), r"reducers=\[.*by key"),  # type: ignore[call-overload]
    "a reducer that is none": (lambda: create_workflow("w", reducers={"n": 1}), r"reducers=\{'n': 1\}"),  # type: ignore[dict-item]
    "a file name as store": (lambda: Runtime("runs.db"), r"'runs\.db' as its store.*SQLiteJournal\('runs\.db'\)"),  # type: ignore[arg-type]
    "a path as store": (lambda: Runtime(store=Path("a.db")), r"SQLiteJournal\('a\.db'\)"),  # type: ignore[arg-type]
    "a state without keys": (lambda: Runtime().create_run(inc, state=3), r"begins with 3.*values by key"),  # type: ignore[arg-type]
    "a function to run": (lambda: run_sync(plain, 1), r"plain.* cannot be run.*@step"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_what_cannot_be_meant_is_refused_at_once(call: str) -> None:
    """Every call of the builder that cannot be meant raises where it stands, and says what to write."""
    wrong, said = CALLS[call]
    with pytest.raises(DefinitionError, match=said):
        wrong()


def test_policies_and_functions_are_taken() -> None:
    """What the options are documented to take is taken."""
    made: Workflow[int, Any] = create_workflow("w", int, retry=RetryPolicy(2), reducers={"n": max}).parallel(
        (inc, big), merge=keep, on_failure="wait", concurrency=2
    )
    assert made.commit().committed


def test_a_condition_must_take_the_value() -> None:
    """commit() refuses conditions and maps that cannot be called with the value alone, each with its line."""

    def nobody() -> bool:
        return True

    made: Any = begun()
    made.branch([(nobody, inc)], default=big).map(keep)
    with pytest.raises(WorkflowDefinitionError) as refused:
        made.commit()
    first, second = refused.value.findings
    assert (first.code, second.code) == ("invalid-conditional", "incompatible-schema")
    assert first.message == "the condition of arm 'inc' of 'branch-1' cannot be called with the value alone"
    assert second.message == "the function of 'map-1' cannot be called with the value alone"
    assert first.line is not None and "lambda value" in str(first.hint)


def test_whatever_takes_one_argument_will_do() -> None:
    """Methods, builtins, classes, defaults, *args and wrapped functions can stand where a function of the value may."""

    class Limit:
        def __call__(self, value: int) -> bool:
            return value > 3

        def exceeded(self, value: int) -> bool:
            return value > 3

    @wraps(always)
    def wrapped(*args: Any) -> bool:
        return always(*args)

    def at_least(value: int, least: int = 3) -> bool:
        return value >= least

    conditions: list[Callable[..., bool]] = [Limit(), Limit().exceeded, bool, wrapped, at_least]
    for condition in conditions:
        assert create_workflow("w", int).branch([(condition, inc)], default=big).map(dict).commit().committed


async def test_a_failure_names_the_whole_path() -> None:
    """The error of a step says where it stands: in which nested workflow, and at which item."""

    @step
    def fail(ctx: StepContext[int]) -> int:
        raise ValueError("not today")

    inner = create_workflow("each", list[int]).foreach(fail).commit()
    result = await run(create_workflow("outer", list[int]).then(inner).commit(), [1])
    assert str(result.error) == "step 'each/fail[0]' raised ValueError: not today"


def test_a_path_that_leads_nowhere_is_told_what_is_there() -> None:
    """The hint of a wrong path has the name that was meant, or the names that there are."""

    class Customer(TypedDict):
        name: str
        city: str

    @step
    def load(ctx: StepContext[int]) -> dict[str, list[Customer]]:
        return {}

    @step
    def first(ctx: StepContext[dict[str, list[Customer]]]) -> Customer:
        return ctx.input["all"][0]

    def hint(source: Source) -> str | None:
        made = create_workflow("w", int).then(load).then(first).map({"field": source})
        (finding,) = check(made)
        assert finding.code == "invalid-map-path"
        return finding.hint

    assert hint(from_step("first", "nmae")) == "did you mean 'name'?"
    assert hint(template("${step.first.street}")) == "there is name, city"
    assert hint(from_step("load", "all[0].citty")) == "did you mean 'city'?"
    assert hint(from_step("first", "name.first")) == "there is nothing to go into"
