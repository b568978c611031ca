"""What was answered before is answered again, as it was, without asking the model."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool
from tests.processors.cache.kit import Store, parrot, said

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError
from procession.messages.chunks import ReasoningDelta, StepStart, TextDelta
from procession.messages.usage import Usage
from procession.processors.cache.response_cache import CacheLookup, ResponseCache
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, say
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)


@both_ways
async def test_the_second_request_does_not_ask_the_model(way: str) -> None:
    """It has the text, the usage, the warnings and the metadata of the first one, and says that it comes from the cache."""
    first = say("He", "llo.") + Reply(
        reasoning="hm", warnings=[{"type": "w"}], provider_metadata={"fake": {"a": 1}}, usage=Usage(7, 2)
    )
    agent, model = parrot([first], ResponseCache(Store()))
    results = [(await ask(agent, way)).result for _ in range(2)]
    assert [result.text for result in results] == ["Hello.", "Hello."]
    assert len(model.requests) == 1
    fresh, kept = (result.steps[0] for result in results)
    assert (fresh.from_cache, kept.from_cache) == (False, True)
    for name in ("usage", "warnings", "provider_metadata", "finish_reason", "reasoning", "text"):
        assert getattr(fresh, name) == getattr(kept, name), name
    assert results[1].usage == Usage(7, 2)


@pytest.mark.parametrize("ways", [("generate", "stream"), ("stream", "generate"), ("stream", "stream")])
async def test_streams_keep_their_chunks(ways: tuple[str, str]) -> None:
    """A hit is streamed in the pieces in which the model answered, to whoever streams, under the ids of its own run."""
    agent, _ = parrot([say("He", "llo", ".") + Reply(reasoning="hm")], ResponseCache())
    first, second = [await ask(agent, way) for way in ways]
    if ways[0] == "stream":  # a model that is not streamed answers in one piece
        assert [chunk.text for chunk in second.chunks if isinstance(chunk, TextDelta)] == ["He", "llo", "."]
    assert [chunk.type for chunk in second.chunks] == [chunk.type for chunk in first.chunks]
    assert [chunk.text for chunk in second.chunks if isinstance(chunk, ReasoningDelta)] == ["hm"]
    ids = [[chunk.message_id for chunk in seen.chunks if isinstance(chunk, StepStart)] for seen in (first, second)]
    assert ids[0] != ids[1]
    assert ids[1] == [second.result.messages[0].id]


async def test_two_caches_in_a_row() -> None:
    """The first that knows the answer gives it; what was given by the other is not kept as the model's."""
    stores = [Store(), Store()]
    model = FakeModel(["once"])
    second = Agent("parrot", model=model, input_processors=[ResponseCache(stores[1], id="b")])
    both = Agent(
        "parrot", model=model, input_processors=[ResponseCache(stores[0], id="a"), ResponseCache(stores[1], id="b")]
    )
    assert [await said(second), await said(both), await said(both)] == ["once"] * 3
    assert (stores[0].kept, len(stores[1].kept)) == ({}, 1)


@both_ways
async def test_within_a_workflow_of_processors(way: str) -> None:
    """In a nested workflow, and in a branch beside another processor, it does the same."""
    other = at("process_llm_request", lambda ctx: None, id="other")
    for number in range(2):
        cache, inside = ResponseCache(), create_workflow("in", kind="processor")
        built = inside.then(cache).then(other) if number else inside.parallel([cache, other])
        model = FakeModel(["once"])
        agent = Agent("parrot", model=model, input_processors=[built.commit()])
        assert [await said(agent, way), await said(agent, way)] == ["once", "once"]


async def test_what_is_told_of_a_lookup() -> None:
    """Callbacks learn of each lookup, plain or async; one that fails changes nothing."""
    looked: list[CacheLookup] = []

    async def hit(lookup: CacheLookup) -> None:
        looked.append(lookup)
        raise ValueError("no matter")

    lookup, _ = counted_tool()
    cache = ResponseCache(on_hit=hit, on_miss=looked.append)
    agent, _ = parrot([call_tool("lookup"), "done"], cache, tools=[lookup])
    results = [await agent.generate("Hi") for _ in range(2)]
    assert [(one.hit, one.step_number) for one in looked] == [(False, 0), (False, 1), (True, 0), (True, 1)]
    assert [one.run_id for one in looked] == [results[0].run_id] * 2 + [results[1].run_id] * 2
    assert looked[0].key == looked[2].key


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"cache": 5}, "cache=int"), ({"ttl": 0}, "ttl=0"), ({"ttl": True}, "ttl=True"), ({"ttl": "5"}, "ttl='5'"),
        ({"ttl": float("inf")}, "ttl=inf"), ({"wait": -1}, "wait=-1"), ({"store_timeout": 0}, "store_timeout=0"),
        ({"key": 5}, "key=int"), ({"scope": ""}, "scope=''"), ({"scope": 5}, "scope=5"),
        ({"finish_reasons": ()}, "finish_reasons=()"),
        ({"finish_reasons": ["error"]}, "finish_reasons='error'"), ({"finish_reasons": ["stopp"]}, "'stopp'"),
        ({"on_hit": 5}, "on_hit=int"), ({"bust": "no"}, "bust=str"), ({"agent_id": ""}, "agent_id=''"),
    ],
)  # fmt: skip
def test_options_that_cannot_work_are_refused(options: dict[str, Any], named: str) -> None:
    """Each is named where the cache is made, with what to give."""
    with pytest.raises(ProcessorDefinitionError) as raised:
        ResponseCache(**options)
    assert named in str(raised.value)
    assert raised.value.hint


async def test_an_entry_lasts_for_its_ttl() -> None:
    """The store is told how long: five minutes unless said otherwise."""
    store = Store()
    for cache in (ResponseCache(store), ResponseCache(store, ttl=5, agent_id="other")):
        await said(parrot(["x"], cache)[0])
    assert store.ttls == [300.0, 5]
