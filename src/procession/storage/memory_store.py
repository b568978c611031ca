"""
InMemoryStore: conversations, and what belongs to them, that last as long as the object.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from procession.errors import MessageError
from procession.messages.message import Message
from procession.storage.base import UNCHANGED, Unchanged
from procession.storage.index_queue import ToIndex
from procession.storage.memory_vectors import InMemoryVectors
from procession.storage.moments import moment_of, time_of
from procession.storage.notes import Note, NoteKey
from procession.storage.pages import counted, cursor_of, read_cursor
from procession.storage.threads import MessageRef, Passage, Thread, ThreadPage

__all__ = ["InMemoryStore"]


class _Kept:
    """
    One thread and its messages, in order.
    """

    __slots__ = ("messages", "ordered", "thread", "used")

    def __init__(self, thread: Thread, used: int) -> None:
        self.thread = thread
        self.used = used
        self.messages: dict[str, Message] = {}
        self.ordered: list[Message] | None = []

    def in_order(self) -> list[Message]:
        if self.ordered is None:
            self.ordered = sorted(self.messages.values(), key=_time)
        return self.ordered


class _Waiting:
    """
    A message that is to be embedded, and until when somebody has taken it.
    """

    __slots__ = ("revision", "until")

    def __init__(self, revision: int) -> None:
        self.revision = revision
        self.until = 0.0


class InMemoryStore(InMemoryVectors):
    """
    A ``ThreadStore``, ``NoteStore``, ``IndexQueue`` and ``VectorStore`` that lasts as long as the object.

    For tests, demos and single processes that may forget.

    >>> import anyio
    >>> async def main() -> list[str]:
    ...     store = InMemoryStore()
    ...     await store.save("t", "ada", [Message.user("Hello")])
    ...     return [message.text for message in await store.messages("t", resource_id="ada")]
    >>> anyio.run(main)
    ['Hello']
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._notes: dict[NoteKey, Note] = {}
        self._queues: dict[str, dict[MessageRef, _Waiting]] = {}
        self._count = 0

    # -- threads

    async def thread(self, thread_id: str, *, resource_id: str | None = None) -> Thread | None:
        """
        Return a thread, or ``None`` where nothing was ever saved in it.
        """
        kept = self._found(thread_id, resource_id)
        return kept.thread if kept is not None else None

    async def threads(self, resource_id: str, *, limit: int = 100, cursor: str | None = None) -> ThreadPage:
        """
        Return a page of a resource's threads, those that were used last first.
        """
        counted("limit", limit, least=1)
        own = sorted(
            (kept for kept in self._kept.values() if kept.thread.resource_id == resource_id),
            key=lambda kept: kept.used,
            reverse=True,
        )
        if cursor is not None:
            behind = read_cursor(cursor)
            own = [kept for kept in own if kept.used < behind]
        page = own[:limit]
        return ThreadPage(tuple(kept.thread for kept in page), cursor_of(page[-1].used) if len(own) > limit else None)

    async def update_thread(
        self,
        thread_id: str,
        resource_id: str,
        *,
        title: str | Unchanged | None = UNCHANGED,
        metadata: Mapping[str, Any] | Unchanged | None = UNCHANGED,
        only_without_title: bool = False,
    ) -> Thread | None:
        """
        Give a thread another title, or other metadata in place of what it had; ``None`` where there is no such thread,
        or it has a title and may not.
        """
        kept = self._found(thread_id, resource_id)
        if kept is None or (only_without_title and kept.thread.title is not None):
            return None
        if title is not UNCHANGED:
            kept.thread = kept.thread.replace(title=title)
        if metadata is not UNCHANGED:
            kept.thread = kept.thread.replace(metadata=dict(metadata) if metadata is not None else None)
        if title is not UNCHANGED or metadata is not UNCHANGED:
            self._use(kept)
        return kept.thread

    async def messages(
        self, thread_id: str, *, resource_id: str | None = None, last: int | None = None, before: str | None = None
    ) -> list[Message]:
        """
        Return a thread's messages, oldest first; with *last* only the newest ones, with *before* those before a message.
        """
        counted("last", last)
        kept = self._found(thread_id, resource_id)
        if kept is None:
            return []
        found = kept.in_order()
        end = len(found)
        if before is not None:
            end = next((at for at, message in enumerate(found) if message.id == before), 0)
        return found[max(0, end - last) : end] if last is not None else found[:end]

    async def around(
        self, found: Collection[MessageRef], *, resource_id: str | None, before: int = 0, after: int = 0
    ) -> list[Passage]:
        """
        Return the messages that were *found* with those around them, a passage for each thread.
        """
        counted("before", before)
        counted("after", after)
        wanted: dict[str, set[str]] = {}
        for ref in found:
            wanted.setdefault(ref.thread_id, set()).add(ref.message_id)
        passages: list[Passage] = []
        for thread_id, ids in wanted.items():
            kept = self._found(thread_id, resource_id)
            if kept is None:
                continue
            ordered = kept.in_order()
            near: set[int] = set()
            for at, message in enumerate(ordered):
                if message.id in ids:
                    near.update(range(max(0, at - before), min(len(ordered), at + after + 1)))
            if near:
                passages.append(Passage(kept.thread, tuple(ordered[at] for at in sorted(near))))
        return passages

    async def save(
        self,
        thread_id: str,
        resource_id: str,
        messages: Sequence[Message],
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        indexes: Collection[str] = (),
    ) -> None:
        """
        Save messages by id; the thread is written with the first of them.

        Raises ``MessageError`` where the thread belongs to another resource.
        """
        if not messages:
            return
        kept = self._kept.get(thread_id)
        if kept is None:
            now = time_of(self._clock())
            kept = self._kept[thread_id] = _Kept(
                Thread(id=thread_id, resource_id=resource_id, created_at=now, updated_at=now), 0
            )
        thread = kept.thread
        if thread.resource_id != resource_id:
            raise MessageError(
                f"thread {thread_id!r} belongs to another resource", hint="use a thread id of this resource"
            )
        if title is not None and thread.title is None:
            thread = thread.replace(title=title)
        if metadata is not None:
            thread = thread.replace(metadata={**(thread.metadata or {}), **metadata})
        kept.thread, kept.ordered = thread, None
        self._use(kept)
        for message in messages:
            kept.messages[message.id] = message
        for index in indexes:
            for message in messages:
                self._note(index, MessageRef(thread_id, message.id))

    async def delete_messages(self, thread_id: str, resource_id: str, message_ids: Collection[str]) -> int:
        """
        Delete messages of a thread, with what is noted of them, and return how many there were.
        """
        kept = self._found(thread_id, resource_id)
        if kept is None:
            return 0
        gone = [id for id in dict.fromkeys(message_ids) if kept.messages.pop(id, None) is not None]
        kept.ordered = None
        for queue in self._queues.values():
            for id in gone:
                queue.pop(MessageRef(thread_id, id), None)
        return len(gone)

    async def delete_thread(self, thread_id: str, resource_id: str) -> bool:
        """
        Delete a thread with all that belongs to it; ``False`` where there is none.
        """
        for key in [key for key in self._notes if (key.thread_id, key.resource_id) == (thread_id, resource_id)]:
            del self._notes[key]
        if self._found(thread_id, resource_id) is None:
            return False
        del self._kept[thread_id]
        for name, queue in self._queues.items():
            self._queues[name] = {ref: one for ref, one in queue.items() if ref.thread_id != thread_id}
        return True

    async def delete_resource(self, resource_id: str) -> int:
        """
        Delete all threads and notes of a resource, and return how many threads there were.
        """
        own = [id for id, kept in self._kept.items() if kept.thread.resource_id == resource_id]
        for thread_id in own:
            await self.delete_thread(thread_id, resource_id)
        for key in [key for key in self._notes if key.resource_id == resource_id]:
            del self._notes[key]
        return len(own)

    def _found(self, thread_id: str, resource_id: str | None) -> _Kept | None:
        kept = self._kept.get(thread_id)
        return kept if kept is not None and resource_id in (None, kept.thread.resource_id) else None

    def _use(self, kept: _Kept) -> None:
        self._count += 1
        kept.used = self._count
        kept.thread = kept.thread.replace(updated_at=time_of(self._clock()))

    # -- notes

    async def note(self, key: NoteKey) -> Note | None:
        """
        Return what is written under *key*, or ``None``.
        """
        return self._notes.get(key)

    async def put_note(self, key: NoteKey, text: str, *, version: int) -> Note | None:
        """
        Write *text* in place of that *version*; ``None`` where somebody else wrote meanwhile.
        """
        known = self._notes.get(key)
        if (known.version if known is not None else 0) != version:
            return None
        made = self._notes[key] = Note(text, version + 1)
        return made

    async def delete_note(self, key: NoteKey) -> bool:
        """
        Forget what is written under *key*; ``False`` where nothing is.
        """
        return self._notes.pop(key, None) is not None

    # -- what is to be embedded

    async def take(self, index: str, *, limit: int, seconds: float) -> list[ToIndex]:
        """
        Return up to *limit* messages that are to be embedded, and keep others from taking them.
        """
        counted("limit", limit)
        now = self._clock()
        taken: list[ToIndex] = []
        for ref, kept, waiting in self._waiting(index):
            if len(taken) == limit:
                break
            if waiting.until <= now:
                waiting.until = now + seconds
                taken.append(
                    ToIndex(
                        thread_id=ref.thread_id,
                        resource_id=kept.thread.resource_id,
                        message=kept.messages[ref.message_id],
                        revision=waiting.revision,
                    )
                )
        return taken

    async def done(self, index: str, items: Collection[ToIndex]) -> list[MessageRef]:
        """
        Take out what was embedded, and return those that were deleted meanwhile.
        """
        queue = self._queues.get(index, {})
        gone: list[MessageRef] = []
        for item in items:
            waiting = queue.get(item.ref)
            if waiting is not None and waiting.revision == item.revision:
                del queue[item.ref]
            kept = self._found(item.thread_id, item.resource_id)
            if kept is None or item.message.id not in kept.messages:
                gone.append(item.ref)
        return gone

    async def release(self, index: str, items: Collection[ToIndex]) -> None:
        """
        Let others take what was taken and could not be embedded.
        """
        queue = self._queues.get(index, {})
        for item in items:
            waiting = queue.get(item.ref)
            if waiting is not None and waiting.revision == item.revision:
                waiting.until = 0.0

    async def waiting(self, index: str) -> int:
        """
        Return how many messages are to be embedded.
        """
        return len(self._queues.get(index, {}))

    async def note_all(self, index: str) -> int:
        """
        Note every message that is kept for *index*, and return how many wait for it.
        """
        queue = self._queues.setdefault(index, {})
        for thread_id, kept in self._kept.items():
            for message in kept.in_order():
                if (ref := MessageRef(thread_id, message.id)) not in queue:
                    self._note(index, ref)
        return len(queue)

    async def indexes(self) -> Sequence[str]:
        """
        Return the names of the indexes that anything was ever noted for.
        """
        return tuple(self._queues)

    async def aclose(self) -> None:
        """
        Do nothing: what is kept lasts as long as the object.
        """

    async def __aenter__(self) -> InMemoryStore:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def drop_index(self, index: str) -> int:
        """
        Forget an index, with what waits for it, and return how much that was.
        """
        return len(self._queues.pop(index, {}))

    def _note(self, index: str, ref: MessageRef) -> None:
        self._count += 1
        queue = self._queues.setdefault(index, {})
        queue.pop(ref, None)  # what is saved anew waits behind the others
        queue[ref] = _Waiting(self._count)

    def _waiting(self, index: str) -> Iterator[tuple[MessageRef, _Kept, _Waiting]]:
        for ref, waiting in self._queues.get(index, {}).items():
            yield ref, self._kept[ref.thread_id], waiting


def _time(message: Message) -> int:
    return moment_of(message.created_at)
