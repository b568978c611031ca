"""
Capped: what runs under a budget, and what happens once that is used up.
"""

from __future__ import annotations

from typing import Any

import anyio

from procession.messages.tripwire import TripwireInfo
from procession.runtime.events import Note
from procession.runtime.executor import fail
from procession.runtime.fanin import is_forkable
from procession.runtime.isolate import isolated
from procession.runtime.meter import Meter
from procession.runtime.observability.logging import log_stop
from procession.runtime.records import Record
from procession.runtime.state import SPENT, RunState, Walk, is_within
from procession.steps.event_loop import cancel_scope
from procession.steps.own_task import OwnTask, leave
from procession.steps.result import STOPS, Blocked, Cancelled, Stop, Suspended
from procession.steps.spending import METERS
from procession.workflows.plan import SKIPPED, Capped, Leaf, Spent

__all__ = ["left_behind", "run_capped"]


async def run_capped(node: Capped, value: Any, run: RunState, prefix: str, walk: Walk, detail: bool) -> Any:
    """
    Run what has a budget, in a task of its own, and return its output, what stands for it, or the ``Stop`` that ended it.
    """
    path, _ = node.place(prefix)
    if run.replaying and node.marks(prefix)[0] in run.records:  # used up before the run went on
        return await _instead(node, value, run, prefix, walk)
    # What is stopped half-way may have changed what it was given, and something else goes on with that.
    given = value if node.budget.on_exceed == "block" or node.leaves else _own(value)
    began = run.now()
    meter, output = await _measured(node, given, run, prefix, walk)
    if meter.exceeded is None or _is_final(output):
        if given is not value and type(output) not in STOPS and is_forkable(output):
            return value.adopt({node.id: output}, output, allow_drop=True)
        return output
    used = meter.used(run.now() - began)
    if node.budget.on_exceed == "block":
        return _blocked(node, run, path, used)
    try:
        await _note(node, value, run, prefix, used, detail)
    except Exception as error:  # it could not be written down
        return fail(run, node, path, error)
    return await _instead(node, value, run, prefix, walk)


def _own(value: Any) -> Any:
    return value.fork() if is_forkable(value) else isolated(value)


def _is_final(output: Any) -> bool:
    """
    Whether a processor has said no: that is its verdict, whatever it has used for that.
    """
    return type(output) is Blocked and not output.tripwire.retry


async def _measured(node: Capped, value: Any, run: RunState, prefix: str, walk: Walk) -> tuple[Meter, Any]:
    """
    Run the nodes inside and return what was counted, and what they gave.
    """
    path, _ = node.place(prefix)
    seconds = node.budget.seconds
    waiting = cancel_scope()
    task: OwnTask | None = None

    def stop() -> None:
        if task is not None:
            task.cancel()
        waiting.cancel()

    async def work() -> Any:
        METERS.set((*METERS.get(), meter))
        return await walk(node.nodes, value, run, prefix)

    meter = Meter(node.budget, path, stop)
    if run.history is not None:
        for at, calls in run.history.spent.items():
            if is_within(at, path) and not is_within(at, node.marks(prefix)[1]):
                for call in calls:
                    meter.add(*call)
        if meter.exceeded is not None:
            return meter, None
    if seconds is not None:
        waiting.deadline = anyio.current_time() + seconds
    run.caps += (meter,)
    task = OwnTask(work)
    try:
        with waiting:
            await task.wait()
        if task.ended is None or (seconds is not None and task.ended >= waiting.deadline):
            meter.exceed("seconds")  # unless something else was used up before
        await _stop(task, node, run, path)
    except BaseException:  # who waits for it is cancelled
        await _stop(task, node, run, path)
        meter.closed, meter.exceeded = True, None
        if not node.whole:
            _close(run, path)
        raise
    finally:
        meter.closed = True
        run.caps = tuple(each for each in run.caps if each is not meter)
    if task.error is not None and meter.exceeded is None:
        if isinstance(task.error, anyio.get_cancelled_exc_class()):
            return meter, Cancelled(path, "it was cancelled from outside")
        raise task.error
    return meter, task.result


async def _stop(task: OwnTask, node: Capped, run: RunState, path: str) -> None:
    if not await task.stop(run.grace):
        leave(run.scope, path or node.id, task)
        left_behind(run, path, itself=not node.whole)


def _close(run: RunState, path: str) -> None:
    """
    Close the record at *path*, which was kept open for what the budget would say.
    """
    record = run.records.get(path)
    if record is not None and record.status == "running":
        run.close(record, Cancelled(path, run.why_cancelled(path)))


def left_behind(run: RunState, path: str, *, itself: bool = True) -> None:
    """
    Record what goes on at *path*, *itself* or only below, as left behind.
    """
    for record in list(run.records.values()):
        if record.status == "running" and is_within(record.path, path) and (itself or record.path != path):
            run.close(record, Cancelled(path, "it did not stop in time and was left behind"))
            run.records[record.path] = record.copy()  # the straggler goes on with its own


def _blocked(node: Capped, run: RunState, path: str, used: dict[str, Any]) -> Stop:
    record = run.records.get(path)
    stop = Blocked(path, _verdict(node, path, used))
    if record is None or record.status != "running":
        record = Record(node if node.whole else node.nodes[0], path, 0.0)
        if node.whole:  # whatever contains the workflow records how it ended, if anything does
            log_stop(run.run_id, record, stop)
            return stop
        run.records[path] = record
    run.close(record, stop)
    log_stop(run.run_id, record, stop)
    return stop


def _verdict(node: Capped, path: str, used: dict[str, Any]) -> TripwireInfo:
    inner = node.nodes[0]
    step = inner.step if isinstance(inner, Leaf) else None
    kind = "budget_exceeded"
    if node.guards:  # it could not check: D17
        kind = "guard_timeout" if used["what"] == "seconds" else "guard_failed"
    told = f"it used {used['used']:g} of {used['limit']:g} {used['what']}"
    return TripwireInfo(
        f"the budget of {(path or node.id)!r} is used up: {told if 'unpriced' not in used else 'its price could not be told'}",
        metadata={"kind": kind, "budget": {"path": path, **used}},
        processor_id=getattr(step.owner, "id", None) if step is not None and step.kind == "processor" else None,
    )


async def _note(node: Capped, value: Any, run: RunState, prefix: str, used: dict[str, Any], detail: bool) -> None:
    """
    Record that the budget is used up and something else goes on in its place, and write that down.
    """
    path, _ = node.place(prefix)
    kept = run.records.get(path)
    now, attempt = run.now(), kept.attempt if kept is not None else 1
    if not node.whole and (detail or kept is not None):
        record = run.records[path] = Record(node, path, kept.started if kept is not None else now, value)
        record.status = "skipped"
        record.ended, record.attempt = now, attempt
    if detail or kept is not None:
        payload = {"reason": "budget", "budget": used, "instead": node.budget.describe().get("fallback")}
        run.append(Note("node.skipped", now, path, node.id, attempt, payload))
    at = node.marks(prefix)[0]
    key = at.rpartition("/")[2]
    spent = run.records[at] = Record(Spent(key, key), at, run.now())
    spent.output = used
    spent.status = "success"
    spent.ended = spent.started
    if run.journal is not None:
        await run.journal.completed(run, spent, used)


def _ask_no_more(node: Capped, run: RunState, prefix: str) -> None:
    """
    Record that steps in what has used up its budget wait no more for their answers.
    """
    path, instead = node.place(prefix)[0], node.marks(prefix)[1]
    for record in run.records.values():
        stop = record.stop
        if isinstance(stop, Suspended) and is_within(record.path, path) and not is_within(record.path, instead):
            record.stop = Cancelled(stop.path, SPENT)
            record.status = record.stop.status


async def _instead(node: Capped, value: Any, run: RunState, prefix: str, walk: Walk) -> Any:
    """
    Return what stands for the output of what has used up its budget.
    """
    path, inside = node.place(prefix)
    _ask_no_more(node, run, prefix)
    record = run.records.get(path)
    if not node.whole and (record is None or record.node is not node):
        record = run.records[path] = Record(node, path, 0.0, value)
        record.status = "skipped"
    if node.budget.on_exceed == "skip":
        return SKIPPED if node.leaves else value
    output = node.budget.fallback
    if node.fallback is not None:
        output = await walk(node.fallback, value, run, inside)
        if type(output) in STOPS:
            return output
    if record is not None and not node.whole:  # who asks for the output of the branch gets this one
        record.output, record.status = output, "success"
    return output
