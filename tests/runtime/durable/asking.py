"""Workflows that ask in every construct, one question or several, and what they come to where nobody has to wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from procession.runtime.runtime import Runtime
from procession.steps.step import Step, StepContext, step
from procession.workflows.workflow import create_workflow

Ask = Callable[[str], Step[Any, int]]
"""Makes a step of a name that asks."""

Did = Callable[[str], None]
"""Notes the path of a step that runs."""


def answer_to(path: str) -> int:
    """Return the answer to the step at *path*: another one for each."""
    return 1000 + sum(ord(letter) * place for place, letter in enumerate(path, 1)) % 997


def asking(did: Did) -> Ask:
    """Return what makes steps that wait for an answer."""

    def ask(name: str) -> Step[Any, int]:
        @step(id=name, resume_type=int)
        async def asks(ctx: StepContext[int]) -> int:
            did(ctx.path)
            answer: int = await ctx.suspend({"of": ctx.path}, label=f"label of {ctx.path}")
            return ctx.input + answer

        return asks

    return ask


def knowing(name: str) -> Step[Any, int]:
    """Return a step that has the answer at once."""

    @step(id=name)
    async def knows(ctx: StepContext[int]) -> int:
        return ctx.input + answer_to(ctx.path)

    return knows


def _plain(did: Did, name: str = "plain") -> Step[Any, int]:
    @step(id=name)
    async def plain(ctx: StepContext[int]) -> int:
        did(ctx.path)
        return ctx.input + 1

    return plain


def _end(did: Did) -> Step[Any, Any]:
    @step(id="end")
    async def end(ctx: StepContext[Any]) -> Any:
        did(ctx.path)
        return ctx.input

    return end


def _total(outputs: Mapping[str, int]) -> int:
    return sum(outputs.values())


def _four(value: int) -> list[int]:
    return [value, value + 1, value + 2, value + 3]


def _is_small(value: int) -> bool:
    return value < 5


def parallel_one(ask: Ask, did: Did) -> Any:
    """Ask in one of two branches."""
    return create_workflow("w", int).parallel([ask("a"), _plain(did)]).then(_end(did)).commit()


def parallel_many(ask: Ask, did: Did) -> Any:
    """Ask in three branches."""
    return create_workflow("w", int).parallel([ask("a"), ask("b"), ask("c")]).then(_end(did)).commit()


def branch_one(ask: Ask, did: Did) -> Any:
    """Ask in the arm that is taken."""
    workflow = create_workflow("w", int).branch([(lambda n: n == 1, ask("a")), (lambda n: n != 1, ask("b"))])
    return workflow.then(_end(did)).commit()


def branch_many(ask: Ask, did: Did) -> Any:
    """Ask in two arms that are taken."""
    arms = [(_is_small, ask("a")), (_is_small, ask("b")), (_is_small, _plain(did))]
    return create_workflow("w", int).branch(arms).then(_end(did)).commit()


def loop_one(ask: Ask, did: Did) -> Any:
    """Ask in three rounds."""
    return create_workflow("w", int).do_while(ask("a"), lambda n: n < 3000).then(_end(did)).commit()


def loop_many(ask: Ask, did: Did) -> Any:
    """Ask in two branches of each of several rounds."""
    body = create_workflow("body", int).parallel([ask("a"), ask("b")]).map(_total).then(_plain(did)).commit()
    return create_workflow("w", int).do_while(body, lambda n: n < 5000).then(_end(did)).commit()


def foreach_one(ask: Ask, did: Did) -> Any:
    """Ask for one item of four."""
    item = create_workflow("item", int).branch([(lambda n: n == 2, ask("a"))], default=_plain(did)).commit()
    return create_workflow("w", int).map(_four).foreach(item, concurrency=2).then(_end(did)).commit()


def foreach_many(ask: Ask, did: Did) -> Any:
    """Ask for every item, two at a time."""
    return create_workflow("w", int).map(_four).foreach(ask("a"), concurrency=2).then(_end(did)).commit()


def foreach_in_turn(ask: Ask, did: Did) -> Any:
    """Ask for every item, which are done one after the other."""
    return create_workflow("w", int).map(_four).foreach(ask("a")).then(_end(did)).commit()


def nested_one(ask: Ask, did: Did) -> Any:
    """Ask two workflows down."""
    inner = create_workflow("inner", int).then(_plain(did)).then(ask("a")).commit()
    middle = create_workflow("middle", int).then(inner).then(_plain(did, "after")).commit()
    return create_workflow("w", int).then(middle).then(_end(did)).commit()


def nested_many(ask: Ask, did: Did) -> Any:
    """Ask two workflows down, in branches, and in one beside."""
    inner = create_workflow("inner", int).parallel([ask("a"), ask("b")]).map(_total).commit()
    middle = create_workflow("middle", int).then(_plain(did)).then(inner).commit()
    return create_workflow("w", int).parallel([middle, ask("c")]).then(_end(did)).commit()


def graph_one(ask: Ask, did: Did) -> Any:
    """Ask in a step of an explicit graph."""
    graph = create_workflow("w", int).add(_plain(did)).add(ask("a"), after=["plain"])
    return graph.add(_end(did), after=["a"]).commit()


def graph_many(ask: Ask, did: Did) -> Any:
    """Ask in two steps of an explicit graph, and in one after one of them."""
    graph = create_workflow("w", int).add(_plain(did)).add(ask("a"), after=["plain"]).add(ask("b"), after=["plain"])
    graph = graph.add(ask("c"), after=["a"])
    return graph.add(_end(did), after=["b", "c"]).commit()


def called_one(ask: Ask, did: Did) -> Any:
    """Ask in a step that a step calls, after another one."""
    asks, plain = ask("a"), _plain(did)

    @step
    async def calls(ctx: StepContext[int]) -> int:
        did(ctx.path)
        return int(await ctx.call(asks, await ctx.call(plain, ctx.input)))

    return create_workflow("w", int).then(calls).then(_end(did)).commit()


def called_many(ask: Ask, did: Did) -> Any:
    """Ask in steps that two branches call, one of them twice."""
    asks = ask("a")

    @step
    async def once(ctx: StepContext[int]) -> int:
        did(ctx.path)
        return int(await ctx.call(asks, ctx.input))

    @step
    async def twice(ctx: StepContext[int]) -> int:
        did(ctx.path)
        return int(await ctx.call(asks, await ctx.call(asks, ctx.input)))

    return create_workflow("w", int).parallel([once, twice]).then(_end(did)).commit()


def map_one(ask: Ask, did: Did) -> Any:
    """Ask before a map that picks."""
    workflow: Any = create_workflow("w", int).parallel([ask("a"), _plain(did)])
    return workflow.map(_total).then(_end(did)).commit()


def map_many(ask: Ask, did: Did) -> Any:
    """Ask in branches before a map and in ones after it."""
    workflow: Any = create_workflow("w", int).parallel([ask("a"), ask("b")]).map(_total)
    return workflow.parallel([ask("c"), ask("d")]).map(_total, id="total").then(_end(did)).commit()


SHAPES: Sequence[Callable[[Ask, Did], Any]] = (
    parallel_one, parallel_many, branch_one, branch_many, loop_one, loop_many, foreach_one, foreach_many, foreach_in_turn,
    nested_one, nested_many, graph_one, graph_many, called_one, called_many, map_one, map_many,
)  # fmt: skip


async def known_output(shape: Callable[[Ask, Did], Any]) -> Any:
    """Return what a workflow comes to where every answer is known at once."""
    return (await Runtime().run(shape(knowing, lambda path: None), 1)).unwrap()
