"""
MessageHistory: what was said before in the thread, and what is to be kept of this turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.processors.contexts import InputContext, OutputResultContext
from procession.processors.memory.turn_mark import PersistOnTripwire, TurnMark, turn_notes
from procession.processors.memory.use import MemoryUse, use_of
from procession.processors.processor import Processor
from procession.steps.scope import RequestScope
from procession.storage.threads import ThreadStore

__all__ = ["MessageHistory"]

_TICK = timedelta(microseconds=1)


class MessageHistory(Processor):
    """
    Recalls the last messages of the thread on the way in, and marks the turn to be saved on the way out.

    Nothing is saved by the processor itself: the loop commits once the outcome is known, so a guard that stands behind
    this processor still keeps a rejected turn out of the store (D34).
    """

    id = "message-history"
    description = "Recalls the thread's last messages and keeps the turn."
    timeout = 30.0

    def __init__(
        self,
        storage: ThreadStore,
        *,
        last_messages: int | None = 10,
        persist_on_tripwire: PersistOnTripwire = "none",
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.storage = storage
        self.last_messages = last_messages
        """How many messages are recalled; ``None`` for all."""
        self.persist_on_tripwire: PersistOnTripwire = persist_on_tripwire

    async def process_input(self, ctx: InputContext) -> None:
        """
        Put the thread's last messages before the input.
        """
        use = use_of(ctx.scope)
        if use is None or not use.enabled:
            return
        wanted = use.last_messages if use.last_messages is not None else self.last_messages
        last = None if wanted == "all" else wanted
        recalled = await self.storage.messages(use.thread_id, resource_id=use.resource_id, last=last)
        ctx.message_list.add([message for message in recalled if message.role != "system"], "memory")
        if recalled:
            _put_behind(ctx.message_list, recalled)
        if not use.read_only and self.persist_on_tripwire != "none":
            self._mark(ctx.scope, use, ctx.message_list)

    async def process_output_result(self, ctx: OutputResultContext) -> None:
        """
        Mark the turn to be saved.
        """
        use = use_of(ctx.scope)
        if use is not None and use.enabled and not use.read_only:
            self._mark(ctx.scope, use, ctx.message_list).complete = True

    def keep(self, scope: RequestScope, messages: MessageList) -> None:
        """
        Mark the turn to be saved as it stands, for a run that is suspended.
        """
        use = use_of(scope)
        if use is not None and use.enabled and not use.read_only:
            self._mark(scope, use, messages)

    def _mark(self, scope: RequestScope, use: MemoryUse, messages: MessageList) -> TurnMark:
        key = ("turn-mark", id(self.storage))  # two histories of one store save a turn once
        mark = scope.resources.get(key)
        if not isinstance(mark, TurnMark):
            mark = scope.resources[key] = TurnMark(
                self.id, self.storage, use, self.persist_on_tripwire, turn_notes(scope, self.storage)
            )
            scope.marks.append(mark)
        mark.messages = scope.resources.get("messages", messages)
        return mark


def _put_behind(messages: MessageList, recalled: Sequence[Message]) -> None:
    """
    Let what is new in the input stand behind what was *recalled*, whatever the clock of whoever sent it says.
    """
    newest = recalled[-1].created_at
    early = [one for one in messages.view("input") if one.created_at <= newest]
    if not early:
        return
    known = {message.id for message in messages.view("memory")}
    early = [one for one in early if one.id not in known]
    messages.replace_all(one.replace(created_at=newest + _TICK * at) for at, one in enumerate(early, 1))
