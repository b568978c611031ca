"""
Build: the workflow of a description, and a run of it under a schedule, seen as the oracle sees it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import anyio
import anyio.lowlevel
from tests.runtime.random_graphs.described import (
    Branch,
    Child,
    Each,
    Flow,
    Graph,
    Leaf,
    Loop,
    Make,
    Node,
    Parallel,
    Pause,
    When,
    text_of,
)

from procession.messages.chunks import TripwireInfo
from procession.runtime.run import Run, RunResult
from procession.steps.result import Blocked, Failed, Stop
from procession.steps.retry import RetryPolicy
from procession.steps.signals import Tripwire
from procession.steps.step import Step
from procession.workflows.nodes import pick
from procession.workflows.workflow import Workflow, create_workflow

__all__ = ["PLAY", "Play", "Seen", "built", "seen"]


@dataclass
class Play:
    """One run under way: its schedule, drawn from *seed*, and which steps' bodies have begun."""

    seed: int
    began: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])

    async def turns(self, *place: Any) -> None:
        """Let others have a few turns, as many as the schedule says for this place."""
        for _ in range(self.number(*place)):
            await anyio.lowlevel.checkpoint()

    def label(self, path: str, number: int) -> str | None:
        """Return the label under which a step asks its question, if under any."""
        return f"{path}#{number}" if self.number(path, number, "label") % 2 else None

    def number(self, *place: Any) -> int:
        """Return the number that the schedule has for a place."""
        return Random(f"{self.seed}:{place}").choice((0, 0, 1, 1, 2, 3, 5, 9, 20))


PLAY: ContextVar[Play] = ContextVar("play")


def built(graph: Flow | Graph) -> Workflow[Any, Any]:
    """Return the workflow of a description."""
    reducers: dict[str, Callable[[Any, Any], Any]] = {"sum": lambda old, new: old + new, "top": max}
    workflow = create_workflow(graph.id, reducers=reducers)
    if isinstance(graph, Graph):
        for item in graph.items:
            workflow.add(_child(item.step), after=item.after)
    else:
        for node in graph.nodes:
            _add(workflow, node)
    return workflow.commit()


def _add(workflow: Workflow[Any, Any], node: Node) -> None:
    match node:
        case Make():
            kind, _, wanted = node.what.partition(":")
            workflow.map(pick(wanted) if kind == "pick" else partial(_make, node), id=node.id)
        case Parallel():
            arms = [_child(arm) for arm in node.arms]
            options: dict[str, Any] = {
                "on_block": node.on_block, "on_failure": node.on_failure, "concurrency": node.concurrency,
            }  # fmt: skip
            workflow.parallel(arms, merge="chain" if node.chain else "strictest", id=node.id, **options)
        case Branch():
            pairs: list[Any] = [(_asks(node.id, at, when), _child(arm)) for at, (when, arm) in enumerate(node.arms)]
            default: Any = None if node.default is None else _child(node.default)
            mode, skips = "first" if node.first else "all", "skip" if node.skip else "error"
            more: dict[str, Any] = {"merge": "chain" if node.chain else "strictest", "mode": mode, "on_no_match": skips}
            workflow.branch(pairs, default=default, id=node.id, **more)
        case Each():
            foreach: Any = workflow.foreach
            on_error = "collect" if node.collect else "fail_fast"
            foreach(_child(node.body), concurrency=node.concurrency, on_error=on_error)
        case Loop():
            form = workflow.do_until if node.until else workflow.do_while
            form(_child(node.body), _asks(node.body.id, 0, node.condition), max_iterations=node.most)
        case Pause():
            workflow.sleep(node.seconds, id=node.id)
        case _:
            workflow.then(_child(node))


def _child(child: Child) -> Step[Any, Any]:
    if not isinstance(child, Leaf):
        return built(child).as_step()
    retry = RetryPolicy(child.attempts, initial=child.delay) if child.attempts > 1 else None
    body = partial(_plain, child) if child.plain else partial(_body, child)
    return Step(id=child.id, execute=body, retry=retry)


def _asks(id: str, number: int, when: When) -> Any:
    async def condition(value: Any) -> bool:
        await PLAY.get().turns(id, number, text_of(value))
        return plain(value)

    def plain(value: Any) -> bool:
        if when.raises:
            raise ValueError("no answer")
        return when.holds(value)

    return plain if (number + when.divisor) % 2 else condition


async def _make(node: Make, value: Any) -> Any:
    await PLAY.get().turns(node.id, text_of(value))
    if node.what == "raise":
        raise ValueError("no map")
    return node.output(value)


async def _body(leaf: Leaf, ctx: Any) -> Any:
    play = PLAY.get()
    play.began[ctx.path, ctx.attempt] += 1
    await play.turns(ctx.path, ctx.attempt)
    answers = [
        await ctx.suspend({"question": number}, label=play.label(ctx.path, number)) for number in range(leaf.asks)
    ]
    output = _end(leaf, ctx, answers)
    await play.turns(ctx.path, ctx.attempt, "end")
    return output


def _plain(leaf: Leaf, ctx: Any) -> Any:
    PLAY.get().began[ctx.path, ctx.attempt] += 1
    return _end(leaf, ctx, [])


def _end(leaf: Leaf, ctx: Any, answers: list[Any]) -> Any:
    end = leaf.end(ctx.input, ctx.attempt)
    match end:
        case "ok":
            for key in leaf.writes:
                ctx.set_state(**{key: len(ctx.path)})
            return leaf.output(ctx.input, answers)
        case "fail":
            raise ValueError(f"{leaf.id} fails")
        case "block" | "again":
            raise Tripwire(TripwireInfo(leaf.id, retry=end == "again", processor_id=leaf.id))
        case "cancel":
            ctx.cancel_run()
        case _:
            ctx.bail(leaf.output(ctx.input, [end]), scope=end.partition("-")[2] or "workflow")


@dataclass
class Seen:
    """What came of a run."""

    status: str
    output: str
    stop: tuple[str, str]
    records: dict[str, tuple[str, str]]
    state: dict[str, Any]
    began: Counter[tuple[str, int]]


def seen(run: Run[Any, Any], result: RunResult[Any], play: Play) -> Seen:
    """Return what came of *run*."""
    records: dict[str, tuple[str, str]] = {
        path: (record.status, text_of(record.output) if record.status == "success" else "")
        for path, record in result.steps.items()
    }
    return Seen(
        result.status, text_of(result.output), _why(result.stop), records, run.state.shared.copy(), Counter(play.began)
    )


def _why(stop: Stop | None) -> tuple[str, str]:
    if isinstance(stop, Failed):
        return stop.path, type(stop.error).__name__
    if isinstance(stop, Blocked):
        return stop.path, stop.tripwire.reason
    return ("", "") if stop is None else (stop.path, "")
