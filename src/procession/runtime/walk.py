"""
Walk: the engine.  It follows a compiled plan in the caller's task; the state is the run's records.

There are two walks over the same nodes: one records every step, the other, for the hook phases of an agent, records
only what went wrong.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from procession.errors import ConditionError, DefinitionError, NoArmMatched
from procession.runtime.capped import run_capped
from procession.runtime.context import Context
from procession.runtime.deadline import within
from procession.runtime.executor import conclude, fail, perform
from procession.runtime.fanin import is_forkable, merged, run_map
from procession.runtime.fanout import run_arms, run_chain, run_dag, run_each, run_fork
from procession.runtime.loop import run_loop, run_pause
from procession.runtime.records import NotedRecord, Record
from procession.runtime.state import RunState, Walk
from procession.steps.result import STOPS, Bailed, out_of_workflow
from procession.steps.step import Step, SupportsStep
from procession.steps.truth import truth
from procession.workflows.compile import plan_for, plan_of_step
from procession.workflows.plan import (
    CALL,
    CHECKED,
    INLINE,
    SKIPPED,
    Arm,
    Capped,
    Choice,
    Dag,
    Each,
    Fork,
    Leaf,
    Loop,
    Map,
    Nested,
    Outcome,
    Pause,
    Plan,
    PlanNode,
)

__all__ = ["call", "call_with", "plan_of", "walk", "walk_quietly"]


async def walk(nodes: tuple[PlanNode, ...], value: Any, run: RunState, prefix: str = "") -> Any:
    """
    Run *nodes* one after the other and return the last output, or the ``Stop`` that ended them.
    """
    records, clock, origin = run.records, run.clock, run.origin
    now = clock() + origin
    for node in nodes:
        path = prefix + node.key if prefix else node.key
        if type(node) is Leaf:
            if run.replaying and (known := records.get(path)) is not None and known.status == "success":
                value = known.output
                continue
            record = records[path] = Record(node, path, now, value)
            run.append(record)
            mode = node.mode
            try:
                if mode == CALL:
                    value = node.function(Context(run, record, value))
                    if node.is_async or hasattr(value, "__await__"):
                        value = await value
                elif mode == INLINE:
                    value = node.function(value, run, path)
                    if node.is_async:
                        value = await value
                elif mode == CHECKED:
                    if node.check_in is not None:
                        value = node.check_in.validate(value, where=node.taken, path=path)
                    value = node.function(Context(run, record, value))
                    if node.is_async or hasattr(value, "__await__"):
                        value = await value
                    if node.check_out is not None:
                        value = node.check_out.validate(value, where=node.made, path=path)
                else:
                    value = await perform(node, run, record, value)
            except BaseException as error:
                return conclude(run, record, error)
            if record.stop is not None:  # a verdict that the step's code has swallowed
                return conclude(run, record)
            record.output = value
            record.status = "success"
            record.ended = now = clock() + origin
            run.append(record)
            if now > run.breathe_at:
                await run.breathe()
        else:
            value = await RUNNERS[node.kind](node, value, run, prefix, walk, True)
            if type(value) in STOPS:
                return value
            now = clock() + origin
            if now > run.breathe_at:  # it may have been maps alone, over and over
                await run.breathe()
    return value


async def walk_quietly(nodes: tuple[PlanNode, ...], value: Any, run: RunState, prefix: str = "") -> Any:
    """
    Do what :func:`walk` does and record only what fails, blocks or suspends.
    """
    for node in nodes:
        path = prefix + node.key
        if type(node) is Leaf and node.mode == INLINE:
            try:
                value = node.function(value, run, path)
                if node.is_async:
                    value = await value
            except BaseException as error:
                return fail(run, node, path, error)
        elif type(node) is Nested:
            try:
                value = _left(node.plan, await _entered(node.plan, value, run, path, walk_quietly))
            except Exception as error:
                return fail(run, node, path, error)
            if type(value) in STOPS:
                return value
        elif type(node) is not Leaf:
            value = await RUNNERS[node.kind](node, value, run, prefix, walk_quietly, False)
            if type(value) in STOPS:
                return value
        else:
            record = Record(node, path, 0.0, value)
            try:
                value = await perform(node, run, record, value)
            except BaseException as error:
                run.records[path] = record
                return conclude(run, record, error)
            if record.stop is not None:
                run.records[path] = record
                return conclude(run, record)
    return value


async def call(
    run: RunState, definition: SupportsStep[Any, Any], value: Any, path: str, only: frozenset[str] | None, detail: bool
) -> Any:
    """
    Run *definition* at *path* inside the run and return its output, or the ``Stop`` that ended it.
    """
    plan = plan_of(definition, only)
    return _left(plan, await _entered(plan, value, run, path, walk if detail or plan.keeps else walk_quietly))


async def call_with(
    follow: Walk, run: RunState, definition: SupportsStep[Any, Any], value: Any, path: str, only: frozenset[str] | None
) -> Any:
    """
    Do what :func:`call` does with another walk.
    """
    plan = plan_of(definition, only)
    return _left(plan, await _entered(plan, value, run, path, follow))


_steps: dict[int, tuple[Step[Any, Any], Plan]] = {}


def plan_of(definition: Any, only: frozenset[str] | None) -> Plan:
    """
    Return the plan of anything that has ``as_step()``.

    Raises ``DefinitionError`` for a workflow that is not committed, and for what is neither workflow nor step.
    """
    plans = getattr(definition, "plans", None)
    if plans is not None:
        found: Plan | None = plans.get(only)
        return found if found is not None else plan_for(definition, only)
    if not hasattr(definition, "as_step"):
        raise DefinitionError(
            f"{definition!r} cannot be run", hint="give a workflow or a step: @step makes one of a function"
        )
    step: Step[Any, Any] = definition.as_step()
    if step.inline is None and step.execute is None and step.body is not None:
        body: Any = step.body
        return plan_for(body, only)
    known = _steps.get(id(step))
    if known is not None:
        return known[1]
    if len(_steps) > 512:
        _steps.clear()
    made = plan_of_step(step)
    _steps[id(step)] = (step, made)  # the step is kept, so that its id stays its own
    return made


def _entered(plan: Plan, value: Any, run: RunState, path: str, walk: Walk) -> Awaitable[Any]:
    """
    Return what is to be awaited where a workflow whose own path is *path* runs inside another.
    """
    if plan.check_in is not None:
        value = plan.check_in.validate(value, where=plan.where, path=path or None)
    work = walk(plan.nodes, value, run, path + "/" if path and not plan.single else path)
    return work if plan.timeout is None else within(plan, work, path, run)


def _left(plan: Plan, output: Any) -> Any:
    """
    Return what came out of a workflow inside another: its output or a ``Stop``; its own bail ends here.
    """
    return output if plan.single else out_of_workflow(output)


async def run_nested(node: Nested, value: Any, run: RunState, prefix: str, walk: Walk, detail: bool) -> Any:
    """
    Run a workflow inside a workflow, and record it: :func:`walk_quietly` walks into it by itself.
    """
    path = prefix + node.key
    if run.replaying and (known := run.records.get(path)) is not None:
        if known.status == "success" or type(known.stop) is Bailed:
            if run.journal is None:
                return known.output if known.stop is None else known.stop
            return run.journal.recall(known, node, value) if known.stop is None else known.stop
    record = run.records[path] = Record(node, path, run.now(), value)
    run.append(record)
    try:
        output = await _entered(node.plan, value, run, path, walk)
    except BaseException as error:
        return conclude(run, record, error)
    bailed = type(output) is Bailed
    output = run.done(record, _left(node.plan, output))
    if bailed:  # what has been cancelled for it must not decide when the run goes on
        run.settle(path)
        if run.journal is not None:
            try:
                await run.journal.settled(run, record)
            except Exception as error:
                record.stop = None
                return conclude(run, record, error)
    return output


async def run_parallel(node: Fork, value: Any, run: RunState, prefix: str, walk: Walk, detail: bool) -> Any:
    """
    Run branches at the same time, then the map after them or the merge.
    """
    outputs = await run_fork(node, value, run, prefix, walk)
    if type(outputs) in STOPS:
        return outputs
    if node.map is not None:
        return await run_map(node.map, outputs, run, prefix, walk, detail, value)
    if callable(node.merge) or is_forkable(value):
        return await merged(node, node.merge, value, outputs, run, prefix + node.key, detail)
    return outputs


async def run_branch(node: Choice, value: Any, run: RunState, prefix: str, walk: Walk, detail: bool) -> Any:
    """
    Ask the conditions, run the arms that are true, then the map after them or the merge.
    """
    path = prefix + node.key
    known = run.records.get(path) if run.replaying else None
    chosen: list[Arm] = []
    if known is not None and known.status == "success":  # decided before the run was suspended
        decided = known.output if run.journal is None else run.journal.recall(known, node, value)
        chosen += [arm for arm in node.arms if arm.id in decided]
    else:
        asking = ""
        try:
            for arm, condition in node.asked:
                asking = arm.id
                answer = condition(value)
                if answer is not True and answer is not False:
                    answer = await truth(answer)
                if answer:
                    chosen.append(arm)
                    if node.first:
                        break
        except Exception as error:
            made = ConditionError(
                f"the condition of arm {asking!r} in {node.id!r} raised {type(error).__name__}: {error}", path=path
            )
            made.__cause__ = error
            notes = {"raised": asking, "chosen": [arm.id for arm in chosen]}
            noted = run.records[path] = NotedRecord(node, path, 0.0, value, notes)
            return fail(run, node, path, made, noted)
        except BaseException as error:
            return fail(run, node, path, error)
        if not chosen and len(node.arms) > len(node.asked):
            chosen.append(node.arms[-1])
        if not chosen and not node.skip:
            missing = NoArmMatched(
                f"no arm of {node.id!r} matched",
                path=path,
                hint='give it a default=, or on_no_match="skip" to let the value pass',
            )
            return fail(run, node, path, missing)
        if detail:
            record = run.records[path] = Record(node, path, run.clock() + run.origin, value)
            record.output = [arm.id for arm in chosen]
            record.status = "success"
            record.ended = record.started
            run.append(record)
            if run.journal is not None:
                try:
                    await run.journal.completed(run, record, record.output)
                except Exception as error:
                    return fail(run, node, path, error)
    if not chosen:
        return await run_map(node.map, value, run, prefix, walk, detail) if node.map is not None else value
    forkable = is_forkable(value)
    if len(chosen) == 1 and not forkable:
        arm = chosen[0]
        output = await walk(arm.nodes, value, run, prefix)
        if type(output) in STOPS:
            if not (isinstance(output, Bailed) and output.scope == "branch"):
                return output
            output = output.value
        outputs: Any = {arm.id: output} if output is not SKIPPED else {}
    else:
        if node.merge == "chain":
            outputs = await run_chain(node, chosen, value, run, prefix, walk)
        else:
            keys = frozenset([arm.id for arm in chosen])
            outputs = await run_arms(node, chosen, keys, value, run, prefix, walk)
        if type(outputs) in STOPS:
            return outputs
    if node.map is not None:
        return await run_map(node.map, outputs, run, prefix, walk, detail, value)
    if forkable or callable(node.merge):
        return await merged(node, node.merge, value, outputs, run, path, detail)
    return outputs


async def run_outcome(node: Outcome, value: Any, run: RunState, prefix: str, walk: Walk, detail: bool) -> Any:
    """
    Return the output of a workflow that says what it gives, checked and converted.
    """
    path = prefix + node.key
    try:
        return node.check.validate(value, where=node.where, path=path)
    except BaseException as error:
        return fail(run, node, path, error)


Runner = Callable[[Any, Any, RunState, str, Walk, bool], Awaitable[Any]]

RUNNERS: dict[str, Runner] = {
    Nested.kind: run_nested,
    Fork.kind: run_parallel,
    Choice.kind: run_branch,
    Map.kind: run_map,
    Each.kind: run_each,
    Loop.kind: run_loop,
    Pause.kind: run_pause,
    Dag.kind: run_dag,
    Outcome.kind: run_outcome,
    Capped.kind: run_capped,
}
