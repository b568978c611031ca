"""
The engine: chains, fan-outs, foreach, branches, and what it costs to build and check a workflow.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from bench import floors
from bench.harness import Bench, Case, Work
from procession.runtime.runtime import Runtime
from procession.steps.step import Step, StepContext, step
from procession.workflows.workflow import Workflow, create_workflow

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["benches"]

Pipeline = Workflow[Any, Any]


@step
async def increment(ctx: StepContext[Any]) -> Any:
    """
    The trivial step.
    """
    return {"n": ctx.input["n"] + 1}


@step
def plain(ctx: StepContext[Any]) -> Any:
    """
    The same without a coroutine.
    """
    return {"n": ctx.input["n"] + 1}


@step
async def sleepy(ctx: StepContext[Any]) -> Any:
    """
    The same after a millisecond in which others run.
    """
    await asyncio.sleep(0.001)
    return {"n": ctx.input["n"] + 1}


@step
async def typed(ctx: StepContext[dict[str, int]]) -> dict[str, int]:
    """
    The same, with its input and output checked.
    """
    return {"n": ctx.input["n"] + 1}


@step
async def total(ctx: StepContext[Any]) -> Any:
    """
    The end of a fan-out.
    """
    return {"n": sum(output["n"] for output in ctx.input.values())}


def chain(steps: list[Step[Any, Any]]) -> Pipeline:
    """
    Build and commit a workflow of one step after the other.
    """
    workflow = create_workflow("chain")
    for each in steps:
        workflow = workflow.then(each)
    return workflow.commit()


def copies(made: Step[Any, Any], count: int) -> list[Step[Any, Any]]:
    """
    Return *count* steps that do the same under names of their own.
    """
    return [made.renamed(f"s{index}") for index in range(count)]


def fan_out(width: int, body: Step[Any, Any]) -> Pipeline:
    """
    Build a step, *width* branches and a step that joins them.
    """
    return create_workflow("fan-out").then(increment).parallel(copies(body, width)).then(total).commit()


def branch() -> Pipeline:
    """
    Build a step and one of three more.
    """

    def leaves(rest: int) -> Callable[[Any], bool]:
        return lambda value: value["n"] % 3 == rest

    first, second, third = copies(increment, 3)
    arms = [(leaves(0), first), (leaves(1), second), (leaves(2), third)]
    return create_workflow("branch").then(increment).branch(arms).commit()


def running(workflow: Pipeline, value: Any, check: Callable[[Any], bool], runs: int = 1) -> Work:
    """
    Return work that runs *workflow* and makes sure that it did what it should.
    """
    runtime = Runtime()

    async def work() -> None:
        for _ in range(runs):
            result = await runtime.create_run(workflow).start(value)
            assert check(result.output), result

    return work


def _adds_up(width: int, output: Any) -> bool:
    return bool(output == {"n": 2 * width})


def _chains() -> list[Bench]:
    return [
        Case(
            bench="workflow",
            variant=f"chain_100{suffix}",
            n=100,
            ours=running(chain(copies(body, 100)), {"n": 0}, lambda output: output == {"n": 100}),
            floor=partial(floors.chain, 100),
        )
        for suffix, body in (("", increment), ("_def", plain), ("_typed", typed))
    ]


def _fan_outs() -> list[Bench]:
    made: list[Bench] = []
    for kind, body in (("async", increment), ("def", plain), ("sleep", sleepy)):
        gather = floors.sleepy if body is sleepy else floors.increment
        ours = {width: running(fan_out(width, body), {"n": 0}, partial(_adds_up, width)) for width in (100, 1000)}
        made += [
            Case(
                bench="workflow",
                variant=f"fan_{width}_{kind}",
                n=width,
                ours=work,
                floor=partial(floors.fan_out, width, gather),
            )
            for width, work in ours.items()
        ]
        made.append(
            Case(
                bench="workflow",
                variant=f"growth_fan_{kind}",
                n=1000,
                ours=ours[1000],
                floor=ours[100],
                floor_n=100,
                against="fan_100",
            )
        )
    return made


def _builds() -> list[Bench]:
    def building(count: int) -> Work:
        steps = copies(increment, count)

        async def work() -> None:
            chain(steps)

        return work

    def defining(count: int) -> Work:
        async def work() -> None:
            chain([step(id=f"s{index}")(increment_function) for index in range(count)])

        return work

    made: list[Bench] = [
        Case(bench="workflow", variant=f"build_{count}", n=1, ours=building(count), floor=partial(floors.build, count))
        for count in (10, 100, 1000)
    ]
    made.append(
        Case(
            bench="workflow",
            variant="growth_build",
            n=1000,
            ours=building(1000),
            floor=building(100),
            floor_n=100,
            against="build_100",
        )
    )
    made.append(
        Case(
            bench="workflow",
            variant="build_1000_with_steps",
            n=1,
            ours=defining(1000),
            floor=partial(floors.build, 1000),
        )
    )
    return made


async def increment_function(ctx: StepContext[Any]) -> Any:
    """
    What a step is made of, for the benchmark that makes steps too.
    """
    return {"n": ctx.input["n"] + 1}


def benches() -> list[Bench]:
    """
    Return the benchmarks of the engine.
    """
    items = [{"n": item} for item in range(1000)]
    return [
        *_chains(),
        *_fan_outs(),
        Case(
            bench="workflow",
            variant="foreach_1000_50",
            n=1000,
            ours=running(
                create_workflow("foreach").foreach(increment, concurrency=50).commit(),
                items,
                lambda output: output[-1] == {"n": 1000},
            ),
            floor=partial(floors.foreach, 1000, 50),
        ),
        Case(
            bench="workflow",
            variant="branch_3",
            n=100,
            ours=running(branch(), {"n": 0}, lambda output: output == {"s1": {"n": 2}}, runs=100),
            floor=partial(floors.branch, 100),
        ),
        *_builds(),
    ]
