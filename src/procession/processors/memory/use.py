"""
MemoryUse: how one request uses a memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from procession.errors import InputError, MessageError
from procession.messages.value import Value
from procession.steps.scope import RequestScope
from procession.storage.message_records import metadata_text

__all__ = ["ON_TITLE", "MemoryUse", "ThreadGiven", "checked_facts", "thread_given", "use_of"]

ON_TITLE = "on_title_generated"
"""Where in ``scope.resources`` stands whom the call wants to be told of a title."""


class MemoryUse(Value, kw_only=True):
    """
    Which thread a request belongs to; kept in ``scope.resources["memory"]``.
    """

    thread_id: str
    resource_id: str
    last_messages: int | Literal["all"] | None = None
    """How many messages are recalled, 0 for none; ``None`` for the processor's own setting."""
    enabled: bool = True
    read_only: bool = False
    observed: bool = False
    """Whether observations, and the messages behind them, are recalled in place of the last messages."""
    overrides: Mapping[str, Any] | None = None
    """What the request says differently from the memory, by the name of ``Memory``'s option, checked by ``Memory.use``."""
    title: str | None = None
    """What the thread is called, if it has no name yet; written with the first save (D34)."""
    metadata: Mapping[str, Any] | None = None
    """Laid over what the thread has, with the first save."""

    def override(self, name: str, default: Any) -> Any:
        """
        Return what the request says of the option *name*, or *default* where it says nothing.
        """
        return self.overrides.get(name, default) if self.overrides else default


class ThreadGiven(Value, kw_only=True):
    """
    What a call says of its thread.
    """

    id: str
    title: str | None = None
    metadata: Mapping[str, Any] | None = None


def thread_given(thread: str | Mapping[str, Any] | ThreadGiven) -> ThreadGiven:
    """
    Return what ``thread=`` says: an id, or a mapping with an ``id`` and perhaps a ``title`` and ``metadata``.

    Raises ``InputError`` for anything else.
    """
    if isinstance(thread, ThreadGiven):
        return thread
    if isinstance(thread, str):
        return ThreadGiven(id=thread)
    unknown = sorted(str(name) for name in thread if name not in ThreadGiven.__fields__)
    if unknown:
        raise InputError(f"thread has {unknown[0]!r}", hint="it has an id, and perhaps a title and metadata")
    id = thread.get("id")
    if not isinstance(id, str) or not id:
        raise InputError(f"thread has the id {id!r}", hint="give the id of a thread, as a text")
    title, metadata = checked_facts(id, thread.get("title"), thread.get("metadata"))
    return ThreadGiven(id=id, title=title, metadata=metadata)


def checked_facts(thread_id: str, title: Any, metadata: Any) -> tuple[str | None, Mapping[str, Any] | None]:
    """
    Return the *title* and the *metadata* of a thread, if a store can keep them; raises ``InputError`` if not.
    """
    if title is not None and not isinstance(title, str):
        raise InputError(f"thread {thread_id!r} has the title {title!r}", hint="give a text")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InputError(f"thread {thread_id!r} has the metadata {metadata!r}", hint="give a mapping")
    found = cast("Mapping[str, Any] | None", metadata)
    if found:
        try:
            metadata_text(found)
        except MessageError as error:  # now, and not once the model has answered
            raise InputError(f"the metadata of thread {thread_id!r}: {error.message}", hint=error.hint) from error
    return title, found


def use_of(scope: RequestScope) -> MemoryUse | None:
    """
    Return how the request uses memory, or ``None`` where it names no thread.
    """
    use = scope.resources.get("memory")
    return use if isinstance(use, MemoryUse) else None
