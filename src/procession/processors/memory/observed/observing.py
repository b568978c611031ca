"""
Observing: a thread's older messages become observations, and its observations fewer, whoever else tries the same.

The note is written with the version that was read, and claimed before a model is asked: two processes neither ask twice
nor lose what the other has written.  A process that dies while it asks loses nothing: its claim runs out, the messages are
where they were, and are asked about again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import anyio

from procession.errors import ModelError
from procession.ids import new_id
from procession.messages.message import Message
from procession.models.model import LanguageModel
from procession.processors.memory.observed.observations import (
    NOTHING,
    Batch,
    Claim,
    Observation,
    Observations,
    place_of,
    read_observations,
)
from procession.processors.memory.observed.observer import observed, reflected
from procession.processors.memory.observed.settings import ObservationSettings
from procession.processors.memory.observed.text import line_of
from procession.processors.memory.observed.unobserved import (
    Costs,
    after,
    kept_from,
    newest,
    oldest,
    settled,
    within_budget,
)
from procession.steps.scope import GRACE, RequestScope
from procession.storage.notes import Note, NoteKey
from procession.storage.threads import MessageRef

__all__ = ["KIND", "Observing", "thread_key"]

KIND = "observations"
"""The kind of the notes."""
_PAUSE = 30.0
"""Seconds until it is tried again after a failure; twice as many after each further one."""
_LONGEST_PAUSE = 3600.0
_AT_ONCE = 4
"""How many times a model is asked for observations after one turn: a long backlog takes several turns."""
_PAGE = 400
_TRIES = 20
"""How often a note is read anew because somebody else wrote meanwhile."""


def thread_key(thread_id: str, resource_id: str) -> NoteKey:
    """
    Return the key of a thread's note.
    """
    return NoteKey(kind=KIND, resource_id=resource_id, thread_id=thread_id)


class Observing:
    """
    Observes one thread for whoever may read it.

    *storage* is a ``ThreadStore`` and a ``NoteStore``.
    """

    def __init__(
        self,
        storage: Any,
        settings: ObservationSettings,
        *,
        thread_id: str,
        resource_id: str,
        costs: Costs,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.storage = storage
        self.settings = settings
        self.thread_id = thread_id
        self.resource_id = resource_id
        self.costs = costs
        self._key = thread_key(thread_id, resource_id)
        self._now = now

    # -- what is known

    async def read(self) -> tuple[Observations, int]:
        """
        Return what is noted of the thread, and the version of the note: 0 where there is none.

        Raises ``StoreError`` where it cannot be read.
        """
        note: Note | None = await self.storage.note(self._key)
        return (read_observations(note.text), note.version) if note is not None else (NOTHING, 0)

    async def raw(self, noted: Observations) -> tuple[list[Message], bool]:
        """
        Return the messages that observations do not stand in for, and whether these are all of them: of a long backlog
        only the newest.
        """
        return await newest(
            self.storage, self.thread_id, self.resource_id, noted.shown_to, self.settings.most, self.costs
        )

    async def activate(self, noted: Observations, version: int) -> Observations:
        """
        Let all batches stand in for their messages, and return that, also where somebody else wrote meanwhile: what was
        observed is observed.
        """
        active = noted.replace(active=len(noted.batches))
        await self.storage.put_note(self._key, active.as_text(), version=version)
        return active

    # -- observing

    async def catch_up(self, model: LanguageModel, scope: RequestScope | None, *, force: bool = False) -> int:
        """
        Observe what is to be observed, reflect on what has become too much, and return how many batches were made.

        With *force* all is observed but the last turn, pauses after failures are passed over, and what fails is raised:
        ``ModelError``, ``TimeoutError``.  Without, a failure is noted, and logged without its words.
        """
        made = 0
        await self.costs.counter.load()
        while made < _AT_ONCE and await self._observe(model, scope, force):
            made += 1
        noted, _ = await self.read()
        if self._size(noted.shown) >= self.settings.reflect_at:
            await self._reflect(self.settings.reflector or model, scope, force)  # type: ignore[arg-type]
        return made

    async def _observe(self, model: LanguageModel, scope: RequestScope | None, force: bool) -> bool:
        noted, version = await self.read()
        if not self._may_ask(noted, force) or self._size(noted.batches) >= 2 * self.settings.reflect_at:
            return False
        if not await self._due(noted, version, force):
            return False
        token = await self.claim(noted, version)
        if token is None:
            return False
        return await self._with_claim(token, force, lambda: self.observe_claimed(model, scope, force, token)) or False

    async def observe_claimed(self, model: LanguageModel, scope: RequestScope | None, force: bool, token: str) -> bool:
        """
        Observe what is next under the claim of *token*; ``False`` where there is nothing, or no longer.
        """
        noted, _ = await self.read()  # what was deleted before the claim is not there any more
        if not _is_held(noted, token):
            return False
        messages = await self._due_messages(noted, force)
        if not messages or not await self._follows(noted, messages[0]):
            await self._give_back(token)
            return False
        before = [one for batch in noted.batches for one in batch.observations]
        with anyio.fail_after(self.settings.timeout):
            found = await observed(self.settings.model or model, messages, self.settings, scope, before)  # type: ignore[arg-type]
        again = await self._due_messages(noted, force)
        if again[: len(messages)] != messages:  # one was deleted, or is another by now: nothing may be left of it
            await self._give_back(token)
            return False
        batch = Batch(
            first=place_of(messages[0]), last=place_of(messages[-1]), messages=len(messages), observations=found
        )
        raw, whole = await self.raw(noted)
        full = force or not whole or self.costs.total(raw) >= self.settings.observe_at

        def with_batch(noted: Observations) -> Observations:
            batches = (*noted.batches, batch)
            active = len(batches) if full else noted.active
            return noted.replace(batches=batches, active=active, claim=None, failures=0, not_before=0.0)

        return await self._change(token, with_batch)

    async def _due(self, noted: Observations, version: int, force: bool) -> bool:
        """
        Tell whether enough is to be observed; and let what was observed ahead of time stand in for its messages where they
        have become too many.
        """
        messages = await self._due_messages(noted, force)
        if messages and (force or self.costs.total(messages) >= self.settings.buffered):
            return True
        if noted.active < len(noted.batches):
            raw, whole = await self.raw(noted)
            if force or not whole or self.costs.total(raw) >= self.settings.observe_at:
                await self.activate(noted, version)
        return False

    async def _due_messages(self, noted: Observations, force: bool) -> list[Message]:
        """
        Return the messages that are observed next, oldest first.
        """
        settings, place = self.settings, noted.observed_to
        found, whole = await newest(self.storage, self.thread_id, self.resource_id, place, settings.most, self.costs)
        if whole:
            end = kept_from(found, self.costs, 0 if force else settings.kept, settings.observe_at)
            if self.costs.total(found) < settings.most:
                end = min(end, settled(found))  # a call is observed with its result, if that comes in time
        else:
            found = await oldest(self.storage, self.thread_id, self.resource_id, place, _PAGE)
            end = len(found)
        return found[: within_budget(found[:end], self.costs, settings.observe_at)]

    async def _follows(self, noted: Observations, message: Message) -> bool:
        """
        Tell whether nothing stands between what was observed and *message*.
        """
        ref = MessageRef(self.thread_id, message.id)
        for passage in await self.storage.around([ref], resource_id=self.resource_id, before=1):
            first = passage.messages[0]
            return first.id == message.id or first.role == "system" or not after([first], noted.observed_to)
        return False

    # -- reflecting

    async def _reflect(self, model: LanguageModel, scope: RequestScope | None, force: bool) -> None:
        noted, version = await self.read()
        if not self._may_ask(noted, force):
            return
        token = await self.claim(noted, version)
        if token is not None:
            await self._with_claim(token, force, lambda: self._reflect_claimed(model, scope, token))

    async def _reflect_claimed(self, model: LanguageModel, scope: RequestScope | None, token: str) -> bool:
        noted, _ = await self.read()
        shown = noted.shown
        if not _is_held(noted, token) or not shown:
            await self._give_back(token)
            return False
        old = [one for batch in shown for one in batch.observations]
        with anyio.fail_after(self.settings.timeout):
            made = await reflected(model, old, self.settings, scope)
        if self._cost(made) >= self._cost(old):
            raise ModelError(f"{model.id} was asked for fewer observations, and wrote more")
        batch = Batch(
            first=shown[0].first,
            last=shown[-1].last,
            messages=sum(one.messages for one in shown),
            observations=made,
            reflections=max(one.reflections for one in shown) + 1,
        )

        def with_fewer(noted: Observations) -> Observations:
            if noted.batches[: len(shown)] != shown:
                return noted.replace(claim=None)
            batches = (batch, *noted.batches[len(shown) :])
            active = noted.active - len(shown) + 1
            return noted.replace(batches=batches, active=active, claim=None, failures=0, not_before=0.0)

        return await self._change(token, with_fewer)

    # -- the note

    def _may_ask(self, noted: Observations, force: bool) -> bool:
        now = self._now()
        return (noted.claim is None or noted.claim.until <= now) and (force or noted.not_before <= now)

    async def claim(self, noted: Observations, version: int) -> str | None:
        """
        Keep others from asking for a while, and return the token of that; ``None`` where somebody else was faster.
        """
        token = new_id()
        claimed = noted.replace(claim=Claim(token, self._now() + self.settings.timeout + 2 * GRACE))
        kept = await self.storage.put_note(self._key, claimed.as_text(), version=version)
        return token if kept is not None else None

    async def _with_claim(self, token: str, force: bool, work: Callable[[], Any]) -> bool:
        """
        Do *work* under a claim, which is given back whatever becomes of it; that it failed is noted.
        """
        try:
            return bool(await work())
        except Exception as error:
            await self._give_back(token, failed=True)
            if force:
                raise
            _log_failed(error)
            return False
        except BaseException:  # cancelled: it is not to wait for the claim to run out
            with anyio.move_on_after(GRACE, shield=True):
                await self._give_back(token, failed=True)
            raise

    async def _give_back(self, token: str, *, failed: bool = False) -> None:
        def without_claim(noted: Observations) -> Observations:
            if not failed:
                return noted.replace(claim=None)
            pause = min(_PAUSE * 2.0**noted.failures, _LONGEST_PAUSE)
            return noted.replace(claim=None, failures=min(noted.failures + 1, 20), not_before=self._now() + pause)

        await self._change(token, without_claim)

    async def _change(self, token: str, change: Callable[[Observations], Observations]) -> bool:
        """
        Write what *change* makes of the note, as long as the claim of *token* is in it; ``False`` where it is not.
        """
        for _ in range(_TRIES):
            noted, version = await self.read()
            if not _is_held(noted, token):
                return False
            made = change(noted)
            if made == NOTHING:  # of a thread that has nothing to observe nothing is noted
                await self.storage.delete_note(self._key)
                return True
            if await self.storage.put_note(self._key, made.as_text(), version=version) is not None:
                return True
        return False

    def _size(self, batches: Sequence[Batch]) -> float:
        return sum(self._cost(batch.observations) for batch in batches)

    def _cost(self, observations: Sequence[Observation]) -> float:
        return sum(self.costs.counter.count(line_of(one)) + 1 for one in observations)


def _is_held(noted: Observations, token: str) -> bool:
    return noted.claim is not None and noted.claim.token == token


def _log_failed(error: Exception) -> None:
    import structlog

    structlog.get_logger("procession.memory").warning(
        "not observed, the messages stay as they are", error=type(error).__name__
    )
