"""Which of several guards stops the run over the text of a sub-agent: the one whose match comes first in it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.agents.kit import WAYS, ask

from procession.agents.agent import Agent
from procession.messages.chunks import TextDelta, ToolOutput
from procession.messages.text.patterns import Rule
from procession.processors.text_guard import TextGuard
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)


class First(TextGuard):
    """A guard that stops at one word."""

    id = "first"
    strategy = "block"
    rules = (Rule("a", r"AAA[0-9]"),)


class Second(TextGuard):
    """A guard that stops at another one."""

    id = "second"
    strategy = "block"
    rules = (Rule("b", r"BBB[0-9]"),)


class Long(TextGuard):
    """A guard whose match may go on until the text ends."""

    id = "long"
    strategy = "block"
    rules = (Rule("b", r"BBB[0-9]* "),)


def round_(child: Agent, guards: list[Any], depth: int) -> Agent:
    """Return an agent with *guards* that asks *child*, through *depth* agents in between."""
    for level in range(depth):
        calls = call_tool(f"agent-{child.id}", {"prompt": "Go."}, id=f"d{level}")
        child = Agent(f"between{level}", model=FakeModel([calls, "Done."]), tools=[child])
    calls = call_tool(f"agent-{child.id}", {"prompt": "Go."}, id="c1")
    return Agent("parent", model=FakeModel([calls, "Done."]), tools=[child], output_processors=guards)


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("pieces", [["x BBB1 then ", "and then much more AAA1 end"], ["x BBB1 then AAA1 end"]])
@pytest.mark.parametrize("guards", [[First, Second], [Second, First], [First, Long]])
@both_ways
async def test_the_match_that_comes_first_in_nested_text_decides(
    way: str, guards: list[Any], pieces: list[str], depth: int
) -> None:
    """Wherever the guards stand and however the text is cut: as it is for the answer's own text."""
    own = Agent("own", model=FakeModel([say(*pieces)]), output_processors=[guard() for guard in guards])
    parent = round_(Agent("child", model=FakeModel([say(*pieces)])), [guard() for guard in guards], depth)
    wanted = (await ask(own, way)).tripwire
    with anyio.fail_after(20):
        seen = await ask(parent, way)
    assert wanted.processor_id != "first"
    assert (seen.tripwire.processor_id, seen.tripwire.reason) == (wanted.processor_id, wanted.reason)
    assert "BBB" not in repr([chunk for chunk in seen.chunks.of(ToolOutput)])


@both_ways
async def test_a_match_that_ends_with_nested_text_comes_first_all_the_same(way: str) -> None:
    """A guard that still waits for more of its match is asked before one in front of it stops the run."""

    class Open(TextGuard):
        """A guard whose match may go on."""

        id = "open"
        strategy = "block"
        rules = (Rule("b", r"BBB[0-9]+"),)

    parent = round_(Agent("child", model=FakeModel([say("x BBB1", "AAA1 end")])), [First(), Open()], 0)
    seen = await ask(parent, way)
    assert seen.tripwire.processor_id == "open"
    assert not [
        chunk
        for chunk in seen.chunks.of(ToolOutput)
        if isinstance(chunk.output, TextDelta) and "B" in chunk.output.text
    ]
