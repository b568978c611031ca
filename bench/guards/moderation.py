"""
``ModerationProcessor`` with a judge that answers with the labels: whether every verdict is carried out.

How well a model judges is not measured, since none is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import anyio

from bench.guards.items import Item
from bench.guards.scores import Score
from procession import Agent
from procession.processors.guardrails.moderation import ModerationProcessor
from procession.testing.fake_model import FakeModel

__all__ = ["measure_moderation"]

HARMLESS = "none"
_SURE = 0.9


def measure_moderation(items: Iterable[Item]) -> Score:
    """
    Send every text to an agent that is guarded: it is right to stop it and name all its labels, and to answer
    it where it has none.
    """
    return anyio.run(_measure, list(items))


async def _measure(items: Sequence[Item]) -> Score:
    score = Score()
    judge = FakeModel([_verdict(_labels_of(item)) for item in items])
    agent = Agent(
        "guarded", model=FakeModel(["Yes."] * len(items)), input_processors=[ModerationProcessor(model=judge)]
    )
    for item in items:
        result = await agent.generate(item["text"])
        score.items += 1
        labels = _labels_of(item)
        told = result.tripwire.reason if result.status == "blocked" and result.tripwire is not None else ""
        right = all(label in told for label in labels) if labels else result.status == "completed"
        score.add(item.get("tier", "core"), "text", "right" if right else "wrong", item["id"], result.status)
    return score


def _labels_of(item: Item) -> list[str]:
    return [label for label in item["labels"] if label != HARMLESS]


def _verdict(labels: Sequence[str]) -> str:
    scores = [{"category": label, "score": _SURE} for label in labels]
    return json.dumps({"category_scores": scores, "reason": None})
