"""
ResponseCache: what a model has answered before is answered again, without asking it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, cast

from procession.errors import ProcessorDefinitionError
from procession.messages.prompt import PromptMessage
from procession.messages.value import Value
from procession.models.identity import identity_of
from procession.processors.cache.flights import Flight, Flights
from procession.processors.cache.keeping import AnswerMark, Keeper
from procession.processors.cache.key import (
    ANONYMOUS,
    BY_RESOURCE,
    CacheKeyParts,
    Scope,
    build_response_cache_key,
    scope_prefix,
    told_of,
)
from procession.processors.cache.overrides import (
    OVERRIDES,
    SCOPE_HINT,
    UNCHANGED,
    CacheKey,
    CacheOverrides,
    checked_overrides,
    is_key,
    is_scope,
    overrides_in,
)
from procession.processors.contexts import LLMRequestContext, LLMResponseContext, given_response
from procession.processors.log import log_once
from procession.processors.options import some_of
from procession.processors.processor import Processor, RequestChange
from procession.processors.tenant import SERVED, tenant_of
from procession.steps.request_context import RequestContext
from procession.storage.cache import CacheStore
from procession.storage.memory import InMemoryCacheStore

__all__ = ["CacheLookup", "CacheableReason", "ResponseCache"]

CacheableReason = Literal["stop", "tool-calls", "length", "content-filter", "other", "unknown"]
_REASONS = ("stop", "tool-calls", "length", "content-filter", "other", "unknown")
_MARK = "mark"
"""Where the present step's mark waits in the state."""


class CacheLookup(Value, kw_only=True):
    """
    What ``on_hit`` and ``on_miss`` are told.
    """

    key: str
    step_number: int
    run_id: str
    hit: bool
    waited: bool = False
    """Whether the answer is that of an equal request that was under way."""


class ResponseCache(Processor):
    """
    Keeps what the model answers in *cache*, and gives it again to equal requests of the same resource.

    The model's own chunks are kept, before any processor changed them, once the step is accepted; a hit passes every
    processor behind the model call as a fresh answer does.

    >>> import anyio
    >>> from procession.agents.agent import Agent
    >>> from procession.testing.fake_model import FakeModel
    >>> agent = Agent("parrot", model=FakeModel(["Hello."]), input_processors=[ResponseCache()])
    >>> async def main() -> list[tuple[str, bool]]:
    ...     results = [await agent.generate("Hi", resource="user-1") for _ in range(2)]
    ...     return [(result.text, result.steps[0].from_cache) for result in results]
    >>> anyio.run(main)
    [('Hello.', False), ('Hello.', True)]
    """

    id = "response-cache"
    description = "Answers what was answered before without asking the model."

    def __init__(
        self,
        cache: CacheStore | None = None,
        *,
        ttl: float = 300.0,
        key: CacheKey | None = None,
        scope: Scope = BY_RESOURCE,
        bust: bool = False,
        agent_id: str | None = None,
        finish_reasons: Collection[CacheableReason] = ("stop", "tool-calls"),
        wait: float = 30.0,
        store_timeout: float = 5.0,
        on_hit: Callable[[CacheLookup], Any] | None = None,
        on_miss: Callable[[CacheLookup], Any] | None = None,
        id: str | None = None,
    ) -> None:
        """
        Keep answers in *cache*, by default in memory, for *ttl* seconds.

        *key* stands in place of the request in the key.  *scope* says whose answers they are; ``None`` shares them with
        everybody.  With *bust* nothing is read, but kept.  *agent_id* is by default the agent's own.  Only answers that
        ended with one of *finish_reasons* are kept.  Equal requests at a time wait up to *wait* seconds for the first; a
        store that takes longer than *store_timeout* seconds is done without.  *on_hit* and *on_miss* are functions of a
        :class:`CacheLookup`, plain or async, which change nothing.

        Raises ``ProcessorDefinitionError`` for options that cannot work.
        """
        super().__init__(id=id)
        self.cache: CacheStore = cache if cache is not None else InMemoryCacheStore()
        missing = [name for name in ("get", "set", "clear") if not callable(getattr(self.cache, name, None))]
        if missing:
            raise _wrong(f"cache={type(cache).__name__}, which has no {missing[0]}()", "give a CacheStore")
        self.ttl = _seconds("ttl", ttl)
        self.wait = _seconds("wait", wait, least=0)
        self.store_timeout = _seconds("store_timeout", store_timeout)
        if key is not None and not is_key(key):
            raise _wrong(f"key={type(key).__name__}", "give a text, or a function of CacheKeyParts")
        if not is_scope(scope):
            raise _wrong(f"scope={scope!r}", SCOPE_HINT)
        for name, callback in (("on_hit", on_hit), ("on_miss", on_miss)):
            if callback is not None and not callable(callback):
                raise _wrong(f"{name}={type(callback).__name__}", "give a function of a CacheLookup")
        self.key = key
        self.scope: Scope = scope
        if not isinstance(bust, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _wrong(f"bust={type(bust).__name__}", "give True or False")
        if agent_id is not None and not is_key(agent_id):
            raise _wrong(f"agent_id={agent_id!r}", "give a text, or leave it out for the agent's own")
        self.bust = bust
        self.agent_id = agent_id
        self.finish_reasons = frozenset(some_of("ResponseCache", "finish_reasons", finish_reasons, _REASONS))
        if not self.finish_reasons:
            raise _wrong("finish_reasons=(), so that nothing is ever kept", "name at least one, or leave the cache out")
        self.on_hit = on_hit
        self.on_miss = on_miss
        self._flights = Flights()
        self._keeper = Keeper(
            self.id, self.cache, ttl=self.ttl, timeout=self.store_timeout, finish_reasons=self.finish_reasons
        )

    # -- for a single request

    @staticmethod
    def context(
        *, key: CacheKey | None = UNCHANGED, scope: Scope = UNCHANGED, bust: bool = UNCHANGED
    ) -> RequestContext:
        """
        Return a request context in which caches have other options.

        Raises ``InputError`` for what cannot work.
        """
        return ResponseCache.apply_context(RequestContext(), key=key, scope=scope, bust=bust)

    @staticmethod
    def apply_context(
        request_context: RequestContext,
        *,
        key: CacheKey | None = UNCHANGED,
        scope: Scope = UNCHANGED,
        bust: bool = UNCHANGED,
    ) -> RequestContext:
        """
        Put other options for caches into *request_context*, beside those that are there, and return it.

        Raises ``InputError`` for what cannot work.
        """
        before = overrides_in(request_context)
        given = {"key": key, "scope": scope, "bust": bust}
        changed = {name: value for name, value in given.items() if value is not UNCHANGED}
        request_context.put(OVERRIDES, checked_overrides(before.replace(**changed)))
        return request_context

    async def forget(self, scope: Scope) -> int:
        """
        Forget all that is kept for *scope*, and return how much that was.  With the scope of a resource that is what
        all agents have told it that share the store.

        Raises what the store raises.
        """
        return await self.cache.clear(scope_prefix(ANONYMOUS if scope is BY_RESOURCE else scope))

    async def forget_owner(self, resource: str, thread: str | None) -> int:
        """
        Forget what is kept for a resource, of whatever thread: ``agent.forget`` asks every processor that has this method.
        """
        return await self.forget(resource)

    @property
    def forgets_not(self) -> tuple[str, ...]:
        """
        What ``forget_owner`` does not find: who was told what was kept for all is not known.
        """
        if self.scope is BY_RESOURCE:
            return ()
        return (f"answers of {self.id} with scope={self.scope!r} are shared, and stay until their time is over",)

    @property
    def notes(self) -> tuple[str, ...]:
        """
        What ``agent.explain()`` says of it.
        """
        if self.scope is None:
            return (f"{self.id} shares answers across resources (scope=None)",)
        if self.scope is not BY_RESOURCE:
            return ()
        return (
            f"{self.id} keeps answers to calls without a resource in an anonymous scope, which calls with one neither read "
            "nor write",
        )

    # -- hooks

    async def process_llm_request(self, ctx: LLMRequestContext) -> RequestChange | None:
        """
        Answer in the model's place where it was asked the same before; else wait for its answer, to keep it.
        """
        ctx.state.pop(_MARK, None)
        overrides = overrides_in(ctx.request_context)
        key, prompt = (None, None) if given_response(ctx) is not None else await self._key_of(ctx, overrides)
        if key is None:
            return None
        bust = self.bust if overrides.bust is UNCHANGED else overrides.bust
        joined = None if bust else await self._flights.join(key, ctx.scope, self.wait)
        flight = joined if isinstance(joined, Flight) else None
        chunks = await self._keeper.find(key, flight) if flight is not None else None
        if isinstance(joined, str):
            chunks = self._keeper.read(key, joined)
        mark = AnswerMark(self._keeper, key, flight, prompt)
        try:
            await self._tell(ctx, key, hit=chunks is not None, waited=isinstance(joined, str))
        except BaseException:
            mark.drop()
            raise
        if chunks is not None:
            return {"response": {"chunks": chunks}}
        if ctx.agent is None:  # no loop, which would tell how the step ends
            mark.drop()
        else:
            ctx.scope.mark_step(mark)
            ctx.state[_MARK] = mark
        return None

    def process_llm_response(self, ctx: LLMResponseContext) -> None:
        """
        Take the model's own chunks, to keep them once the step is accepted.
        """
        mark = ctx.state.pop(_MARK, None)
        if isinstance(mark, AnswerMark) and not ctx.from_cache:
            mark.chunks = ctx.chunks

    async def _key_of(
        self, ctx: LLMRequestContext, overrides: CacheOverrides
    ) -> tuple[str | None, Sequence[PromptMessage] | None]:
        """
        Return the key, or ``None`` where there is none, so that nothing is read or kept; and the prompt, where it is in it.
        """
        own: Any = self.key if overrides.key is UNCHANGED else overrides.key
        scope: Scope = self.scope if overrides.scope is UNCHANGED else overrides.scope
        if scope is None and SERVED.get():
            log_once(self.id, "shares answers with everybody (scope=None) and is served: it is not asked")
            return None, None
        try:
            parts = self._parts(ctx, scope)
            said: Any = own(parts) if callable(own) else own
            if callable(own):
                if hasattr(said, "__await__"):
                    said = await said
                if said is None:
                    return None, None
            if said is not None and not is_key(said):
                raise TypeError("a key is a text")
            fields = {name: getattr(parts, name) for name in CacheKeyParts.__fields__}
            return build_response_cache_key(key=said, **fields), parts.prompt if said is None else None
        except Exception as error:
            log_once(self.id, "no key can be made, and nothing is kept", error=type(error).__name__)
            return None, None

    def _parts(self, ctx: LLMRequestContext, scope: Scope) -> CacheKeyParts:
        if scope is BY_RESOURCE:
            scope = tenant_of(ctx.scope) or ANONYMOUS
        offered: Mapping[str, Any] = ctx.tools if ctx.tool_choice != "none" else {}
        active = ctx.active_tools
        return CacheKeyParts(
            agent_id=self.agent_id or str(getattr(ctx.agent, "id", self.id)),
            step_number=ctx.step_number,
            scope=scope,
            model=identity_of(ctx.model),
            prompt=ctx.prompt,
            tools=tuple(told_of(tool) for tool in offered.values() if active is None or tool.name in active),
            tool_choice=ctx.tool_choice,
            model_settings=ctx.model_settings,
            provider_options=ctx.provider_options,
            response_format=ctx.response_format,
        )

    async def _tell(self, ctx: LLMRequestContext, key: str, *, hit: bool, waited: bool) -> None:
        callback = self.on_hit if hit else self.on_miss
        if callback is None:
            return
        try:
            waiting = callback(
                CacheLookup(key=key, step_number=ctx.step_number, run_id=ctx.run_id, hit=hit, waited=hit and waited)
            )
            if hasattr(waiting, "__await__"):
                await waiting
        except Exception as error:
            log_once(self.id, "a callback of the cache failed", error=type(error).__name__)


def _seconds(name: str, value: Any, *, least: float | None = None) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not (value > 0 or value == least) or value == float("inf"):
        raise _wrong(f"{name}={value!r}", "give seconds, more than 0" if least is None else "give seconds, 0 or more")
    return cast("float", value)


def _wrong(what: str, hint: str) -> ProcessorDefinitionError:
    return ProcessorDefinitionError(f"ResponseCache has {what}", hint=hint)
