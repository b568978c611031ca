"""
Indexer: makes vectors of what was saved and waits for it.

What waits stands in the store, so that no crash loses it.  Batches are taken for a time: of several processes each makes
its own, and what a dead one has taken is taken again.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from math import inf
from typing import TypeAlias

import anyio

from procession.errors import InputError, ModelError
from procession.models.embedder import Embedder, Vector
from procession.processors.log import log_embedding
from procession.processors.memory.recalled.text import facts_of, pieces_of_message
from procession.processors.memory.recalled.turn import BATCH, IndexTurn, turn_of
from procession.storage.index_queue import IndexQueue, ToIndex
from procession.storage.vectors import VectorItem, VectorStore

__all__ = ["Indexer"]

_TEXTS = 64
"""Texts of one call of the embedder."""
_REFUSALS = frozenset({400, 413, 422})
"""What servers say of a text that they do not take, and of no other."""
_Left: TypeAlias = list[tuple[ToIndex, Exception]]
"""What is left aside until its time is over, and why."""
_WHILE_OTHERS_WORK = 0.05
"""Seconds between two looks at what other processes have taken."""


class Indexer:
    """
    Takes what waits for an index, and has vectors made of it: in each process one at a time.
    """

    def __init__(
        self,
        queue: IndexQueue,
        vectors: VectorStore,
        embedder: Embedder,
        *,
        timeout: float = 30.0,
        lease: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        *timeout* is how many seconds one call of the embedder may take, *lease* for how long a batch is this process's.
        """
        self._queue = queue
        self._vectors = vectors
        self._embedder = embedder
        self._timeout = timeout
        self._lease = lease
        self._clock = clock
        self.behind = 0
        """How many turns were saved since nothing waited any more, as far as this process knows."""

    async def work(self, index: str, *, patient: bool = True) -> None:
        """
        Embed all that waits for *index*, and raise nothing: what fails is said in the log, and stays.

        Unless *patient*, do nothing where somebody waits for a turn already: that one embeds this as well.
        """
        turn = turn_of(self._queue, index)
        if not patient and turn.others > 1:  # one embeds, and may be past it; the other comes after that
            return
        with turn.waited_for():
            async with turn.lock:
                if self._clock() < turn.rests_until:
                    return
                try:
                    await self._all(index, turn)
                except Exception as error:  # the store's, the embedder's, or what their code did wrong
                    if not turn.pause:
                        log_embedding(
                            "messages could not be embedded, and are tried again; drain() raises why", index, error
                        )
                    turn.rest(self._clock())
                else:
                    if turn.pause:
                        log_embedding("messages are embedded again", index)
                    turn.pause = 0.0
                    self.behind = 0

    async def keep_trying(self, index: str, rest: Callable[[float], Awaitable[bool]]) -> None:
        """
        Embed all that waits for *index*; where that fails, try again after each pause until it works, or *rest*, which waits
        so many seconds, says that it is over.
        """
        await self.work(index, patient=False)
        turn = turn_of(self._queue, index)
        if not turn.pause or turn.retrying:
            return
        turn.retrying = True
        try:
            while turn.pause and await rest(max(turn.rests_until - self._clock(), 0)):
                await self.work(index)
        finally:
            turn.retrying = False

    async def drain(self, index: str) -> None:
        """
        Embed all that waits for *index*, and wait for what other processes have taken.

        Raises what the embedder or the store raised: then some of it waits still; where it was one message, that alone.
        """
        turn = turn_of(self._queue, index)
        while True:
            async with turn.lock:
                left = await self._all(index, turn, every=True)
                if left:
                    await self._queue.release(index, [item for item, _ in left])
                    raise left[0][1]
            turn.pause = turn.rests_until = 0.0
            if not await self._queue.waiting(index):
                self.behind = 0
                return
            await anyio.sleep(_WHILE_OTHERS_WORK)

    async def catch_up(self, index: str, most: int, seconds: float) -> None:
        """
        Where more than *most* messages wait, embed, up to so many *seconds*: who saves faster than is embedded waits here.
        """
        if self.behind <= most:
            return
        self.behind = await self._queue.waiting(index)
        if self.behind > most:
            with anyio.move_on_after(seconds):
                await self.work(index)

    # -- a batch

    async def _all(self, index: str, turn: IndexTurn, *, every: bool = False) -> _Left:
        """
        Embed until there is nothing to take, *every* one that was left aside before included, and return what is left aside.
        """
        left: _Left = []
        turn.worked = False
        while items := await self._queue.take(index, limit=BATCH, seconds=self._lease):
            try:
                left += await self._batch(index, turn, items, inf if every else self._clock())
            except BaseException:
                with anyio.move_on_after(self._timeout, shield=True):
                    await self._queue.release(index, items)
                raise
        return left

    async def _batch(self, index: str, turn: IndexTurn, items: Sequence[ToIndex], now: float) -> _Left:
        """
        Embed *items*, those at the end that failed by themselves before: as long as others do not fail they hold up nobody.
        """
        sound, odd = turn.parted(items, now)
        left: _Left = []
        at = 0
        while at < len(sound):
            some = sound[at : at + turn.size]
            at += len(some)
            with turn.trying(some):
                left += await self._embed(index, some)
        for _, error in left:
            log_embedding("a message was refused by the embedder, and is tried again", index, error)
        for item in odd:
            try:
                with turn.trying([item]):
                    left += await self._embed(index, [item])
            except Exception as error:
                if not turn.worked:
                    raise
                left.append((item, error))
        for item, _ in left:
            turn.leave_aside(item, self._clock())
        return left

    async def _embed(self, index: str, items: Sequence[ToIndex]) -> _Left:
        """
        Embed *items*, and return what the embedder refuses of them.
        """
        cut = [(item, pieces_of_message(item.message)) for item in items]
        try:
            vectors = await self._vectors_of([piece for _, pieces in cut for piece in pieces])
        except (InputError, ModelError) as error:
            if not _is_refusal(error):
                raise
            if len(items) > 1:  # one of them is to blame
                return [one for item in items for one in await self._embed(index, [item])]
            if isinstance(error, ModelError):
                return [(items[0], error)]
            none: list[str] = []  # there is no word in it, which has no direction
            cut, vectors = [(items[0], none)], []
        await self._keep(index, cut, vectors)
        return []

    async def _keep(self, index: str, cut: Sequence[tuple[ToIndex, list[str]]], vectors: Sequence[Vector]) -> None:
        following = iter(vectors)
        made = [
            VectorItem(
                thread_id=item.thread_id,
                resource_id=item.resource_id,
                message_id=item.message.id,
                vector=next(following),
                part=part,
                facts=facts_of(item.message),
            )
            for item, pieces in cut
            for part in range(len(pieces))
        ]
        if made:
            await self._vectors.put_vectors(index, made)
        await self._forget(index, [item for item, pieces in cut if not pieces])  # of what it said before
        items = [item for item, _ in cut]
        gone = set(await self._queue.done(index, items))
        await self._forget(index, [item for item in items if item.ref in gone])
        turn_of(self._queue, index).embedded(items)

    async def _vectors_of(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for at in range(0, len(texts), _TEXTS):
            some = texts[at : at + _TEXTS]
            with anyio.fail_after(self._timeout):
                made = await self._embedder.embed(some)
            if len(made.vectors) != len(some):
                raise ModelError(f"{self._embedder.id} made {len(made.vectors)} vectors of {len(some)} texts")
            vectors += made.vectors
        return vectors

    async def _forget(self, index: str, items: Iterable[ToIndex]) -> None:
        by_thread: dict[tuple[str, str], list[str]] = {}
        for item in items:
            by_thread.setdefault((item.resource_id, item.thread_id), []).append(item.message.id)
        for (resource_id, thread_id), ids in by_thread.items():
            await self._vectors.delete_vectors(
                resource_id=resource_id, thread_id=thread_id, message_ids=ids, index=index
            )


def _is_refusal(error: InputError | ModelError) -> bool:
    """
    Whether *error* is about a text, so that others may do.
    """
    return isinstance(error, InputError) or error.status_code in _REFUSALS
