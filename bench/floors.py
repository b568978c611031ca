"""
Floors: the same work written by hand, with asyncio and nothing else.

They keep no events, no results of single steps and cannot be resumed: what a library costs is what it adds to these.
"""

from __future__ import annotations

import asyncio
import graphlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = [
    "Value", "branch", "build", "chain", "fan_out", "foreach", "guards", "loop", "many", "sleepy", "stream",
    "stream_plain",
]  # fmt: skip

Value = dict[str, int]


async def increment(value: Value) -> Value:
    """
    The trivial step: one addition, one new value.
    """
    return {"n": value["n"] + 1}


async def sleepy(value: Value) -> Value:
    """
    A step that gives way to others for a millisecond.
    """
    await asyncio.sleep(0.001)
    return {"n": value["n"] + 1}


async def chain(length: int) -> None:
    """
    Await one step after the other.
    """
    value = {"n": 0}
    for step in [increment] * length:
        value = await step(value)
    assert value["n"] == length


async def fan_out(width: int, step: Any = increment) -> None:
    """
    Gather *width* branches after a first step, and add up what they give.
    """
    value = await increment({"n": 0})
    outputs = await asyncio.gather(*(step(value) for _ in range(width)))
    assert sum(output["n"] for output in outputs) == 2 * width


async def foreach(length: int, limit: int) -> None:
    """
    Let *limit* workers take items from one iterator.
    """
    outputs: list[Value | None] = [None] * length
    items = iter(range(length))

    async def work() -> None:
        for item in items:
            outputs[item] = await increment({"n": item})

    await asyncio.gather(*(work() for _ in range(limit)))
    assert outputs[-1] == {"n": length}


async def branch(runs: int) -> None:
    """
    One step, then one of three by what it gave.
    """
    first = second = third = increment
    for run in range(runs):
        value = await increment({"n": run})
        match value["n"] % 3:
            case 0:
                value = await first(value)
            case 1:
                value = await second(value)
            case _:
                value = await third(value)


async def build(length: int) -> None:
    """
    Put a chain of *length* nodes into order: the check that it has no circle.
    """
    graph = {node: {node - 1} if node else set[int]() for node in range(length)}
    assert len(list(graphlib.TopologicalSorter(graph).static_order())) == length


async def _texts(length: int) -> AsyncIterator[str]:
    for _ in range(length):
        yield "tok "


async def _pass(chunk: str) -> str:
    return chunk


def _pass_plain(chunk: str) -> str:
    return chunk


async def stream(length: int, processors: int) -> None:
    """
    Await *processors* functions for each chunk of a generator.
    """
    functions = [_pass] * processors
    seen = 0
    async for chunk in _texts(length):
        for function in functions:
            chunk = await function(chunk)
        seen += 1
    assert seen == length


async def stream_plain(length: int, processors: int) -> None:
    """
    Call *processors* plain functions for each chunk of a generator.
    """
    functions = [_pass_plain] * processors
    seen = 0
    async for chunk in _texts(length):
        for function in functions:
            chunk = function(chunk)
        seen += 1
    assert seen == length


async def loop(steps: int, processors: int) -> None:
    """
    Ask a model until it calls no more tools: *steps* tool calls, with *processors* hooks before each question.
    """
    messages: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]

    async def model() -> dict[str, Any]:
        asked = len(messages) // 2
        if asked == steps:
            return {"role": "assistant", "content": "done"}
        return {"role": "assistant", "calls": [{"id": f"c{asked}", "name": "add", "args": {"a": asked}}]}

    async def add(a: int) -> str:
        return str(a + 1)

    async def hook(messages: list[dict[str, Any]]) -> None:
        return None

    hooks = [hook] * processors
    while True:
        for each in hooks:
            await each(messages)
        answer = await model()
        messages.append(answer)
        if "calls" not in answer:
            break
        for call in answer["calls"]:
            messages.append({"role": "tool", "id": call["id"], "content": await add(**call["args"])})
    assert len(messages) == 2 * steps + 2


async def guards(delays: tuple[float, ...], blocking: int | None = None) -> str:
    """
    Wait for guards in a task group; the one with the index *blocking* raises and cancels the others.
    """

    async def guard(index: int, delay: float) -> None:
        await asyncio.sleep(delay)
        if index == blocking:
            raise ValueError("blocked")

    try:
        async with asyncio.TaskGroup() as group:
            for index, delay in enumerate(delays):
                group.create_task(guard(index, delay))
    except ExceptionGroup:
        return "blocked"
    return "passed"


async def many(runs: int, steps: int, seconds: float) -> None:
    """
    Gather *runs* loops of *steps* questions each, the model taking *seconds* for an answer.
    """

    async def one() -> None:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
        for step in range(steps):
            await asyncio.sleep(seconds)
            if step < steps - 1:
                messages.append({"role": "assistant", "calls": [step]})
                messages.append({"role": "tool", "content": str(step)})
            else:
                messages.append({"role": "assistant", "content": "done"})

    await asyncio.gather(*(one() for _ in range(runs)))
