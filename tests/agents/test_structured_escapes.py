"""Escapes in a structured answer: text, value and partial values hold nothing that they would hide from guards."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at
from tests.agents.structured_kit import Codenames, Person, partials
from tests.agents.test_structured_stream import cut, leads_to, random_value

from procession.agents.agent import Agent
from procession.agents.structured.escapes import decoded, plain_escapes
from procession.messages.chunks import Chunk, Finish, TextDelta, TextEnd, TextStart, ToolOutput, ToolResult
from procession.processors.memory.memory import Memory
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, say
from procession.tools.tool import Tool

pytestmark = pytest.mark.anyio
both_ways = pytest.mark.parametrize("way", WAYS)


async def through(pieces: list[str]) -> str:
    """Return what comes of an answer in these pieces."""

    async def stream() -> AsyncIterator[Chunk]:
        yield TextStart()
        for piece in pieces:
            yield TextDelta(piece)
        yield TextEnd()

    out = [chunk async for chunk in plain_escapes(stream())]
    assert isinstance(out[0], TextStart) and isinstance(out[-1], TextEnd)
    return "".join(chunk.text for chunk in out if isinstance(chunk, TextDelta))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r'"\u0048eron \u00e9 \/ \ud83d\ude00"', '"Heron \u00e9 / \U0001f600"'),
        (r'"\n \t \" \\ \u0022 \u005c \u0000 \u001f"', r'"\n \t \" \\ \u0022 \u005c \u0000 \u001f"'),
        (r'"\\u0048 \\\u0048"', r'"\\u0048 \\H"'),
        (r'"\ud83d \ud83dx \ude00"', r'"\ud83d \ud83dx \ude00"'),
        ("no escape", "no escape"),
        ("\\", "\\"),
        (r'"\u00', r'"\u00'),
        (r'"\ud83d\ud', r'"\ud83d\ud'),
        (r"\u12zz \x", r"\u12zz \x"),
    ],
)
async def test_plain_escapes(text: str, plain: str) -> None:
    """Escapes that JSON does not need become what they stand for, whatever the cut; all else stays, and nothing is lost."""
    assert "".join(decoded(text)) == plain
    at = random.Random(1)
    for pieces in ([text], list(text), *(cut(text, at) for _ in range(20))):
        assert await through(pieces) == plain


async def test_plain_escapes_mean_the_same() -> None:
    """For any JSON and any cut, the value of the text is the same, and what could be plain is."""
    at = random.Random(3)
    for _ in range(200):
        value = random_value(at)
        text = json.dumps(value)
        plain = await through(cut(text, at))
        assert json.loads(plain) == value
        assert plain == json.dumps(value, ensure_ascii=False)


@both_ways
@pytest.mark.parametrize(
    "word", ["\\u0048eron", "He\\u0072on", "H\\u0065ron", "\\nHeron", "\\u0048er\\u006fn", "a\\/Heron"]
)
async def test_the_text_holds_nothing_that_the_value_does_not(way: str, word: str) -> None:
    """Whoever parses ``result.text``, or what memory keeps of it, finds what the guards left."""
    store = InMemoryStore()
    answer = Reply(['{"name": "', *word, '", "city": "Paris"}'])
    agent = Agent("a", model=FakeModel(answer), output_processors=[Codenames(strategy="redact")], memory=Memory(store))
    seen = await ask(agent, way, structured_output=Person, thread="t", resource="r")
    assert "[CODENAME]" in seen.result.object.name
    for text in (seen.result.text, seen.result.final_text, seen.result.messages[-1].text):
        assert json.loads(text) == seen.result.object.model_dump()
    kept = (await store.messages("t"))[-1]
    assert json.loads(kept.text) == seen.result.object.model_dump()
    assert all("Heron" not in json.dumps(value) for value in partials(seen))


@both_ways
@pytest.mark.parametrize("word", ["\\u0048eron", "He\\u0072on"])
async def test_the_stream_holds_none_of_it(way: str, word: str) -> None:
    """An escape in the middle of a text stands for nothing that a reader of the stream could make of it."""
    answer = Reply(['{"name": "', *word, '", "city": "Paris"}'])
    agent = Agent("a", model=FakeModel(answer), output_processors=[Codenames(strategy="redact")])
    seen = await ask(agent, way, structured_output=Person)
    streamed = "".join(chunk.text for chunk in seen.chunks if isinstance(chunk, TextDelta))
    assert json.loads(streamed) == {"name": "[CODENAME]", "city": "Paris"}
    assert [one.hook for one in seen.result.violations] == ["process_output_stream"]


async def test_a_guard_that_blocks_stops_the_stream_at_an_escape() -> None:
    """A match that is spelt with escapes is blocked where it stands, before anything of it is shown."""
    answer = Reply(['{"city": "Paris", "name": "', *"\\u0048eron", '", "x": "', *"rest", '"}'])
    agent = Agent("a", model=FakeModel(answer), output_processors=[Codenames(strategy="block")])
    seen = await ask(agent, "stream", structured_output=Person)
    assert seen.tripwire.processor_id == "codenames"
    streamed = "".join(chunk.text for chunk in seen.chunks if isinstance(chunk, TextDelta))
    assert '{"city": "Paris", "name": "'.startswith(streamed)


@both_ways
async def test_other_steps_keep_their_text(way: str) -> None:
    """Only the text of the step that the value was made of is said anew."""
    tool: Tool[Any] = Tool(name="look", parameters={"type": "object"}, execute=lambda args, ctx: "seen")
    model = FakeModel([say("Let me look. ") + call_tool("look"), '{"name": "\\nHeron", "city": "Paris"}'])
    agent = Agent("a", model=model, tools=[tool], output_processors=[Codenames(strategy="redact")])
    seen = await ask(agent, way, structured_output=Person)
    assert [step.text for step in seen.result.steps][0] == "Let me look. "
    assert json.loads(seen.result.final_text) == {"name": "\n[CODENAME]", "city": "Paris"}
    assert seen.result.text == "".join(step.text for step in seen.result.steps)


@both_ways
async def test_the_text_stays_where_guards_find_nothing(way: str) -> None:
    """An answer in which nothing is found keeps its own spelling: layout, fence, escapes that JSON needs."""
    text = '```json\n{ "name":  "Bob\\n\\"B\\"",\n  "city": "Paris" }\n```'
    agent = Agent("a", model=FakeModel(text), output_processors=[Codenames(strategy="redact")])
    seen = await ask(agent, way, structured_output=Person)
    assert seen.result.text == text
    assert seen.result.object == Person(name='Bob\n"B"', city="Paris")


@both_ways
async def test_without_guards_or_a_schema_nothing_is_touched(way: str) -> None:
    """Escapes stay as the model wrote them where no guard looks, and in prose."""
    text = '{"name": "\\u0042ob", "city": "Paris"}'
    seen = await ask(Agent("a", model=FakeModel(text)), way, structured_output=Person)
    assert seen.result.text == text
    guard = Codenames(strategy="redact")
    seen = await ask(Agent("a", model=FakeModel(text), output_processors=[guard]), way)
    assert seen.result.text == text


@both_ways
async def test_a_response_of_a_processor_is_read_alike(way: str) -> None:
    """What a processor answers in place of the model has its escapes made plain, too."""
    given = [TextDelta('{"name": "\\u0048eron", "city": "Paris"}'), Finish("stop")]
    agent = Agent(
        "a",
        model=FakeModel([]),
        input_processors=[at("process_llm_request", lambda ctx: {"response": given})],
        output_processors=[Codenames(strategy="redact")],
    )
    seen = await ask(agent, way, structured_output=Person)
    assert json.loads(seen.result.text)["name"] == "[CODENAME]"


# -- partial values


async def test_partial_values_go_on_behind_a_backslash() -> None:
    """Where guards stand in the stream, values still grow behind an escape: string by string, as these come whole."""
    pieces = ['{"name": "B', 'ob \\"B\\"', '", "city": "Par', 'is", "zip', '": "x"}']
    agent = Agent("a", model=FakeModel(Reply(pieces)), output_processors=[Codenames(strategy="redact")])
    seen = await ask(agent, "stream", structured_output=dict[str, str])
    found = partials(seen)
    assert {"name": 'Bob "B"', "city": "Paris"} in found
    assert found[-1] == {"name": 'Bob "B"', "city": "Paris", "zip": "x"}
    assert all(map(leads_to, found, found[1:]))


async def test_partial_values_stop_where_a_guard_would_change_them() -> None:
    """What the guards will hide at the end is in no partial value; those before it have been shown."""
    pieces = ['{"city": "Paris", "code": "\\"', '", "name": "\\nHe', 'ron", "more": "x', '"}']
    agent = Agent("a", model=FakeModel(Reply(pieces)), output_processors=[Codenames(strategy="redact")])
    seen = await ask(agent, "stream", structured_output=dict[str, str])
    assert {"city": "Paris", "code": '"'} in partials(seen)
    assert "Heron" not in repr(partials(seen))
    assert seen.result.object["name"] == "\n[CODENAME]"


@pytest.mark.parametrize("guarded", [True, False])
async def test_on_chunk_gets_partial_values(guarded: bool) -> None:
    """``on_chunk`` is told partial values and the whole one, in the order in which the reader of a stream gets them."""
    pieces = ['{"name"', ': "Bo', 'b"', ', "city"', ': "Paris"}']
    guards = [Codenames(strategy="redact")] if guarded else []
    told: list[Chunk] = []
    agent = Agent("a", model=FakeModel([Reply(pieces)] * 2), output_processors=guards)
    async with agent.stream("Hi", structured_output=Person, on_chunk=told.append) as stream:
        read = [chunk async for chunk in stream]
    assert told == read
    kinds = [chunk.type for chunk in told]
    assert kinds.count("object") >= 2 and kinds.count("object-result") == 1

    async def later(chunk: Chunk) -> None:
        told.append(chunk)

    told.clear()
    await agent.generate("Hi", structured_output=Person, on_chunk=later)
    assert [chunk.type for chunk in told].count("object") == 1  # the whole answer is one piece


@both_ways
async def test_a_guard_round_a_structured_sub_agent_sees_no_escapes(way: str) -> None:
    """Neither its nested text, nor its result, nor the outer prompt holds by an escape what a guard of the outer run hides."""
    inside = FakeModel([say('{"name": "\\u0048er', 'on", "city": "P\\u0061ris"}')])
    child = Agent("child", model=inside, structured_output=Person)
    model = FakeModel([call_tool("agent-child", {"prompt": "Who?"}, id="c1"), "Done."])
    parent = Agent("parent", model=model, tools=[child], output_processors=[Codenames(strategy="redact")])
    seen = await ask(parent, way)
    plain = '{"name": "[CODENAME]", "city": "Paris"}'
    assert [result.result for result in seen.chunks.of(ToolResult)] == [plain]
    nested = [chunk.output for chunk in seen.chunks.of(ToolOutput)]
    assert "".join(chunk.text for chunk in nested if isinstance(chunk, TextDelta)) == plain
    for shown in (seen.chunks, model.requests, seen.result.messages):
        assert "eron" not in repr([*shown])
