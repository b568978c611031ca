"""Results of every type are looked into by guards, and reach the model in no other shape than the one looked at."""

from __future__ import annotations

from collections import UserDict, UserString, deque
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel
from tests.agents.kit import WAYS, ask, at

from procession.agents.agent import Agent
from procession.messages.chunks import ToolError
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import Tool

both_ways = pytest.mark.parametrize("way", WAYS)
MAIL = "eva@example.net"
CARD = 4111111111111111


class Address(Enum):
    """An enum whose value is private."""

    EVA = MAIL


class Opaque:
    """An object that shows what it holds only in its text."""

    def __str__(self) -> str:
        return f"Opaque({MAIL})"


class Person(BaseModel):
    """A pydantic model."""

    mail: bytes


@dataclass
class Record:
    """A dataclass."""

    person: Person


class Broken:
    """An object that cannot be said."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def guard() -> PIIDetector:
    """Return a guard that hides addresses and cards."""
    return PIIDetector(redaction="placeholder")


async def turn(way: str, result: Any, *processors: Any, **options: Any) -> tuple[Any, FakeModel]:
    """Run a turn in which a tool returns *result*."""
    tool: Tool[Any] = Tool(name="look", execute=lambda args, ctx: result, **options)
    model = FakeModel([call_tool("look"), "done"])
    agent = Agent("a", model=model, tools=[tool], output_processors=processors)
    return await ask(agent, way), model


@both_ways
@pytest.mark.parametrize(
    "value",
    [
        MAIL, MAIL.encode(), bytearray(MAIL.encode()), deque([MAIL]), Address.EVA, Opaque(), [Opaque()],
        ValueError(MAIL), UserString(MAIL), UserDict(m=MAIL), {"m": MAIL}.values(), {"m": MAIL}.items(),
        {MAIL.encode(): 1}, {(MAIL,): 1}, {Address.EVA: 1}, {Opaque(): 1}, (MAIL,), {MAIL}, frozenset([MAIL]),
        Person(mail=MAIL.encode()), Record(Person(mail=MAIL.encode())), {"deep": [(deque([{"x": Address.EVA}]),)]},
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
async def test_guards_see_all_of_a_result(way: str, value: Any) -> None:
    """Whatever type a tool returns, what it would tell the model is what the guard has seen (D20)."""
    seen, model = await turn(way, value, guard())
    assert seen.result.text == "done"
    told = str([model.requests[1].messages, seen.chunks, seen.result.messages, seen.result.tool_results])
    assert MAIL not in told
    assert "[EMAIL]" in told


@both_ways
@pytest.mark.parametrize("value", [CARD, float(CARD), {"card": CARD}, {CARD: "x"}, [{"card": (CARD,)}]])
async def test_numbers_are_looked_at_like_text(way: str, value: Any) -> None:
    """The number of a card is found where it is a number, and is replaced by text."""
    seen, model = await turn(way, value, guard())
    told = str([model.requests[1].messages, seen.chunks, seen.result.messages, seen.result.tool_results])
    assert str(CARD) not in told
    assert "[CREDIT-CARD]" in told


@both_ways
async def test_other_numbers_stay_numbers(way: str) -> None:
    """Numbers in which nothing is found stay what they are."""
    value = {"n": 3, "id": 1234567890, "at": 1767225600.25, "ok": True}
    seen, _ = await turn(way, value, guard())
    assert seen.result.tool_results[0].result is value


async def test_a_number_can_block() -> None:
    """A guard that blocks does so for a number as well."""
    digits = RegexFilter(rules=[{"name": "secret", "pattern": "987654321"}], strategy="block")
    seen, model = await turn("generate", {"n": 987654321}, digits)
    assert seen.result.status == "blocked"
    assert len(model.requests) == 1


@both_ways
@pytest.mark.parametrize(
    ("value", "why"), [(b"\xff", "no text"), (Broken(), "no words"), ({1: "a", "1": "b"}, "two keys")]
)
async def test_what_cannot_be_said_is_an_error_of_the_tool(way: str, value: Any, why: str) -> None:
    """A result that JSON cannot say is told to the model as the tool's error, and the run goes on."""
    seen, _ = await turn(way, value)
    assert seen.result.text == "done"
    (error,) = seen.result.tool_results
    assert isinstance(error, ToolError)
    assert why in error.error


async def test_what_a_processor_returns_is_looked_into_as_well() -> None:
    """A processor that makes a result of another type hides nothing from the guard behind it."""
    wrap = at("process_tool_result", lambda ctx: {"result": deque([ctx.result])}, id="wrap")
    seen, model = await turn("generate", MAIL.encode(), wrap, guard())
    assert MAIL not in str([model.requests[1].messages, seen.result.messages])
    assert seen.result.tool_results[0].result == ["[EMAIL]"]


async def test_words_for_the_model_are_made_of_the_same_value() -> None:
    """``to_model_output`` is given what guards have looked at, with and without a guard."""
    given: list[Any] = []
    for processors in ([], [guard()]):
        await turn("generate", Record(Person(mail=b"x")), *processors, to_model_output=given.append)
    assert given == [{"person": {"mail": "x"}}] * 2
