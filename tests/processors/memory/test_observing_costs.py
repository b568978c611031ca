"""What observing costs is booked, although it goes on behind the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.processors.memory.observing_kit import HERE, RESOURCE, agent_of, memory_of, observer, stored

from procession import Runtime
from procession.processors.guardrails.cost_guard import CostGuard
from procession.storage.memory_costs import InMemoryCosts

PRICES: Any = {"fake": {"input": "1", "output": "1"}, "observer": {"input": "1", "output": "1"}}


@pytest.mark.parametrize("in_runtime", [True, False])
async def test_a_cost_guard_knows_what_the_observer_costs(in_runtime: bool) -> None:
    """Its tokens are booked for the resource, each call once, whether a runtime is open or not."""
    costs = InMemoryCosts()
    guard = CostGuard(max_cost=100, store=costs, prices=PRICES)
    memory = memory_of(await stored(20), watcher := observer())
    if in_runtime:
        async with Runtime() as runtime:
            await agent_of(memory, input_processors=[guard], runtime=runtime).generate("Now?", **HERE)
    else:
        await agent_of(memory, input_processors=[guard]).generate("Now?", **HERE)
    assert len(watcher.requests) == 1
    by_model = await costs.by_model(json.dumps(["resource", None, RESOURCE]))
    assert by_model == {"fake": 15_000_000, "observer": 15_000_000}
