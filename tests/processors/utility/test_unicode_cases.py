"""Reported failures about characters that change with their case, where texts are rewritten."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask

from procession.agents.agent import Agent
from procession.messages.chunks import TextDelta
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.utility.batch_parts import BatchParts
from procession.processors.utility.unicode import UnicodeNormalizer
from procession.testing.fake_model import FakeModel
from procession.testing.script import say

TEXT = "İİİ straße bob@example.com ok"
RIGHT = "İİİ straße [EMAIL] ok"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("before", ["nothing", "batches", "normaliser"])
async def test_lengths_that_change_with_the_case_shift_nothing(way: str, before: str) -> None:
    """UNI-004: letters that are longer in lower case move no mask, in input and in a stream cut into single characters."""
    guard = PIIDetector(detection_types=["email"], strategy="redact", redaction_method="placeholder")
    assert guard.guard(TEXT) == RIGHT
    kinds: dict[str, list[Any]] = {"batches": [BatchParts(batch_size=3)], "normaliser": [UnicodeNormalizer()]}
    ahead = kinds.get(before, [])
    model = FakeModel([say(*TEXT)])
    agent = Agent("p", model=model, input_processors=[guard], output_processors=[*ahead, guard])
    seen = await ask(agent, way, TEXT)
    assert model.requests[0].messages[0].text == RIGHT
    assert seen.result.text == RIGHT
    assert "".join(chunk.text for chunk in seen.chunks.of(TextDelta)) == RIGHT
