"""Aborting a run whose guards beside the model call have not passed."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.agents.kit import WAYS, ask, at

from procession.agents.agent import Agent
from procession.processors.memory.memory import Memory
from procession.steps.abort import AbortSignal
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel, Reply


@pytest.mark.parametrize("way", WAYS)
async def test_nobody_gets_what_guards_have_not_passed(way: str) -> None:
    """What is held for guards beside the model call when the run is aborted is neither told nor kept, nor the input."""
    signal, store, later = AbortSignal(), InMemoryStore(), list[str]()

    async def stuck(ctx: Any) -> None:
        await anyio.sleep_forever()

    def text() -> Any:
        yield "Hel"
        signal.abort()
        yield "lo"

    model = FakeModel([Reply(text())])
    agent = Agent(
        "guide",
        model=model,
        memory=Memory(store),
        guard_mode="concurrent",
        input_processors=[at("process_input", stuck, check_only=True)],
        output_processors=[at("process_output_result", later.append)],
    )
    seen = await ask(agent, way, abort_signal=signal, thread="t", resource="ada")
    assert len(model.requests) == 1
    assert (seen.result.status, seen.result.text, seen.result.steps, seen.result.messages) == ("aborted", "", (), ())
    assert (seen.chunks.types[-2:], later, await store.messages("t")) == (["abort", "finish"], [], [])
    assert "text-delta" not in seen.chunks.types
