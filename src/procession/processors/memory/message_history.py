"""
MessageHistory: what was said before in the thread, and what is to be kept of this turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from procession.errors import MessageError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.processors.contexts import InputContext, OutputResultContext
from procession.processors.memory.history_limit import HistoryLimit
from procession.processors.memory.kept_where import reading
from procession.processors.memory.outbox import outbox_of
from procession.processors.memory.said_anew import say_anew
from procession.processors.memory.turn_mark import OnSaveError, PersistOnTripwire, TurnMark
from procession.processors.memory.use import MemoryUse, use_of
from procession.processors.options import a_flag, one_of
from procession.processors.processor import Processor
from procession.steps.scope import RequestScope
from procession.storage.threads import ThreadStore

__all__ = ["MessageHistory", "put_behind"]

_NAME = "MessageHistory"
_TICK = timedelta(microseconds=1)
_PAGE = 50
_LETTERS = 10
"""More than a token has on average: so that never fewer tokens are read than may be recalled."""


class MessageHistory(Processor):
    """
    Recalls the last messages of the thread on the way in, and marks the turn to be saved on the way out.

    Nothing is saved by the processor itself: the loop commits once the outcome is known, so a guard that stands behind
    this processor still keeps a rejected turn out of the store (D34).  With *save_per_step* each step is saved once it is
    accepted and another one follows.

    A store that does not take a turn takes no answer from the user: the result says so in ``unsaved``, the turn waits in
    this process, and is saved before the next read or save of that store, and in the background of an open runtime.  With
    *on_save_error* ``raise`` the call fails instead.  A store that cannot be read stops the run, unless *on_error* is
    ``skip``: then nothing is recalled.
    """

    id = "message-history"
    description = "Recalls the thread's last messages and keeps the turn."
    timeout = 30.0

    def __init__(
        self,
        storage: ThreadStore,
        *,
        last_messages: int | None = 10,
        max_tokens: float | None = None,
        persist_on_tripwire: PersistOnTripwire = "none",
        save_per_step: bool = False,
        on_save_error: OnSaveError = "report",
        on_error: Literal["stop", "skip"] = "stop",
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.storage = storage
        self.last_messages = last_messages
        """How many messages are recalled; ``None`` for all."""
        self.max_tokens = max_tokens
        """For how many tokens messages are read where their number is not limited: a limiter behind it counts them."""
        self.persist_on_tripwire: PersistOnTripwire = one_of(
            _NAME, "persist_on_tripwire", persist_on_tripwire, ("none", "input", "accepted_steps")
        )
        self.save_per_step = a_flag(_NAME, "save_per_step", save_per_step)
        self.on_save_error: OnSaveError = one_of(_NAME, "on_save_error", on_save_error, ("report", "raise"))
        self.on_error = one_of(_NAME, "on_error", on_error, ("stop", "skip"))

    def begin_request(self, scope: RequestScope) -> None:
        """
        Have each accepted step saved, where that is asked for: also in a run that goes on.
        """
        use = use_of(scope)
        if use is None or not _keeps(use) or not use.override("save_per_step", self.save_per_step):
            return
        mark = self._mark(scope, use, scope.resources["messages"])
        if not mark.keeps_steps:
            mark.keeps_steps = True
            scope.mark_step(mark, stays=True)

    async def process_input(self, ctx: InputContext) -> None:
        """
        Put the thread's last messages before the input, unless observational memory recalls.
        """
        use = use_of(ctx.scope)
        if use is None or not use.enabled:
            return
        found = await self._recall(use) if use.last_messages != 0 and not use.observed else []
        recalled = say_anew(ctx.message_list, [message for message in found if message.role != "system"])
        if recalled:
            ctx.message_list.add(recalled, "memory")
            put_behind(ctx.message_list, recalled)
        if _keeps(use) and self.persist_on_tripwire != "none":
            self._mark(ctx.scope, use, ctx.message_list)

    async def process_output_result(self, ctx: OutputResultContext) -> None:
        """
        Mark the turn to be saved.
        """
        use = use_of(ctx.scope)
        if use is not None and _keeps(use):
            self._mark(ctx.scope, use, ctx.message_list).complete = True

    def keep(self, scope: RequestScope, messages: MessageList) -> None:
        """
        Mark the turn to be saved as it stands, for a run that is suspended.
        """
        use = use_of(scope)
        if use is not None and _keeps(use):
            self._mark(scope, use, messages)

    async def _recall(self, use: MemoryUse) -> list[Message]:
        """
        Return the last messages of the thread, those included that the store has yet to take.
        """
        wanted = use.last_messages if use.last_messages is not None else self.last_messages
        last = None if wanted == "all" else wanted
        said: HistoryLimit | None = use.override("last_messages", None)
        most = self.max_tokens if said is None else said.max_tokens
        outbox = outbox_of(self.storage)
        if outbox:
            await outbox.flush(self.storage)
        with reading(self.storage):
            if last is None and most is not None:
                recalled = await self._read_back(use, most)
            else:
                recalled = await self.storage.messages(use.thread_id, resource_id=use.resource_id, last=last)
            if not recalled and _keeps(use):
                await self._check_owner(use)
        if outbox and (waiting := outbox.of(use.thread_id, use.resource_id)):
            known = {message.id: message for message in (*recalled, *waiting)}
            recalled = sorted(known.values(), key=lambda message: message.created_at)
            recalled = recalled if last is None else recalled[-last:]
        return recalled

    async def _check_owner(self, use: MemoryUse) -> None:
        """
        Raise ``MessageError`` where the thread is somebody else's, and the turn could not be kept: before it costs anything.
        """
        thread = await self.storage.thread(use.thread_id)
        if thread is not None and thread.resource_id != use.resource_id:
            raise MessageError(
                f"thread {use.thread_id!r} belongs to another resource", hint="use a thread id of this resource"
            )

    async def _read_back(self, use: MemoryUse, most: float) -> list[Message]:
        """
        Return the newest messages of the thread that have *most* tokens, or more: a long thread is not read whole.
        """
        found: list[Message] = []
        before: str | None = None
        left = most * _LETTERS
        while left > 0:
            page = await self.storage.messages(use.thread_id, resource_id=use.resource_id, last=_PAGE, before=before)
            found[:0] = page
            if len(page) < _PAGE:
                break
            before = page[0].id
            left -= sum(len(message.text) + _LETTERS for message in page)  # one without a text costs something, too
        return found

    def _mark(self, scope: RequestScope, use: MemoryUse, messages: MessageList) -> TurnMark:
        key = ("turn-mark", id(self.storage))  # two histories of one store save a turn once
        mark = scope.resources.get(key)
        if not isinstance(mark, TurnMark):
            mark = scope.resources[key] = TurnMark(
                self.id,
                self.storage,
                scope,
                use,
                policy=self.persist_on_tripwire,
                on_save_error=self.on_save_error,
                within=self.timeout,
            )
            scope.marks.append(mark)
        mark.messages = scope.resources.get("messages", messages)
        return mark


def _keeps(use: MemoryUse) -> bool:
    return use.enabled and not use.read_only


def put_behind(messages: MessageList, recalled: Sequence[Message]) -> None:
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
