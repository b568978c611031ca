"""
Memory: what an agent remembers, as settings; the processors that do it are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from procession.errors import DefinitionError, InputError
from procession.processors.memory.call_options import checked_options
from procession.processors.memory.features import (
    is_on,
    observing_of,
    recall_of,
    titles_of,
    token_limiter_of,
    working_of,
)
from procession.processors.memory.history_limit import HistoryLimit, LastMessages, history_limit
from procession.processors.memory.input_filter import MemoryInputFilter
from procession.processors.memory.kept_threads import KeptThreads
from procession.processors.memory.kept_where import Storage, storage_of
from procession.processors.memory.message_history import MessageHistory
from procession.processors.memory.turn_mark import OnSaveError, PersistOnTripwire
from procession.processors.memory.use import MemoryUse, ThreadGiven, thread_given
from procession.processors.options import a_flag
from procession.processors.processor import Processor

if TYPE_CHECKING:
    from procession.models.embedder import Embedder
    from procession.models.model import LanguageModel
    from procession.processors.memory.memory_token_limiter import Counter
    from procession.processors.memory.observational import ObservationalMemory
    from procession.processors.memory.observed.observations import Observation
    from procession.processors.memory.observed.settings import Observational
    from procession.processors.memory.recalled.hit import RecallHit
    from procession.processors.memory.recalled.settings import RecallGiven
    from procession.processors.memory.semantic_recall import SemanticRecall
    from procession.processors.memory.titles.settings import TitleSettings
    from procession.processors.memory.working.settings import WorkingMemorySettings
    from procession.processors.memory.working_memory import WorkingMemory
    from procession.storage.vectors import VectorStore

__all__ = ["Memory"]

_ON_THE_WAY_IN = (
    "memory-input-filter",
    "working-memory",
    "message-history",
    "semantic-recall",
    "memory-token-limiter",
    "observational-memory",
)
_ON_THE_WAY_OUT = ("semantic-recall", "message-history", "observational-memory", "thread-title")


class Memory(KeptThreads):
    """
    What an agent remembers of a thread.

    Its processors come first on the way in and last on the way out.  A call that names a thread uses it; one that does
    not is stateless.

    >>> from procession.storage.memory_store import InMemoryStore
    >>> memory = Memory(InMemoryStore(), last_messages=20)
    >>> [processor.id for processor in memory.input_processors()]
    ['memory-input-filter', 'message-history']
    """

    def __init__(
        self,
        storage: Storage = None,
        *,
        last_messages: LastMessages = 10,
        token_counter: Counter | None = None,
        read_only: bool = False,
        working_memory: bool | Mapping[str, Any] | WorkingMemorySettings | None = False,
        generate_title: bool | Mapping[str, Any] | TitleSettings | None = False,
        persist_on_tripwire: PersistOnTripwire = "none",
        dedupe_resent: bool = False,
        save_per_step: bool = False,
        on_save_error: OnSaveError = "report",
        on_error: Literal["stop", "skip"] = "stop",
        observational: Observational | None = False,
        semantic_recall: RecallGiven | None = False,
        vector: VectorStore | None = None,
        embedder: Embedder | str | None = None,
    ) -> None:
        """
        Remember in *storage*: a store, a path or a url.  Without one the environment's ``PROCESSION_STORE`` names it, else
        it is the SQLite file ``procession.db`` in the working directory; it is made with the first use.

        *last_messages* is how many messages are recalled: ``None`` for all, ``False`` to recall and save nothing.  With
        *observational* a long thread is recalled as observations and its newest messages instead.
        *semantic_recall* finds what is like the input, too, wherever it stands: with *vector*, by default the storage, and
        *embedder*, by default the offline one.  Turns are then saved whatever *last_messages* says.

        *working_memory* lets the model write down what it wants to keep in mind: ``True``, a mapping of settings, or a
        ``WorkingMemorySettings``.  *generate_title* has threads given titles: ``True``, a mapping, or ``TitleSettings``.
        ``None`` switches a feature off as ``False`` does.

        Raises ``InputError`` for a count that is none, ``DefinitionError`` for settings that cannot be, and where something
        that is needed is missing.
        """
        self.storage = storage_of(storage)
        self._closes = self.storage is not storage
        self.last_messages = history_limit(last_messages)
        """How much is recalled; ``None`` where nothing is, and nothing saved."""
        self.read_only = a_flag("Memory", "read_only", read_only)
        _check_given_for(
            semantic_recall, self.last_messages, vector=vector, embedder=embedder, token_counter=token_counter
        )
        self._working = working_of(self.storage, working_memory, on_save_error=on_save_error, on_error=on_error)
        self._observational = observing_of(self.storage, observational, self.last_messages, on_error)
        self._semantic_recall = recall_of(self.storage, semantic_recall, vector, embedder)
        last = self.last_messages
        # Each feature is one line here: its processor, or None where it is off.  Where they stand, the tables above say.
        self._by_id = _by_id(
            MemoryInputFilter(self.storage, dedupe_resent=dedupe_resent, on_error=on_error),
            MessageHistory(
                self.storage,
                last_messages=last.max_messages if last is not None else None,
                max_tokens=last.max_tokens if last is not None else None,
                persist_on_tripwire=persist_on_tripwire,
                save_per_step=save_per_step,
                on_save_error=on_save_error,
                on_error=on_error,
            ),
            token_limiter_of(last, token_counter),
            self._working,
            self._observational,
            self._semantic_recall,
            titles_of(self.storage, generate_title),
        )

    def input_processors(self) -> Sequence[Processor]:
        """
        Return the processors that come before the user's own.
        """
        return tuple(self._by_id[id] for id in _ON_THE_WAY_IN if id in self._by_id)

    def output_processors(self) -> Sequence[Processor]:
        """
        Return the processors that come after the user's own.
        """
        return tuple(self._by_id[id] for id in _ON_THE_WAY_OUT if id in self._by_id)

    async def search(
        self, query: str, *, resource: str | None, thread: str | None = None, top_k: int | None = None
    ) -> list[RecallHit]:
        """
        Return the messages of a resource, or of one of its threads, that are most like *query*, the most alike first.

        ``None`` as the *resource* is every resource.  Raises ``DefinitionError`` without semantic recall, ``InputError``
        for a query without a word, and ``ModelError`` or ``StoreError`` where the embedder or a store fails.
        """
        return await self._recaller().search(query, resource=resource, thread=thread, top_k=top_k)

    async def drain(self) -> None:
        """
        Wait until all that was saved is embedded; where that fails, raise why.

        Raises ``DefinitionError`` without semantic recall.
        """
        await self._recaller().drain()

    async def reindex(self) -> int:
        """
        Have every message that is stored embedded anew, in the background or by ``drain()``; returns how many there are.

        Raises ``DefinitionError`` without semantic recall.
        """
        return await self._recaller().reindex()

    async def drop_index(self, name: str) -> int:
        """
        Delete all vectors of the index of this name, such as that of an embedder of before; returns how many there were.

        Raises ``DefinitionError`` without semantic recall.
        """
        return await self._recaller().drop_index(name)

    def _recaller(self) -> SemanticRecall:
        if self._semantic_recall is None:
            raise DefinitionError("the memory has no semantic recall", hint="Memory(..., semantic_recall=True)")
        return self._semantic_recall

    async def working_memory(self, *, resource: str, thread: str | None = None) -> Any:
        """
        Return what the model has written down of a resource, or of a thread where each has its own: Markdown, or with a
        schema an object; ``None`` where nothing is.

        Raises ``DefinitionError`` where there is no working memory, ``StoreError`` where the store fails.
        """
        return await self._written_down().content(resource, thread)

    async def set_working_memory(self, content: Any, *, resource: str, thread: str | None = None) -> Any:
        """
        Write a whole *content* down in place of what is there, and return it as it stands.

        What the model of a request that is under way writes is merged into it.  Raises ``InputError`` for a content that
        does not fit, ``DefinitionError`` where there is no working memory, ``StoreError`` where the store fails.
        """
        return await self._written_down().write(content, resource, thread)

    def _written_down(self) -> WorkingMemory:
        if self._working is None:
            raise DefinitionError("this memory has no working memory", hint="make it with Memory(working_memory=True)")
        return self._working

    async def observations(self, thread: str, resource: str) -> list[Observation]:
        """
        Return what was observed of a thread, oldest first.

        Raises ``DefinitionError`` where the memory does not observe.
        """
        return await self._observer().observations(thread, resource)

    async def observe(self, thread: str, resource: str, *, model: LanguageModel | None = None) -> int:
        """
        Observe all of a thread now but its last turn, and return how many times the observer was asked.

        Raises ``DefinitionError`` where the memory does not observe, or nothing says with which model, and what the model
        raises; then all is as it was.
        """
        return await self._observer().observe(thread, resource, model=model)

    async def forget_observations(self, thread: str, resource: str) -> bool:
        """
        Drop what was observed of a thread, such as after messages of it were deleted; it is observed anew.
        """
        return await self._observer().forget(thread, resource)

    def _observer(self) -> ObservationalMemory:
        if self._observational is None:
            raise DefinitionError("the memory does not observe", hint="Memory(observational=True)")
        return self._observational

    def _is_observed(self, overrides: Mapping[str, Any]) -> bool:
        wanted: bool = overrides.get("observational", self._observational is not None)
        if wanted and self._observational is None:
            raise InputError(
                "memory option observational is True, and the memory does not observe",
                hint="Memory(observational=True)",
            )
        return wanted

    def use(
        self, thread: str | Mapping[str, Any] | ThreadGiven, resource: str, options: Mapping[str, Any] | None = None
    ) -> MemoryUse:
        """
        Return how one request uses the memory; *options* override the memory's own settings for it.

        Raises ``InputError`` for an option that does not exist, or that cannot be what it is.
        """
        overrides = checked_options(options)
        if overrides.get("working_memory"):
            self._written_down()
        if overrides.get("generate_title") and "thread-title" not in self._by_id:
            raise DefinitionError("this memory gives no titles", hint="make it with Memory(generate_title=True)")
        recalls = self._semantic_recall is not None
        if is_on(overrides.get("semantic_recall")) and not recalls:
            raise InputError(
                "memory option semantic_recall is given, and the memory has none",
                hint="Memory(..., semantic_recall=True)",
            )
        last: HistoryLimit | None = overrides.get("last_messages", self.last_messages)
        if last is not None and last.max_tokens is not None and "memory-token-limiter" not in self._by_id:
            raise InputError(
                "memory option last_messages has max_tokens, and this memory counts no tokens",
                hint="Memory(last_messages=HistoryLimit(max_tokens=...)), which a call may say differently",
            )
        count: int | Literal["all"] | None = None  # a history has its own, also one that is listed by hand
        if last is None:
            count = 0 if recalls else None
        elif "last_messages" in overrides:
            count = last.max_messages or "all"
        given = thread_given(thread)
        return MemoryUse(
            thread_id=given.id,
            resource_id=resource,
            observed=self._is_observed(overrides),
            last_messages=count,
            enabled=last is not None or recalls,
            read_only=overrides.get("read_only", self.read_only),
            overrides=overrides or None,
            title=given.title,
            metadata=given.metadata,
        )


def _check_given_for(recall: Any, last: HistoryLimit | None, *, token_counter: Any, **for_recall: Any) -> None:
    """
    Raise ``DefinitionError`` for what is given to a feature that is off: whoever gave it takes the feature to be on.
    """
    given = [name for name, value in for_recall.items() if value is not None]
    if given and not is_on(recall):
        raise DefinitionError(
            f"Memory has {given[0]}= and no semantic recall that would use it", hint="add semantic_recall=True"
        )
    if token_counter is not None and (last is None or last.max_tokens is None):
        raise DefinitionError(
            "Memory has token_counter= and no max_tokens that it would count for",
            hint='add last_messages={"max_tokens": 4000}',
        )


def _by_id(*made: Processor | None) -> dict[str, Processor]:
    return {one.id: one for one in made if one is not None}
