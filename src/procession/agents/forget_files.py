"""
Files that an ``AttachmentUploader`` has put elsewhere: which of them go with the messages that name them.

A sink has each content of a resource once, so that several threads may name one file: it goes with the last of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from functools import partial
from typing import Any

from procession.errors import StoreError
from procession.messages.message import Message
from procession.messages.parts import FilePart
from procession.processors.memory.deleting import Tally
from procession.processors.utility.attachments import AttachmentUploader
from procession.storage.attachments import AttachmentSink
from procession.storage.threads import ThreadStore

__all__ = ["FilesOf", "files_of"]

_PAGE = 200


class FilesOf:
    """
    The files of a resource, or of one of its threads alone, that stand in *sinks*.
    """

    def __init__(self, resource: str, sinks: Sequence[AttachmentSink], references: Iterable[str]) -> None:
        self._resource = resource
        self._sinks = sinks
        self.references = sorted(references)

    async def delete(self) -> int:
        """
        Delete them, and return how many there were.

        Raises ``StoreError``, which names those that are left, once all were tried: nothing else names them any more.
        """
        deleted = 0
        left: list[str] = []
        for sink in self._sinks:
            for reference in self.references:
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
    Return the files that only messages name that will be deleted; ``None`` where nobody puts files anywhere.
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
    gone: set[str] = set()
    stay: set[str] = set()
    kept = [store for store in stores if isinstance(store, ThreadStore)]
    for store in kept:
        await tally.attempt("files", type(store).__name__, partial(_look, store, resource, thread, gone, stay))
    return FilesOf(resource, list(sinks.values()), gone - stay)


async def _look(store: ThreadStore, resource: str, thread: str | None, gone: set[str], stay: set[str]) -> int:
    """
    Note the files of what will be *gone*, and of what will *stay* as far as that names one of them; deletes none.
    """
    if thread is not None:
        gone.update(await _named_in(store, thread, resource))
        if not gone:
            return 0
    cursor: str | None = None
    while True:
        page = await store.threads(resource, cursor=cursor)
        for each in page.threads:
            if each.id != thread:
                (gone if thread is None else stay).update(await _named_in(store, each.id, resource))
        if page.following is None:
            return 0
        cursor = page.following


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
