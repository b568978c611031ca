"""
Memory trim: remembered messages are left out of a turn, the oldest first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.value import Value
from procession.models.tokens.counter import TokenCounter
from procession.processors.prompt_budget import entries_of

__all__ = ["MemoryCosts", "MemoryTrim", "OnMemoryTrim", "trim_memory"]


class MemoryTrim(Value, kw_only=True):
    """
    What was left out of a turn, of what was remembered.
    """

    removed: tuple[Message, ...]
    tokens_before: float
    tokens_after: float
    limit: float


OnMemoryTrim: TypeAlias = Callable[[MemoryTrim], None]
"""Told of what was left out; it changes nothing."""


class MemoryCosts:
    """
    What the messages of a run cost, each counted once.
    """

    __slots__ = ("_counter", "_known")

    def __init__(self) -> None:
        self._counter: TokenCounter | None = None
        self._known: dict[int, tuple[Message, float]] = {}

    def of(self, messages: MessageList, counter: TokenCounter) -> dict[str, float]:
        """
        Return the tokens of each message by its id.
        """
        known = self._known if counter is self._counter else {}
        kept: dict[int, tuple[Message, float]] = {}
        costs: dict[str, float] = {}
        for message in messages.view():
            found = known.get(id(message))
            if found is None:
                found = (message, sum(map(counter.count_message, entries_of(message))))
            kept[id(message)] = found
            costs[message.id] = found[1]
        self._counter, self._known = counter, kept
        return costs


def trim_memory(
    messages: MessageList, costs: dict[str, float], around: float, limit: float, at_once: float
) -> MemoryTrim | None:
    """
    Take the oldest remembered messages out of *messages* where all of them, and what stands *around* them, have more than
    *limit* tokens, until *at_once* fewer than the limit are left: so the next turns need not be trimmed again.

    The last message of a user stays, with what follows it.  Returns what was done, ``None`` where nothing was.
    """
    before = left = around + sum(costs.values())
    if before <= limit:
        return None
    everything = list(messages.view())
    last_user = max((at for at, message in enumerate(everything) if message.role == "user"), default=len(everything))
    keep = {message.id for message in everything[last_user:]}
    removed: list[Message] = []
    for message in messages.view("memory"):
        if message.id in keep or left <= limit - at_once:
            break
        removed.append(message)
        left -= costs[message.id]
    if not removed:
        return None
    messages.remove([message.id for message in removed])
    return MemoryTrim(removed=tuple(removed), tokens_before=before, tokens_after=left, limit=limit)
