"""
Who is talked to: the agent that a command line names, with a memory that lasts as long as the chat.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from procession.agents.agent import Agent
from procession.agents.options import SharedOptions
from procession.cli.model import model_of
from procession.cli.target import agent_of, load_target
from procession.errors import InputError
from procession.ids import new_id
from procession.messages.value import Value
from procession.processors.chain import ProcessorList, owners, processor_steps
from procession.processors.memory.kept_where import place_of
from procession.processors.memory.memory import Memory
from procession.processors.memory.message_history import MessageHistory
from procession.steps.abort import AbortSignal
from procession.storage.memory import InMemoryStore

__all__ = ["ChatJob", "Partner"]

_RESOURCE = "chat"


class ChatJob(Value, kw_only=True):
    """
    What is asked of one ``procession chat``.
    """

    target: str | None = None
    model: str | None = None
    base_url: str | None = None
    system: str | None = None


class Partner:
    """
    The agent of a chat, and how it is called: each call belongs to the thread of the conversation.

    An agent that has a memory keeps its own.  One that has none is given the turns so far by a history that is
    forgotten with the chat, ahead of its own processors on the way in and behind them on the way out.  So guards look at
    what is new, what they have hidden stays hidden, and a turn that was blocked is no part of the conversation.

    Raises ``InputError`` where a job names nobody, or instructions for an agent that has its own.
    """

    def __init__(self, job: ChatJob) -> None:
        self.agent, self._options = _agent_of(job)
        self.thread = new_id()
        if self.agent.memory is None:
            history = MessageHistory(InMemoryStore(), last_messages=None)
            self._options["input_processors"] = _with(self.agent.input_processors, history, "input_processors")
            self._options["output_processors"] = _with(self.agent.output_processors, history, "output_processors")

    @property
    def name(self) -> str:
        """
        What to call it: the agent's id and its model's name, as far as that is known.
        """
        model = getattr(self._options.get("model", self.agent.model), "id", None)
        return f"{self.agent.id} ({model})" if model and model != self.agent.id else self.agent.id

    @property
    def kept(self) -> str | None:
        """
        Where the agent's own memory keeps what is said, for people; ``None`` where the chat forgets it.
        """
        memory = self.agent.memory
        return f"{place_of(memory.storage)}, resource {_RESOURCE!r}" if memory is not None else None

    def options(self, stop: AbortSignal) -> SharedOptions:
        """
        Return what each call of the conversation says, and what stops this one.
        """
        return {
            **self._options,
            "thread": self.thread,
            "resource": _RESOURCE,
            "raise_on_tripwire": False,
            "abort_signal": stop,
        }

    def forget(self) -> None:
        """
        Begin a new conversation.
        """
        self.thread = new_id()


def _agent_of(job: ChatJob) -> tuple[Agent, SharedOptions]:
    model = model_of(job.model, job.base_url)
    if job.target is None:
        if model is None:
            raise InputError(
                "nobody to talk to is named",
                hint="procession chat --model openai/gpt-5-mini, or procession chat my_agent.py",
            )
        return Agent(
            model.id, model=model, instructions=job.system or "", memory=Memory(InMemoryStore(), last_messages=None)
        ), {}
    if job.system is not None:
        raise InputError(
            f"--system is for a plain model, and {job.target} has instructions of its own",
            hint="leave --system or the target out",
        )
    target = load_target(job.target)
    if model is not None and not inspect.isroutine(target.thing):
        return agent_of(target), {"model": model}
    return agent_of(target, model), {}


def _with(own: ProcessorList, history: MessageHistory, name: str) -> ProcessorList:
    """
    Return the agent's list of that *name* with *history* in it, unless it has one.
    """

    def joined(entries: Sequence[Any]) -> Sequence[Any]:
        listed = owners(processor_steps(entries, where=name))
        if any(isinstance(owner, MessageHistory) for owner in listed):
            return entries
        return [history, *entries] if name == "input_processors" else [*entries, history]

    if not callable(own):
        return joined(own)

    async def chosen(context: Any) -> Any:
        found: Any = own(context)
        if hasattr(found, "__await__"):
            found = await found
        return found if found is None else joined(found)  # a function that returns nothing is refused as ever

    return chosen
