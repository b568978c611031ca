"""The value as it comes: partial values, and what they cost."""

from __future__ import annotations

import json
import random
from typing import Any, cast

import pydantic_core
import pytest
from tests.agents.kit import ask
from tests.agents.structured_kit import DATA, JSON, Person, types

from procession.agents.agent import Agent
from procession.agents.structured.partial import PartialObjects
from procession.agents.structured.run import StructuredRun
from procession.messages.chunks import Chunk, ObjectDelta, StepStart, TextDelta, TextEnd, TextStart
from procession.models.structured_output import StructuredOutput
from procession.testing.fake_model import FakeModel, Reply

pytestmark = pytest.mark.anyio


async def test_object_stream() -> None:
    """``object_stream`` yields the value as it grows, each time something is new, and the whole at the end."""
    pieces = ['{"name"', ': "Bo', 'b"', ', "city"', ': "Paris"}']
    agent = Agent("a", model=FakeModel(Reply(pieces)))
    async with agent.stream("Hi", structured_output=Person) as stream:
        found = [value async for value in stream.object_stream]
        result = await stream.result()
    assert found == [{}, {"name": "Bo"}, {"name": "Bob"}, DATA, DATA]
    assert result.object == Person(**DATA)


async def test_object_stream_of_a_second_model() -> None:
    """With a second model there is only the whole value."""
    agent = Agent("a", model=FakeModel("Bob lives in Paris"))
    wanted = StructuredOutput(Person, model=FakeModel(JSON))
    async with agent.stream("Hi", structured_output=wanted) as stream:
        assert [value async for value in stream.object_stream] == [DATA]


async def test_wrapped_values_come_unwrapped() -> None:
    """Partial values have the shape of the whole one."""
    agent = Agent("a", model=FakeModel(Reply(['{"value": [1, ', "22", ", 3]}"])))
    async with agent.stream("Hi", structured_output=list[int]) as stream:
        assert [value async for value in stream.object_stream] == [[1], [1, 22, 3], [1, 22, 3]]


async def test_nothing_is_added_where_nothing_is_asked_for() -> None:
    """A call without structured output has no wrapper round its stream and asks for no format."""
    model = FakeModel(JSON)
    seen = await ask(Agent("a", model=model), "stream")
    assert seen.result.object is None and model.requests[0].response_format is None
    assert not {"object", "object-result"} & set(types(seen))


# -- partial values


def values_of(pieces: list[str], wanted: Any = dict[str, Any]) -> list[Any]:
    """Return the partial values of an answer in these pieces."""
    sent: list[Chunk] = []
    waiting: list[Any] = []
    partial = PartialObjects(sent.append, StructuredRun(StructuredOutput(wanted)))
    for chunk in (StepStart("m"), TextStart(), *map(TextDelta, pieces), TextEnd()):
        coroutine: Any = partial(chunk)
        if coroutine is not None:
            waiting.append(coroutine)
            with pytest.raises(StopIteration):
                coroutine.send(None)
    return [chunk.object for chunk in sent if isinstance(chunk, ObjectDelta)]


def cut(text: str, at: random.Random) -> list[str]:
    """Cut *text* anywhere."""
    places = sorted(at.sample(range(len(text) + 1), min(len(text), at.randint(0, 12))))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def random_value(at: random.Random, depth: int = 0) -> Any:
    """Return any JSON value."""
    kind = at.randrange(8 if depth < 4 else 6)
    if kind < 2:
        return "".join(at.choice('ab 12:,[]{}"\\/\n\t\u00e9\u20ac\U0001f600e-.') for _ in range(at.randrange(12)))
    if kind < 6:
        return at.choice([True, False, None, 0, -7, 12345, 1.5, -2e-7, 1e300, ""])
    if kind == 6:
        return [random_value(at, depth + 1) for _ in range(at.randrange(4))]
    return {f"k{number}": random_value(at, depth + 1) for number in range(at.randrange(4))}


def leads_to(early: Any, late: Any) -> bool:
    """Tell whether *early* is a beginning of *late*."""
    if isinstance(early, str):
        return isinstance(late, str) and late.startswith(early)
    if isinstance(early, dict):
        known = cast("dict[str, Any]", early)
        return isinstance(late, dict) and all(key in late and leads_to(known[key], late[key]) for key in known)
    if isinstance(early, list):
        so_far: list[Any] = cast("Any", early)
        further: list[Any] = late
        return type(further) is list and all(map(leads_to, so_far, further)) and len(so_far) <= len(further)
    return type(early) is type(late) and early == late


@pytest.mark.parametrize("ascii_only", [True, False])
def test_partial_values_lead_to_the_whole(ascii_only: bool) -> None:
    """For any object and every cut, each partial value is a beginning of the next, and the last is the whole."""
    at = random.Random(7)
    for _ in range(400):
        whole = {f"k{number}": random_value(at) for number in range(at.randrange(1, 5))}
        text = json.dumps(whole, ensure_ascii=ascii_only, indent=at.choice([None, 1]))
        if at.random() < 0.3:
            text = f"```json\n{text}\n```\n"
        for pieces in (cut(text, at), list(text)):
            found = values_of(pieces)
            assert found[-1] == whole, (text, pieces)
            assert all(map(leads_to, found, found[1:])), (text, found)
            assert all(early != late for early, late in zip(found, found[1:], strict=False))


@pytest.mark.parametrize("text", ["Bob lives in Paris", "[1, 2] or so", "```python\nx = {}\n```", "", "12", '"a"'])
def test_prose_has_no_partial_values(text: str) -> None:
    """Where no object comes there is nothing to show, and no error: the end of the run tells."""
    assert values_of(list(text)) in ([], [[], [1], [1, 2]])


def test_a_new_step_begins_anew() -> None:
    """What an earlier step or a rejected attempt said is no part of the value."""
    sent: list[Chunk] = []
    partial = PartialObjects(sent.append, StructuredRun(StructuredOutput(Person)))
    for chunk in (StepStart("m"), TextDelta("Let me see."), StepStart("m"), TextDelta(JSON)):
        coroutine: Any = partial(chunk)
        if coroutine is not None:
            with pytest.raises(StopIteration):
                coroutine.send(None)
    assert [chunk.object for chunk in sent if isinstance(chunk, ObjectDelta)] == [DATA]


@pytest.mark.parametrize("size", [2_000, 20_000])
def test_reading_is_linear(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the pieces, all readings together are as long as some of the whole text."""
    read: list[int] = []
    real = pydantic_core.from_json

    def counted(text: str, **options: Any) -> Any:
        read.append(len(text))
        return real(text, **options)

    monkeypatch.setattr(pydantic_core, "from_json", counted)
    text = json.dumps({"words": ["word"] * (size // 8)})
    found = values_of(list(text))
    assert found[-1] == json.loads(text)
    assert sum(read) < 10 * len(text) + 40_000
    assert len(read) < 400
