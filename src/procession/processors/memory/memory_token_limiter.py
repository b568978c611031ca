"""
MemoryTokenLimiter: what is recalled of a thread has no more tokens than it may.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from procession.errors import DefinitionError, InputError, ProcessorDefinitionError
from procession.models.tokens.counter import TokenCounter
from procession.models.tokens.router import counter_for, resolve_counter
from procession.processors.contexts import InputContext
from procession.processors.log import log_callback_error
from procession.processors.memory.history_limit import HistoryLimit, history_limit
from procession.processors.memory.use import use_of
from procession.processors.memory_trim import OnMemoryTrim, trim_memory
from procession.processors.processor import Processor
from procession.processors.prompt_budget import entries_of

__all__ = ["Counter", "MemoryTokenLimiter"]

Counter: TypeAlias = TokenCounter | Callable[[str], float] | str
"""A counter, a function of a text, or a tokenizer's name."""

_NAME = "MemoryTokenLimiter"


class MemoryTokenLimiter(Processor):
    """
    Takes the oldest remembered messages out of the turn where all of them have more than *max_tokens* tokens.

    What is stored stays as it is, and so does everything that is not remembered; a tool's call and its result are one
    message and go together.  Once the limit is exceeded, *at_max_remove_tokens* are made free (a quarter of it unless
    told otherwise), so that the next turns need no trimming.  *counter* is a ``TokenCounter``, a function of a text, or a
    tokenizer's name; without one the newest of OpenAI's counts for every model.

    Raises ``ProcessorDefinitionError`` for numbers that are no limit, and for a tokenizer whose extra is missing.
    """

    id = "memory-token-limiter"
    description = "Keeps what is recalled within a number of tokens."

    def __init__(
        self,
        max_tokens: float,
        *,
        at_max_remove_tokens: float | None = None,
        counter: Counter | None = None,
        on_memory_trim: OnMemoryTrim | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        try:
            limit = history_limit(HistoryLimit(max_tokens=max_tokens, at_max_remove_tokens=at_max_remove_tokens))
            self.counter = resolve_counter(counter) or counter_for()
        except (InputError, DefinitionError) as error:
            raise ProcessorDefinitionError(
                f"{_NAME}: {error.message.removeprefix('last_messages ')}", hint=error.hint
            ) from error
        if limit is None or limit.max_tokens is None:
            raise ProcessorDefinitionError(f"{_NAME} has max_tokens={max_tokens!r}", hint="give a number of tokens")
        self.limit = limit
        """How many tokens are recalled, and how far below that it goes."""
        self.on_memory_trim = on_memory_trim
        """Told of what was left out; it changes nothing."""

    async def process_input(self, ctx: InputContext) -> None:
        """
        Leave the oldest out of what is remembered.
        """
        use = use_of(ctx.scope)
        limit: HistoryLimit | None = use.override("last_messages", self.limit) if use is not None else self.limit
        if limit is None or limit.max_tokens is None:
            return
        removed = limit.at_max_remove_tokens if limit.at_max_remove_tokens is not None else limit.max_tokens / 4
        await self.counter.load()
        costs = {
            message.id: sum(map(self.counter.count_message, entries_of(message)))
            for message in ctx.message_list.view("memory")
        }
        trim = trim_memory(ctx.message_list, costs, 0, limit.max_tokens, removed)
        if trim is not None and self.on_memory_trim is not None:
            try:
                self.on_memory_trim(trim)
            except Exception as error:  # it changes nothing, also by failing
                log_callback_error(self.id, error, "on_memory_trim")
