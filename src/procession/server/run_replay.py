"""
The route that runs again what a run was begun with, through the code as it is now.
"""

from __future__ import annotations

from typing import Any, Final

from procession.agents.agent import Agent
from procession.errors import RequestRefused
from procession.ids import new_id
from procession.processors.payload import HookPayload
from procession.server.catalog import catalog
from procession.server.endpoint import Asked, Endpoint
from procession.server.run_found import FoundRun, found_run
from procession.server.run_routes import RunPath
from procession.server.served import Served
from procession.server.shared_calls import SharedCall
from procession.server.workflow_runs import StartedRun, begun_run

__all__ = ["routes"]

_AGAIN: Final = (
    "active_tools", "instructions", "max_steps", "model_settings", "provider_options", "request_context", "resource",
    "structured_output", "system", "tool_choice",
)  # fmt: skip
"""The options of a call that hold for its replay.  No thread: a conversation is not to be told the same twice."""


def routes(app: Served) -> list[Endpoint]:
    """
    Return the route that runs again.
    """
    return [
        Endpoint(
            method="POST", path=RunPath + "/replay", handle=_replay, answer=StartedRun, status=202, calls=True,
            summary="Run the same input through the present code, as a new run; of an agent outside of its thread.",
        )
    ]  # fmt: skip


async def _replay(asked: Asked) -> Any:
    found = await found_run(asked.app, asked.path["run_id"])
    again = new_id()
    if found.agent is not None:
        await _ask_again(asked, found.agent, again)
    else:
        await _run_again(asked, found, again)
    return {"run_id": again}


async def _ask_again(asked: Asked, agent: Agent, again: str) -> None:
    seen = asked.app.runs.get(asked.path["run_id"])
    if seen is None or seen.given is None:
        raise _unknown()
    given: dict[str, Any] = seen.given
    options: dict[str, Any] = {name: given["options"][name] for name in _AGAIN if name in given["options"]}
    call = SharedCall(
        asked.app.service,
        again,
        lambda signal: agent.stream(
            given["messages"], **options, run_id=again, abort_signal=signal, raise_on_tripwire=False
        ),
        "",
    )
    call.alone = True
    await call.begun()


async def _run_again(asked: Asked, found: FoundRun, again: str) -> None:
    app, run_id = asked.app, asked.path["run_id"]
    listed = catalog(app).get(found.owner)
    if listed is None:
        raise _unknown()
    seen = app.runs.get(run_id)
    if seen is not None and seen.asked is not None:
        body = dict(seen.asked)
    elif await app.runtime.store.row(run_id) is not None:
        body = {"input": (await app.runtime.get(run_id)).input}
    elif seen is not None and not isinstance(seen.given, HookPayload):  # which the run has changed
        body = {"input": seen.given}
    else:
        raise _unknown()
    call = await begun_run(app, listed, again, body)
    if call is not None:
        call.alone = True


def _unknown() -> RequestRefused:
    return RequestRefused(
        "what the run was begun with is not known any more", status=409, reason="not-kept", hint="begin a new run"
    )
