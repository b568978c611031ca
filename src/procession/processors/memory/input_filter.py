"""
MemoryInputFilter: what a client sends again of a conversation stands there once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from procession.messages.combine import recalled
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import Part, Parts
from procession.processors.contexts import InputContext
from procession.processors.memory.kept_where import reading
from procession.processors.memory.outbox import outbox_of
from procession.processors.memory.said_anew import is_said_anew, what_is_said
from procession.processors.memory.use import MemoryUse, use_of
from procession.processors.options import a_flag, one_of
from procession.processors.processor import Processor
from procession.storage.threads import MessageRef, ThreadStore

__all__ = ["MemoryInputFilter"]

_UNANSWERED = 4
"""How many questions without an answer may stand behind what a client sends again."""


class MemoryInputFilter(Processor):
    """
    Takes messages out of the input that the thread has already: memory recalls them, and they are not kept again.

    Clients of chats often send the whole conversation with each turn.  A message is known by its id; with
    *dedupe_resent* also by who said it and what it says, as far as the input begins with what the thread ends with.  The
    user's newest message always stays.  Of a known message that brings results of a client's tools, these go to the
    stored one.  What a provider noted in an assistant's message that the thread does not have is left out: it is the
    client's word.
    """

    id = "memory-input-filter"
    description = "Leaves out of the input what the thread has already."
    timeout = 30.0

    def __init__(
        self,
        storage: ThreadStore,
        *,
        dedupe_resent: bool = False,
        on_error: Literal["stop", "skip"] = "stop",
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.storage = storage
        self.dedupe_resent = a_flag("MemoryInputFilter", "dedupe_resent", dedupe_resent)
        """Whether messages that come with new ids are compared by what they say."""
        self.on_error = one_of("MemoryInputFilter", "on_error", on_error, ("stop", "skip"))

    async def process_input(self, ctx: InputContext) -> None:
        """
        Leave out what the thread has already.
        """
        use = use_of(ctx.scope)
        messages = ctx.message_list
        given = messages.view("input")
        if use is None or not use.enabled or (len(given) < 2 and not any(one.role == "assistant" for one in given)):
            return  # what most calls bring: one new message
        outbox = outbox_of(self.storage)
        if outbox:
            await outbox.flush(self.storage)
        refs = [MessageRef(use.thread_id, one.id) for one in given]
        with reading(self.storage):
            passages = await self.storage.around(refs, resource_id=use.resource_id)
        stored = {one.id: one for passage in passages for one in passage.messages}
        pairs = [(known, one) for one in given if (known := stored.get(one.id)) is not None]
        if pairs and pairs[-1][1] is given[-1] and is_said_anew(given[-1], pairs[-1][0]):
            pairs.pop()
        if use.override("dedupe_resent", self.dedupe_resent):
            pairs += await self._resent([one for one in given if one.id not in stored], use)
        if pairs:
            _leave_out(messages, pairs)
        ours = {one.id for one in messages.view("memory")}
        signed = [one for one in messages.view("input") if one.role == "assistant" and one.id not in ours]
        messages.replace_all([_unsigned(one) for one in signed])

    async def _resent(self, given: Sequence[Message], use: MemoryUse) -> list[tuple[Message, Message]]:
        """
        Return the messages that *given* begins with where the thread ends with the same, each behind the stored one.
        """
        last = len(given) + _UNANSWERED
        with reading(self.storage):
            stored = await self.storage.messages(use.thread_id, resource_id=use.resource_id, last=last)
        known = _same_end([one for one in stored if one.role not in ("signal", "system")], given)
        return list(zip(known, given, strict=False))


def _leave_out(messages: MessageList, pairs: Sequence[tuple[Message, Message]]) -> None:
    """
    Take out what the thread has: of each of *pairs*, the stored message and the client's.

    What the user said last stays, as it is stored, and so does a call of a client's tool that has come further.
    """
    last = next((one.id for one in reversed(messages.view("input")) if one.role == "user"), None)
    stays: list[Message] = []
    for known, sent in pairs:
        made = recalled(known, sent, is_response=False)
        if made != known or sent.id == last:
            stays.append(made)
    messages.remove([sent.id for _, sent in pairs])
    messages.add(stays, "memory")  # first: they keep their times, and nothing is joined to them
    messages.add(stays, "input")


def _same_end(stored: list[Message], given: Sequence[Message]) -> Sequence[Message]:
    """
    Return what *stored* ends with that *given* begins with, but for a user's message at the end: that is said now.

    Behind it there may be questions that got no answer.
    """
    said, asked = [what_is_said(one) for one in stored], [what_is_said(one) for one in given]
    if given and given[-1].role == "user":
        asked.pop()
    end = len(stored)
    while True:
        for count in range(min(end, len(asked)), 0, -1):
            if said[end - count : end] == asked[:count]:
                return stored[end - count : end]
        if not end or stored[end - 1].role != "user" or end <= len(stored) - _UNANSWERED:
            return ()
        end -= 1


def _unsigned(message: Message) -> Message:
    """
    Return an assistant's message without what a provider noted in it, such as the names of what it keeps itself.
    """
    parts: list[Part] = [
        part.replace(provider_metadata=None) if getattr(part, "provider_metadata", None) is not None else part
        for part in message.parts
    ]
    return message.replace(parts=Parts(parts), provider_metadata=None)
