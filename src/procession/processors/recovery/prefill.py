"""
PrefillErrorHandler: for models that refuse a conversation whose last turn is the assistant's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any, TypeAlias

from procession.errors import ModelError, ProcessorDefinitionError
from procession.messages.shapes import is_sequence
from procession.processors.contexts import APIErrorContext
from procession.processors.processor import Processor
from procession.processors.recovery.compat_rule import causes_of, words_of

__all__ = ["PrefillErrorHandler"]

Matcher: TypeAlias = "str | Callable[[BaseException], bool]"

_REFUSALS = re.compile(
    r"does not support assistant message prefill"
    r"|assistant response prefill is incompatible with enable[_\s-]?thinking"
    r"|requests ending with a model turn are not supported",
    re.IGNORECASE,
)


class PrefillErrorHandler(Processor):
    """
    Where a model refuses to go on from an assistant's turn, asks it to continue, and has the call made again.

    It knows the refusal by its words, in the error, in its causes or in what the provider answered, and tries once per
    step.  That attempt is its own: it needs no ``max_processor_retries`` and takes nothing from other processors.  An
    agent has one by default, last in the error list; one that is listed takes its place, and
    ``Agent(prefill_error_handler=False)`` goes without.

    *matchers* know further refusals: regular expressions, searched for in the same places whatever their case, or plain
    functions of an error, asked about the error and then about its causes.

    Raises ``ProcessorDefinitionError`` for what is neither.

    >>> PrefillErrorHandler(matchers=["last message must be the user's"]).id
    'prefill-error-handler'
    """

    id = "prefill-error-handler"
    description = "Asks to continue where a model refuses an assistant's last turn."
    own_retries = True

    def __init__(self, *, matchers: Sequence[Matcher] = (), id: str | None = None) -> None:
        super().__init__(id=id)
        if not is_sequence(matchers):
            what = "a text" if isinstance(matchers, str) else type(matchers).__name__
            raise ProcessorDefinitionError(f"PrefillErrorHandler: matchers is {what}", hint="give a list of them")
        self._matchers = [_refuses_prefill, *(_matcher(given, at) for at, given in enumerate(matchers))]

    async def process_api_error(self, ctx: APIErrorContext) -> Mapping[str, Any] | None:
        """
        Send the signal ``continue`` and ask for a retry, once per step.
        """
        if ctx.state.get("step") == ctx.step_number or not self._refused(ctx.error):
            return None
        ctx.state["step"] = ctx.step_number
        await ctx.send_signal(
            {
                "type": "reactive",
                "contents": "continue",
                "attributes": {"type": "anthropic-prefill-processor-retry"},
                "metadata": {"message": "Continuing after prefill error"},
            }
        )
        return {"retry": True}

    def _refused(self, error: ModelError) -> bool:
        return any(matches(error) for matches in self._matchers)


def _refuses_prefill(error: ModelError) -> bool:
    return _REFUSALS.search(words_of(error)) is not None


def _matcher(given: Any, at: int) -> Callable[[ModelError], bool]:
    """
    Return a function of an error that asks what was *given* as number *at* of the matchers.
    """
    if isinstance(given, str):
        try:
            pattern = re.compile(given, re.IGNORECASE)
        except re.error as error:
            raise ProcessorDefinitionError(f"matchers[{at}] is no regular expression: {error}") from None
        return lambda error: pattern.search(words_of(error)) is not None
    if not callable(given) or iscoroutinefunction(given):
        raise ProcessorDefinitionError(
            f"matchers[{at}] is {given!r}", hint="give a regular expression, or a plain function of an error"
        )
    return lambda error: any(map(given, causes_of(error)))
