"""What the tests of the cache share: agents with a cache, and a store that tells what is asked of it."""

from __future__ import annotations

import json
from typing import Any

from tests.agents.kit import Seen, ask

from procession.agents.agent import Agent
from procession.processors.cache.response_cache import ResponseCache
from procession.storage.memory import InMemoryCacheStore
from procession.testing.fake_model import FakeModel


class Store(InMemoryCacheStore):
    """A store that shows its entries."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, str] = {}
        self.ttls: list[float] = []

    async def set(self, key: str, value: str, *, ttl: float) -> None:
        """Keep it, and show it."""
        self.kept[key] = value
        self.ttls.append(ttl)
        await super().set(key, value, ttl=ttl)

    def types(self) -> list[list[str]]:
        """Return the kinds of chunks in each entry."""
        return [[chunk["$type"] for chunk in json.loads(entry)["chunks"]] for entry in self.kept.values()]


class Broken:
    """A store that fails whatever it is asked."""

    calls = 0

    async def get(self, key: str) -> str | None:
        """Fail."""
        self.calls += 1
        raise OSError("no such host: cache.internal")

    async def set(self, key: str, value: str, *, ttl: float) -> None:
        """Fail."""
        self.calls += 1
        raise OSError("no such host: cache.internal")

    async def delete(self, key: str) -> bool:
        """Fail."""
        raise OSError

    async def clear(self, prefix: str = "") -> int:
        """Fail."""
        raise OSError


def parrot(script: Any, cache: ResponseCache, **options: Any) -> tuple[Agent, FakeModel]:
    """Return an agent with *cache* whose model plays *script*, and that model."""
    model = options.pop("model", None) or FakeModel(script)
    processors = [*options.pop("input_processors", ()), cache]
    return Agent("parrot", model=model, input_processors=processors, **options), model


async def said(agent: Agent, way: str = "generate", messages: Any = "Hi", **options: Any) -> str:
    """Return the text that *agent* answers with."""
    seen: Seen = await ask(agent, way, messages, **options)
    return seen.result.text
