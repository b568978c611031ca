"""
The stream of an answer: what it costs for each chunk, and what each processor that sees the chunks adds.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from bench import floors
from bench.harness import Bench, Case, Work
from bench.models import Talking
from procession.agents.agent import Agent
from procession.processors.processor import Processor
from procession.workflows.nodes import pick
from procession.workflows.workflow import create_workflow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from procession.messages.chunks import Chunk
    from procession.processors.contexts import OutputStreamContext

__all__ = ["benches"]

LENGTHS = {"1k": 1_000, "10k": 10_000, "50k": 50_000}


class Passing(Processor):
    """
    Gives every chunk back, from a coroutine.
    """

    async def process_output_stream(self, ctx: OutputStreamContext) -> Chunk | None:
        """
        Return the chunk.
        """
        return ctx.part


class PassingPlain(Processor):
    """
    The same without a coroutine.
    """

    def process_output_stream(self, ctx: OutputStreamContext) -> Chunk | None:
        """
        Return the chunk.
        """
        return ctx.part


def reading(length: int, processors: Sequence[Any] = (), replay: bool = True) -> Work:
    """
    Return work that streams an answer of *length* chunks to a reader through *processors*.
    """
    agent = Agent("talking", model=Talking(length), output_processors=processors)

    async def work() -> None:
        seen = 0
        async with agent.stream("hi", replay=replay) as stream:
            async for chunk in stream.full_stream:
                seen += chunk.type == "text-delta"
        assert seen == length, seen

    return work


def passing(count: int, kind: type[Processor] = Passing) -> list[Processor]:
    """
    Return *count* processors that change nothing.
    """
    return [kind(id=f"p{index}") for index in range(count)]


def _lengths() -> list[Bench]:
    return [
        Case(
            bench="stream",
            variant=f"{name}_p{count}{suffix}",
            n=length,
            ours=reading(length, passing(count, kind)),
            floor=partial(floor, length, count),
        )
        for name, length in LENGTHS.items()
        for count in (0, 1, 5, 10)
        for suffix, kind, floor in (("", Passing, floors.stream), ("_def", PassingPlain, floors.stream_plain))
        if count or not suffix
    ]


def _added() -> list[Bench]:
    return [
        Case(
            bench="stream",
            variant=f"added_per_processor{suffix}",
            n=10_000,
            ours=reading(10_000, passing(10, kind)),
            floor=partial(floor, 10_000, 10),
            ours_base=reading(10_000),
            floor_base=partial(floor, 10_000, 0),
            share=10,
        )
        for suffix, kind, floor in (("", Passing, floors.stream), ("_def", PassingPlain, floors.stream_plain))
    ]


def _growth() -> list[Bench]:
    return [
        Case(
            bench="stream",
            variant=f"growth_p{count}",
            n=50_000,
            ours=reading(50_000, passing(count)),
            floor=reading(1_000, passing(count)),
            floor_n=1_000,
            against=f"1k_p{count}",
        )
        for count in (0, 5)
    ]


def _parallel() -> list[Bench]:
    workflow = create_workflow("three", kind="processor").parallel(passing(3)).map(pick("processor:p0")).commit()
    return [
        Case(
            bench="stream",
            variant="parallel_3",
            n=10_000,
            ours=reading(10_000, [workflow]),
            floor=partial(floors.stream, 10_000, 3),
        ),
        Case(
            bench="stream",
            variant="growth_parallel_3",
            n=50_000,
            ours=reading(50_000, [workflow]),
            floor=reading(1_000, [workflow]),
            floor_n=1_000,
            against="1k of the same",
        ),
    ]


def _memory() -> list[Bench]:
    return [
        Case(
            bench="stream",
            variant="memory_50k",
            n=50_000,
            ours=reading(50_000, passing(5), replay=False),
            floor=partial(floors.stream, 50_000, 5),
        ),
        Case(
            bench="stream",
            variant="memory_50k_replay",
            n=50_000,
            ours=reading(50_000, passing(5)),
            floor=partial(floors.stream, 50_000, 5),
        ),
    ]


def benches() -> list[Bench]:
    """
    Return the benchmarks of the stream.
    """
    return [*_lengths(), *_added(), *_growth(), *_parallel(), *_memory()]
