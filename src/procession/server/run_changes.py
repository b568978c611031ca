"""
Routes that change runs: resume, restart, cancel, fork and delete.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.responses import Response
from typing_extensions import TypedDict

from procession.errors import InputError, RequestRefused, RunNotFound
from procession.ids import new_id
from procession.runtime.run import Run
from procession.server.endpoint import Asked, Endpoint, json_bytes
from procession.server.going import cancelled
from procession.server.run_calls import RunCall
from procession.server.run_found import FoundRun, found_run
from procession.server.run_log import LoggedEvent
from procession.server.run_routes import RunPath
from procession.server.served import Served
from procession.server.shared_calls import SharedCall
from procession.server.workflow_runs import StartedRun
from procession.steps.request_context import RequestContext

__all__ = ["routes"]


class ResumeBody(TypedDict, total=False):
    """
    What a suspended run is answered.
    """

    answers: dict[str, Any]
    """By the ``question_id``, of a workflow the path of the step."""
    step: str
    """Of a workflow: which step is answered."""
    label: str
    answer: Any
    resource: str
    """Whose run it is, where it was begun for somebody."""
    request_context: dict[str, Any]
    """The values of the request, which are not kept."""
    wait: bool
    """Whether the answer is the run as it ended this time."""


class RestartBody(TypedDict, total=False):
    """
    With what a run that lost its process goes on.
    """

    request_context: dict[str, Any]
    """The values of the request, which are not kept."""
    wait: bool
    """Whether the answer is the run as it ended this time."""


class OwnedBody(TypedDict, total=False):
    """
    Whose run it is.
    """

    resource: str


class ForkBody(TypedDict, total=False):
    """
    Where a run is begun anew, and what is different there.
    """

    step: str
    """The path of the step that is the first to run again."""
    input: Any
    """What that step is given, in place of the output of the step before."""
    outputs: dict[str, Any]
    """Outputs of completed steps, by path, in place of their own."""
    request_context: dict[str, Any]


class Cancelled(TypedDict):
    """
    Whether there was something to cancel.
    """

    cancelled: bool


class Deleted(TypedDict):
    """
    Whether there was something to delete.
    """

    deleted: bool


def routes(app: Served) -> list[Endpoint]:
    """
    Return the routes that change runs.
    """
    return [
        Endpoint(
            method="POST", path=RunPath + "/resume", handle=_resume, body=ResumeBody, answer=StartedRun, status=202,
            summary="Answer what a suspended run waits for; a second answer to the same question is refused with 409.",
            calls=True,
        ),
        Endpoint(
            method="POST", path=RunPath + "/restart", handle=_restart, body=RestartBody, answer=StartedRun, status=202,
            summary="Take up a run that lost its process: what was completed is not done again.", calls=True,
        ),
        Endpoint(
            method="POST", path=RunPath + "/cancel", handle=_cancel, body=OwnedBody, answer=Cancelled,
            summary="Cancel a run, wherever it goes on.",
        ),
        Endpoint(
            method="POST", path=RunPath + "/fork", handle=_fork, body=ForkBody, answer=StartedRun, status=202,
            summary="Run again from a step on, as a new run; the old one stays as it is.", calls=True,
        ),
        Endpoint(
            method="DELETE", path=RunPath, handle=_delete, answer=Deleted, summary="Forget a run that has ended or waits.",
        ),
    ]  # fmt: skip


async def _resume(asked: Asked) -> Any:
    found = await found_run(asked.app, asked.path["run_id"])
    if found.agent is not None:
        await _resume_agent(asked, found)
    else:
        await _resume_workflow(asked, found)
    return await _begun_or_ended(asked)


async def _begun_or_ended(asked: Asked) -> Any:
    """
    Return the id of a run that goes on, and with ``wait`` the run as it ended.
    """
    run_id = asked.path["run_id"]
    if not asked.body.get("wait"):
        return {"run_id": run_id}
    return Response(json_bytes(await asked.app.runs.summary(run_id)), 200, media_type="application/json")


async def _restart(asked: Asked) -> Any:
    run_id, body = asked.path["run_id"], asked.body
    found = await found_run(asked.app, run_id)
    if found.agent is not None:
        raise RequestRefused(
            "an agent's run is not taken up where it broke off",
            status=409,
            reason="not-kept",
            hint="replay it: POST .../replay; one that waits is resumed",
        )
    before = await asked.app.runs.told_before(run_id)
    context = RequestContext(body.get("request_context", {}))
    await _go_on(
        asked, before, lambda: found.runtime.restarted(run_id, workflow=found.workflow, request_context=context)
    )
    return await _begun_or_ended(asked)


async def _go_on(asked: Asked, before: Sequence[LoggedEvent], take: Callable[[], Awaitable[Run[Any, Any]]]) -> None:
    """
    Take up a run and let it go on, and wait for its end where that is asked for.
    """

    async def make() -> tuple[Run[Any, Any], Any]:
        run = await take()
        asked.app.runs.take_up(run, before)
        return run, run.state.init_data

    call = RunCall(asked.app.service, make)
    call.alone = not asked.body.get("wait")
    await (call.begun() if call.alone else call.wait())


async def _resume_agent(asked: Asked, found: FoundRun) -> None:
    agent, body, run_id = found.agent, asked.body, asked.path["run_id"]
    assert agent is not None
    answers = body.get("answers")
    if not answers:
        raise InputError("an agent's run is answered by question", hint='give "answers": {question_id: value}')
    options: dict[str, Any] = {name: body[name] for name in ("resource", "request_context") if name in body}
    call = SharedCall(
        asked.app.service,
        run_id,
        lambda signal: agent.resume_stream(run_id, answers, **options, abort_signal=signal, raise_on_tripwire=False),
        "",
    )
    if body.get("wait"):
        async with call.joined() as stream:
            await stream.result()
    else:
        call.alone = True
        await call.begun()


async def _resume_workflow(asked: Asked, found: FoundRun) -> None:
    body = asked.body
    step, label, answer = body.get("step"), body.get("label"), body.get("answer")
    answers: dict[str, Any] = body.get("answers", {})
    if len(answers) > 1 or (answers and (step or label)):
        raise InputError("a workflow's run is given one answer at a time", hint='give "step" and "answer"')
    for key, value in answers.items():
        step, answer = key, value
    before = await asked.app.runs.told_before(asked.path["run_id"])
    run_id, context = asked.path["run_id"], RequestContext(body.get("request_context", {}))
    await _go_on(
        asked,
        before,
        lambda: found.runtime.resumed(
            run_id, answer, step=step, label=label, workflow=found.workflow, request_context=context
        ),
    )


async def _cancel(asked: Asked) -> Any:
    run_id = asked.path["run_id"]
    going = asked.app.service.named.get(run_id)
    if going is not None:
        going.end(cancelled())
        return {"cancelled": True}
    found = await found_run(asked.app, run_id)
    seen = asked.app.runs.get(run_id)
    if found.agent is None:
        if seen is not None and seen.ended and seen.status != "suspended":
            return {"cancelled": False}
        done = await found.runtime.cancel(run_id)
    else:
        row = await found.runtime.store.row(run_id)
        done = row is not None and row.status == "suspended"
        if done:
            await found.agent.cancel(run_id, resource=asked.body.get("resource"))
    row = await found.runtime.store.row(run_id)
    if seen is not None and row is not None and row.status == "cancelled":
        seen.give_up(row.updated_at)  # it waited, so that no run is there to tell of its end
    return {"cancelled": done}


async def _fork(asked: Asked) -> Any:
    run_id, body = asked.path["run_id"], asked.body
    found = await found_run(asked.app, run_id)
    if found.agent is not None:
        raise RequestRefused(
            "an agent's run cannot be forked", status=409, reason="not-kept", hint="replay it: POST .../replay"
        )
    outputs = dict(body.get("outputs", {}))
    if "input" in body:
        outputs[found.before(body.get("step", ""))] = body["input"]

    async def make() -> tuple[Run[Any, Any], Any]:
        run = await found.runtime.forked(
            run_id,
            body.get("step"),
            outputs=outputs,
            new_run_id=new_id(),
            workflow=found.workflow,
            request_context=RequestContext(body.get("request_context", {})),
        )
        fork = asked.app.runs.get(run.id)
        if fork is not None:
            fork.parent_run_id, fork.forked_at = run_id, body.get("step")
        return run, run.state.init_data

    call = RunCall(asked.app.service, make)
    call.alone = True
    try:
        await call.begun()
        return {"run_id": (await call.made()).id}
    except RunNotFound:
        raise RequestRefused(
            f"run {run_id} is not kept, so that it cannot begin in its middle",
            status=409,
            reason="not-kept",
            hint="App(runtime=Runtime(SQLiteJournal(...))) keeps runs",
        ) from None


async def _delete(asked: Asked) -> Any:
    run_id = asked.path["run_id"]
    found = await found_run(asked.app, run_id)
    seen = asked.app.runs.get(run_id)
    if run_id in asked.app.service.named or (seen is not None and seen.run is not None):
        raise RequestRefused(f"run {run_id} goes on", status=409, reason="goes-on", hint="cancel it first")
    deleted = await found.runtime.delete(run_id)
    return {"deleted": asked.app.runs.forget(run_id) or deleted}
