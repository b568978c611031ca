"""
Routes that ask an agent: generate, and stream.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Required, TypeAlias

from typing_extensions import TypedDict

from procession.agents.agent import Agent
from procession.agents.stream import AgentStream
from procession.errors import DefinitionError, InputError
from procession.ids import new_id
from procession.messages.chunks import ErrorChunk
from procession.models.structured_output import StructuredOutput
from procession.server.agents import agent_named, agents_example
from procession.server.client_schema import client_output
from procession.server.endpoint import Asked, Endpoint
from procession.server.errors import error_body
from procession.server.run_calls import run_id_given, taken
from procession.server.served import Served
from procession.server.shared_calls import fingerprint
from procession.server.sse import EventStream, Say, event
from procession.server.threads import check_thread
from procession.server.values import chunk_data, result_data
from procession.steps.abort import AbortSignal

__all__ = ["CallBody", "ResultData", "routes", "say_stream"]

Json: TypeAlias = dict[str, Any]
Begin: TypeAlias = Callable[[AbortSignal], AgentStream[Any]]


class CallBody(TypedDict, total=False):
    """
    What an agent is asked, and what this call says differently.
    """

    messages: Required[str | Json | list[str | Json]]
    """A text, a message, or several."""
    run_id: str
    """The id of the run; to send the same again joins the call, and begins no second one."""
    thread: str | Json
    resource: str
    """Whose conversation it is."""
    request_context: Json
    """Values that steps, tools and hooks may read."""
    max_steps: int
    """No more than the agent's own."""
    model_settings: Json
    tool_choice: str | Json
    active_tools: list[str]
    structured_output: Json
    """The JSON schema of the answer: the model is told of it, and whoever asks checks the answer."""


class ResultData(TypedDict):
    """
    What a run of an agent came to.
    """

    run_id: str
    status: str
    text: str
    final_text: str
    finish_reason: str
    usage: Json
    object: Any
    messages: list[Json]
    steps: list[Json]
    tripwire: Json | None
    violations: list[Json]
    outcomes: list[Json]
    warnings: list[Any]
    suspended: list[Json]
    abort_reason: str | None
    error: Json | None


def routes(app: Served) -> list[Endpoint]:
    """
    Return the routes that ask an agent.
    """
    example = agents_example(app, {"messages": "Hello"})
    return [
        Endpoint(
            method="POST", path="/api/agents/{agent_id}/generate", handle=_generate,
            summary="Ask an agent, and wait for the whole result.", body=CallBody, answer=ResultData,
            example=example, calls=True,
        ),
        Endpoint(
            method="POST", path="/api/agents/{agent_id}/stream", handle=_stream,
            summary="Ask an agent; each chunk is an event, the last event is `result`.", body=CallBody,
            media="text/event-stream", example=example, calls=True,
        ),
    ]  # fmt: skip


async def _generate(asked: Asked) -> Any:
    agent, options = agent_named(asked), _options(asked)
    await check_thread(agent, options.get("thread"), options.get("resource"))
    if "run_id" in options:
        async with await _joined(asked, agent, options) as stream:
            return result_data(await stream.result(), asked.request_id)
    run_id = new_id()
    with asked.app.service.called(run_id, asked.going):
        result = await agent.generate(**options, run_id=run_id, abort_signal=asked.going.signal)
    return result_data(result, asked.request_id)


async def _stream(asked: Asked) -> Any:
    agent, options = agent_named(asked), _options(asked)
    await check_thread(agent, options.get("thread"), options.get("resource"))

    async def produce(say: Say) -> None:
        if "run_id" in options:
            async with await _joined(asked, agent, options) as stream:
                await say_stream(say, stream, asked.request_id)
            return
        run_id = new_id()
        opened = agent.stream(**options, run_id=run_id, abort_signal=asked.going.signal, replay=False)
        with asked.app.service.called(run_id, asked.going):
            async with opened as stream:
                await say_stream(say, stream, asked.request_id)

    return EventStream(produce, asked)


async def _joined(asked: Asked, agent: Agent, options: Json) -> AbstractAsyncContextManager[AgentStream[Any]]:
    """
    Return the call of that ``run_id``, begun where there is none.

    Raises ``RequestRefused`` where something else was asked by that id, here or before this server was.
    """
    app, run_id, same = asked.app, options["run_id"], fingerprint(asked.body)
    kept = await agent.runtime.store.row(run_id)
    call = app.calls.get(agent.id, run_id, same)
    if call is None:
        if app.runs.get(run_id) is not None or kept is not None:
            raise taken(run_id)
        call = app.calls.begin(agent.id, run_id, same, lambda signal: agent.stream(**options, abort_signal=signal))
    return call.joined()


async def say_stream(say: Say, stream: AgentStream[Any], request_id: str) -> None:
    """
    Say each chunk of *stream* as an event that is named by its type, and the result as the event ``result``.

    Raises what the call raises where it could not begin.
    """
    number = 0
    async for chunk in stream.full_stream:
        if number == 0 and isinstance(chunk, ErrorChunk):
            await stream.result()  # raises it: nothing was said yet, so that the status can tell
        await say(event(chunk_data(chunk, request_id), type=chunk.type, id=number))
        number += 1
    try:
        result = result_data(await stream.result(), request_id)
    except Exception as error:
        result = {"status": "failed", **error_body(error, request_id)}
    await say(event(result, type="result", id=number))


def _options(asked: Asked) -> Json:
    """
    Return the options of the call that the body says.

    Raises ``InputError`` for more steps than the agent may make, and for an id that cannot be one.
    """
    agent = agent_named(asked)
    options: Json = dict(asked.body)
    if "run_id" in options:
        run_id_given(options["run_id"])
    if options.get("max_steps", 0) > agent.max_steps:
        raise InputError(
            f"max_steps={options['max_steps']} is more than agent {agent.id!r} may make",
            hint=f"at most {agent.max_steps}, which its definition says",
        )
    if "structured_output" in options:
        options["structured_output"] = _output(options["structured_output"])
    return {**options, "raise_on_tripwire": False}


def _output(schema: Json) -> StructuredOutput[Any]:
    try:
        return client_output(schema)
    except (DefinitionError, TypeError, AttributeError) as error:
        raise InputError("structured_output is no JSON schema", hint='such as {"type": "object", ...}') from error
