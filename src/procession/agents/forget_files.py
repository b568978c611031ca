"""
Files that an ``AttachmentUploader`` has put elsewhere: which of them go with the messages that name them.

A sink has each content of a resource once, so that several threads may name one file: it goes with the last of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from procession.errors import StoreError
from procession.messages.message import Message
from procession.messages.parts import FilePart
from procession.processors.memory.deleting import Tally
from procession.processors.memory.outbox import outbox_of
from procession.processors.utility.attachments import AttachmentUploader
from procession.storage.attachments import AttachmentSink
from procession.storage.threads import ThreadStore

__all__ = ["FilesOf", "files_of"]

_PAGE = 200


class FilesOf:
    """
    The files that are named by what will be deleted of a resource, or of one of its threads.
    """

    def __init__(self, resource: str, thread: str | None, sinks: Sequence[AttachmentSink]) -> None:
        self._resource = resource
        self._thread = thread
        self._sinks = sinks
        self._gone: dict[int, set[str]] = {}
        """What is named by messages that will be gone, by the store that they are in."""
        self._stay: set[str] = set()
        """What other messages name."""
        self._is_sure = True
        """Whether all messages could be read."""

    @property
    def names_some(self) -> bool:
        """
        Whether anything is named by what will be gone.
        """
        return any(self._gone.values())

    async def look(self, store: ThreadStore) -> int:
        """
        Note what the thread names, and what waits for *store*; deletes nothing, which is 0.
        """
        gone = self._gone[id(store)] = set()
        for thread, message in outbox_of(store).of_resource(self._resource):
            self._of(thread, gone).update(_named_by(message))
        if self._thread is not None:
            with self._noted():
                gone |= await _named_in(store, self._thread, self._resource)
        return 0

    async def look_around(self, store: ThreadStore) -> int:
        """
        Note what the other threads in *store* name, or all of them; deletes nothing, which is 0.

        Raises what the store raises, once all threads were read that can be.
        """
        gone = self._gone[id(store)]
        failed: Exception | None = None
        cursor: str | None = None
        with self._noted():
            while True:
                page = await store.threads(self._resource, cursor=cursor)
                for each in page.threads:
                    if each.id != self._thread:
                        try:
                            self._of(each.id, gone).update(await _named_in(store, each.id, self._resource))
                        except Exception as error:
                            failed = failed or error
                cursor = page.following
                if cursor is None:
                    break
            if failed is not None:
                raise failed
        return 0

    @contextmanager
    def _noted(self) -> Generator[None]:
        """
        Note that not all could be read, where that is so.
        """
        try:
            yield
        except Exception:
            self._is_sure = False
            raise

    def _of(self, thread: str, gone: set[str]) -> set[str]:
        return gone if self._thread in (None, thread) else self._stay

    async def delete(self, undeleted: Sequence[Any]) -> int:
        """
        Delete what no message names any more, and return how many there were.  Stores that are *undeleted* may have
        messages still: what those name stays, and is found again.

        Raises ``StoreError``, which names those that are left, once all were tried: nothing else names them any more.
        """
        still = self._stay.union(*(self._gone.get(id(store), ()) for store in undeleted))
        gone = set[str]().union(*self._gone.values()) - still
        references = sorted(each for each in gone if each.startswith(tuple(sink.prefix for sink in self._sinks)))
        if self._thread is not None and not self._is_sure:
            if references:
                raise StoreError(
                    f"{len(references)} may be named by messages that cannot be read, and are left; delete those that are"
                    f" not: {', '.join(references)}"
                )
            return 0
        deleted = 0
        left: list[str] = []
        for sink in self._sinks:
            for reference in references:
                if reference.startswith(sink.prefix):
                    try:
                        deleted += await sink.delete(reference, scope=self._resource)
                    except Exception:
                        left.append(reference)
        if left:
            raise StoreError(
                f"{len(left)} of {len(left) + deleted} are left, which you have to delete: {', '.join(left)}"
            )
        return deleted


async def files_of(
    processors: Iterable[Any], stores: Iterable[Any], resource: str, thread: str | None, tally: Tally
) -> FilesOf | None:
    """
    Return the files that are named by messages that will be deleted; ``None`` where nobody puts files anywhere.
    """
    sinks: dict[int, AttachmentSink] = {}
    for processor in processors:
        if isinstance(processor, AttachmentUploader):
            if processor.owner is not None:
                tally.left.append(f"files of {processor.id} are kept by an owner of their own, and stay")
            else:
                sinks[id(processor.sink)] = processor.sink
    if not sinks:
        return None
    files = FilesOf(resource, thread, list(sinks.values()))
    kept = [store for store in stores if isinstance(store, ThreadStore)]
    for store in kept:
        await tally.attempt("files", type(store).__name__, partial(files.look, store))
    if thread is None or files.names_some:
        for store in kept:
            await tally.attempt("files", type(store).__name__, partial(files.look_around, store))
    return files


async def _named_in(store: ThreadStore, thread: str, resource: str) -> set[str]:
    return {name async for message in _messages(store, thread, resource) for name in _named_by(message)}


async def _messages(store: ThreadStore, thread: str, resource: str) -> AsyncIterator[Message]:
    before: str | None = None
    while found := await store.messages(thread, resource_id=resource, last=_PAGE, before=before):
        for message in found:
            yield message
        before = found[0].id


def _named_by(message: Message) -> Iterable[str]:
    return (part.data for part in message.parts if isinstance(part, FilePart) and isinstance(part.data, str))
