"""
MessageHistory: what was said before in the thread, and what is to be kept of this turn.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from procession.errors import ProcessorError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.signal import is_transient
from procession.messages.value import Value
from procession.processors.contexts import InputContext, OutputResultContext
from procession.processors.hooks import Hook
from procession.processors.processor import Processor
from procession.steps.scope import Outcome, RequestScope
from procession.storage.base import ThreadStore

__all__ = ["MemoryUse", "MessageHistory", "PersistOnTripwire"]

PersistOnTripwire: TypeAlias = Literal["none", "input", "accepted_steps"]
"""What of a turn is kept although a processor stopped it (D34)."""


class MemoryUse(Value, kw_only=True):
    """
    Which thread a request belongs to; kept in ``scope.resources["memory"]``.
    """

    thread_id: str
    resource_id: str
    last_messages: int | Literal["all"] | None = None
    """How many messages are recalled; ``None`` for the processor's own setting."""
    enabled: bool = True
    read_only: bool = False


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
        use = _use_of(ctx.scope)
        if use is None or not use.enabled:
            return
        wanted = use.last_messages if use.last_messages is not None else self.last_messages
        last = None if wanted == "all" else wanted
        recalled = await self.storage.messages(use.thread_id, resource_id=use.resource_id, last=last)
        ctx.message_list.add([message for message in recalled if message.role != "system"], "memory")
        if not use.read_only and self.persist_on_tripwire != "none":
            self._mark(ctx.scope, use, ctx.message_list)

    async def process_output_result(self, ctx: OutputResultContext) -> None:
        """
        Mark the turn to be saved.
        """
        use = _use_of(ctx.scope)
        if use is not None and use.enabled and not use.read_only:
            self._mark(ctx.scope, use, ctx.message_list).complete = True

    def keep(self, scope: RequestScope, messages: MessageList) -> None:
        """
        Mark the turn to be saved as it stands, for a run that is suspended.
        """
        use = _use_of(scope)
        if use is not None and use.enabled and not use.read_only:
            self._mark(scope, use, messages)

    def _mark(self, scope: RequestScope, use: MemoryUse, messages: MessageList) -> HistoryMark:
        key = ("history-mark", id(self.storage))  # two histories of one store save a turn once
        mark = scope.resources.get(key)
        if not isinstance(mark, HistoryMark):
            mark = scope.resources[key] = HistoryMark(self.id, self.storage, use, self.persist_on_tripwire)
            scope.marks.append(mark)
        mark.messages = scope.resources.get("messages", messages)
        return mark


class HistoryMark:
    """
    One turn that may be saved.
    """

    always = False

    def __init__(self, processor_id: str, storage: ThreadStore, use: MemoryUse, policy: PersistOnTripwire) -> None:
        self._processor_id = processor_id
        self._storage = storage
        self._use = use
        self._policy = policy
        self.messages: MessageList | None = None
        self.complete = False
        """Whether the turn came to its end."""

    async def commit(self, outcome: Outcome) -> None:
        """
        Save the turn as the processors left it, or what the policy keeps of a stopped one.

        Raises ``ProcessorError`` where the store fails.
        """
        messages = self.messages
        if messages is None:
            return
        kept: list[Message] = []
        if outcome == "suspended" or (outcome in ("completed", "model_failed", "aborted") and self.complete):
            kept = [*messages.view("input"), *messages.view("response")]
        elif outcome == "blocked" and self._policy != "none":
            kept = list(messages.view("input"))
            if self._policy == "accepted_steps":
                kept += messages.view("response")
        kept = [message for message in kept if message.role != "system" and message.parts and not is_transient(message)]
        if not kept:
            return
        try:
            await self._storage.save(self._use.thread_id, self._use.resource_id, kept)
        except Exception as error:
            raise ProcessorError(
                f"processor {self._processor_id!r} could not save the turn: {error}",
                processor_id=self._processor_id,
                hook=Hook.OUTPUT_RESULT.value,
            ) from error


def _use_of(scope: RequestScope) -> MemoryUse | None:
    use = scope.resources.get("memory")
    return use if isinstance(use, MemoryUse) else None
