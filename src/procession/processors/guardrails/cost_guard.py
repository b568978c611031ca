"""
CostGuard: stops a run where it, or whoever it is for, has spent what there is to be spent.
"""

from __future__ import annotations

import math
import os
from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from typing import Any, Literal, TypeAlias, cast, get_args

from procession.errors import DefinitionError, InputError, ProcessorDefinitionError
from procession.messages.shapes import is_form
from procession.messages.usage import Usage
from procession.models.estimate import estimated_usage
from procession.models.model import ModelRequest, ToolSpec
from procession.models.prices.table import PriceTable
from procession.processors.context import HookContext
from procession.processors.contexts import InputStepContext, LLMRequestContext
from procession.processors.cost_account import CostAccount, account_of, settle_around
from procession.processors.cost_amounts import dollars, number_of, said, usage_of
from procession.processors.cost_scope import CostScope, Whose, whose
from procession.processors.options import one_of, seconds, whole_number
from procession.processors.processor import Processor
from procession.processors.text_guard import Mode
from procession.processors.violation import OnViolation
from procession.steps.request_context import RequestContext
from procession.steps.scope import RequestScope
from procession.storage.costs import CostBalance, CostStore, Reservation
from procession.storage.memory_costs import InMemoryCosts

__all__ = ["CostGuard", "CostGuardProcessor", "CostScope", "TokenCostControl"]

MaxCost: TypeAlias = "float | str | Decimal | Callable[[RequestContext], Any]"
"""Dollars, or a function of the request context that returns them, or something to await for them."""

Reserve: TypeAlias = "float | str | Decimal | Literal['estimate'] | Callable[[LLMRequestContext], Any]"
"""Dollars that are held for each call, a function that returns them, or ``"estimate"``."""

WINDOWS: Mapping[str, float] = {
    "1h": 3_600, "6h": 21_600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000, "365d": 31_536_000,
}  # fmt: skip
"""The windows that have a name, in seconds."""

_DAY = 86_400.0


class CostGuard(Processor):
    """
    Stops a run before a model call once *max_cost* dollars are spent, by the run itself or by whoever it is for.

    Every model call of a run counts, those of its guards and of agents inside it too, at the price of the model that
    answered; it is in *store* before the next call is made.  What has no price is refused.

    List it first in ``input_processors``.

    Raises ``ProcessorDefinitionError`` for options that mean nothing.

    >>> from procession.agents.agent import Agent
    >>> from procession.testing.fake_model import FakeModel
    >>> guard = CostGuard(max_cost="0.01", scope="run", prices={"fake": {"input": 1000, "output": 0}})
    >>> agent = Agent("a", model=FakeModel(["Hello."]), input_processors=[guard])
    >>> agent.generate_sync("Hi").text  # ten tokens: one cent
    'Hello.'
    """

    id = "token-cost-control"
    description = "Stops a run where too much was spent."
    fails_closed = True
    timeout = 30.0

    def __init__(
        self,
        *,
        max_cost: MaxCost,
        scope: CostScope = "resource",
        window: str | float = "7d",
        store: CostStore | None = None,
        prices: PriceTable | Mapping[str, Any] | str | os.PathLike[str] | None = None,
        unknown: Literal["stop", "warn"] = "stop",
        strategy: Literal["block", "warn"] = "block",
        mode: Mode = "enforce",
        message: str = "Cost control: estimated cost limit exceeded ({usage}/{limit})",
        warn_at_percent: float | None = None,
        include_breakdown: bool = False,
        reserve: Reserve | None = None,
        reserve_tokens: int = 4_096,
        reserve_seconds: float = 900.0,
        on_missing_key: Literal["stop", "skip"] = "stop",
        on_error: Literal["stop", "skip"] | None = None,
        timeout: float | None = None,
        on_violation: OnViolation | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id, on_violation=on_violation)
        name = type(self).__name__
        self.max_cost: Any = max_cost if callable(max_cost) else _given(name, "max_cost", max_cost)
        self.cost_scope: CostScope = one_of(name, "scope", scope, get_args(CostScope))
        self.seconds = None if self.cost_scope == "run" else _window(name, window)
        self.store: CostStore = _store(name, store, self.cost_scope, self.seconds)
        self.prices = _prices(name, prices)
        self.refuses_unknown: bool = one_of(name, "unknown", unknown, ("stop", "warn")) == "stop"
        self.strategy = one_of(name, "strategy", strategy, ("block", "warn"))
        self.mode = one_of(name, "mode", mode, ("enforce", "monitor"))
        if not isinstance(message, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ProcessorDefinitionError(f"{name} has message={message!r}", hint="give a text")
        self.message = message
        self.warn_at_percent = None if warn_at_percent is None else _percent(name, "warn_at_percent", warn_at_percent)
        self.include_breakdown = include_breakdown
        self.reserve: Any = reserve
        self._estimates = reserve == "estimate"
        if reserve is not None and not callable(reserve) and not self._estimates:
            self.reserve = _given(name, "reserve", reserve)
        self.reserve_tokens = whole_number(name, "reserve_tokens", reserve_tokens)
        self.reserve_seconds = seconds(name, "reserve_seconds", reserve_seconds)
        self.on_missing_key = one_of(name, "on_missing_key", on_missing_key, ("stop", "skip"))
        stops = self.strategy == "block" and self.mode == "enforce"
        if on_error is not None:
            one_of(name, "on_error", on_error, ("stop", "skip"))
        self.on_error: Literal["stop", "skip"] = on_error if on_error is not None else "stop" if stops else "skip"
        self.timeout = seconds(name, "timeout", timeout) if timeout is not None else self.timeout
        if reserve is not None:  # it looks later, where the prompt is there, on which depends what is to be held
            setattr(self, "process_input_step", None)  # noqa: B010

    def begin_request(self, scope: RequestScope) -> None:
        """
        Open the account of a request before anything happens in it.
        """
        account_of(self, scope)

    def account(self, scope: RequestScope) -> str | None:
        """
        Under which name the request of *scope* is in the store, or ``None`` where it does not say whose it is.
        """
        found = whose(self.cost_scope, scope)
        return None if found is None else found.account

    async def process_input_step(self, ctx: InputStepContext) -> None:
        """
        Look before each model call what was spent.
        """
        await self._look(ctx, ctx.model)

    async def process_llm_request(self, ctx: LLMRequestContext) -> None:
        """
        Refuse the model that is asked in the end, a fallback too, if it has no price; with *reserve*, look and hold.
        """
        if self.reserve is not None:
            await self._look(ctx, ctx.model)
        elif self.account(ctx.scope) is not None:
            self._refuse_unknown(ctx, account_of(self, ctx.scope), ctx.model)

    async def _look(self, ctx: HookContext[Any], model: Any) -> None:
        account, found = account_of(self, ctx.scope), whose(self.cost_scope, ctx.scope)
        if found is None:
            self._without_key(ctx)
            return
        account.price()
        self._refuse_unknown(ctx, account, model)
        limit = await self._limit(ctx.request_context)
        await settle_around(ctx.scope, self.store)
        held = await self._held(ctx, model) if self.reserve is not None else None
        asked: Reservation | None = None
        if held is not None and limit is not None and self.mode == "enforce":
            asked = Reservation(id=ctx.run_id, amount=held, limit=limit, seconds=self.reserve_seconds)
        stands = await account.settle(seconds=self.seconds, reserve=asked)
        if limit is None:
            return
        if held is not None and asked is None:  # a monitor holds nothing: it only looks whether there would be room
            stands = stands.replace(granted=stands.total + held <= limit)
        if stands.total >= limit or not stands.granted:
            await self._exceeded(ctx, found, stands, limit, held)
        elif self.warn_at_percent is not None and stands.total * 100 >= limit * Decimal(str(self.warn_at_percent)):
            if _first(ctx, "soft"):
                message = f"Cost control: {self.warn_at_percent:g}% of the limit are spent ({{usage}}/{{limit}})"
                detail = await self._detail(found, stands, limit, "soft")
                ctx.report(said(message, stands, limit), detail, "warned")

    async def _exceeded(
        self, ctx: HookContext[Any], found: Whose, stands: CostBalance, limit: int, held: int | None
    ) -> None:
        message = said(self.message, stands, limit)
        if self.mode == "enforce" and self.strategy == "block":
            about = {"processorId": self.id, "usage": usage_of(stands), "maxCost": number_of(limit)}
            if held is not None and not stands.granted:
                about["reserve"] = number_of(held)
            ctx.abort(message, metadata={**about, **await self._about(found, "hard")})
        if _first(ctx, "hard"):
            detail = await self._detail(found, stands, limit, "hard")
            ctx.report(message, detail, "would_block" if self.strategy == "block" else "warned")

    async def _detail(self, found: Whose, stands: CostBalance, limit: int, threshold: str) -> dict[str, Any]:
        amounts = {"usage": number_of(stands.total), "limit": number_of(limit), "totalUsage": usage_of(stands)}
        return {**amounts, **await self._about(found, threshold)}

    async def _about(self, found: Whose, threshold: str) -> dict[str, Any]:
        about: dict[str, Any] = {"scope": self.cost_scope, "scopeKey": found.label, "threshold": threshold}
        if self.include_breakdown:
            costs = await self.store.by_model(found.account, seconds=self.seconds)
            most = sorted(costs.items(), key=lambda one: (-one[1], one[0]))
            about["breakdown"] = [{"model": model, "estimatedCost": number_of(cost)} for model, cost in most]
        return about

    # -- what there is to be known

    async def _limit(self, context: RequestContext) -> int | None:
        """
        Return the limit, or ``None`` where there is none.
        """
        if not callable(self.max_cost):
            limit: int | None = self.max_cost
            return limit
        given = await _awaited(self.max_cost(context))
        if isinstance(given, float) and given == math.inf:
            return None
        return dollars(type(self).__name__, "max_cost", given)

    async def _held(self, ctx: HookContext[Any], model: Any) -> int:
        """
        Return what is to be held for the coming call.
        """
        if self._estimates and isinstance(ctx, LLMRequestContext):
            asked = estimated_usage(ModelRequest(messages=ctx.prompt, tools=_offered(ctx))).input_tokens
            usage = Usage(asked, self.reserve_tokens)
            return max([self.prices.cost(name, usage) or 0 for name in _names(model)])
        if callable(self.reserve):
            return dollars(type(self).__name__, "reserve", await _awaited(self.reserve(ctx)))
        held: int = self.reserve
        return held

    # -- where it cannot be known

    def _without_key(self, ctx: HookContext[Any]) -> None:
        reason = f"Cost control: the request does not say whose it is: it has no {self.cost_scope}"
        if self.on_missing_key == "skip":
            if _first(ctx, "key"):
                ctx.report(reason, {"scope": self.cost_scope}, "skipped")
            return
        self._cannot_check(ctx, "key", reason, {"scope": self.cost_scope})

    def _refuse_unknown(self, ctx: HookContext[Any], account: CostAccount, model: Any) -> None:
        names = [*account.unknown, *(name for name in _names(model) if self.prices.price(name) is None)]
        if not names:
            return
        models = list(dict.fromkeys(names))
        reason = f"Cost control: no price is known of {', '.join(models)}"
        detail = {"models": models, "hint": "give prices={model: {'input': dollars per million tokens, 'output': ...}}"}
        if self.refuses_unknown:
            self._cannot_check(ctx, "price", reason, detail)
        elif _first(ctx, "price"):
            ctx.report(reason, detail, "warned")

    def _cannot_check(self, ctx: HookContext[Any], what: str, reason: str, detail: dict[str, Any]) -> None:
        if self.on_error == "stop":
            ctx.abort(reason, metadata={"kind": "guard_failed", "processorId": self.id, **detail})
        if _first(ctx, what):
            ctx.report(reason, detail, "error")


CostGuardProcessor = CostGuard
TokenCostControl = CostGuard
"""The documents' names."""


def _names(model: Any) -> list[str]:
    """
    Return the ids of the models that may answer: those of one that stands for several.
    """
    inside: tuple[Any, ...] = getattr(model, "models", ())
    if inside:
        return [name for one in inside for name in _names(one)]
    return [str(getattr(model, "id", ""))]


def _offered(ctx: LLMRequestContext) -> tuple[ToolSpec, ...]:
    """
    Return what the model will be told of tools: of many, that is more than the rest of the prompt.
    """
    offered: Mapping[str, Any] = ctx.tools if ctx.tool_choice != "none" else {}
    active = ctx.active_tools
    return tuple(
        ToolSpec(tool.name, tool.description, tool.parameters)
        for tool in offered.values()
        if active is None or tool.name in active
    )


def _first(ctx: HookContext[Any], what: str) -> bool:
    """
    Whether *what* is to be told for the first time in this request.
    """
    told: set[str] = ctx.state.setdefault("told", set())
    if what in told:
        return False
    told.add(what)
    return True


async def _awaited(given: Any) -> Any:
    return await cast("Awaitable[Any]", given) if hasattr(given, "__await__") else given


def _given(name: str, option: str, value: Any) -> int:
    """
    Return the amount that an option was given as, which is more than nothing.
    """
    try:
        units = dollars(name, option, value)
    except InputError as error:
        raise ProcessorDefinitionError(error.message, hint=error.hint) from None
    if not units:
        raise ProcessorDefinitionError(f"{name} has {option}={value!r}", hint="it is more than 0")
    return units


def _percent(name: str, option: str, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 100:
        return value
    raise ProcessorDefinitionError(f"{name} has {option}={value!r}", hint="it is more than 0 and less than 100")


def _window(name: str, window: Any) -> float:
    if isinstance(window, str):
        return WINDOWS[one_of(name, "window", window, tuple(WINDOWS))]
    return seconds(name, "window", window)


def _store(name: str, store: CostStore | None, scope: CostScope, seconds: float | None) -> CostStore:
    if store is None:
        if scope != "run":
            raise ProcessorDefinitionError(
                f"{name} has scope={scope!r} and no store: what one run spends would be forgotten before the next",
                hint='give store=SQLiteCosts("costs.db"), or InMemoryCosts() where it may be forgotten with the process',
            )
        return InMemoryCosts(kept=_DAY)
    if not callable(getattr(store, "balance", None)):
        raise ProcessorDefinitionError(
            f"{name} has a store that is none: {type(store).__name__}",
            hint='give SQLiteCosts("costs.db"), InMemoryCosts(), or a CostStore of your own',
        )
    if seconds is not None and store.kept < seconds:
        raise ProcessorDefinitionError(
            f"{name} has a window of {seconds:g} s, and its store keeps {store.kept:g} s",
            hint="give the store kept=, at least as long as the window",
        )
    return store


def _prices(name: str, prices: Any) -> PriceTable:
    try:
        if prices is None or is_form(prices):
            return PriceTable.listed().with_prices(prices or {})
        return prices if isinstance(prices, PriceTable) else PriceTable.read(prices)
    except (DefinitionError, TypeError) as error:
        raise ProcessorDefinitionError(f"{name} has prices that cannot be used: {error}") from None
