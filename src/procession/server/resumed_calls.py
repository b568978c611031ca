"""
Routes by which whoever asked an agent answers its question, and is given the rest.
"""

from __future__ import annotations

from typing import Any, Required

from typing_extensions import TypedDict

from procession.server.agents import agent_named
from procession.server.calls import ResultData, say_stream
from procession.server.endpoint import Asked, Endpoint
from procession.server.served import Served
from procession.server.sse import EventStream, Say
from procession.server.values import result_data

__all__ = ["routes"]


class AnswersBody(TypedDict, total=False):
    """
    What a suspended call is answered.
    """

    run_id: Required[str]
    answers: Required[dict[str, Any]]
    """By the ``question_id`` of each call that goes on now."""
    resource: str
    """Whose run it is, where it was begun for somebody."""
    thread: str
    request_context: dict[str, Any]
    """The values of the request, which are not kept."""


def routes(app: Served) -> list[Endpoint]:
    """
    Return the routes that go on with a call.
    """
    return [
        Endpoint(
            method="POST", path="/api/agents/{agent_id}/resume", handle=_resume, body=AnswersBody, answer=ResultData,
            summary="Answer what a call waits for, and wait for the whole result.", calls=True,
        ),
        Endpoint(
            method="POST", path="/api/agents/{agent_id}/resume/stream", handle=_resume_stream, body=AnswersBody,
            summary="Answer what a call waits for; each chunk is an event, the last event is `result`.",
            media="text/event-stream", calls=True,
        ),
    ]  # fmt: skip


async def _resume(asked: Asked) -> Any:
    agent, options = agent_named(asked), _options(asked)
    with asked.app.service.called(options["run_id"], asked.going):
        result = await agent.resume(**options)
    return result_data(result, asked.request_id)


async def _resume_stream(asked: Asked) -> Any:
    agent, options = agent_named(asked), _options(asked)

    async def produce(say: Say) -> None:
        with asked.app.service.called(options["run_id"], asked.going):
            async with agent.resume_stream(**options, replay=False) as stream:
                await say_stream(say, stream, asked.request_id)

    return EventStream(produce, asked)


def _options(asked: Asked) -> dict[str, Any]:
    return {**asked.body, "abort_signal": asked.going.signal, "raise_on_tripwire": False}
