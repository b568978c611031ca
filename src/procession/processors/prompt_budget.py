"""
Prompt budget: which entries of a prompt are sent where all of them are too many.

Nothing that belongs together is parted: a call of a tool and its result stay, or go, together.  System entries, what
the user said last, and everything that came after it in this run, always stay.
"""

from __future__ import annotations

from collections.abc import Sequence

from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.prompt_parts import signal_content, step_entries, user_content
from procession.messages.value import Value
from procession.models.tokens.counter import TokenCounter

__all__ = ["PromptCosts", "PromptShares", "entries_of", "fitting", "newest_turn", "shares_of", "tool_groups"]


class PromptCosts:
    """
    What the entries of a run's prompts cost, each counted once: an entry that is the same object costs the same.

    Belongs into a processor's ``state``, and ends with the request.
    """

    __slots__ = ("_costs", "_counter", "_prompt")

    def __init__(self) -> None:
        self._counter: TokenCounter | None = None
        self._prompt: list[PromptMessage] = []
        """The last prompt, kept so that no other entry gets the number of one in it."""
        self._costs: list[float] = []

    def of(self, prompt: list[PromptMessage], counter: TokenCounter) -> list[float]:
        """
        Return the tokens of each entry of *prompt*; only those are counted that the last prompt did not have.
        """
        if counter is not self._counter:
            self._counter, self._prompt, self._costs = counter, [], []
        before = len(self._prompt)
        if prompt[:before] == self._prompt:  # mostly it has grown; entries that are the same are not looked into
            self._costs = self._costs + [counter.count_message(entry) for entry in prompt[before:]]
        else:
            known = {id(entry): cost for entry, cost in zip(self._prompt, self._costs, strict=True)}
            self._costs = [
                cost if (cost := known.get(id(entry))) is not None else counter.count_message(entry) for entry in prompt
            ]
        self._prompt = prompt
        return self._costs


class PromptShares(Value):
    """
    How many tokens the kinds of a prompt's entries have.
    """

    system: float
    history: float
    user: float
    """What the user said last."""
    current_run: float
    """What came after it."""


def newest_turn(prompt: Sequence[PromptMessage], messages: MessageList) -> range:
    """
    Return which entries of *prompt* are what the user said last: as many as there are user messages at the end of this
    call's input, or the last one that there is.  Signals, which look like a user's words, are none.

    Where the prompt has no entry of a user, the range is empty and stands at its end.
    """
    users = [at for at in range(len(prompt) - 1, -1, -1) if prompt[at].role == "user"]
    if not users:
        return range(len(prompt), len(prompt))
    said = _last_said(messages)
    wanted = user_content(said[-1].parts, said[-1].provider_metadata) if said else None
    last = next((at for at in users if wanted is None or prompt[at].content == wanted), None)
    if last is None:  # a processor before has changed the entry, such as by showing the file that it refers to
        signals = [signal_content(message) for message in messages.view() if message.role == "signal"]
        last = next((at for at in users if prompt[at].content not in signals), users[0])
    start = last
    while last - start + 1 < len(said) and start and prompt[start - 1].role == "user":
        start -= 1
    return range(start, last + 1)


def _last_said(messages: MessageList) -> list[Message]:
    """
    Return the last user messages of the input that follow each other, oldest first; without any, the last one of all.
    """
    said: list[Message] = []
    for message in reversed(messages.view("input")):
        if message.role == "user":
            said.append(message)
        elif said:
            break
    if not said:
        found = next((message for message in reversed(messages.view()) if message.role == "user"), None)
        return [found] if found is not None else []
    return said[::-1]


def tool_groups(prompt: Sequence[PromptMessage]) -> list[list[int]]:
    """
    Return the entries that are no system entries as groups of indices: an entry with the calls that it makes, and the
    entries that answer them.

    Ids may repeat, so a result belongs to the last call of its id.
    """
    first = list(range(len(prompt)))
    """For each entry one before it of the same group, or itself."""

    def first_of(at: int) -> int:
        while first[at] != at:
            first[at] = at = first[first[at]]
        return at

    called: dict[str, int] = {}
    for at, entry in enumerate(prompt):
        if entry.role == "user":  # calls nothing, and answers nothing
            continue
        for part in entry.content:
            if isinstance(part, PromptToolCall):
                called[part.tool_call_id] = at
            elif isinstance(part, PromptToolResult) and part.tool_call_id in called:
                one, other = first_of(called[part.tool_call_id]), first_of(at)
                first[max(one, other)] = min(one, other)
    groups: dict[int, list[int]] = {}
    for at, entry in enumerate(prompt):
        if entry.role != "system":
            groups.setdefault(first_of(at), []).append(at)
    return list(groups.values())


def shares_of(prompt: Sequence[PromptMessage], costs: Sequence[float], turn: range) -> PromptShares:
    """
    Return what system entries, history, the newest *turn* and what follows it cost.
    """
    system = history = user = current = 0.0
    for at, (entry, cost) in enumerate(zip(prompt, costs, strict=True)):
        if entry.role == "system":
            system += cost
        elif at < turn.start:
            history += cost
        elif at < turn.stop:
            user += cost
        else:
            current += cost
    return PromptShares(system, history, user, current)


def fitting(
    prompt: Sequence[PromptMessage],
    costs: Sequence[float],
    turn: range,
    budget: float,
    *,
    contiguous: bool = False,
) -> list[int] | None:
    """
    Return the indices of the entries that have at most *budget* tokens together, in their order, or ``None`` where those
    that must stay have more: system entries, the newest *turn*, and what follows it.

    Older groups are taken from the newest on as long as they fit; one that does not is left out, and with *contiguous*
    all before it as well.
    """
    kept = {at for at, entry in enumerate(prompt) if entry.role == "system" or at >= turn.start}
    groups = tool_groups(prompt)
    for group in groups:
        if any(at in kept for at in group):
            kept.update(group)
    left = budget - sum(costs[at] for at in sorted(kept))
    if left < 0:
        return None
    for group in reversed(groups):
        if group[0] in kept:
            continue
        cost = sum(costs[at] for at in group)
        if cost <= left:
            kept.update(group)
            left -= cost
        elif contiguous:
            break
    return sorted(kept)


def entries_of(message: Message) -> list[PromptMessage]:
    """
    Return the entries that a message has in a prompt.
    """
    if message.role == "assistant":
        return step_entries(message.parts)
    content = signal_content(message) if message.role == "signal" else user_content(message.parts)
    return [PromptMessage("user", content)] if content else []
