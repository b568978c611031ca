"""
ThreadTitle: a thread that has no title is given one, once something was saved in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import anyio

from procession.messages.chunks import DataChunk
from procession.messages.message import Message
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.models.ask import whole_answer
from procession.models.model import LanguageModel, ModelRequest
from procession.processors.contexts import OutputResultContext
from procession.processors.cost_account import settle_late
from procession.processors.log import log_callback_error, log_not_written
from procession.processors.memory.titles.settings import TitleSettings, title_settings
from procession.processors.memory.titles.text import INSTRUCTIONS, title_of, transcript
from procession.processors.memory.turn_mark import turn_notes
from procession.processors.memory.use import ON_TITLE, MemoryUse, use_of
from procession.processors.processor import Processor
from procession.steps.later import later
from procession.steps.scope import RequestScope
from procession.storage.threads import MessageRef, Thread, ThreadStore

__all__ = ["ThreadTitle", "title_of_memory"]

_SECONDS = 30.0
"""How long a model may take over a title."""
_MOST = 20
"""How many messages are read for a title, unless more are needed."""


class ThreadTitle(Processor):
    """
    Has a model find a title for a thread that has none, once its turn was saved, in the background.

    Nothing that goes wrong with it is a fault of the run.

    >>> from procession.storage.memory import InMemoryStore
    >>> ThreadTitle(InMemoryStore(), max_length=40).settings.max_length
    40
    """

    id = "thread-title"
    description = "Has a thread without a title given one."
    on_error = "skip"

    def __init__(
        self,
        storage: ThreadStore,
        *,
        model: LanguageModel | str | None = None,
        instructions: str | None = None,
        min_messages: int = 1,
        max_length: int = 80,
        emit_event: bool = False,
        on_title_generated: Callable[[Thread], Any] | None = None,
        id: str | None = None,
    ) -> None:
        """
        Give the threads of *storage* titles of up to *max_length* characters, that *model*, or the one of the run, finds
        with our *instructions* or these, once they have *min_messages*.

        With *emit_event* the reader of a stream is told; *on_title_generated* is told in any case.

        Raises ``ProcessorDefinitionError`` for options that cannot be.
        """
        super().__init__(id=id)
        given = TitleSettings(
            model=model,
            instructions=instructions,
            min_messages=min_messages,
            max_length=max_length,
            emit_event=emit_event,
            on_title_generated=on_title_generated,
        )
        settings = title_settings(given, name=type(self).__name__)
        assert settings is not None
        self.storage = storage
        self.settings = settings
        self._busy: set[tuple[str, str]] = set()
        """The threads, and whose they are, for which a title is being found."""

    async def process_output_result(self, ctx: OutputResultContext) -> None:
        """
        Have a title found once the turn is saved, or now, where the reader of the stream is to be told.
        """
        scope = ctx.scope
        use = use_of(scope)
        if use is None or not use.enabled or use.read_only or use.title is not None:
            return
        settings = title_settings(use.override("generate_title", True), self.settings)
        if settings is None:
            return
        title = None
        if settings.emit_event and scope.resources.get("streaming") and ctx.result.finish_reason != "aborted":
            turn = [*ctx.message_list.view("input"), *ctx.message_list.view("response")]
            title = await self._found_alone(scope, use, settings, turn)
            if title is None:
                return
            await ctx.writer.custom(
                DataChunk("data-thread-title", {"threadId": use.thread_id, "title": title}, transient=True)
            )
        turn_notes(scope, self.storage).then.append(
            partial(later, scope, self._keep_behind, scope, use, settings, title)
        )

    async def _keep_behind(
        self, scope: RequestScope, use: MemoryUse, settings: TitleSettings, title: str | None
    ) -> None:
        """
        Give the thread a title behind the answer, and book what that has cost: the request's account is closed by then.
        """
        try:
            await self._keep(scope, use, settings, title)
        finally:
            await settle_late(scope)

    async def _keep(self, scope: RequestScope, use: MemoryUse, settings: TitleSettings, title: str | None) -> None:
        """
        Write the *title*, or one that is found now, unless the thread has one by then.
        """
        if title is None:
            title = await self._found_alone(scope, use, settings, ())
        if title is None:
            return
        try:
            thread = await self.storage.update_thread(
                use.thread_id, use.resource_id, title=title, only_without_title=True
            )
        except Exception as error:
            log_not_written("a thread's title", error)
            return
        if thread is not None:
            for told in (settings.on_title_generated, scope.resources.get(ON_TITLE)):
                await _tell(self.id, told, thread)

    async def _found_alone(
        self, scope: RequestScope, use: MemoryUse, settings: TitleSettings, turn: Sequence[Message]
    ) -> str | None:
        """
        Return a title, or ``None`` where the thread needs none, or it could not be found; a thread is given one at a time.
        """
        key = (use.thread_id, use.resource_id)
        if key in self._busy:
            return None
        self._busy.add(key)
        try:
            with anyio.fail_after(_SECONDS):
                return await self._found(scope, use, settings, turn)
        except Exception as error:
            log_not_written("a thread's title", error)
            return None
        finally:
            self._busy.discard(key)

    async def _found(
        self, scope: RequestScope, use: MemoryUse, settings: TitleSettings, turn: Sequence[Message]
    ) -> str | None:
        thread = await self.storage.thread(use.thread_id, resource_id=use.resource_id)
        if thread is not None and thread.title is not None:
            return None
        most = max(_MOST, settings.min_messages)
        known = await self.storage.messages(use.thread_id, resource_id=use.resource_id, last=most)
        said = {message.id: message for message in (*known, *turn) if message.role in ("user", "assistant")}
        text = transcript(said.values())
        model: LanguageModel | None = settings.model or scope.resources.get("model")
        if len(said) < settings.min_messages or not text or model is None:
            return None
        told = (settings.instructions or INSTRUCTIONS).replace("{max_length}", str(settings.max_length))
        request = ModelRequest(
            messages=(PromptMessage("system", (TextPart(told),)), PromptMessage("user", (TextPart(text),))),
            streaming=False,
        )
        answer, _ = await whole_answer(model, request, scope, by_guard=True)
        if known:  # what was deleted meanwhile is not to name what has begun under the same id
            last = MessageRef(use.thread_id, known[-1].id)
            if not await self.storage.around([last], resource_id=use.resource_id):
                return None
        return title_of(answer, settings.max_length) or None


def title_of_memory(storage: ThreadStore, given: Any) -> ThreadTitle | None:
    """
    Return the processor that the option ``generate_title`` of a ``Memory`` asks for, or ``None`` for none.

    Raises ``ProcessorDefinitionError`` for what it cannot be.
    """
    settings = title_settings(given)
    if settings is None:
        return None
    return ThreadTitle(storage, **{name: getattr(settings, name) for name in TitleSettings.__fields__})


async def _tell(processor_id: str, callback: Callable[[Thread], Any] | None, thread: Thread) -> None:
    """
    Tell of a title; a callback that fails changes nothing.
    """
    if callback is None:
        return
    try:
        made = callback(thread)
        if hasattr(made, "__await__"):
            await made
    except Exception as error:
        log_callback_error(processor_id, error, ON_TITLE)
