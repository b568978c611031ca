"""What a test leaves behind in its event loop: tasks that outlived it, and generators of ours that nobody closed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import AsyncGeneratorType
from typing import Any

import anyio.lowlevel

import procession

PACKAGE = str(Path(procession.__file__).parent)
FOR_THE_LOOP = {"_Pool._keep"}
"""Generators that are to end with the event loop: how connections are closed with it."""
TASKS_FOR_THE_LOOP = {"_call_in_runner_task", "_shutdown_watcher"}
"""Tasks that are to end with it: anyio's plugin has one for each part of a test, sse-starlette one for all its streams."""
TURNS = 5
"""How often tasks that are just ending may still be scheduled."""


class Watch:
    """Remembers the tasks there are, and tells which have been added and not ended."""

    def __init__(self) -> None:
        self.before = set(map(id, _tasks()))

    async def leaks(self) -> list[str]:
        """Return what has been left, in words; tasks that are ending have a few turns to do so."""
        left: list[Any] = []
        for _ in range(TURNS):
            left = [task for task in _tasks() if id(task) not in self.before]
            if not left:
                break
            await anyio.lowlevel.checkpoint()
        tasks = [f"task {_name(task)}" for task in left]
        generators = [
            f"async generator {agen.__qualname__}"
            for agen in _generators()
            if agen.ag_frame is not None
            and agen.ag_code.co_filename.startswith(PACKAGE)
            and agen.__qualname__ not in FOR_THE_LOOP
        ]
        return tasks + generators


def _on_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _tasks() -> Iterable[Any]:
    if _on_asyncio():
        here = asyncio.current_task()
        return [
            task
            for task in asyncio.all_tasks()
            if task is not here and getattr(task.get_coro(), "__name__", "") not in TASKS_FOR_THE_LOOP
        ]
    import trio

    root = trio.lowlevel.current_root_task()
    here_too = trio.lowlevel.current_task()
    return [task for task in _below(root) if task is not here_too]


def _below(task: Any) -> Iterator[Any]:
    """Yield the tasks of trio's tree, system tasks among them."""
    for nursery in task.child_nurseries:
        for child in nursery.child_tasks:
            yield child
            yield from _below(child)


def _generators() -> list[AsyncGeneratorType[Any, Any]]:
    """Return the async generators that the event loop knows of: no back end tells otherwise than by itself."""
    if _on_asyncio():
        return list(getattr(asyncio.get_running_loop(), "_asyncgens", ()))
    runner = getattr(sys.modules["trio._core._run"].GLOBAL_RUN_CONTEXT, "runner", None)
    return list(getattr(getattr(runner, "asyncgens", None), "alive", ()))


def _name(task: Any) -> str:
    coroutine: Any = task.get_coro() if _on_asyncio() else task.coro
    return str(getattr(coroutine, "__qualname__", task))
