"""
The area ``workflow``: workflows of small steps, run and resumed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from tests.conformance.chunks import data_chunk
from tests.conformance.format_flow import check_node
from tests.conformance.notation import as_json, error_of
from tests.conformance.scenario import Json, Unknown, is_list, is_object, listing, mapping
from tests.conformance.workflow_names import events_of, graph_of, result_of
from typing_extensions import TypedDict

from procession.errors import ProcessionError
from procession.messages.chunks import StepOutput
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step
from procession.storage.memory_journal import InMemoryJournal
from procession.workflows.nodes import pick
from procession.workflows.workflow import create_workflow

__all__ = ["run_workflow"]

ATTEMPTS_AFTER_FIRST = 1


class StrictInput(TypedDict):
    """
    What a step with ``strict_input`` takes.
    """

    value: int | float


class Bench:
    """
    The steps, conditions and maps of one scenario, and what they were given.
    """

    def __init__(self, setup: Mapping[str, Json]) -> None:
        self.setup = setup
        self.timeline: list[Json] = []
        self.executions: Counter[str] = Counter()
        self.state: dict[str, Any] = {}
        """The run's state as the steps last saw it: conditions are given the value alone."""
        self.suspending: set[str] = set()
        self.answers: dict[str, Json] = {}
        """What steps of the workflow itself, or inside them, were answered."""
        self.steps = {name: self._step(name, spec) for name, spec in mapping(setup.get("steps")).items()}
        self.workflow = self._workflow("wf", setup["flow"])

    # -- steps

    def _step(self, name: str, spec: Mapping[str, Json]) -> Step[Any, Any]:
        if spec.get("suspends"):
            self.suspending.add(name)

        async def execute(ctx: Any) -> Any:
            entry = self._seen(name, spec, ctx)
            self.timeline.append(entry)
            self.executions[name] += 1
            value: Any = ctx.input
            for op in listing(spec.get("ops")):
                value = await OPS[op["op"]](self, name, op, value, ctx, entry)
            return value

        given = StrictInput if spec.get("strict_input") else None
        return Step(id=name, execute=execute, input_type=given, retry=self._policy(spec))

    def _policy(self, spec: Mapping[str, Json]) -> RetryPolicy | None:
        if "retries" in spec:
            return RetryPolicy(spec["retries"] + ATTEMPTS_AFTER_FIRST)
        config: Mapping[str, Json] = mapping(self.setup.get("retry_config"))
        if not config:
            return None
        return RetryPolicy(config["attempts"] + ATTEMPTS_AFTER_FIRST, initial=config.get("delay", 0) / 1000)

    def _seen(self, name: str, spec: Mapping[str, Json], ctx: Any) -> dict[str, Json]:
        entry: dict[str, Json] = {"step": name, "input": as_json(ctx.input)}
        if ctx.attempt > 1:
            entry["retry_count"] = ctx.attempt - 1
        if spec.get("stateful"):
            self.state = dict(ctx.state)
            entry["state"] = as_json(ctx.state)
        if spec.get("read_init"):
            entry["init_data"] = as_json(ctx.init_data)
        if spec.get("read_step"):
            entry["step_result"] = as_json(ctx.result_of(spec["read_step"]))
        return entry

    # -- the flow

    def _workflow(self, name: str, flow: Json) -> Any:
        workflow: Any = create_workflow(name)
        for node in flow:
            workflow = self._add(workflow, node)
        return workflow.commit()

    def _part(self, described: Json) -> Any:
        if is_object(described):
            return self._workflow(described["workflow"], described["flow"])
        if described not in self.steps:
            raise Unknown("step", described)
        return self.steps[described]

    def _add(self, workflow: Any, node: Json) -> Any:
        check_node(node)
        match node:
            case {"then": described}:
                return workflow.then(self._part(described))
            case {"parallel": arms}:
                return workflow.parallel([self._part(arm) for arm in arms])
            case {"branch": arms}:
                return workflow.branch([(self._condition(arm["when"]), self._part(arm["then"])) for arm in arms])
            case {"map": how}:
                return workflow.map(self._map(how))
            case {"map_object": fields}:
                return workflow.then(self._map_object(f"map-{len(workflow.nodes)}", fields))
            case {"foreach": described}:
                return workflow.foreach(self._part(described), concurrency=node.get("concurrency", 1))
            case {"dowhile": described}:
                return workflow.do_while(self._part(described), self._condition(node["when"]))
            case {"dountil": described}:
                return workflow.do_until(self._part(described), self._condition(node["when"]))
            case {"sleep": milliseconds}:
                return workflow.sleep(milliseconds / 1000)
            case _:
                raise Unknown("node of a workflow", min(node))

    def _condition(self, when: Mapping[str, Json]) -> Callable[[Any], bool]:
        asked: Counter[str] = Counter()

        def holds(value: Any) -> bool:
            asked["times"] += 1
            return all(CONDITIONS[name](self, value, wanted, asked["times"]) for name, wanted in when.items())

        return holds

    def _map(self, how: Mapping[str, Json]) -> Any:
        match how:
            case {"pick": step}:
                return pick(step)
            case {"sum_values": _}:
                return self._noted(lambda value: {"value": sum(each["value"] for each in value.values())})
            case {"first_defined": _}:
                return self._noted(lambda value: next((each for each in value.values() if each is not None), None))
            case _:
                raise Unknown("map", min(how, default="nothing"))

    def _noted(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def mapped(value: Any) -> Any:
            self.timeline.append({"map_input": as_json(value)})
            return function(value)

        return mapped

    def _map_object(self, name: str, fields: Mapping[str, Json]) -> Step[Any, Any]:
        def read(ctx: Any, field: Mapping[str, Json]) -> Any:
            match field:
                case {"value": value}:
                    return value
                case {"step": step}:
                    found = ctx.result_of(step)
                case {"init_data": _}:
                    found = ctx.init_data
                case _:
                    raise Unknown("field of a map", min(field, default="nothing"))
            for key in str(field.get("path", "")).split("."):
                found = found[key] if key and key != "." else found
            return found

        def execute(ctx: Any) -> Any:
            return {name: read(ctx, field) for name, field in fields.items()}

        return Step(id=name, execute=execute, kind="map")


# -- ops


async def _add_n(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    return {**value, "value": value["value"] + op["n"]}


async def _mul_n(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    return {**value, "value": value["value"] * op["n"]}


async def _return(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    return op.get("value")


async def _echo(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    return value


async def _throw(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    if bench.executions[name] <= op.get("times", float("inf")):
        raise RuntimeError(op["message"])
    return value


async def _bail(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    ctx.bail(op.get("value"))


async def _suspend(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    entry["resume_data"] = as_json(await ctx.suspend(op.get("payload")))
    return value


async def _return_resume(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    return {**value, "resumed": entry.get("resume_data")}


async def _set_state(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    ctx.set_state(**op["value"])
    bench.state = dict(ctx.state)
    return value


async def _incr_state(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    ctx.set_state(**{op["key"]: ctx.state.get(op["key"], 0) + 1})
    bench.state = dict(ctx.state)
    return value


async def _emit(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    await ctx.emit(StepOutput(name, {key: value for key, value in op.items() if key != "op"}))
    return value


async def _emit_custom(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    await ctx.emit(data_chunk(op))
    return value


async def _abort(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    ctx.cancel_run()


async def _sleep(bench: Bench, name: str, op: Json, value: Any, ctx: Any, entry: dict[str, Json]) -> Any:
    await anyio.sleep(op["ms"] / 1000)
    return value


OPS: Mapping[str, Callable[..., Any]] = {
    "add": _add_n, "mul": _mul_n, "return": _return, "echo": _echo, "throw": _throw, "bail": _bail,
    "suspend": _suspend, "return_resume": _return_resume, "set_state": _set_state, "incr_state": _incr_state,
    "emit": _emit, "emit_custom": _emit_custom, "abort": _abort, "sleep": _sleep,
}  # fmt: skip


def _raises(bench: Bench, value: Any, wanted: Any, times: int) -> bool:
    raise RuntimeError(wanted)


CONDITIONS: Mapping[str, Callable[[Bench, Any, Any, int], bool]] = {
    "value_lt": lambda bench, value, wanted, times: value["value"] < wanted,
    "value_gte": lambda bench, value, wanted, times: value["value"] >= wanted,
    "iteration_lt": lambda bench, value, wanted, times: times < wanted,
    "state_gte": lambda bench, value, wanted, times: bench.state.get(wanted[0], 0) >= wanted[1],
    "throws": _raises,
}


# -- actions


async def run_workflow(setup: Mapping[str, Json]) -> dict[str, Json]:
    """
    Build a scenario's workflow, carry out its actions on one run and return the trace.
    """
    bench = Bench(setup)
    runtime = Runtime(InMemoryJournal())
    run: Any = runtime.create_run(bench.workflow)
    runs: list[Json] = []
    for action in listing(setup.get("actions")):
        runs.append(await _act(bench, runtime, run, action))
    return {
        "graph": graph_of(bench.workflow, bench.suspending),
        "runs": runs,
        "timeline": bench.timeline,
    }


async def _act(bench: Bench, runtime: Runtime, run: Any, action: Mapping[str, Json]) -> dict[str, Json]:
    done = str(action.get("do"))
    found: dict[str, Json] = {"action": done}
    try:
        match done:
            case "start" | "stream":
                run.state.shared.begin(mapping(action.get("initial_state")))
                result = await run.start(action.get("input"))
            case "resume" | "resume_stream":
                step = action.get("step")
                path = "/".join(step) if is_list(step) else step
                async with runtime.resume_stream(run.id, action.get("data"), step=path) as resumed:
                    result = await resumed.result()
                (answered,) = resumed.state.woken
                bench.answers[answered.partition("/")[0]] = action.get("data")
                run = resumed
            case "start_then_cancel":
                async with anyio.create_task_group() as group:
                    group.start_soon(run.start, action.get("input"))
                    await anyio.sleep(action.get("after", 5) / 1000)
                    run.cancel()
                result = await run.result()
            case _:
                raise Unknown("action", done)
    except ProcessionError as error:
        return found | {"thrown": error_of(error)}
    if done.endswith("stream"):
        found["events"] = await events_of(run)
    found["result"] = result_of(result, run, stateful=bool(bench.setup.get("stateful")), answers=bench.answers)
    return found
