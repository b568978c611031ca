"""
ObservationalMemory: of a long thread its newest messages, and observations of all before them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, cast

import anyio

from procession.errors import DefinitionError
from procession.messages.message import Message
from procession.models.model import LanguageModel
from procession.models.tokens.counter import TokenCounter
from procession.models.tokens.router import counter_for
from procession.processors.contexts import InputContext, OutputResultContext
from procession.processors.cost_account import settle_late
from procession.processors.log import log_once
from procession.processors.memory.message_history import put_behind
from procession.processors.memory.observed.observations import Observation, Observations
from procession.processors.memory.observed.observing import Observing, thread_key
from procession.processors.memory.observed.settings import ObservationSettings, observation_settings
from procession.processors.memory.observed.text import CONTINUATION, fitting_observations, shown_observations
from procession.processors.memory.observed.unobserved import Costs, after, fitting_newest
from procession.processors.memory.outbox import outbox_of
from procession.processors.memory.turn_mark import turn_notes
from procession.processors.memory.use import MemoryUse, use_of
from procession.processors.options import one_of
from procession.processors.processor import Processor
from procession.steps.later import later
from procession.steps.scope import RequestScope
from procession.storage.notes import NoteStore
from procession.storage.threads import ThreadStore

__all__ = ["CONTINUATION_ID", "TAG", "ObservationalMemory", "ObservationalMemoryProcessor"]

TAG = "observational-memory"
"""The tag of the system message that has the observations."""
CONTINUATION_ID = "om-continuation"
"""The id of the message that stands where condensed ones were."""
_EPOCH = datetime.fromtimestamp(0, UTC)


class ObservationalMemory(Processor):
    """
    Shows a model the newest messages of a thread as they are, and observations in place of those before them.

    On the way in it recalls both; once the turn was saved, an observer model is asked, in the background, for observations
    of what is oldest, and a reflector for fewer of them where they have become many.  What is stored of the thread stays
    as it is.

    *settings* are ``ObservationSettings``, or a mapping of them; *model* is who observes and reflects, by default the
    model that answers.

    Raises ``DefinitionError`` for a store that keeps no notes, and for settings that cannot be.

    >>> from procession.storage.memory_store import InMemoryStore
    >>> ObservationalMemory(InMemoryStore(), {"observe_at": 10_000}).settings.observe_at
    10000
    """

    id = "observational-memory"
    description = "Shows the newest messages of a thread, and observations of all before them."

    def __init__(
        self,
        storage: ThreadStore,
        settings: ObservationSettings | Mapping[str, Any] | None = None,
        *,
        model: LanguageModel | str | None = None,
        on_error: Literal["stop", "skip"] = "stop",
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        if not isinstance(storage, NoteStore):
            raise DefinitionError(
                f"observational memory has a store that keeps no notes: {type(storage).__name__}",
                hint="give one that is a NoteStore as well, such as InMemoryStore() or SQLiteStore(...)",
            )
        found = observation_settings(settings)
        if model is not None:
            found = observation_settings(found.replace(model=model))
        self.storage = storage
        self.settings = found
        self.on_error = one_of("ObservationalMemory", "on_error", on_error, ("stop", "skip"))
        self.timeout = 30.0 + found.wait
        self._costs: dict[TokenCounter, Costs] = {}
        self._now: Callable[[], float] = time.time

    @property
    def notes(self) -> Sequence[str]:
        """
        What ``agent.explain()`` says of it besides where it runs.
        """
        settings = self.settings
        who = "the model that answers" if settings.model is None else cast("LanguageModel", settings.model).id
        return (
            f"a thread of more than {settings.observe_at:g} tokens is shown as observations and its newest messages; "
            f"{who} observes, after turns",
        )

    # -- on the way in

    async def process_input(self, ctx: InputContext) -> None:
        """
        Put observations, and the messages that are not observed yet, before the input.
        """
        use = self._use(ctx.scope)
        if use is None:
            return
        observing = self._observing(use, ctx.scope)
        await observing.costs.counter.load()
        noted, messages, left_out = await self._recalled(observing, use, ctx.scope)
        if left_out:
            ctx.warn(
                f"{self.id}: the thread is longer than {self.settings.most:g} tokens and not observed yet: its "
                "older messages are left out",
                metadata={"limit": self.settings.most, "messages": len(messages)},
            )
        own = [one for batch in noted.shown for one in batch.observations]
        last = noted.shown_to
        if last is not None:
            reminder = Message("user", CONTINUATION, id=CONTINUATION_ID, created_at=_EPOCH)
            ctx.message_list.add([reminder, *messages], "memory")
            put_behind(ctx.message_list, messages or [reminder.replace(created_at=last.time)])
        elif messages:
            ctx.message_list.add(messages, "memory")
            put_behind(ctx.message_list, messages)
        await self._show(ctx, observing, own, use)
        self._watch(ctx.scope, use)

    async def _recalled(
        self, observing: Observing, use: MemoryUse, scope: RequestScope
    ) -> tuple[Observations, list[Message], bool]:
        """
        Return what is noted, the messages that are shown as they are, and whether some are neither shown nor observed.
        """
        settings, costs = self.settings, observing.costs
        outbox = outbox_of(self.storage)
        if outbox:
            await outbox.flush(self.storage)
        noted, version = await observing.read()
        messages, whole = await observing.raw(noted)
        if (not whole or costs.total(messages) >= settings.observe_at) and noted.active < len(noted.batches):
            noted = (
                noted.replace(active=len(noted.batches)) if use.read_only else await observing.activate(noted, version)
            )
            messages, whole = (after(messages, noted.shown_to), True) if whole else await observing.raw(noted)
        model = self._model(scope)
        if (not whole or costs.total(messages) > settings.most) and not use.read_only and model is not None:
            with anyio.move_on_after(settings.wait):
                await observing.catch_up(model, scope)
            noted, _ = await observing.read()
            messages, whole = await observing.raw(noted)
        if outbox and (waiting := outbox.of(use.thread_id, use.resource_id)):  # the store has yet to take these
            known = {message.id: message for message in (*messages, *waiting)}
            messages = sorted(known.values(), key=lambda message: message.created_at)
        start = fitting_newest(messages, costs, settings.most)
        return noted, messages[start:], not whole or start > 0

    async def _show(self, ctx: InputContext, observing: Observing, own: Sequence[Observation], use: MemoryUse) -> None:
        settings, counter = self.settings, observing.costs.counter
        shown, size = fitting_observations(own, counter, settings.most_observed)
        elsewhere: list[Observation] = []
        if settings.scope == "resource":
            others = await self._elsewhere(use)
            elsewhere, _ = fitting_observations(others, counter, settings.most_observed - size)
        if len(shown) < len(own):
            ctx.warn(
                f"{self.id}: the observations have more than {settings.most_observed:g} tokens: some are left out",
                metadata={"limit": settings.most_observed, "observations": len(shown), "of": len(own)},
            )
        if shown or elsewhere:
            ctx.message_list.clear_system(TAG)
            ctx.message_list.add_system(shown_observations(shown, elsewhere), TAG)

    async def _elsewhere(self, use: MemoryUse) -> list[Observation]:
        """
        Return what was observed in the resource's other threads, those that were used longest ago first.
        """
        page = await self.storage.threads(use.resource_id, limit=self.settings.threads + 1)
        found: list[Observation] = []
        others = [thread.id for thread in page.threads if thread.id != use.thread_id]
        for thread_id in reversed(others[: self.settings.threads]):
            found += await self.observations(thread_id, use.resource_id)
        return found

    # -- on the way out

    def process_output_result(self, ctx: OutputResultContext) -> None:
        """
        See to it that the thread is observed once the turn was saved.
        """
        use = self._use(ctx.scope)
        if use is not None:
            self._watch(ctx.scope, use)

    def _watch(self, scope: RequestScope, use: MemoryUse) -> None:
        """
        Have the thread observed after this turn was saved, and only then; once a request.
        """
        key = ("observes", self.id, id(self.storage))
        if use.read_only or key in scope.resources:
            return
        scope.resources[key] = True
        turn_notes(scope, self.storage).then.append(partial(self._saved, scope, use))

    def _saved(self, scope: RequestScope, use: MemoryUse) -> None:
        model = self._model(scope)
        if model is None:
            log_once(self.id, "nobody observes: there is no model", hint="give the settings a model")
            return
        later(scope, self._observe_behind, scope, use, model)

    async def _observe_behind(self, scope: RequestScope, use: MemoryUse, model: LanguageModel) -> None:
        """
        Observe a thread behind the answer, and book what that has cost: the request's account is closed by then.
        """
        try:
            await self._observing(use, scope).catch_up(model, scope)
        finally:
            await settle_late(scope)

    # -- for applications

    async def observe(self, thread_id: str, resource_id: str, *, model: LanguageModel | None = None) -> int:
        """
        Observe all of a thread now but its last turn, and return how many times the observer was asked.

        Raises ``DefinitionError`` where neither the settings nor *model* say who observes, ``ModelError`` and
        ``TimeoutError`` where that fails; then all is as it was.
        """
        asked = model if model is not None else cast("LanguageModel | None", self.settings.model)
        if asked is None:
            raise DefinitionError(
                "nobody observes: the model that answers is known in a run only",
                hint="give observe(..., model=...), or the settings a model",
            )
        use = MemoryUse(thread_id=thread_id, resource_id=resource_id)
        return await self._observing(use, None, asked).catch_up(asked, None, force=True)

    async def observations(self, thread_id: str, resource_id: str) -> list[Observation]:
        """
        Return what was observed of a thread, oldest first, also what was observed ahead of time.

        Raises ``StoreError`` where the note cannot be read.
        """
        use = MemoryUse(thread_id=thread_id, resource_id=resource_id)
        noted, _ = await self._observing(use, None).read()
        return [one.replace(thread_id=thread_id) for batch in noted.batches for one in batch.observations]

    async def forget(self, thread_id: str, resource_id: str) -> bool:
        """
        Drop what was observed of a thread; its messages are observed anew.  ``False`` where nothing was.
        """
        return await cast("NoteStore", self.storage).delete_note(thread_key(thread_id, resource_id))

    # -- what serves a request

    def _use(self, scope: RequestScope) -> MemoryUse | None:
        use = use_of(scope)
        return use if use is not None and use.enabled and use.override("observational", True) else None

    def _model(self, scope: RequestScope) -> LanguageModel | None:
        return cast("LanguageModel | None", self.settings.model or scope.resources.get("model"))

    def _observing(self, use: MemoryUse, scope: RequestScope | None, model: LanguageModel | None = None) -> Observing:
        answers = model if scope is None else scope.resources.get("model")
        counter = cast("TokenCounter | None", self.settings.counter) or counter_for(answers)
        costs = self._costs.get(counter)
        if costs is None:
            costs = self._costs[counter] = Costs(counter)
        return Observing(
            self.storage,
            self.settings,
            thread_id=use.thread_id,
            resource_id=use.resource_id,
            costs=costs,
            now=self._now,
        )


ObservationalMemoryProcessor = ObservationalMemory
"""The documents' name."""
