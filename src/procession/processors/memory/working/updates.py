"""
WorkingMemoryUpdates: what one request makes of a working memory; written once the outcome is known (D34).

What is written is merged with what others have written meanwhile: all begin with what they have read.
"""

from __future__ import annotations

from random import random
from typing import Any

import anyio

from procession.errors import InputError, MessageError, StoreError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import ToolCallPart
from procession.messages.value import Value
from procession.processors.log import log_not_written, log_overwritten
from procession.processors.memory.outbox import outbox_of
from procession.processors.memory.turn_mark import OnSaveError, TurnNotes
from procession.processors.memory.unsaved import UNSAVED, Unsaved
from procession.processors.memory.working.forms import Form
from procession.processors.memory.working.prompt import TOOL
from procession.steps.scope import Outcome, RequestScope
from procession.steps.step_marks import StepAnswer
from procession.storage.notes import NoteKey, NoteStore

__all__ = ["Update", "WorkingMemoryUpdates", "write_merged"]

_KEPT = ("completed", "model_failed", "aborted", "suspended")
"""Outcomes of which something is kept; of a turn that was blocked nothing is, whatever is kept of its messages."""

_TRIES = 1000
"""How often something is written anew because others were quicker; among as many writers one is always the first."""


class Update:
    """
    What one call of the tool has made of the working memory.  It waits for its step to be accepted (``StepMark``).
    """

    __slots__ = ("accepted", "base", "call_id", "dropped", "text")

    def __init__(self, call_id: str, base: str, text: str) -> None:
        self.call_id = call_id
        self.base = base
        """What the model knew of when it called."""
        self.text = text
        self.accepted = False
        self.dropped = False

    async def accept(self, answer: StepAnswer) -> None:
        """
        The step stands.
        """
        self.accepted = True

    def drop(self) -> None:
        """
        The step does not stand, or not yet: it may have been suspended.
        """
        self.dropped = True


class WorkingMemoryUpdates:
    """
    What one request makes of a working memory.
    """

    always = False

    def __init__(
        self,
        storage: Any,
        key: NoteKey,
        form: Form,
        base: str | None,
        *,
        thread: str,
        notes: TurnNotes,
        on_save_error: OnSaveError,
        within: float | None,
    ) -> None:
        self._storage = storage
        self._key = key
        self._form = form
        self.base = base
        """What the model was shown, or ``None`` where nothing was written."""
        self._thread = thread
        self._notes = notes
        self._on_save_error = on_save_error
        self._within = within
        self._scope: RequestScope | None = None
        self._messages: MessageList | None = None
        self._updates: list[Update] = []
        self.known = self._made_of(self._updates)
        """What the model knows of in the step in hand: of its calls in one step none knows of the others."""

    def begin_step(self) -> None:
        """
        Another step, or another attempt at one, begins: what was rejected is forgotten.
        """
        if self._updates:
            self._updates = [each for each in self._updates if not each.dropped]
            self.known = self._made_of(self._updates)

    def add(self, scope: RequestScope, call_id: str, text: str) -> None:
        """
        Keep what a call has made of what the model knows, until the outcome is known.
        """
        if self not in scope.marks:
            scope.marks.append(self)
        self._scope = scope
        self._messages = scope.resources.get("messages")
        update = Update(call_id, self.known, text)
        self._updates.append(update)
        scope.mark_step(update)

    async def commit(self, outcome: Outcome) -> None:
        """
        Write what the accepted steps have made of it, merged with what others have written meanwhile.

        Of a run that was suspended the step in hand counts, too: it goes on with its results.  A run that was aborted
        is kept where its turn is.
        """
        scope, self._scope = self._scope, None  # which refers to this
        if scope is None or outcome not in _KEPT or (outcome == "aborted" and not self._notes.complete):
            return
        standing = _calls_in(self._messages)
        made = self._made_of([each for each in self._updates if each.accepted or each.call_id in standing])
        if made == self._made_of([]):
            return
        writing = _ToWrite(key=self._key, form=self._form, base=self.base, made=made)
        try:
            await outbox_of(self._storage).save(self._storage, writing, self._within)
        except Exception as error:
            if self._on_save_error == "raise":
                raise
            self._hold(scope, writing, error)

    def _hold(self, scope: RequestScope, writing: _ToWrite, error: Exception) -> None:
        """
        Let it wait until the store is back, and say so in the result and the log.
        """
        outbox = outbox_of(self._storage)
        waiting = not isinstance(error, MessageError) and outbox.hold(writing)
        if waiting:
            outbox.keep_trying(self._storage, scope.background)
        store = type(self._storage).__name__
        reason = StoreError(f"{store} could not write the working memory: {type(error).__name__}")
        reason.__cause__ = error
        scope.resources[UNSAVED] = Unsaved(thread=self._thread, reason=reason, messages=0, waiting=waiting)
        log_not_written(self._key.kind, error)

    def _made_of(self, updates: list[Update]) -> str:
        made = self.base if self.base is not None else self._form.blank
        for each in updates:
            made, _ = self._form.merged(each.base, made, each.text)
        return made


class _ToWrite(Value, kw_only=True):
    """
    What one request has made of a working memory (``ToSave``).
    """

    key: NoteKey
    form: Form
    base: str | None
    made: str
    messages: tuple[Message, ...] = ()

    @property
    def thread_id(self) -> str:
        """
        What is written to one working memory goes there in order, that of several threads as well.
        """
        return self.key.thread_id or self.key.kind

    @property
    def resource_id(self) -> str:
        """
        Whose it is.
        """
        return self.key.resource_id

    @property
    def size(self) -> int:
        """
        About how many bytes it takes.
        """
        return len(self.made) + len(self.base or "")

    async def save(self, store: NoteStore, within: float | None) -> None:
        """
        Write it, or raise what the store raises.
        """
        with anyio.fail_after(within):
            try:
                await write_merged(store, self.key, self.form, self.base, self.made)
            except InputError as error:  # what stands there is of another form: it can never be merged
                raise MessageError(error.message, hint=error.hint) from error


async def write_merged(storage: NoteStore, key: NoteKey, form: Form, base: str | None, made: str) -> str:
    """
    Write what was *made* of *base*, merged with what others have written since that was read, and return what stands.

    Raises ``StoreError`` where the store fails, or others were quicker each time.
    """
    began = base if base is not None else form.blank
    for _ in range(_TRIES):
        note = await storage.note(key)
        there = note.text if note is not None else ""
        if not there and base is None:  # nobody has written: where there was a text, it was deleted meanwhile
            there = form.blank
        merged, overwritten = form.merged(began, there, made)
        if note is not None and merged == note.text:
            return merged
        if await storage.put_note(key, merged, version=note.version if note is not None else 0) is not None:
            if overwritten:
                log_overwritten(key.kind, overwritten)
            return merged
        await anyio.sleep(random() / 100)
    raise StoreError(f"{key.kind} could not be written: others were quicker {_TRIES} times")


def _calls_in(messages: MessageList | None) -> set[str]:
    """
    Return the ids of the tool's calls that stand in the answer.
    """
    view = messages.view("response") if messages is not None else ()
    parts = (part for message in view for part in message.parts)
    return {part.tool_call_id for part in parts if isinstance(part, ToolCallPart) and part.tool_name == TOOL}
