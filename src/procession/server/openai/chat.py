"""
Chat Completions: ``/v1/chat/completions`` and ``/v1/models``, at which any client of that API finds the agents.
"""

from __future__ import annotations

import time
from typing import Any, Final

from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.agents.resolve import tools_for
from procession.agents.stream import AgentStream
from procession.errors import RunCancelled
from procession.ids import new_id
from procession.messages.message import Message
from procession.server.endpoint import Asked, Endpoint, Example
from procession.server.openai.answer import completion
from procession.server.openai.conversation import new_in_thread
from procession.server.openai.refused import chat_error, refused
from procession.server.openai.request import ChatRequest, read_chat_request
from procession.server.openai.schemas import (
    ChatAnswer,
    ChatBody,
    ChatFailure,
    ChatModel,
    ChatModels,
    ChatPiece,
)
from procession.server.openai.stream import ChatStream, Hold
from procession.server.openai.tools import calls_of, check_apart
from procession.server.served import Served
from procession.server.sse import EventStream, Say, event
from procession.steps.request_context import RequestContext

__all__ = ["routes"]

_HUNG_UP: Final = 499
_DONE: Final = b"data: [DONE]\n\n"
_STARTED: Final = int(time.time())


def routes(app: Served) -> list[Endpoint]:
    """
    Return what clients of Chat Completions ask for.
    """
    some = next(iter(app.agents), "support")
    ask = Example(body={"model": some, "messages": [{"role": "user", "content": "Hi"}]})
    return [
        Endpoint(
            method="POST", path="/v1/chat/completions", handle=_complete, calls=True, body=dict[str, Any],
            shown_body=ChatBody, answer=ChatAnswer, event=ChatPiece, failure=ChatFailure, example=ask,
            summary="Ask an agent in the words of OpenAI's Chat Completions; its id is the model.",
        ),
        Endpoint(
            method="GET", path="/v1/models", handle=_models, answer=ChatModels, failure=ChatFailure, example=Example(),
            summary="List the agents as OpenAI lists models.",
        ),
        Endpoint(
            method="GET", path="/v1/models/{model:path}", handle=_model, answer=ChatModel, failure=ChatFailure,
            example=Example(path={"model": some}) if app.agents else None,
            summary="Show one agent as OpenAI shows a model.",
        ),
    ]  # fmt: skip


async def _models(asked: Asked) -> Any:
    return {"object": "list", "data": [_shown(agent) for agent in asked.app.agents]}


async def _model(asked: Asked) -> Any:
    return _shown(_agent(asked.app, asked.path["model"]).id)


def _shown(agent_id: str) -> dict[str, Any]:
    return {"id": agent_id, "object": "model", "created": _STARTED, "owned_by": "procession"}


def _agent(app: Served, name: str) -> Agent:
    agent = app.agents.get(name)
    if agent is None:
        raise refused(
            "model", "there is no agent of that id: GET /v1/models lists them", code="model_not_found", status=404
        )
    return agent


async def _complete(asked: Asked) -> Any:
    request = read_chat_request(asked.body)
    agent = _agent(asked.app, request.model)
    if request.resumed is not None:
        await _check_owner(agent, request.resumed, request.resource)
    messages = [] if request.resumed is not None else await new_in_thread(agent, request)
    asking = _Asking(agent, request, messages, asked)
    await asking.check()
    if request.stream:
        return EventStream(asking.say, asked, failed=_failed)
    return await asking.whole()


async def _check_owner(agent: Agent, run_id: str, resource: str | None) -> None:
    """
    Refuse whoever answers for another resource than the run was begun for: to them it is as good as not there (D35).
    """
    row = await agent.runtime.store.row(run_id)
    if row is None or row.owner != agent.id or row.resource_id != resource:
        raise refused(
            "procession.run_id", "names no run of this agent and user that waits", code="run_not_found", status=404
        )


class _Asking:
    """
    One call of an agent, as a client asks for it.
    """

    def __init__(self, agent: Agent, request: ChatRequest, messages: list[Message], asked: Asked) -> None:
        self._agent = agent
        self._request = request
        self._messages = messages
        self._service = asked.app.service
        self._going = asked.going
        self._run_id = request.resumed or new_id()
        self._frame: dict[str, Any] = {
            "id": f"chatcmpl-{self._run_id}",
            "model": agent.id,
            "created": int(time.time()),
            "show_tools": request.show_tools,
        }

    async def check(self) -> None:
        """
        Refuse tools of the client's, and calls in what it says was said, that have the name of one of the agent's own:
        they would take its place, and what the client makes up the place of its results.
        """
        request = self._request
        if not request.tools and not any(calls_of(message) for message in request.messages):
            return
        own: Any = self._agent.tools
        if callable(own):
            own = await tools_for(own, RequestContext(self._options().get("request_context")))
        check_apart(request.tools, request.messages, {name for name, tool in own.items() if not tool.client_side})

    async def whole(self) -> dict[str, Any]:
        """
        Ask, and return the answer in one piece.
        """
        options = self._options()
        with self._service.called(self._run_id, self._going):
            if self._request.resumed is not None:
                result = await self._agent.resume(self._run_id, self._request.answers, **options)
            else:
                result = await self._agent.generate(self._messages, run_id=self._run_id, **options)
        return completion(self._heard(result), **self._frame, whole=self._request.structured_output is None)

    async def say(self, say: Say) -> None:
        """
        Ask, and say each piece of the answer as it comes.
        """
        pieces = ChatStream(**self._frame, hold=self._hold, include_usage=self._request.include_usage)
        with self._service.called(self._run_id, self._going):
            async with self._stream() as stream:
                async for chunk in stream.full_stream:
                    for piece in pieces.read(chunk):
                        await say(event(piece))
                for piece in pieces.finish(self._heard(await stream.result())):
                    await say(event(piece))
        await say(_DONE)

    def _stream(self) -> AgentStream[Any]:
        options = self._options()
        if self._request.resumed is not None:
            return self._agent.resume_stream(self._run_id, self._request.answers, replay=False, **options)
        return self._agent.stream(self._messages, replay=False, run_id=self._run_id, **options)

    @property
    def _hold(self) -> Hold:
        if self._request.structured_output is not None:
            return "run"
        return "step" if self._agent.max_processor_retries else "nothing"

    def _heard(self, result: AgentResult) -> AgentResult:
        """
        Return the result; raises why the run was ended early, if it was.
        """
        if result.status == "aborted":
            because = self._going.because
            if because is not None and because.status != _HUNG_UP:
                raise because
            raise RunCancelled(
                "the run was ended before it had an answer"
            )  # somebody cancelled it, or nobody reads this
        return result

    def _options(self) -> dict[str, Any]:
        request = self._request
        options: dict[str, Any] = {"raise_on_tripwire": False, "abort_signal": self._going.signal}
        if request.tools:
            options["tools"] = request.tools
        if request.tool_choice is not None:
            options["tool_choice"] = request.tool_choice
        if request.settings:
            options["model_settings"] = self._settings()
        if request.structured_output is not None:
            options["structured_output"] = request.structured_output
        if request.resource is not None and request.thread is None and self._agent.memory is not None:
            options["request_context"] = {"resource_id": request.resource}  # a memory takes no resource alone
        elif request.resource is not None:
            options["resource"] = request.resource
        if request.thread is not None:
            options["thread"] = request.thread
        return options

    def _settings(self) -> dict[str, Any]:
        """
        Return the client's settings; of tokens it may ask for fewer than the agent does, never for more.
        """
        settings = dict(self._request.settings)
        limit = (self._agent.model_settings or {}).get("max_tokens")
        if "max_tokens" in settings and isinstance(limit, int):
            settings["max_tokens"] = min(settings["max_tokens"], limit)
        return settings


def _failed(error: Exception, request_id: str) -> bytes:
    return event(chat_error(error, request_id))
