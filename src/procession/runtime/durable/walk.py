"""
The walk of a run that is written down: what is done is not done again.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from procession.runtime.durable.rows import KeptNode
from procession.runtime.executor import conclude, fail, perform
from procession.runtime.fanin import is_forkable
from procession.runtime.records import Record
from procession.runtime.state import RunState
from procession.runtime.walk import RUNNERS, call_with
from procession.steps.result import STOPS, Bailed
from procession.steps.signals import signal_of
from procession.steps.spending import METERS, Calls
from procession.steps.step import SupportsStep
from procession.workflows.plan import Leaf, PlanNode

__all__ = ["call_durably", "walk_durably"]


async def walk_durably(nodes: tuple[PlanNode, ...], value: Any, run: RunState, prefix: str = "") -> Any:
    """
    Do what ``walk`` does, write down each output before anything follows it, and pass by what is written down.
    """
    for node in nodes:
        if type(node) is Leaf:
            value = await _leaf(node, value, run, prefix + node.key)
        else:
            value = await RUNNERS[node.kind](node, value, run, prefix, walk_durably, True)
        if type(value) in STOPS:
            return value
        if run.is_due():
            await run.breathe()
    return value


async def _leaf(node: Leaf, value: Any, run: RunState, path: str) -> Any:
    journal = run.journal
    assert journal is not None
    known = run.records.get(path)
    if known is not None:
        if known.status == "success":
            try:
                return journal.recall(known, node, value)
            except Exception as error:
                return fail(run, node, path, error)
        if known.stop is not None and type(known.node) is KeptNode and path not in run.woken:
            known.input = value
            return known.stop  # it goes on waiting, or has failed where failures are collected
    elif run.parked and (parked := run.parked.get(path)) is not None:
        record = run.records[path] = Record(node, path, run.now(), value)
        record.stop, record.status = parked, parked.status
        return parked  # a step that it called goes on waiting
    record = run.records[path] = Record(node, path, run.now(), value)
    if known is not None:
        record.attempt = known.attempt
    run.append(record)
    base = value.fork() if is_forkable(value) else None
    try:
        output = await (perform(node, run, record, value) if not METERS.get() else _counted(node, run, record, value))
        if record.stop is not None:  # a verdict that the step's code has swallowed
            raise signal_of(record.stop)
        await journal.completed(run, record, output, base)
    except BaseException as error:
        stop = conclude(run, record, error)
        if type(stop) is Bailed:
            try:
                await journal.settled(run, record)
            except Exception as failed:
                record.stop = None
                return conclude(run, record, failed)
        return stop
    return run.done(record, output)


async def _counted(node: Leaf, run: RunState, record: Record, value: Any) -> Any:
    """
    Run a step under a budget, and note what it uses, so that it counts where the run goes on: in one record of the run,
    that of the step itself and not of the one that has called it as well.
    """
    if run.spent is None:
        run.spent = {}
    calls = run.spent[record.path] = Calls(run.run_id)
    around = METERS.get()
    callers = [each for each in around if isinstance(each, Calls) and each.run_id == run.run_id]
    outer = METERS.set((*(each for each in around if each not in callers), calls))
    try:
        return await perform(node, run, record, value)
    except BaseException:
        for each in callers:  # it has no record that counts, and the caller may go on
            each.calls += calls.calls
        raise
    finally:
        METERS.reset(outer)


def call_durably(
    run: RunState, definition: SupportsStep[Any, Any], value: Any, path: str, only: frozenset[str] | None, detail: bool
) -> Awaitable[Any]:
    """
    Run *definition* at *path* inside the run and return its output, or the ``Stop`` that ended it.
    """
    return call_with(walk_durably, run, definition, value, path, only)
