"""What makes another question asks the model; what a request says of its key is heeded."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, counted_tool
from tests.processors.cache.kit import Store, parrot, said

from procession.agents.agent import Agent
from procession.errors import InputError
from procession.messages.parts import FilePart
from procession.models.fallback import FallbackModel
from procession.processors.cache.key import CacheKeyParts
from procession.processors.cache.overrides import OVERRIDES
from procession.processors.cache.response_cache import CacheLookup, ResponseCache
from procession.steps.request_context import RequestContext
from procession.storage.memory import InMemoryCacheStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import fail
from procession.tools.tool import Tool

both_ways = pytest.mark.parametrize("way", WAYS)


@pytest.mark.parametrize(
    "change",
    [
        {"model_settings": {"temperature": 0.5}}, {"model_settings": {"max_tokens": 5}}, {"model_settings": {"seed": 1}},
        {"provider_options": {"fake": {"x": 1}}}, {"tool_choice": "none"}, {"active_tools": []}, {"tools": "other"},
        {"system": "Be kind."}, {"instructions": "Be rude."}, {"structured_output": dict[str, int]},
        {"model": FakeModel(["{}"] * 3, id="fake/other")},
    ],
)  # fmt: skip
async def test_whatever_the_answer_depends_on_is_a_miss(change: dict[str, Any]) -> None:
    """
    Settings, options, tools, choice, schema, system prompt and model: each variation asks the model.

    CACHE-003: each variation gives another key, also of what only the provider knows.
    """
    lookup, _ = counted_tool()
    if change.get("tools") == "other":
        change = {"tools": [Tool(name="lookup", description="Else.", parameters={"type": "object"}, execute=print)]}
    looked: list[CacheLookup] = []
    cache = ResponseCache(on_hit=looked.append, on_miss=looked.append)
    agent, _ = parrot(["{}"] * 3, cache, tools=[lookup], instructions="Be brief.")
    for options in ({}, change, {}, change):
        await ask(agent, **options)
    assert [one.hit for one in looked] == [False, False, True, True]


async def test_a_file_is_part_of_the_question() -> None:
    """
    The same question about another image asks the model, about the same one it does not.

    CACHE-002: a miss for b; URL images by their URL.
    """
    agent, model = parrot([str(number) for number in range(4)], ResponseCache())

    def question(data: str | bytes) -> Any:
        return [{"role": "user", "content": [{"type": "text", "text": "what is it?"}, FilePart(data, "image/png")]}]

    images: list[str | bytes] = ["AAAA", "AAAB", "https://a/x.png", "https://a/y.png"]
    for _ in range(2):
        assert [await said(agent, messages=question(image)) for image in images] == ["0", "1", "2", "3"]
    assert len(model.requests) == 4


async def test_ids_and_times_of_messages_do_not_matter() -> None:
    """CACHE-004: two requests that say the same under other ids, at another time, in another order of options: a hit."""
    agent, model = parrot(["once"], ResponseCache())
    for number, options in ((1, {"a": 1, "b": 2}), (2, {"b": 2, "a": 1})):
        form = {"id": f"m{number}", "created_at": f"2026-0{number}-01T00:00:00Z", "role": "user", "content": "hi"}
        assert await said(agent, messages=[form], provider_options={"fake": options}) == "once"
    assert len(model.requests) == 1


@both_ways
async def test_a_fallback_speaks_for_itself(way: str) -> None:
    """
    What the second model of an agent answers is found under the second one, when the first has failed again.

    CACHE-003: a response from a fallback model is stored under the fallback model.
    """
    first = FakeModel([fail("down", status=503), "first", fail("down", status=503)], id="fake/first")
    second = FakeModel(["second"], id="fake/second")
    agent, _ = parrot([], ResponseCache(), model=[first, second])
    assert [await said(agent, way), await said(agent, way)] == ["second", "first"]
    assert await said(agent, way, "Else", model=[FakeModel(["x"], id="fake/third")]) == "x"
    assert (len(first.requests), len(second.requests)) == (2, 1)
    down = FakeModel([fail("down", status=503)], id="fake/fourth")
    assert await said(agent, way, model=[down, second]) == "second"
    assert len(second.requests) == 1


async def test_a_model_inside_another_does_not_speak_for_it() -> None:
    """CACHE-003: where the first of a ``FallbackModel`` has failed the answer is not kept, and the next call asks it again."""
    model = FallbackModel([FakeModel([fail("down"), "first"], id="a"), FakeModel(["second"], id="b")])
    agent, _ = parrot([], ResponseCache(), model=model)
    assert [await said(agent) for _ in range(3)] == ["second", "first", "first"]


async def test_agents_share_answers_where_they_are_told_to() -> None:
    """By default each agent has its own answers; with one ``agent_id`` they are the same agent to the cache."""
    store = InMemoryCacheStore()

    def agents(**options: Any) -> list[Agent]:
        return [
            Agent(name, model=FakeModel(name), input_processors=[ResponseCache(store, **options)])
            for name in ("a", "b")
        ]

    assert [await said(agent) for agent in agents()] == ["a", "b"]
    assert [await said(agent) for agent in agents(agent_id="both")] == ["a", "a"]


@both_ways
async def test_a_request_may_bring_its_key(way: str) -> None:
    """A text or a function of the parts stands in place of the request, for one call; ``None`` from it keeps nothing."""
    store = Store()
    agent, model = parrot([str(number) for number in range(5)], ResponseCache(store))
    shared = ResponseCache.context(key="k1")
    assert [await said(agent, way, text, request_context=shared) for text in ("Go", "Other")] == ["0", "0"]

    def last(parts: CacheKeyParts) -> str:
        return parts.last_user_text.casefold()

    async def late(parts: CacheKeyParts) -> str | None:
        return None if parts.last_user_text == "never" else last(parts)

    for key in (last, late):
        context = ResponseCache.apply_context(RequestContext({"tenant": "x"}), key=key)
        assert context["tenant"] == "x"
        assert [await said(agent, way, text, request_context=context) for text in ("GO", "go")] == ["1", "1"]
    kept = len(store.kept)
    assert [await said(agent, way, "never", request_context=context) for _ in range(2)] == ["2", "3"]
    assert (len(store.kept), len(model.requests)) == (kept, 4)


async def test_a_key_does_not_cross_resources() -> None:
    """CACHE-001: a key of one's own stays within the scope, unless that is shared in so many words."""
    agent, _ = parrot(["a's", "b's", "all's"], ResponseCache(key="k"))
    assert [await said(agent, resource=tenant) for tenant in ("t-a", "t-b", "t-a")] == ["a's", "b's", "a's"]
    shared = ResponseCache.context(scope=None)
    assert [await said(agent, resource=tenant, request_context=shared) for tenant in ("t-a", "t-b")] == ["all's"] * 2


async def test_a_busted_request_is_asked_and_kept() -> None:
    """``bust`` reads nothing and keeps the new answer, for the cache as a whole or for one request."""
    agent, model = parrot(["old", "new"], ResponseCache())
    context = ResponseCache.context(bust=True)
    assert [await said(agent), await said(agent, request_context=context), await said(agent)] == ["old", "new", "new"]
    always, model = parrot(["1", "2"], ResponseCache(bust=True))
    assert [await said(always), await said(always)] == ["1", "2"]
    assert len(model.requests) == 2


async def test_plain_data_in_a_request_context_opens_nothing() -> None:
    """Whoever fills a request context from outside cannot say whose answers a request sees."""
    agent, model = parrot(["a's", "b's"], ResponseCache())
    await said(agent, resource="t-a")
    forged = {OVERRIDES.name: {"scope": "t-a"}, "scope": None}
    assert await said(agent, resource="t-b", request_context=forged) == "b's"
    assert len(model.requests) == 2


def test_overrides_add_up_and_are_checked() -> None:
    """Later ones are put beside earlier ones, and what cannot work is refused by name."""
    context = ResponseCache.apply_context(ResponseCache.context(key="k"), bust=True)
    made = context.value(OVERRIDES)
    assert (made.key, made.bust) == ("k", True)
    make: Any = ResponseCache.context
    for options in ({"key": 5}, {"key": ""}, {"scope": 5}, {"scope": ""}, {"bust": "yes"}):
        with pytest.raises(InputError, match=next(iter(options))):
            make(**options)
    with pytest.raises(TypeError, match="ttl"):
        make(ttl=5)
