"""
Routes that begin runs of workflows.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response
from typing_extensions import TypedDict

from procession.errors import RequestRefused, SchemaError
from procession.ids import new_id
from procession.runtime.run import Run
from procession.server.catalog import Listed, listed_named
from procession.server.endpoint import Asked, Endpoint, json_bytes
from procession.server.hook_input import HookBody, hook_call, watch_stream
from procession.server.run_calls import RunCall, run_id_given, taken
from procession.server.served import Served
from procession.server.shared_calls import fingerprint
from procession.server.workflows import workflows_example
from procession.steps.request_context import RequestContext
from procession.steps.schema import schema_of
from procession.storage.base import RunRow

__all__ = ["RunBody", "StartedRun", "begun_run", "routes"]


class RunBody(HookBody, total=False):
    """
    What a workflow is run with; of a processor workflow what the hook is given stands beside it.
    """

    input: Any
    state: dict[str, Any]
    """What the shared state begins with."""
    run_id: str
    """The id of the run; to send the same again begins no second one."""
    resource: str
    """Whose run it is."""
    request_context: dict[str, Any]
    wait: bool
    """Whether the answer is the run as it ended; else it goes on by itself."""


class StartedRun(TypedDict):
    """
    A run that was begun.
    """

    run_id: str


def routes(app: Served) -> list[Endpoint]:
    """
    Return the route that begins a run.
    """
    return [
        Endpoint(
            method="POST", path="/api/workflows/{workflow_id}/runs", handle=_start,
            summary="Begin a run: 202 and its id, or with `wait` the run as it ended.", body=RunBody,
            answer=StartedRun, status=202, calls=True,
            example=workflows_example(app, {"hook": "process_input", "messages": "Hello"}, kind="processors"),
        )
    ]  # fmt: skip


async def _start(asked: Asked) -> Any:
    listed = listed_named(asked)
    if listed.kind == "loop":
        raise RequestRefused(
            f"{listed.id!r} is the loop of an agent",
            status=400,
            reason="agent-loop",
            hint=f"POST /api/agents/{listed.agent}/generate",
        )
    body: dict[str, Any] = dict(asked.body)
    wait, run_id = body.pop("wait", False), run_id_given(body.pop("run_id", None) or new_id())
    call = await begun_run(asked.app, listed, run_id, body)
    if not wait:
        if call is not None:
            call.alone = True
        return {"run_id": run_id}
    if call is not None:
        await call.wait()
    return Response(json_bytes(await asked.app.runs.summary(run_id)), 200, media_type="application/json")


async def begun_run(app: Served, listed: Listed, run_id: str, body: dict[str, Any]) -> RunCall | None:
    """
    Return the run of that id, begun where there is none; ``None`` where it was begun before this server was.

    Raises ``RequestRefused`` where something else was asked by that id, ``SchemaError`` for what does not fit.
    """
    calls, same = app.run_calls, fingerprint(listed.id, body)
    known = calls.get(run_id, same)
    if known is None:
        row = await app.runtime.store.row(run_id)
        known = calls.get(run_id, same)  # once more: somebody may have been faster
        if known is None and await _is_kept(app, listed, run_id, body, row):
            return None
    if known is None:

        def make() -> tuple[Run[Any, Any], Any]:
            definition, value = _given(listed, body)
            run = app.runtime.create_run(
                definition,
                run_id=run_id,
                resource_id=body.get("resource"),
                state=body.get("state"),
                request_context=RequestContext(body.get("request_context", {})),
                durable=False if listed.kind == "processors" else None,  # what a hook is given is in no store
            )
            watch_stream(run)
            seen = app.runs.get(run_id)
            if seen is not None:
                seen.asked = body
            return run, value

        known = calls.begin(run_id, make, same)
    await known.begun()
    return known


async def _is_kept(app: Served, listed: Listed, run_id: str, body: dict[str, Any], row: RunRow | None) -> bool:
    """
    Return whether the run of *row* has that input, such as before the server was started anew; ``False`` for no run.

    Raises ``RequestRefused`` where it was another one, or only its events are known.
    """
    if row is None and app.runs.get(run_id) is None:
        return False
    if row is not None and row.owner == listed.id and listed.kind == "workflow":
        kept = (await app.runtime.get(run_id)).input
        if kept == body.get("input") or _is_same(listed, kept, body.get("input")):
            return True
    raise taken(run_id)


def _is_same(listed: Listed, kept: Any, given: Any) -> bool:
    """
    Return whether two inputs are the same to the workflow: one was kept with all that *given* leaves to its type.
    """
    try:
        return bool(_value(listed, kept) == _value(listed, given))
    except SchemaError:
        return False


def _given(listed: Listed, body: dict[str, Any]) -> tuple[Any, Any]:
    """
    Return what is run, and on which value.

    Raises ``SchemaError`` where the value does not fit.
    """
    workflow = listed.workflow
    if listed.kind == "processors":
        return hook_call(workflow, body)
    strange = [name for name in body if name not in ("input", "state", "resource", "request_context")]
    if strange:
        raise RequestRefused(
            f"{listed.id!r} is no processor workflow and takes no {strange[0]!r}",
            status=422,
            reason="schema",
            hint='give its "input"',
        )
    return workflow, _value(listed, body.get("input"))


def _value(listed: Listed, given: Any) -> Any:
    schema = schema_of(listed.workflow.input_type)
    return given if schema is None else schema.validate(given, where="input")
