"""
Fan-out: several nodes at the same time, over ``steps/pool.py``.

Failures and verdicts become a ``Stop`` inside the branch, so that nothing but cancellation ever crosses a task.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from operator import methodcaller
from typing import Any, cast

from procession.errors import RunError, SchemaError
from procession.runtime.capped import left_behind
from procession.runtime.executor import fail, is_awaitable
from procession.runtime.fanin import is_forkable
from procession.runtime.isolate import copier_of, isolated
from procession.runtime.joins import Joins
from procession.runtime.records import NotedRecord, Record
from procession.runtime.state import BESIDE, RunState, Walk
from procession.steps.item_error import ItemError
from procession.steps.own_task import leave
from procession.steps.pool import PENDING, Pool
from procession.steps.result import STOPS, Bailed, Blocked, Cancelled, Failed, Stop, Suspended, strongest
from procession.workflows.nodes import Waiting
from procession.workflows.plan import SKIPPED, Arm, Capped, Dag, Each, Fork, PlanNode

__all__ = ["run_arms", "run_chain", "run_dag", "run_each", "run_fork"]

_fork: Callable[[Any], Any] = methodcaller("fork")


async def together(
    run: RunState,
    work: Callable[[int], Awaitable[Any]],
    count: int,
    live: tuple[str, frozenset[str]],
    *,
    limit: int | None = None,
    on_block: Waiting = "cancel",
    on_failure: Waiting = "cancel",
    name: Callable[[int], str],
    begun: Callable[[Pool], None] | None = None,
) -> tuple[list[Any], Stop | None]:
    """
    Do ``work(0) …`` at the same time and return what they gave, and the stop that decides if there was one.

    The first stop cancels the others where it should.  *live* is the prefix and the keys of the paths of what runs;
    *name* says what a branch is called, if it has to be left behind.
    """
    stops = False

    def stopped(stop: Stop) -> Any:
        nonlocal stops
        if isinstance(stop, Bailed) and stop.scope == "branch":
            return stop.value
        stops = True
        if isinstance(stop, Blocked):
            cancel = on_block == "cancel"
        elif isinstance(stop, Failed):
            cancel = on_failure == "cancel"
        else:
            cancel = not isinstance(stop, Suspended)
        if cancel:
            run.ending += (live,)
            pool.cancel()
        return stop

    pool = Pool(work, count, limit, stopped=stopped)
    if begun is not None:
        begun(pool)
    run.forks += (live,)
    try:
        await pool.run(run.grace)
    finally:
        run.forks = tuple(fork for fork in run.forks if fork is not live)
        if run.ending:
            run.ending = tuple(fork for fork in run.ending if fork is not live)
        if pool.busy:
            leave(run.scope, ", ".join(map(name, pool.running())), pool)
    if stops:
        return pool.results, deciding(pool.results)
    # Cancelled without a stop: somebody has cancelled a task of ours.
    return pool.results, Cancelled(live[0], "a branch was cancelled from outside") if pool.cancelled else None


async def one_by_one(work: Callable[[int], Awaitable[Any]], count: int) -> list[Any]:
    """
    Do ``work(0) …`` one after the other in place and return what they gave, up to the first that ends it all.
    """
    results: list[Any] = []
    for index in range(count):
        output = await work(index)
        if isinstance(output, Stop):
            if isinstance(output, Bailed) and output.scope == "branch":
                output = output.value
            elif not isinstance(output, Suspended):
                return [*results, output]
        results.append(output)
    return results


def deciding(results: Sequence[Any]) -> Stop | None:
    """
    Return the stop among *results* that decides, or ``None`` where all are outputs.
    """
    stops = [result for result in results if isinstance(result, Stop)]
    return strongest(stops) if stops else None


async def run_fork(node: Fork, value: Any, run: RunState, prefix: str, walk: Walk) -> Any:
    """
    Run the branches of a parallel node and return their outputs by id, or a ``Stop``.
    """
    if node.merge == "chain":
        return await run_chain(node, node.arms, value, run, prefix, walk)
    busy = node.busy
    outputs = await run_arms(
        node, busy, node.keys, value, run, prefix, walk, node.on_block, node.on_failure, node.limit
    )
    if len(busy) < len(node.arms) and type(outputs) not in STOPS:
        return {
            arm.id: outputs[arm.id] if arm.nodes else value for arm in node.arms if not arm.nodes or arm.id in outputs
        }
    return outputs


async def run_arms(
    node: PlanNode,
    arms: Sequence[Arm],
    keys: frozenset[str],
    value: Any,
    run: RunState,
    prefix: str,
    walk: Walk,
    on_block: Waiting = "cancel",
    on_failure: Waiting = "cancel",
    limit: int | None = None,
) -> Any:
    """
    Run *arms* at the same time, each on its own fork or copy, and return their outputs by id, or a ``Stop``.
    """
    copy: Callable[[Any], Any] | None = None
    if is_forkable(value):
        copy = _fork
    elif len(arms) > 1:
        copy = copier_of(value)

    def work(index: int) -> Awaitable[Any]:
        return walk(arms[index].nodes, value if copy is None else copy(value), run, prefix)

    try:
        if len(arms) == 1:
            output = await work(0)
            if type(output) in STOPS:
                if not (isinstance(output, Bailed) and output.scope == "branch"):
                    return output
                output = output.value
            return {arms[0].id: output} if output is not SKIPPED else {}
        results, stop = await together(
            run,
            work,
            len(arms),
            (prefix, keys),
            limit=limit,
            on_block=on_block,
            on_failure=on_failure,
            name=lambda index: prefix + arms[index].id,
        )
    except Exception as error:  # the value could not be forked
        return fail(run, node, prefix + node.key, error)
    if stop is not None:
        for arm, result in zip(arms, results, strict=True):
            if result is PENDING and arm.nodes:
                _cancelled(run, arm.nodes[0], prefix + arm.nodes[0].key)
        return stop
    return {arm.id: output for arm, output in zip(arms, results, strict=True) if output is not SKIPPED}


def _cancelled(run: RunState, node: PlanNode, path: str) -> None:
    """
    Record a branch as cancelled that did not come to its end: never started, or not to be stopped in time.
    """
    found = run.records.get(path)
    if found is None:
        if isinstance(node, Capped):
            node = node.nodes[0]
        record = run.records[path] = Record(node, path, 0.0)
        run.close(record, Cancelled(path, BESIDE))
        return
    left_behind(run, path)


async def run_chain(node: PlanNode, arms: Sequence[Arm], value: Any, run: RunState, prefix: str, walk: Walk) -> Any:
    """
    Run *arms* one after the other, each on what the one before gave, and return their outputs by id, or a ``Stop``.
    """
    forkable = is_forkable(value)
    outputs: dict[str, Any] = {}
    for arm in arms:
        try:
            mine = value.fork() if forkable else value
        except Exception as error:
            return fail(run, node, prefix + node.key, error)
        output = await walk(arm.nodes, mine, run, prefix)
        if isinstance(output, Stop):
            if not (isinstance(output, Bailed) and output.scope == "branch"):
                return output
            output = output.value
        if output is not SKIPPED:
            value = outputs[arm.id] = output
    return outputs


async def run_each(node: Each, value: Any, run: RunState, prefix: str, walk: Walk, detail: bool) -> Any:
    """
    Run the body for each item of a list and return the outputs in the order of the items, or a ``Stop``.
    """
    path = prefix + node.key
    record: Record | None = None
    if detail:
        record = run.records[path] = Record(node, path, run.now(), value)
        if run.history is not None and (done := _done(run, path)):
            record = run.records[path] = NotedRecord(node, path, record.started, value, {"completed": done})
        run.append(record)
    try:
        if not isinstance(value, list | tuple):
            raise SchemaError(
                f"foreach {node.id!r} was given a {type(value).__name__}", path=path, hint="it needs a list or a tuple"
            )
        items = cast("Sequence[Any]", value)
        limit = node.concurrency
        if callable(limit):
            limit = await _limit_of(node, limit(value), path)
        body = node.body

        def item(index: int) -> Awaitable[Any]:
            return walk(body, items[index], run, f"{path}[{index}]")

        work = _collecting(item, run, path) if node.collect else item
        if len(items) > 1 and limit > 1:
            live = (prefix, frozenset((node.key,)))
            results, stop = await together(
                run, work, len(items), live, limit=limit, name=lambda index: f"{path}[{index}]"
            )
        else:
            results = await one_by_one(work, len(items))
            stop = deciding(results)
    except BaseException as error:
        return fail(run, node, path, error, record)
    if stop is not None:
        for index, result in enumerate(results):
            if result is PENDING and body and f"{path}[{index}]" in run.records:
                _cancelled(run, body[0], f"{path}[{index}]")
        if record is not None:
            run.close(record, stop)
        return stop
    if record is not None:
        record.output = results
        record.status = "success"
        record.ended = run.now()
        run.append(record)
    return results


async def _limit_of(node: Each, given: Any, path: str) -> int:
    """
    Return how many items run at once where a function of the list has said so; less than one, as the length of an empty
    list is, counts as one.

    Raises ``RunError`` for what is no whole number.
    """
    if is_awaitable(given):
        given = await given
    if isinstance(given, bool) or not isinstance(given, int):
        raise RunError(
            f"the concurrency of foreach {node.id!r} is {type(given).__name__}, where a whole number is needed",
            path=path,
        )
    return max(1, given)


def _done(run: RunState, path: str) -> int:
    """
    Return how many items of the foreach at *path* were completed before the run went on.
    """
    start = len(path)
    return sum(
        record.status == "success"
        for record in run.records.values()
        if record.path.startswith(path + "[") and record.path.find("]", start) == len(record.path) - 1
    )


def _collecting(work: Callable[[int], Awaitable[Any]], run: RunState, path: str) -> Callable[[int], Awaitable[Any]]:
    """
    Return *work* whose failures are values; a block, a bail, a suspension and a cancellation are what they were.
    """

    async def collected(index: int) -> Any:
        item = f"{path}[{index}]"
        known = run.records.get(item) if run.replaying else None
        if known is not None and type(known.stop) is Failed:
            output: Any = known.stop
        else:
            output = await work(index)
            if type(output) is Failed and item in run.records:
                run.settle(item)
                if run.journal is not None:
                    await run.journal.settled(run, run.records[item])
        return ItemError.of(output.error, path=output.path, index=index) if type(output) is Failed else output

    return collected


async def run_dag(node: Dag, value: Any, run: RunState, prefix: str, walk: Walk, detail: bool) -> Any:
    """
    Run the steps of an explicit graph, each as soon as all it needs is there, and return the output of its sinks.
    """
    items = node.items
    joins = Joins(items, value) if is_forkable(value) else None
    missing = [len(item.needs) for item in items]
    ready = [index for index, item in enumerate(items) if not item.needs]
    outputs: list[Any] = [PENDING] * len(items)
    pools: list[Pool] = []
    begin = len(ready)
    shares = [any(len(items[need].feeds) > 1 for need in item.needs) if item.needs else begin > 1 for item in items]

    def gathered(needs: Sequence[int]) -> dict[str, Any]:
        return {items[need].id: outputs[need] for need in needs}

    async def work(position: int) -> Any:
        index = ready[position]
        item = items[index]
        needs = item.needs
        try:
            if joins is not None:
                mine = joins.begin(index)
                if is_forkable(mine):
                    mine = mine.fork()
            else:
                mine = value if not needs else outputs[needs[0]] if len(needs) == 1 else gathered(needs)
                if shares[index]:
                    mine = isolated(mine)
        except Exception as error:
            return fail(run, item.nodes[0] if item.nodes else node, prefix + item.id, error)
        output = await walk(item.nodes, mine, run, prefix)
        if isinstance(output, Bailed) and output.scope == "branch":
            output = output.value
        outputs[index] = output
        if not isinstance(output, Stop):
            if joins is not None:
                joins.end(index, output)
            for fed in item.feeds:
                missing[fed] -= 1
                if not missing[fed]:
                    ready.append(fed)
                    pools[0].grow()
        return output

    live = (prefix, frozenset([item.id for item in items]))
    try:
        _, stop = await together(
            run, work, len(ready), live, name=lambda position: prefix + items[ready[position]].id, begun=pools.append
        )
    except Exception as error:
        return fail(run, node, prefix + node.id, error)
    if stop is not None:
        stop = deciding(outputs) or stop  # in declaration order, and not in that in which the steps could begin
        for index in ready:
            if outputs[index] is PENDING and items[index].nodes:
                _cancelled(run, items[index].nodes[0], prefix + items[index].id)
        return stop
    if joins is None:
        return outputs[node.sinks[0]] if len(node.sinks) == 1 else gathered(node.sinks)
    try:
        state, _ = joins.after(node.sinks)
        # The value itself goes on: whoever forked it asks it what has changed.
        return value.adopt({node.id: state}, state, allow_drop=True) if is_forkable(state) else state
    except Exception as error:
        return fail(run, node, prefix + node.id, error)
