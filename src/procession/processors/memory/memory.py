"""
Memory: what an agent remembers, as settings; the processors that do it are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from procession.errors import InputError
from procession.messages.message import Message
from procession.processors.memory.message_history import MessageHistory
from procession.processors.memory.turn_mark import PersistOnTripwire
from procession.processors.memory.use import MemoryUse
from procession.processors.processor import Processor
from procession.storage.memory_store import InMemoryStore
from procession.storage.threads import ThreadStore

__all__ = ["Memory"]

_OPTIONS = frozenset({"last_messages", "read_only"})


class Memory:
    """
    What an agent remembers of a thread.

    Its processors come first on the way in and last on the way out.  A call that names a thread uses it; one that does
    not is stateless.

    >>> memory = Memory(last_messages=20)
    >>> [processor.id for processor in memory.input_processors()]
    ['message-history']
    """

    def __init__(
        self,
        storage: ThreadStore | None = None,
        *,
        last_messages: int | Literal[False] | None = 10,
        read_only: bool = False,
        persist_on_tripwire: PersistOnTripwire = "none",
    ) -> None:
        """
        Remember in *storage* (by default in memory, which forgets with the process).

        *last_messages* is how many messages are recalled: ``None`` for all, ``False`` to recall and save nothing.

        Raises ``InputError`` for a count that is none.
        """
        self.storage: ThreadStore = storage if storage is not None else InMemoryStore()
        self.last_messages = _checked(last_messages)
        self.read_only = read_only
        self._history = MessageHistory(
            self.storage,
            last_messages=None if last_messages is False else last_messages,
            persist_on_tripwire=persist_on_tripwire,
        )

    def input_processors(self) -> Sequence[Processor]:
        """
        Return the processors that come before the user's own.
        """
        return (self._history,)

    def output_processors(self) -> Sequence[Processor]:
        """
        Return the processors that come after the user's own.
        """
        return (self._history,)

    async def recall(
        self, thread: str, resource: str, *, last: int | None = None, signals: bool = False
    ) -> list[Message]:
        """
        Return what was said in a thread, oldest first, for people to read; with *last* only the newest messages.

        Signals are notes to the model, which the model is shown again: they are left out unless *signals* (D38).
        """
        found = await self.storage.messages(thread, resource_id=resource, last=last if signals else None)
        if not signals:
            found = [message for message in found if message.role != "signal"]
        return found if last is None else found[max(0, len(found) - last) :]

    def use(self, thread: str, resource: str, options: Mapping[str, Any] | None = None) -> MemoryUse:
        """
        Return how one request uses the memory; *options* override the memory's own settings for it.

        Raises ``InputError`` for an option that does not exist.
        """
        options = options or {}
        unknown = set(options) - _OPTIONS
        if unknown:
            raise InputError(
                f"unknown memory option {sorted(unknown)[0]!r}", hint=f"there are {', '.join(sorted(_OPTIONS))}"
            )
        last = _checked(options.get("last_messages", self.last_messages))
        return MemoryUse(
            thread_id=thread,
            resource_id=resource,
            last_messages="all" if last is None else last or None,
            enabled=last is not False,
            read_only=bool(options.get("read_only", self.read_only)),
        )


def _checked(last: Any) -> int | Literal[False] | None:
    if last is None or last is False or (isinstance(last, int) and last is not True and last > 0):
        return last
    raise InputError(f"last_messages is {last!r}", hint="give a count of at least 1, None for all, or False for none")
