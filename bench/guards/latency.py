"""
Guards in parallel: how long after the floor a verdict is there, and what becomes of the others.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bench import floors
from bench.harness import Bench, Case, Effort, Row
from bench.models import Talking
from procession.agents.agent import Agent
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.steps.step import Step, StepContext
from procession.workflows.nodes import pick
from procession.workflows.workflow import Workflow, create_workflow

if TYPE_CHECKING:
    from procession.processors.contexts import InputContext

__all__ = ["benches"]

PASSING = (0.05, 0.05, 0.05)
BLOCKING = (0.05, 0.01, 0.05)
BLOCKER = 1
MODEL = 0.08
"""Seconds that the model takes beside which guards run."""


@dataclass
class Watch:
    """
    What happened to the guards of one run.
    """

    begun: int = 0
    over: int = 0
    cancelled: int = 0
    leaked: int = 0
    """Guards that were not over, and chunks that had been sent, when the verdict was there."""

    async def wait(self, seconds: float) -> None:
        """
        Wait as a guard does that asks another service.
        """
        self.begun += 1
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.over += 1


class Guard(Processor):
    """
    Waits, then lets the input pass or stops the run.
    """

    def __init__(self, index: int, seconds: float, blocks: bool, watch: Watch) -> None:
        super().__init__(id=f"g{index}")
        self.seconds = seconds
        self.blocks = blocks
        self.watch = watch

    async def process_input(self, ctx: InputContext) -> None:
        """
        Decide.
        """
        await self.watch.wait(self.seconds)
        if self.blocks:
            ctx.abort("blocked")


class Checking(Guard):
    """
    A guard that may run beside the model call.
    """

    check_only = True


def _guard_step(index: int, seconds: float, blocks: bool, watch: Watch) -> Step[Any, Any]:
    async def decide(ctx: StepContext[Any]) -> Any:
        await watch.wait(seconds)
        if blocks:
            raise ValueError("blocked")
        return ctx.input

    return Step(id=f"g{index}", execute=decide)


@dataclass(frozen=True)
class Guarded:
    """
    One of the ways to have three guards, with its floor; ``added_ms`` is what it takes beyond that.
    """

    variant: str
    delays: tuple[float, ...]
    blocker: int | None
    watch: Watch
    work: Any
    bench: str = field(default="guards", init=False)

    async def run(self, effort: Effort) -> Row:
        """
        Measure, and say what became of the guards of the last run.
        """
        case = Case(
            bench=self.bench,
            variant=self.variant,
            n=1,
            ours=self._once,
            floor=partial(floors.guards, self.delays, self.blocker),
            clock="wall",
            extra=self._seen,
        )
        made = await case.run(replace(effort, floor_seconds=0.0, ours_seconds=0.0))
        return made | {"added_ms": round((made["per_op_us"] - made["floor_us"]) / 1000, 3)}

    async def _once(self) -> None:
        watch = self.watch
        watch.begun = watch.over = watch.cancelled = watch.leaked = 0
        await self.work()
        watch.leaked += watch.begun - watch.over

    def _seen(self) -> Row:
        return {"guards": self.watch.begun, "cancelled": self.watch.cancelled, "leaked": self.watch.leaked}


def _steps(variant: str, delays: tuple[float, ...], blocker: int | None) -> Guarded:
    watch = Watch()
    steps = [_guard_step(index, delay, index == blocker, watch) for index, delay in enumerate(delays)]
    workflow: Workflow[Any, Any] = create_workflow("guards").parallel(steps).commit()
    runtime = Runtime()
    expected = "success" if blocker is None else "failed"

    async def work() -> None:
        result = await runtime.create_run(workflow).start({"n": 0})
        assert result.status == expected, result

    return Guarded(variant, delays, blocker, watch, work)


def _processors(variant: str, delays: tuple[float, ...], blocker: int | None) -> Guarded:
    watch = Watch()
    guards = [Guard(index, delay, index == blocker, watch) for index, delay in enumerate(delays)]
    workflow = create_workflow("guards", kind="processor").parallel(guards).map(pick("processor:g0")).commit()
    agent = Agent("guarded", model=Talking(), input_processors=[workflow])

    async def work() -> None:
        sent = 0
        async with agent.stream("hi") as stream:
            async for chunk in stream.full_stream:
                if chunk.type == "text-delta":
                    sent += 1
                    watch.leaked += watch.over < len(delays)
        assert sent == (0 if blocker is not None else 1), sent

    return Guarded(variant, delays, blocker, watch, work)


def _beside(variant: str, delays: tuple[float, ...], blocker: int | None) -> Guarded:
    """
    Guards beside a model call; to the floor the model is one more guard that passes.
    """
    watch = Watch()
    guards = [Checking(index, delay, index == blocker, watch) for index, delay in enumerate(delays)]
    model = Talking(seconds=MODEL)
    agent = Agent("guarded", model=model, input_processors=guards, guard_mode="concurrent")

    async def work() -> None:
        sent = 0
        async with agent.stream("hi") as stream:
            async for chunk in stream.full_stream:
                if chunk.type == "text-delta":
                    sent += 1
                    watch.leaked += watch.over < len(delays)
        assert sent == (0 if blocker is not None else 1), sent

    return Guarded(variant, (*delays, MODEL), blocker, watch, work)


def benches() -> list[Bench]:
    """
    Return the benchmarks of guards: as steps of a workflow, and as processors before an agent's answer, and beside it.
    """
    return [
        _steps("steps_pass", PASSING, None),
        _steps("steps_block", BLOCKING, BLOCKER),
        _processors("agent_pass", PASSING, None),
        _processors("agent_block", BLOCKING, BLOCKER),
        _beside("beside_pass", PASSING, None),
        _beside("beside_block", BLOCKING, BLOCKER),
    ]
