"""
ContextLengthRecovery: a request that was refused as too long is sent again, shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from procession.errors import DefinitionError, ModelError, ProcessorDefinitionError
from procession.messages.prompt import PromptMessage
from procession.messages.shapes import is_sequence
from procession.models.tokens.counter import TokenCounter
from procession.models.tokens.router import counter_for, resolve_counter
from procession.processors.contexts import APIErrorContext, LLMRequestContext
from procession.processors.log import log_once
from procession.processors.options import one_of
from procession.processors.processor import Processor
from procession.processors.prompt_budget import PromptCosts, fitting, newest_turn
from procession.processors.recovery.context_rule import DEFAULT_CONTEXT_RULES, ContextOverflow, ContextRule
from procession.processors.violation import OnViolation

__all__ = ["ContextLengthRecovery"]

_NAME = "ContextLengthRecovery"


class ContextLengthRecovery(Processor):
    """
    Where a provider refuses a request as too long, leaves older messages out of it and has the call made again.

    It knows the refusals of OpenAI, Anthropic, Google and what speaks their formats, with the numbers in them, and what
    *additional_rules* know.  As many tokens are sent then as *share* of the limit that was said, in the provider's own
    count; where none was said, *share* of what was refused.  What it leaves out, and what never, is as with
    ``TokenLimiter``: calls and results go together; system messages, what the user said last, and what came of it in
    this run, stay.  Messages and memory have everything; later steps of the run are sent within what was learned.

    It belongs into the input processors, behind those that change the prompt.  It tries *max_retries* times per step,
    within the run's budget (``max_processor_retries``, 10 unless told), and not where nothing can be left out.

    *counter* is as with ``TokenLimiter``; it need not be exact, since it is held against what the provider counted.

    Raises ``ProcessorDefinitionError`` for options that mean nothing, and for two rules with one name.

    >>> ContextLengthRecovery(share=0.5).rules[0].name
    'anthropic'
    """

    id = "context-length-recovery"
    description = "Sends a request again, shorter, that was refused as too long."
    mutates = True

    def __init__(
        self,
        *,
        share: float = 0.8,
        max_retries: int = 2,
        trim_mode: Literal["best-fit", "contiguous"] = "best-fit",
        counter: TokenCounter | Callable[[str], float] | str | None = None,
        additional_rules: Sequence[ContextRule] = (),
        id: str | None = None,
        on_violation: OnViolation | None = None,
    ) -> None:
        super().__init__(id=id, on_violation=on_violation)
        self.share = _share(share)
        self.max_retries = _count(max_retries)
        self.trim_mode = one_of(_NAME, "trim_mode", trim_mode, ("best-fit", "contiguous"))
        try:
            self.counter = resolve_counter(counter)
        except DefinitionError as error:
            raise ProcessorDefinitionError(f"{_NAME}: {error.message}", hint=error.hint) from error
        self.rules = _with_own(additional_rules)
        """The rules, in the order in which they are asked: additional ones first."""

    def process_llm_request(self, ctx: LLMRequestContext) -> Mapping[str, Any] | None:
        """
        Note what is sent, and send no more than was learned that the model takes.
        """
        request = _Request(ctx.prompt, ctx.model)
        ctx.state["request"] = request
        most: float | None = ctx.state.get("most", {}).get(_name_of(ctx.model))
        if most is None:
            return None
        costs = self._costs(ctx.state, request)
        kept = self._kept(request, costs, ctx, most)
        if kept is None or len(kept) == len(request.prompt):
            return None
        request.prompt = [request.prompt[at] for at in kept]
        return {"prompt": request.prompt}

    async def process_api_error(self, ctx: APIErrorContext) -> Mapping[str, Any] | None:
        """
        Learn from a refusal how much may be sent, and ask for another attempt where less of it can be.
        """
        if not ctx.can_retry:
            return None
        overflow = self.overflow_of(ctx.error)
        if overflow is None:
            return None
        request: _Request | None = ctx.state.get("request")
        if request is None:
            log_once(self.id, f"{_NAME} sees no requests and trims none: list it among the input processors")
            return None
        step, tries = ctx.state.get("tries", (ctx.step_number, 0))
        tries = tries if step == ctx.step_number else 0
        if tries >= self.max_retries:
            return None
        await self._counter_of(request).load()
        costs = self._costs(ctx.state, request)
        sent = sum(costs)
        most = self._most(overflow, sent)
        kept = self._kept(request, costs, ctx, most)
        if kept is None or len(kept) == len(request.prompt):
            return None
        ctx.state["tries"] = (ctx.step_number, tries + 1)
        ctx.state.setdefault("most", {})[_name_of(request.model)] = most
        left_out = len(request.prompt) - len(kept)
        detail = {"limit": overflow.limit, "used": overflow.used, "messages_left_out": left_out}
        ctx.report(
            f"{_NAME}: the request was refused as too long, and is sent without {left_out} messages", detail, "modified"
        )
        return {"retry": True}

    def overflow_of(self, error: ModelError) -> ContextOverflow | None:
        """
        Return what *error* says of a request that is too long, ``None`` where it is about something else.
        """
        if error.kind == "rate_limited":  # so many tokens a minute are no length
            return None
        return next((found for rule in self.rules if (found := rule.read(error)) is not None), None)

    def _most(self, overflow: ContextOverflow, sent: float) -> float:
        """
        Return how many tokens may be sent, in our count, of which the refused request had *sent*.
        """
        most = sent * self.share
        if overflow.limit is None:
            return most
        room = max(0, overflow.limit - overflow.reserved) * self.share
        # Where the provider says what it counted, its count and ours differ by a factor, whatever our counter is.
        learned = sent * room / overflow.used if overflow.used else room
        return learned if learned < sent else most

    def _costs(self, state: dict[str, Any], request: _Request) -> list[float]:
        costs: PromptCosts = state.setdefault("costs", PromptCosts())
        return costs.of(request.prompt, self._counter_of(request))

    def _counter_of(self, request: _Request) -> TokenCounter:
        return self.counter if self.counter is not None else counter_for(request.model)

    def _kept(
        self, request: _Request, costs: Sequence[float], ctx: LLMRequestContext | APIErrorContext, most: float
    ) -> list[int] | None:
        """
        Return which entries are sent of at most *most* tokens; ``None`` where those that must stay have more.
        """
        turn = newest_turn(request.prompt, ctx.message_list)
        kept = fitting(request.prompt, costs, turn, most, contiguous=self.trim_mode == "contiguous")
        said = kept is not None and any(request.prompt[at].role != "system" for at in kept)
        return kept if said else None


class _Request:
    """
    What was sent last, and to whom.
    """

    __slots__ = ("model", "prompt")

    def __init__(self, prompt: list[PromptMessage], model: Any) -> None:
        self.prompt = prompt
        self.model = model


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise ProcessorDefinitionError(
            f"{_NAME} has share={value!r}", hint="give a number between 0 and 1, neither of them"
        )
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ProcessorDefinitionError(f"{_NAME} has max_retries={value!r}", hint="give a count, 0 for never")
    return value


def _name_of(model: Any) -> Any:
    return getattr(model, "id", None)


def _with_own(additional: Sequence[ContextRule]) -> tuple[ContextRule, ...]:
    """
    Return *additional* rules, then our own but for those whose name one of them has.
    """
    names: set[str] = set()
    if not is_sequence(additional):
        raise ProcessorDefinitionError(
            f"{_NAME} has additional_rules={type(additional).__name__}", hint="give a list of them"
        )
    for rule in additional:
        if not isinstance(rule, ContextRule):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ProcessorDefinitionError(
                f"{type(rule).__name__} is no rule of {_NAME}", hint="give ContextRule(name=..., patterns=[...])"
            )
        if rule.name in names:
            raise ProcessorDefinitionError(f"two rules are called {rule.name!r}", hint="give one another name")
        names.add(rule.name)
    return (*additional, *(rule for rule in DEFAULT_CONTEXT_RULES if rule.name not in names))
