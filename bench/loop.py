"""
The agent loop: what a step with one tool call costs, how it grows with the number of steps, what processors add.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bench import floors
from bench.harness import Bench, Case, Work
from bench.models import Calling
from procession.agents.agent import Agent
from procession.processors.processor import Processor
from procession.tools.tool import tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from procession.processors.contexts import InputStepContext

__all__ = ["add", "benches"]


@tool
async def add(a: int) -> str:
    """
    Add one.
    """
    return str(a + 1)


class Silent(Processor):
    """
    Takes part before each model call and changes nothing.
    """

    async def process_input_step(self, ctx: InputStepContext) -> None:
        """
        Do nothing.
        """


class Reader(Processor):
    """
    Looks at the conversation before each model call.
    """

    async def process_input_step(self, ctx: InputStepContext) -> None:
        """
        Read how long it is, and its ends.
        """
        view = ctx.view
        assert len(view) > 0 and view[0].role == "user" and view[-1].role in ("user", "assistant")


def looping(steps: int, processors: Sequence[Processor] = (), runs: int = 1) -> Work:
    """
    Return work in which a model calls a tool *steps* times, then answers.
    """
    agent = Agent("calling", model=Calling(steps), tools=[add], input_processors=processors)

    async def work() -> None:
        for _ in range(runs):
            result = await agent.generate("hi", max_steps=steps + 1)
            assert result.text == "done", result

    return work


def five(kind: type[Processor]) -> list[Processor]:
    """
    Return five processors of one kind.
    """
    return [kind(id=f"p{index}") for index in range(5)]


KINDS = {"p0": (), "p5": five(Silent), "p5_view": five(Reader)}


def benches() -> list[Bench]:
    """
    Return the benchmarks of the agent loop.
    """
    made: list[Bench] = [
        Case(
            bench="loop",
            variant=f"steps_{steps}_{name}",
            n=steps,
            ours=looping(steps, processors),
            floor=partial(floors.loop, steps, len(processors)),
        )
        for steps in (10, 100, 500)
        for name, processors in KINDS.items()
    ]
    made += [
        Case(
            bench="loop",
            variant=f"growth_{name}",
            n=500,
            ours=looping(500, processors),
            floor=looping(10, processors),
            floor_n=10,
            against="steps_10",
        )
        for name, processors in KINDS.items()
    ]
    made += [
        Case(
            bench="loop",
            variant=f"added_per_processor{suffix}",
            n=100,
            ours=looping(100, five(kind)),
            floor=partial(floors.loop, 100, 5),
            ours_base=looping(100),
            floor_base=partial(floors.loop, 100, 0),
            share=5,
        )
        for suffix, kind in (("", Silent), ("_view", Reader))
    ]
    return made
