"""
Keeping: answers in a store that may fail, be slow, or hand over anything: then it is as if there were none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import anyio

from procession.errors import DefinitionError, MessageError
from procession.messages.chunks import Chunk, ResponseMetadata
from procession.messages.prompt import PromptMessage
from procession.processors.cache.entry import read_entry, write_entry
from procession.processors.cache.flights import Flight
from procession.processors.log import log_once
from procession.steps.step_marks import StepAnswer
from procession.storage.cache import CacheStore

__all__ = ["AnswerMark", "Keeper"]


class Keeper:
    """
    Keeps the answers of one cache, and finds them again.
    """

    def __init__(
        self, owner: str, store: CacheStore, *, ttl: float, timeout: float, finish_reasons: Collection[str]
    ) -> None:
        self._owner = owner
        """The id of the cache, for the log."""
        self._store = store
        self._ttl = ttl
        self._timeout = timeout
        self._finish_reasons = finish_reasons

    async def find(self, key: str, flight: Flight) -> tuple[Chunk, ...] | None:
        """
        Return what the store has under *key*, and end the flight with it; where there is nothing, that goes on.
        """
        chunks = text = None
        try:
            text = await self._ask(self._store.get, key)
            if text is not None:
                chunks = self.read(key, text)
        except BaseException:
            flight.fail()
            raise
        if chunks is not None:
            flight.land(text)
        return chunks

    def read(self, key: str, text: Any) -> tuple[Chunk, ...] | None:
        """
        Return the chunks of an entry, or ``None`` where it cannot be read.
        """
        try:
            return read_entry(key, text)
        except MessageError:  # its words quote the entry, which anybody may have written
            log_once(self._owner, "an entry of the cache cannot be read, and the model is asked instead")
            return None

    async def keep(
        self, key: str, chunks: Sequence[Chunk], answer: StepAnswer, prompt: Sequence[PromptMessage] | None
    ) -> str | None:
        """
        Keep an accepted answer under *key* and return the entry, or ``None`` where it is none to be kept.

        *prompt* is what the key was made of, if it was: where the model was sent another one, the answer is to that.
        """
        if answer.from_cache or answer.finish_reason not in self._finish_reasons or _fell_back(chunks):
            return None
        if prompt is not None and answer.prompt is not None and list(answer.prompt) != list(prompt):
            log_once(
                self._owner, "a processor behind the cache changes the prompt: nothing is kept, put the cache last"
            )
            return None
        try:
            entry = write_entry(key, chunks, answer.results)
        except MessageError:
            log_once(self._owner, "an answer cannot be written as JSON, and is not kept")
            return None
        if entry is not None:
            await self._ask(self._store.set, key, entry, ttl=self._ttl)
        return entry

    async def _ask(self, work: Callable[..., Any], *args: Any, **options: Any) -> Any:
        failure = "TimeoutError"
        with anyio.move_on_after(self._timeout):
            try:
                return await work(*args, **options)
            except DefinitionError:  # the fault of whoever chose the store, and not to be hidden
                raise
            except Exception as error:
                failure = type(error).__name__
        log_once(self._owner, "the store of the cache failed, and is done without", error=failure)
        return None


class AnswerMark:
    """
    An answer that is kept once its step is accepted.
    """

    __slots__ = ("_flight", "_keeper", "_key", "_prompt", "chunks")

    def __init__(self, keeper: Keeper, key: str, flight: Flight | None, prompt: Sequence[PromptMessage] | None) -> None:
        self._keeper = keeper
        self._key = key
        self._flight = flight
        self._prompt = prompt
        self.chunks: Sequence[Chunk] = ()
        """The model's own chunks, once it has answered."""

    async def accept(self, answer: StepAnswer) -> None:
        """
        Keep the answer, and let those have it who wait.
        """
        entry: str | None = None
        try:
            if self.chunks:
                entry = await self._keeper.keep(self._key, self.chunks, answer, self._prompt)
        finally:
            if self._flight is not None:
                self._flight.land(entry)

    def drop(self) -> None:
        """
        There is no answer to keep: the next of those who wait asks the model.
        """
        if self._flight is not None:
            self._flight.fail()


def _fell_back(chunks: Sequence[Chunk]) -> bool:
    """
    Whether another model than the first of a ``FallbackModel`` answered: it is not to speak for that one later.
    """
    return any(isinstance(chunk, ResponseMetadata) and len(chunk.asked) > 1 for chunk in chunks)
