"""
Loops and pauses.
"""

from __future__ import annotations

from typing import Any

import anyio

from procession.errors import ConditionError, RunError
from procession.runtime.executor import fail, is_awaitable
from procession.runtime.records import NotedRecord, Record
from procession.runtime.state import RunState, Walk
from procession.steps.result import Bailed, Stop, out_of_workflow
from procession.steps.times import wrong_moment, wrong_time
from procession.steps.truth import truth
from procession.workflows.plan import Loop, Pause

__all__ = ["run_loop", "run_pause"]


async def run_loop(node: Loop, value: Any, run: RunState, prefix: str, walk: Walk, detail: bool) -> Any:
    """
    Run the body again and again.
    """
    path = prefix + node.key
    record: Record | None = None
    if detail:
        record = run.records[path] = Record(node, path, run.now(), value)
        run.append(record)
    number = 0
    nodes, below = node.body, ""
    inner = node.inner if not detail else None
    if inner is not None:  # what is not recorded is walked into without a walk round it
        nodes, below = inner.plan.nodes, f"{inner.key}/"
    try:
        while True:
            value = await walk(nodes, value, run, f"{path}[{number}]{below}")
            if inner is not None and type(value) is Bailed:
                value = out_of_workflow(value)
            if isinstance(value, Stop):
                if record is not None:
                    run.close(record, value)
                return value
            if record is None and run.clock() + run.origin > run.breathe_at:  # else the steps of the body do so
                await run.breathe()
            number += 1
            if run.history is not None and f"{path}[{number}]" in run.history.begun:
                continue  # it was asked before, and went on
            again = _ask(node, value, path, number)
            if again is not True and again is not False:
                again = await _answer(node, again, path, number)
            if again is node.until:
                break
            if node.most is not None and number >= node.most:
                raise RunError(
                    f"loop {node.id!r} has run {number} times and would go on",
                    path=path,
                    hint="raise max_iterations=, or mend the condition",
                )
            if not node.body:
                await run.breathe()
    except BaseException as error:
        return fail(run, node, path, error, record)
    return value if record is None else run.done(record, value)


def _ask(node: Loop, value: Any, path: str, number: int) -> Any:
    try:
        return node.condition(value)
    except Exception as error:
        raise _condition_failed(node, error, path, number) from error


async def _answer(node: Loop, answer: Any, path: str, number: int) -> bool:
    """
    Return what a condition means that was not answered with ``True`` or ``False`` at once.
    """
    try:
        return await truth(answer)
    except Exception as error:
        raise _condition_failed(node, error, path, number) from error


def _condition_failed(node: Loop, error: Exception, path: str, number: int) -> ConditionError:
    return ConditionError(
        f"the condition of loop {node.id!r} raised {type(error).__name__} after iteration {number}: {error}", path=path
    )


async def run_pause(node: Pause, value: Any, run: RunState, prefix: str, walk: Walk, detail: bool) -> Any:
    """
    Wait, and let the value pass.
    """
    path = prefix + node.key
    record: Record | None = None
    if detail:
        if run.replaying and (known := run.records.get(path)) is not None and known.status == "success":
            known.node, known.output = node, value
            return value
    try:
        until = run.history.waking.get(path) if run.history is not None else None
        seconds = await _seconds(node, value, run, path) if until is None else max(0.0, until - run.now())
        if detail:
            now = run.now()
            record = run.records[path] = NotedRecord(node, path, now, value, {"wakes_at": now + seconds})
            run.append(record)
        if until is None and run.journal is not None:
            await run.journal.sleeping(path, run.now() + seconds)
        await anyio.sleep(seconds)
        if run.journal is not None and record is not None:
            await run.journal.completed(run, record, None)
    except BaseException as error:
        return fail(run, node, path, error, record)
    return value if record is None else run.done(record, value)


async def _seconds(node: Pause, value: Any, run: RunState, path: str) -> float:
    """
    Return how long a pause is, 0 for a moment that is past.

    Raises ``RunError`` for what is no time: a negative number, NaN, text, a moment without a time zone.
    """
    given: Any = node.until if node.until is not None else node.seconds
    if callable(given):
        given = given(value)
        if is_awaitable(given):
            given = await given
    wrong = wrong_moment(given) if node.until is not None else wrong_time(given)
    if wrong:
        raise RunError(f"the function of sleep {node.id!r} gave {wrong}", path=path)
    return max(0.0, given.timestamp() - run.now()) if node.until is not None else float(given)
