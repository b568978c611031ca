"""
What an MCP server offers: each agent and each workflow as a tool, and what a call of it comes to.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from procession.agents.agent import Agent
from procession.agents.workflow_tool import tool_name, workflow_tool
from procession.errors import DefinitionError, RunError
from procession.messages.chunks import TextDelta
from procession.messages.shapes import is_form
from procession.messages.tripwire import TripwireInfo
from procession.messages.value import Value
from procession.runtime.event_json import plain
from procession.server.errors import error_body
from procession.server.openai.answer import open_calls
from procession.server.served import Served
from procession.steps.abort import AbortSignal
from procession.tools.json_schema import faults_of
from procession.workflows.workflow import Workflow

__all__ = ["Answer", "Offer", "Tell", "offers_of"]

Tell: TypeAlias = Callable[[int, str | None], Awaitable[None]]
"""Told how far a call has come: a number that grows, and what an agent has said since the last time."""
_PIECE: Final = 200
"""How many characters an agent says before it is told."""
_PROMPT: Final[Mapping[str, Any]] = {"type": "string", "minLength": 1, "description": "What the agent is asked."}
_THREAD: Final[Mapping[str, Any]] = {
    "thread": {"type": "string", "minLength": 1, "description": "The conversation that it belongs to, by an id."},
    "resource": {"type": "string", "minLength": 1, "description": "Whose conversation it is."},
}


class Answer(Value, kw_only=True):
    """
    What a call came to.
    """

    text: str
    value: Mapping[str, Any] | None = None
    """The same as an object, where it is one."""
    is_error: bool = False


class Offer(Value, kw_only=True):
    """
    An agent or a workflow as a tool.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    ask: Callable[[Mapping[str, Any], AbortSignal, Tell], Awaitable[Answer]]

    def faults(self, args: Mapping[str, Any]) -> list[str]:
        """
        Return what is wrong with the arguments.
        """
        return faults_of(args, self.parameters)


def offers_of(app: Served) -> dict[str, Offer]:
    """
    Return what is offered, by name.

    Raises ``DefinitionError`` where two would have one name.
    """
    found: dict[str, Offer] = {}
    for offer in (
        *(_agent(agent) for agent in app.agents.values()),
        *(_workflow(app, workflow) for workflow in app.workflows.values()),
    ):
        if offer.name in found:
            raise DefinitionError(
                f"two tools of the MCP server would be called {offer.name!r}", hint="rename one of them"
            )
        found[offer.name] = offer
    return found


def _agent(agent: Agent) -> Offer:
    keeps = agent.memory is not None

    async def ask(args: Mapping[str, Any], signal: AbortSignal, tell: Tell) -> Answer:
        options: dict[str, Any] = {name: args[name] for name in _THREAD if name in args}
        said, new = 0, ""
        async with agent.stream(
            args["prompt"], abort_signal=signal, raise_on_tripwire=False, replay=False, **options
        ) as run:
            async for chunk in run.full_stream:
                if isinstance(chunk, TextDelta):
                    new += chunk.text
                    if len(new) >= _PIECE:
                        said += len(new)
                        await tell(said, new)
                        new = ""
            result = await run.result()
        if result.status == "blocked" and result.tripwire is not None:
            return _blocked(result.tripwire)
        if result.status == "suspended":
            return _waits(result.run_id)
        if open_calls(result):
            return _failed("it asks for a tool that its caller is to run, which cannot be done here")
        if result.status == "aborted":
            return _failed(result.abort_reason or "the call was ended")
        if result.error is not None:
            return _failed(_message(result.error))
        if result.object is not None:
            return _value(plain(result.object))
        return Answer(text=result.text)

    return Offer(
        name=tool_name("agent", agent.id),
        description=agent.description or f"Ask the agent {agent.id}.",
        parameters={
            "type": "object",
            "properties": {"prompt": _PROMPT, **(_THREAD if keeps else {})},
            "required": ["prompt"],
            "additionalProperties": False,
        },
        ask=ask,
    )


def _workflow(app: Served, workflow: Workflow[Any, Any]) -> Offer:
    as_tool = workflow_tool(workflow)
    whole = workflow.input_type is not None and "input" not in as_tool.parameters.get("properties", {})

    async def ask(args: Mapping[str, Any], signal: AbortSignal, tell: Tell) -> Answer:
        run = app.runtime.create_run(workflow)
        signal.listen(lambda reason: run.cancel())
        result = await run.start(args if whole else args.get("input"))
        if result.status == "success":
            return _value(plain(result.output))
        if result.tripwire is not None:
            return _blocked(result.tripwire)
        if result.status == "suspended":
            return _waits(result.run_id)
        if result.status == "cancelled":
            return _failed(signal.reason or "the call was ended")
        return _failed(_message(result.error or RunError("it failed")))

    return Offer(name=as_tool.name, description=as_tool.description, parameters=as_tool.parameters, ask=ask)


def _value(value: Any) -> Answer:
    if isinstance(value, str):
        return Answer(text=value)
    return Answer(text=json.dumps(value, ensure_ascii=False), value=value if is_form(value) else None)


def _blocked(info: TripwireInfo) -> Answer:
    return _failed(info.message or "This request was blocked.")  # the reason is for those who run the server


def _waits(run_id: str) -> Answer:
    return _failed(f"it waits for somebody's answer, which cannot be given here (run {run_id})")


def _failed(message: str) -> Answer:
    return Answer(text=message, is_error=True)


def _message(error: BaseException) -> str:
    told: str = error_body(error, "")["error"]["message"]
    return told
