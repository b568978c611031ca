"""
Unobserved: the messages of a thread that observations do not stand in for, read from its end, and only so many.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from procession.messages.message import Message
from procession.messages.parts import ToolCallPart
from procession.messages.prompt_parts import ANSWERED
from procession.models.tokens.counter import TokenCounter
from procession.processors.memory.observed.observations import Place, place_of
from procession.processors.prompt_budget import entries_of
from procession.storage.threads import MessageRef, ThreadStore

__all__ = ["Costs", "after", "fitting_newest", "kept_from", "newest", "oldest", "settled", "within_budget"]

_FIRST_PAGE = 50
_LARGEST_PAGE = 400
_REMEMBERED = 5_000
"""Of how many messages it is remembered what they cost."""


class Costs:
    """
    What messages cost, in tokens.  A message is counted once, for as long as it is remembered and says as much.
    """

    __slots__ = ("_known", "counter")

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self._known: OrderedDict[tuple[str, int], float] = OrderedDict()

    def of(self, message: Message) -> float:
        """
        Return the tokens of one message.
        """
        try:
            key = (message.id, hash(message.parts))
        except TypeError:  # what tools are called with, or answer, may be anything
            return self._count(message)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._count(message)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return found

    def _count(self, message: Message) -> float:
        return sum(map(self.counter.count_message, entries_of(message)))

    def total(self, messages: Sequence[Message]) -> float:
        """
        Return the tokens of several messages.
        """
        return sum(map(self.of, messages))


async def newest(
    storage: ThreadStore, thread_id: str, resource_id: str, place: Place | None, most: float, costs: Costs
) -> tuple[list[Message], bool]:
    """
    Return the messages of a thread behind *place*, oldest first, and whether these are all of them.

    It is read page by page from the end, until they have more than *most* tokens.
    """
    found: list[Message] = []
    tokens, size = 0.0, _FIRST_PAGE
    before: str | None = None
    while True:
        page = await storage.messages(thread_id, resource_id=resource_id, last=size, before=before)
        rest = after(page, place)
        found[:0] = [message for message in rest if message.role != "system"]
        if len(rest) < len(page) or len(page) < size:
            return found, True
        tokens += costs.total(rest)
        if tokens > most:
            return found, False
        before, size = page[0].id, min(size * 2, _LARGEST_PAGE)


async def oldest(
    storage: ThreadStore, thread_id: str, resource_id: str, place: Place | None, count: int
) -> list[Message]:
    """
    Return up to *count* messages of a thread that follow *place*, or its first ones.

    Behind a message that is there this is one question; else the thread is read page by page from its end.
    """
    if place is not None:
        ref = MessageRef(thread_id, place.message_id)
        for passage in await storage.around([ref], resource_id=resource_id, after=count):
            return [message for message in after(passage.messages, place) if message.role != "system"]
    found: list[Message] = []
    before: str | None = None
    while True:
        page = await storage.messages(thread_id, resource_id=resource_id, last=_LARGEST_PAGE, before=before)
        rest = after(page, place)
        found = [*rest, *found][:count]
        if len(rest) < len(page) or len(page) < _LARGEST_PAGE:
            return [message for message in found if message.role != "system"]
        before = page[0].id


def after(messages: Sequence[Message], place: Place | None) -> list[Message]:
    """
    Return those of *messages* that stand behind *place*; where its message is gone, those that were said later.
    """
    if place is None:
        return list(messages)
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].id == place.message_id:
            return list(messages[at + 1 :])
    return [message for message in messages if place_of(message).time > place.time]


def settled(messages: Sequence[Message]) -> int:
    """
    Return how many of *messages* stand before the first turn with a tool call that has no result yet.
    """
    turn = 0
    for at, message in enumerate(messages):
        if _begins_turn(messages, at):
            turn = at
        if any(isinstance(part, ToolCallPart) and part.state not in ANSWERED for part in message.parts):
            return turn
    return len(messages)


def kept_from(messages: Sequence[Message], costs: Costs, most: float, largest: float) -> int:
    """
    Return from where on messages are left as they are: whole turns of at most so many tokens, and the last one if it has
    no more than *largest*; of one that has more, what fits.
    """
    tokens, start, fits = 0.0, len(messages), len(messages)
    for at in range(len(messages) - 1, -1, -1):
        tokens += costs.of(messages[at])
        if tokens > (largest if start == len(messages) else most):
            break
        if _begins_turn(messages, at):
            start = at
        if tokens <= most:
            fits = at
    return start if start < len(messages) else _unparted(messages, fits)


def within_budget(messages: Sequence[Message], costs: Costs, most: float) -> int:
    """
    Return how many of *messages*, from the first one on, are observed at once: whole turns of at most so many tokens
    together where there are any, else what fits, and always one.
    """
    tokens, whole = 0.0, 0
    for at, message in enumerate(messages):
        if at and _begins_turn(messages, at):
            whole = at
        tokens += costs.of(message)
        if tokens > most:
            return whole or _unparted(messages, max(at, 1))
    return len(messages)


def fitting_newest(messages: Sequence[Message], costs: Costs, most: float) -> int:
    """
    Return from where on messages have at most so many tokens together, at the beginning of a turn if there is one.
    """
    tokens, start = 0.0, len(messages)
    for at in range(len(messages) - 1, -1, -1):
        tokens += costs.of(messages[at])
        if tokens > most:
            break
        start = at
    turns = (at for at in range(start, len(messages)) if _begins_turn(messages, at))
    return next(turns, _unparted(messages, start))


def _begins_turn(messages: Sequence[Message], at: int) -> bool:
    return messages[at].role == "user" and (at == 0 or messages[at - 1].role != "user")


def _unparted(messages: Sequence[Message], at: int) -> int:
    """
    Return *at*, or the next place at which no result is parted from its call.
    """
    while at < len(messages) and messages[at].role == "tool":
        at += 1
    return at
