"""
TokenLimiter: a request has no more tokens than it may, and an answer no more than it should.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any, Literal, NoReturn, cast

from procession.errors import DefinitionError, ProcessorDefinitionError
from procession.messages.chunks import Chunk
from procession.messages.prompt import PromptMessage
from procession.models.model import ToolSpec
from procession.models.tokens.counter import TokenCounter
from procession.models.tokens.router import counter_for, resolve_counter
from procession.processors.contexts import (
    InputContext,
    InputStepContext,
    LLMRequestContext,
    OutputResultContext,
    OutputStreamContext,
)
from procession.processors.log import log_callback_error
from procession.processors.memory_trim import MemoryCosts, OnMemoryTrim, trim_memory
from procession.processors.options import one_of
from procession.processors.processor import Processor
from procession.processors.prompt_budget import PromptCosts, PromptShares, fitting, newest_turn, shares_of
from procession.processors.utility.answer_limit import AnswerLimit
from procession.processors.utility.user_text import cut_user_text
from procession.processors.violation import OnViolation

__all__ = ["TokenLimiter", "TokenLimiterProcessor"]

TrimMode = Literal["best-fit", "contiguous", "memory-only"]
Counter = TokenCounter | Callable[[str], float] | str
MARKER = "\n[... the rest was cut off: too many tokens]"
_NAME = "TokenLimiter"


class TokenLimiter(Processor):
    """
    Limits tokens: as an input processor those of each request, as an output processor those of the answer.

    **Requests.**  Where the prompt has more than *limit* tokens, older messages are left out of what is sent; what is
    stored stays as it is.  System messages stay, so does what the user said last, and all that came of it in this run;
    a tool's call and its result stay or go together.  With *trim_mode* ``best-fit`` older messages are kept, from the
    newest on, as long as they fit, and longer ones between them are left out; ``contiguous`` ends with the first that
    does not fit; ``memory-only`` takes remembered messages out of the turn, the oldest first, until *at_max_remove_tokens*
    (a quarter of the limit) are free, tells *on_memory_trim*, and leaves everything else alone.  What cannot be made to
    fit is a tripwire that says what has how many tokens; with *user_text* ``truncate`` the user's last text is cut first,
    with a *marker* where it was.

    **Answers.**  Text beyond *limit* is cut off, with one transient ``data-token-limit-reached`` chunk, or the run is
    stopped with *strategy* ``abort``.  *count_mode* ``cumulative`` counts the whole run, ``part`` each piece of the stream
    by itself.

    *counter* (or *token_counter*) is a ``TokenCounter``, a function of a text, or a tokenizer's name; without one each
    model has its own.  The limit holds in this counter's tokens.  Tools count as well, as the processors before left them,
    unless *count_tools* is false.

    Raises ``ProcessorDefinitionError`` for options that mean nothing, and for a tokenizer whose extra is missing.

    >>> TokenLimiter(100, counter="estimate").count("Where is my parcel?")
    5
    """

    id = "token-limiter"
    description = "Keeps requests and answers within a number of tokens."
    mutates = True
    fails_closed = True

    def __init__(
        self,
        limit: float,
        *,
        strategy: Literal["truncate", "abort"] = "truncate",
        count_mode: Literal["cumulative", "part"] = "cumulative",
        trim_mode: TrimMode = "best-fit",
        at_max_remove_tokens: float | None = None,
        counter: Counter | None = None,
        token_counter: Counter | None = None,
        count_tools: bool = True,
        user_text: Literal["keep", "truncate"] = "keep",
        marker: str = MARKER,
        on_memory_trim: OnMemoryTrim | None = None,
        on_error: Literal["stop", "skip"] = "stop",
        id: str | None = None,
        on_violation: OnViolation | None = None,
    ) -> None:
        super().__init__(id=id, on_violation=on_violation)
        self.limit = _tokens("limit", limit, above=0)
        self.strategy = one_of(_NAME, "strategy", strategy, ("truncate", "abort"))
        self.count_mode = one_of(_NAME, "count_mode", count_mode, ("cumulative", "part"))
        self.trim_mode = one_of(_NAME, "trim_mode", trim_mode, ("best-fit", "contiguous", "memory-only"))
        self.user_text = one_of(_NAME, "user_text", user_text, ("keep", "truncate"))
        self.on_error = one_of(_NAME, "on_error", on_error, ("stop", "skip"))
        if counter is not None and token_counter is not None:
            raise ProcessorDefinitionError(f"{_NAME} has counter and token_counter", hint="they are one: give one")
        self.counter = _counter(counter if counter is not None else token_counter)
        """What counts for every model, or ``None`` where each has its own."""
        if at_max_remove_tokens is None:
            at_max_remove_tokens = self.limit * 0.25
        elif trim_mode != "memory-only":
            raise ProcessorDefinitionError(
                f"{_NAME} has at_max_remove_tokens and trim_mode={trim_mode!r}", hint="it belongs to 'memory-only'"
            )
        self.at_max_remove_tokens = _tokens("at_max_remove_tokens", at_max_remove_tokens, most=self.limit)
        if not _is_plain(on_memory_trim):
            raise ProcessorDefinitionError(
                f"{_NAME} has on_memory_trim={on_memory_trim!r}", hint="give a plain function of a MemoryTrim"
            )
        if on_memory_trim is not None and trim_mode != "memory-only":
            raise ProcessorDefinitionError(
                f"{_NAME} has on_memory_trim and trim_mode={trim_mode!r}", hint="it belongs to 'memory-only'"
            )
        self.on_memory_trim = on_memory_trim
        self.marker = marker
        self.count_tools = count_tools
        self.cuts_answers = self.strategy == "truncate"
        """Whether an answer may end anywhere: guards belong before what does that."""
        self._answers = AnswerLimit(self.limit, self.count_mode, aborts=self.strategy == "abort")
        if trim_mode != "memory-only":
            setattr(self, "process_input", None)  # noqa: B010
            if not count_tools:
                setattr(self, "process_input_step", None)  # noqa: B010

    def count(self, text: str) -> float:
        """
        Return how many tokens *text* has, by the counter that was given, or that of a model that nobody knows.
        """
        return self.counter_of(None).count(text)

    def counter_of(self, model: Any) -> TokenCounter:
        """
        Return what counts for *model*.
        """
        return self.counter if self.counter is not None else counter_for(model)

    # -- requests

    async def process_input(self, ctx: InputContext) -> None:
        """
        Take remembered messages out that are too many (``memory-only``).
        """
        await self._trim_memory(ctx, None)

    async def process_input_step(self, ctx: InputStepContext) -> None:
        """
        Note the tools of the coming request, and take remembered messages out that are too many (``memory-only``).
        """
        if self.count_tools:
            _note_tools(ctx)
        if self.trim_mode == "memory-only":
            await self._trim_memory(ctx, ctx.model)

    async def process_llm_request(self, ctx: LLMRequestContext) -> Mapping[str, Any] | None:
        """
        Send so much of the prompt that it has no more tokens than it may.
        """
        counter, prompt = self.counter_of(ctx.model), ctx.prompt
        await counter.load()
        costs = _costs_in(ctx.state).of(prompt, counter)
        around = counter.per_request + self._tools_cost(ctx.state, counter)
        total = around + sum(costs)
        if total <= self.limit:
            return None
        turn = newest_turn(prompt, ctx.message_list)
        shares = shares_of(prompt, costs, turn)
        if self.limit - around - shares.system <= 0:
            self._refuse(ctx, "the system messages alone have too many", shares, around, None)
        kept = self._kept(prompt, costs, turn, around)
        if kept is None and self.user_text == "truncate":
            needed = around + shares.system + shares.user + shares.current_run
            prompt = self._with_less_said(prompt, costs, turn, counter, needed - self.limit)
            costs = _costs_in(ctx.state).of(prompt, counter)
            kept = self._kept(prompt, costs, turn, around)
        if kept is None:
            self._refuse(ctx, self._too_large(shares, self.limit - around), shares, around, len(prompt))
        if not any(prompt[at].role != "system" for at in kept):
            self._refuse(ctx, "no message is left", shares, around, len(prompt))
        left = around + sum(costs[at] for at in kept)
        detail = {
            "limit": self.limit,
            "tokens_before": total,
            "tokens_after": left,
            "messages_left_out": len(costs) - len(kept),
        }
        ctx.report(f"{_NAME}: a request of {total:g} tokens was trimmed to {left:g}", detail, "modified")
        return {"prompt": [prompt[at] for at in kept]}

    def _kept(
        self, prompt: Sequence[PromptMessage], costs: Sequence[float], turn: range, around: float
    ) -> list[int] | None:
        if self.trim_mode == "memory-only":  # what could be left out was; the rest is to stay as it is
            return list(range(len(prompt))) if around + sum(costs) <= self.limit else None
        return fitting(prompt, costs, turn, self.limit - around, contiguous=self.trim_mode == "contiguous")

    def _too_large(self, shares: PromptShares, room: float) -> str:
        if shares.system + shares.current_run > room:
            return "what the tools were called with and answered in this run has too many"
        if shares.system + shares.current_run + shares.user > room:
            return "what the user said last does not fit"
        return "what is not remembered, and so is not left out, has too many"

    def _with_less_said(
        self, prompt: list[PromptMessage], costs: Sequence[float], turn: range, counter: TokenCounter, over: float
    ) -> list[PromptMessage]:
        """
        Return *prompt* with *over* tokens less in what the user said last, where that can be.
        """
        if not turn:
            return prompt
        at = turn[-1]
        made = cut_user_text(counter, prompt[at], costs[at] - over, self.marker)
        return [*prompt[:at], made, *prompt[at + 1 :]] if made is not None else prompt

    def _refuse(
        self, ctx: LLMRequestContext, why: str, shares: PromptShares, around: float, messages: int | None
    ) -> NoReturn:
        """
        Stop the run, and say what has how many tokens.
        """
        tokens = {"request": around, **{name: getattr(shares, name) for name in PromptShares.__fields__}}
        metadata: dict[str, Any] = {"systemTokens": shares.system, "limit": self.limit}
        if messages is not None:
            system = sum(entry.role == "system" for entry in ctx.prompt)
            metadata["remainingBudget"] = self.limit - around - shares.system
            metadata["messageCount"] = messages - system
        metadata |= {"current_run_tokens": shares.current_run, "tokens": tokens}
        ctx.abort(f"{_NAME}: {why}; the limit is {self.limit:g} tokens.", metadata=metadata)

    def _tools_cost(self, state: Mapping[str, Any], counter: TokenCounter) -> float:
        noted: _Tools | None = state.get("tools")
        return noted.cost(counter) if noted is not None else 0

    async def _trim_memory(self, ctx: InputContext | InputStepContext, model: Any) -> None:
        counter = self.counter_of(model)
        await counter.load()
        messages = ctx.message_list
        memory: MemoryCosts | None = ctx.state.get("memory")
        if memory is None:
            memory = ctx.state["memory"] = MemoryCosts()
        system = sum(
            counter.per_message + counter.count("system") + counter.count(one.text) for one in messages.system_messages
        )
        around = counter.per_request + system + self._tools_cost(ctx.state, counter)
        trim = trim_memory(messages, memory.of(messages, counter), around, self.limit, self.at_max_remove_tokens)
        if trim is not None and self.on_memory_trim is not None:
            try:
                self.on_memory_trim(trim)
            except Exception as error:  # it changes nothing, also by failing
                log_callback_error(self.id, error, "on_memory_trim")

    # -- answers

    def process_output_stream(self, ctx: OutputStreamContext) -> Chunk | None:
        """
        Let text pass as long as the answer has no more tokens than it may.
        """
        return self._answers.stream(ctx, self.counter)

    def reset_output_stream(self, ctx: OutputStreamContext) -> None:
        """
        Count what was said in a rejected attempt no more.
        """
        self._answers.take_back(ctx)

    async def process_output_result(self, ctx: OutputResultContext) -> None:
        """
        Cut the texts of the answer where they have more tokens than they may together.
        """
        self._answers.finish(ctx, self.counter)
        notice = self._answers.notice(ctx)
        if notice is not None:
            await ctx.writer.custom(notice)


TokenLimiterProcessor = TokenLimiter
"""The documents' name."""


class _Tools:
    """
    The tools of a request, and what they cost.
    """

    __slots__ = ("_cost", "_counter", "specs")

    def __init__(self, specs: tuple[ToolSpec, ...]) -> None:
        self.specs = specs
        self._counter: TokenCounter | None = None
        self._cost = 0.0

    def cost(self, counter: TokenCounter) -> float:
        if counter is not self._counter:
            self._counter, self._cost = counter, counter.count_tools(self.specs)
        return self._cost


def _note_tools(ctx: InputStepContext) -> None:
    active = ctx.active_tools
    specs = tuple(
        ToolSpec(tool.name, tool.description, tool.parameters, None, tool.provider_tool)
        for tool in (ctx.tools.values() if ctx.tool_choice != "none" else ())
        if active is None or tool.name in active
    )
    known: _Tools | None = ctx.state.get("tools")
    if known is None or known.specs != specs:
        ctx.state["tools"] = _Tools(specs)


def _costs_in(state: dict[str, Any]) -> PromptCosts:
    return cast("PromptCosts", state.setdefault("costs", PromptCosts()))


def _is_plain(callback: Any) -> bool:
    return callback is None or (callable(callback) and not iscoroutinefunction(callback))


def _counter(given: Any) -> TokenCounter | None:
    try:
        return resolve_counter(given)
    except DefinitionError as error:
        raise ProcessorDefinitionError(f"{_NAME}: {error.message}", hint=error.hint) from error


def _tokens(option: str, value: Any, *, above: float = -1, most: float = float("inf")) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not above < value <= most:
        raise ProcessorDefinitionError(f"{_NAME} has {option}={value!r}", hint="give a number of tokens")
    return value
