"""
Routes of threads: the conversations of an agent's memory, each of one resource, which whoever asks must name.
"""

from __future__ import annotations

from typing import Any, Final, Required

from typing_extensions import TypedDict

from procession.agents.agent import Agent
from procession.errors import RequestRefused
from procession.messages.message import Message
from procession.messages.shapes import is_form
from procession.processors.memory.memory import Memory
from procession.runtime.event_json import plain
from procession.server.agents import agent_named
from procession.server.endpoint import Asked, Endpoint, Example
from procession.server.errors import not_found
from procession.server.redaction import redacted
from procession.server.served import Served
from procession.server.values import message_data
from procession.storage.base import UNCHANGED
from procession.storage.threads import Thread

__all__ = ["check_thread", "routes"]

_THREADS: Final = "/api/agents/{agent_id}/threads"
_ONE: Final = f"{_THREADS}/{{thread_id}}"
_PAGE: Final = 50
_LONGEST_PAGE: Final = 200
_NO_THREAD: Final = "such thread of this resource"


class WhoseThread(TypedDict):
    """
    Whose thread it is.
    """

    resource: str


class ThreadQuery(TypedDict, total=False):
    """
    Whose thread it is, and which page.
    """

    resource: Required[str]
    cursor: str
    """What the page before said in ``following``."""
    limit: int


class ThreadChange(TypedDict, total=False):
    """
    What is to be different; what is left out stays, ``null`` takes away.
    """

    title: str | None
    metadata: dict[str, Any] | None


class ThreadData(TypedDict):
    """
    One conversation.
    """

    id: str
    resource: str
    title: str | None
    metadata: dict[str, Any] | None
    created_at: str
    updated_at: str


class ThreadsPage(TypedDict):
    """
    Some threads, those that were used last first.
    """

    threads: list[ThreadData]
    following: str | None
    """What to give as ``cursor`` for those behind them; ``None`` where there are no more."""


class MessageData(TypedDict):
    """
    One message of a thread.
    """

    id: str
    role: str
    created_at: str
    text: str
    parts: list[dict[str, Any]]
    metadata: dict[str, Any] | None


class MessagesPage(TypedDict):
    """
    A thread and some of its messages, oldest first; the first page has the newest ones.
    """

    thread: ThreadData
    messages: list[MessageData]
    following: str | None
    """What to give as ``cursor`` for those before them; ``None`` where there are no more."""


class ThreadExport(TypedDict):
    """
    A thread with all its messages, oldest first.
    """

    thread: ThreadData
    messages: list[MessageData]


class ForgottenData(TypedDict):
    """
    How much was deleted, and what is left.
    """

    threads: int
    vectors: int
    cache_entries: int
    files: int
    runs: int
    unsaved_turns: int
    left: list[str]


def routes(app: Served) -> list[Endpoint]:
    """
    Return the routes of threads.
    """
    remembering = next((agent.id for agent in app.agents.values() if agent.memory is not None), None)
    some = Example(path={"agent_id": remembering}, query={"resource": "ann"}) if remembering is not None else None
    return [
        Endpoint(
            method="GET", path=_THREADS, handle=_list, query=ThreadQuery, answer=ThreadsPage, example=some,
            summary="List a resource's threads, those that were used last first.",
        ),
        Endpoint(
            method="GET", path=_ONE, handle=_show, query=ThreadQuery, answer=MessagesPage,
            summary="Show a thread and a page of its messages, the newest first.",
        ),
        Endpoint(
            method="PATCH", path=_ONE, handle=_change, query=WhoseThread, body=ThreadChange, answer=ThreadData,
            summary="Give a thread another title, or other metadata.",
        ),
        Endpoint(
            method="DELETE", path=_ONE, handle=_delete, query=WhoseThread, answer=ForgottenData,
            summary="Delete a thread and all that is kept of it: vectors, notes, files, runs.",
        ),
        Endpoint(
            method="GET", path=f"{_ONE}/export", handle=_export, query=WhoseThread, answer=ThreadExport,
            summary="Show a thread with all its messages.",
        ),
    ]  # fmt: skip


async def check_thread(agent: Agent, thread: Any, resource: str | None) -> None:
    """
    Refuse the *thread* of a call, its id or a mapping with it, where it is another resource's: nothing runs for it.
    """
    thread_id = thread.get("id") if is_form(thread) else thread
    if agent.memory is None or resource is None or not isinstance(thread_id, str):
        return
    known = await agent.memory.storage.thread(thread_id)
    if known is not None and known.resource_id != resource:
        raise not_found(_NO_THREAD)


async def _list(asked: Asked) -> Any:
    memory, resource = _memory(asked), _resource(asked)
    page = await memory.threads(resource, limit=_limit(asked), cursor=asked.query.get("cursor"))
    return {"threads": [_thread(asked, thread) for thread in page.threads], "following": page.following}


async def _show(asked: Asked) -> Any:
    thread = await _found(asked)
    limit = _limit(asked)
    found = await _memory(asked).storage.messages(
        thread.id, resource_id=thread.resource_id, last=limit + 1, before=asked.query.get("cursor")
    )
    page = found[-limit:]
    return {
        "thread": _thread(asked, thread),
        "messages": _messages(asked, page),
        "following": page[0].id if len(found) > limit else None,
    }


async def _change(asked: Asked) -> Any:
    if not asked.body:
        raise RequestRefused("nothing is to be changed", status=400, reason="empty", hint="give a title, or metadata")
    changed = await _memory(asked).update_thread(
        asked.path["thread_id"],
        _resource(asked),
        title=asked.body.get("title", UNCHANGED),
        metadata=asked.body.get("metadata", UNCHANGED),
    )
    if changed is None:
        raise not_found(_NO_THREAD)
    return _thread(asked, changed)


async def _delete(asked: Asked) -> Any:
    """
    Delete also where the thread is gone: of one that a store failed to delete whole, the rest may be there still.
    """
    memory, resource, thread_id = _memory(asked), _resource(asked), asked.path["thread_id"]
    is_there = await memory.thread(thread_id, resource) is not None
    forgotten = await agent_named(asked).forget(resource=resource, thread=thread_id)
    if not is_there and forgotten == forgotten.replace(vectors=0, files=0, runs=0, unsaved_turns=0):
        raise not_found(_NO_THREAD)
    return {name: getattr(forgotten, name) for name in type(forgotten).__fields__} | {"left": [*forgotten.left]}


async def _export(asked: Asked) -> Any:
    thread = await _found(asked)
    messages = await _memory(asked).recall(thread.id, thread.resource_id)
    return {"thread": _thread(asked, thread), "messages": _messages(asked, messages)}


async def _found(asked: Asked) -> Thread:
    thread = await _memory(asked).thread(asked.path["thread_id"], _resource(asked))
    if thread is None:
        raise not_found(_NO_THREAD)
    return thread


def _memory(asked: Asked) -> Memory:
    agent = agent_named(asked)
    if agent.memory is None:
        raise not_found(f"memory of agent {agent.id!r}, and so no threads", hint="Agent(..., memory=Memory())")
    return agent.memory


def _resource(asked: Asked) -> str:
    resource: str = asked.query["resource"]
    if not resource:
        raise RequestRefused(
            "resource is empty", status=400, reason="no-resource", hint="?resource=: whose thread it is"
        )
    return resource


def _limit(asked: Asked) -> int:
    limit: int = asked.query.get("limit", _PAGE)
    if not 1 <= limit <= _LONGEST_PAGE:
        raise RequestRefused(f"limit is {limit}", status=400, reason="limit", hint=f"1 to {_LONGEST_PAGE}")
    return limit


def _thread(asked: Asked, thread: Thread) -> dict[str, Any]:
    """
    Return a thread as JSON, what people wrote redacted; its ids are what it is asked for by, and stay.
    """
    return {
        "id": thread.id,
        "resource": thread.resource_id,
        "title": redacted(thread.title, asked.app.redact),
        "metadata": redacted(plain(thread.metadata), asked.app.redact),
        "created_at": thread.created_at.isoformat(),
        "updated_at": thread.updated_at.isoformat(),
    }


def _messages(asked: Asked, messages: list[Message]) -> list[dict[str, Any]]:
    """
    Return messages as JSON, redacted; signals are notes to the model and no part of what was said (D38).
    """
    return [
        {
            "created_at": message.created_at.isoformat(),
            "metadata": redacted(plain(message.metadata), asked.app.redact),
            **redacted(message_data(message), asked.app.redact),
            "id": message.id,
        }
        for message in messages
        if message.role != "signal"
    ]
