"""
A conversation that a client sends whole, and of which the agent's memory has the beginning already.
"""

from __future__ import annotations

from collections.abc import Sequence

from procession.agents.agent import Agent
from procession.messages.message import Message
from procession.messages.parts import Part, ToolCallPart
from procession.server.openai.messages import is_instruction
from procession.server.openai.refused import refused
from procession.server.openai.request import ChatRequest
from procession.server.openai.tools import calls_of

__all__ = ["new_in_thread"]

_LOOKED_THROUGH = 50
"""How many of the newest messages of a thread are looked through for the calls that a client answers."""


async def new_in_thread(agent: Agent, request: ChatRequest) -> list[Message]:
    """
    Return the messages of *request* that the agent is to be given: all of them, or in a thread what is new in it.

    Clients of Chat Completions send the whole conversation each time.  Where the thread has one already, what is new
    stands behind the last answer; an answer whose calls the client has run goes on as it is stored.

    Raises ``RequestRefused`` for a thread where the agent has no memory, for another resource's, and where nothing is new.
    """
    messages = list(request.messages)
    if request.thread is None or request.resource is None:
        return messages
    if agent.memory is None:
        raise refused("metadata.thread", f"agent {agent.id!r} has no memory, and so no threads")
    known = await agent.memory.storage.thread(request.thread)
    if known is None:
        return messages
    if known.resource_id != request.resource:  # ids of threads are those of the store: it cannot be begun, either
        raise refused("metadata.thread", "names no thread of this user", code="thread_not_found", status=404)
    stored = await agent.memory.recall(request.thread, request.resource, last=_LOOKED_THROUGH)
    if not stored:
        return messages
    end = max((at for at, message in enumerate(messages) if message.role == "assistant"), default=-1)
    new = [message for message in messages[end + 1 :] if not is_instruction(message)]
    answered = _answered(messages[end], stored) if end >= 0 else None
    if answered is not None:
        new.insert(0, answered)
    if not new:
        raise refused("messages", "have nothing new behind the last answer of the thread")
    return new


def _answered(message: Message, stored: Sequence[Message]) -> Message | None:
    """
    Return the stored message whose calls *message* has the answers of, with them; itself where none is stored.
    """
    answers = {part.tool_call_id: part for part in calls_of(message)}
    if not answers:
        return None
    for known in reversed(stored):
        if any(_answer_of(part, answers) is not None for part in calls_of(known)):
            return known.with_parts([_with_answer(part, answers) for part in known.parts])
    return message


def _with_answer(part: Part, answers: dict[str, ToolCallPart]) -> Part:
    answer = _answer_of(part, answers) if isinstance(part, ToolCallPart) else None
    return part if answer is None else part.replace(state="result", result=answer.result)


def _answer_of(call: ToolCallPart, answers: dict[str, ToolCallPart]) -> ToolCallPart | None:
    """
    Return the answer to an open call: to one of its id, and of its tool, since ids are what a model makes up.
    """
    answer = answers.get(call.tool_call_id) if call.state == "call" else None
    return answer if answer is not None and answer.tool_name == call.tool_name else None
