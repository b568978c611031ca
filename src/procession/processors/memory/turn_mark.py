"""
TurnMark: one turn that may be saved, once the outcome is known (D34).

All that is kept of a turn in one store goes there in one step: its messages, and for which indexes they are noted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from procession.errors import ProcessorError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.signal import is_transient
from procession.processors.hooks import Hook
from procession.processors.memory.use import MemoryUse
from procession.steps.scope import Outcome, RequestScope
from procession.storage.threads import ThreadStore

__all__ = ["PersistOnTripwire", "TurnMark", "TurnNotes", "turn_notes"]

PersistOnTripwire: TypeAlias = Literal["none", "input", "accepted_steps"]
"""What of a turn is kept although a processor stopped it (D34)."""


class TurnNotes:
    """
    What other processors of the memory want of the turn that is saved in one store.
    """

    __slots__ = ("indexes", "then")

    def __init__(self) -> None:
        self.indexes: set[str] = set()
        """The indexes that its messages are noted for."""
        self.then: list[Callable[[], Any]] = []
        """What is called once the turn was saved."""


def turn_notes(scope: RequestScope, storage: ThreadStore) -> TurnNotes:
    """
    Return what is wanted of this request's turn in *storage*; made when it is first asked for.
    """
    key = ("turn-notes", id(storage))
    found = scope.resources.get(key)
    if not isinstance(found, TurnNotes):
        found = scope.resources[key] = TurnNotes()
    return found


class TurnMark:
    """
    One turn that may be saved.
    """

    always = False

    def __init__(
        self, processor_id: str, storage: ThreadStore, use: MemoryUse, policy: PersistOnTripwire, notes: TurnNotes
    ) -> None:
        self._processor_id = processor_id
        self._storage = storage
        self._use = use
        self._policy = policy
        self._notes = notes
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
            await self._storage.save(
                self._use.thread_id,
                self._use.resource_id,
                kept,
                title=self._use.title,
                metadata=self._use.metadata,
                indexes=sorted(self._notes.indexes),
            )
        except Exception as error:
            raise ProcessorError(
                f"processor {self._processor_id!r} could not save the turn: {error}",
                processor_id=self._processor_id,
                hook=Hook.OUTPUT_RESULT.value,
            ) from error
        for each in self._notes.then:
            each()
