"""
TurnMark: one turn that may be saved, once the outcome is known (D34).

All that is kept of a turn in one store goes there in one step: its messages, and for which indexes they are noted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from procession.errors import DefinitionError, InputError, MessageError, ProcessorError, StoreError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.signal import is_transient
from procession.processors.hooks import Hook
from procession.processors.memory.left_out import without_calls
from procession.processors.memory.outbox import TurnToSave, outbox_of
from procession.processors.memory.unsaved import UNSAVED, Unsaved
from procession.processors.memory.use import MemoryUse
from procession.steps.scope import Outcome, RequestScope
from procession.steps.step_marks import StepAnswer
from procession.storage.threads import ThreadStore

__all__ = ["OnSaveError", "PersistOnTripwire", "TurnMark", "TurnNotes", "turn_notes"]

PersistOnTripwire: TypeAlias = Literal["none", "input", "accepted_steps"]
"""What of a turn is kept although a processor stopped it (D34)."""

OnSaveError: TypeAlias = Literal["report", "raise"]
"""What becomes of a call whose turn the store does not take: it says so in its result, or it fails."""


class TurnNotes:
    """
    What other processors of the memory want of the turn that is saved in one store.
    """

    __slots__ = ("complete", "indexes", "left_out", "then")

    def __init__(self, left_out: set[str]) -> None:
        self.indexes: set[str] = set()
        """The indexes that its messages are noted for."""
        self.then: list[Callable[[], Any]] = []
        """What is called once the turn was saved."""
        self.left_out = left_out
        """The tools whose calls are not stored, in whatever store."""
        self.complete = False
        """Whether the turn came to its end."""


def turn_notes(scope: RequestScope, storage: object) -> TurnNotes:
    """
    Return what is wanted of this request's turn in *storage*; made when it is first asked for.
    """
    key = ("turn-notes", id(storage))
    found = scope.resources.get(key)
    if not isinstance(found, TurnNotes):
        found = scope.resources[key] = TurnNotes(scope.resources.setdefault("left-out", set()))
    return found


class TurnMark:
    """
    One turn that may be saved.
    """

    always = False

    def __init__(
        self,
        processor_id: str,
        storage: ThreadStore,
        scope: RequestScope,
        use: MemoryUse,
        *,
        policy: PersistOnTripwire,
        on_save_error: OnSaveError,
        within: float | None,
    ) -> None:
        self._processor_id = processor_id
        self._storage = storage
        self._scope: RequestScope | None = scope
        self._use = use
        self._policy = policy
        self._on_save_error = on_save_error
        self._within = within
        self._notes = turn_notes(scope, storage)
        self.messages: MessageList | None = None
        self._unsaved: Unsaved | None = None
        self.keeps_steps = False
        """Whether each step is saved once it is accepted."""

    @property
    def complete(self) -> bool:
        """
        Whether the turn came to its end.
        """
        return self._notes.complete

    @complete.setter
    def complete(self, complete: bool) -> None:
        self._notes.complete = complete

    async def commit(self, outcome: Outcome) -> None:
        """
        Save the turn as the processors left it, or what the policy keeps of a stopped one.

        Raises ``ProcessorError`` where the thread is somebody else's, and where the store fails and that is to be raised.
        """
        messages, scope, self._scope = self.messages, self._scope, None  # which refers to the mark
        if messages is None or scope is None:
            return
        kept: list[Message] = []
        if outcome == "suspended" or (outcome in ("completed", "model_failed", "aborted") and self.complete):
            kept = _of_turn(messages)
        elif outcome == "blocked" and self._policy != "none":
            kept = list(messages.view("input"))
            if self._policy == "accepted_steps":
                kept += messages.view("response")
        turn = self._to_save(kept)
        if turn is None:
            return
        try:
            await outbox_of(self._storage).save(self._storage, turn, self._within)
        except Exception as error:
            if self._on_save_error == "raise" or isinstance(error, MessageError):
                raise ProcessorError(
                    f"processor {self._processor_id!r} could not save the turn: {error}",
                    processor_id=self._processor_id,
                    hook=Hook.OUTPUT_RESULT.value,
                ) from error
            self._hold(scope, turn, error)
            return
        except BaseException:
            if outcome == "aborted" and self._on_save_error == "report":  # the grace period is over
                self._hold(scope, turn, TimeoutError())
            raise
        if scope.resources.get(UNSAVED) is self._unsaved:  # what a step left to be saved went before it
            scope.resources.pop(UNSAVED, None)
        then, self._notes.then = self._notes.then, []  # which may refer to the request
        for each in then:
            each()

    async def accept(self, answer: StepAnswer) -> None:
        """
        Save what was said so far: a step was accepted, and another one follows.
        """
        messages, scope = self.messages, self._scope
        turn = self._to_save(_of_turn(messages)) if messages is not None else None
        if turn is None or scope is None:
            return
        try:
            await outbox_of(self._storage).save(self._storage, turn, self._within)
        except Exception as error:  # a fault of the store is none of the run; at its end all is saved once more
            if self._on_save_error == "report" and not isinstance(error, MessageError):
                self._hold(scope, turn, error)

    def drop(self) -> None:
        """
        The step does not stand: of it nothing was saved.
        """

    def _to_save(self, kept: list[Message]) -> TurnToSave | None:
        kept = [message for message in kept if message.role != "system" and message.parts and not is_transient(message)]
        if self._notes.left_out:
            kept = without_calls(kept, self._notes.left_out)
        if not kept:
            return None
        return TurnToSave(
            thread_id=self._use.thread_id,
            resource_id=self._use.resource_id,
            messages=tuple(kept),
            title=self._use.title,
            metadata=self._use.metadata,
            indexes=sorted(self._notes.indexes),
        )

    def _hold(self, scope: RequestScope, turn: TurnToSave, error: Exception) -> None:
        """
        Let the turn wait until the store is back, and say so in the result and the log.
        """
        import structlog

        outbox = outbox_of(self._storage)
        hopeless = isinstance(error, (DefinitionError, InputError))  # no time will make it right
        waiting = not hopeless and outbox.hold(turn)
        if waiting:
            outbox.keep_trying(self._storage, scope.background)
        store = type(self._storage).__name__
        if isinstance(error, StoreError):
            reason = error
        else:
            reason = StoreError(f"{store} could not save the turn: {type(error).__name__}")
            reason.__cause__ = error
        self._unsaved = scope.resources[UNSAVED] = Unsaved(
            thread=turn.thread_id, reason=reason, messages=len(turn.messages), waiting=waiting
        )
        structlog.get_logger("procession").warning(
            "a turn was not saved" if waiting else "a turn was not saved, and is lost",
            run_id=scope.run_id,
            processor_id=self._processor_id,
            store=store,
            error=type(error).__name__,
            messages=len(turn.messages),
            turns_waiting=len(outbox),
        )


def _of_turn(messages: MessageList) -> list[Message]:
    return [*messages.view("input"), *messages.view("response")]
