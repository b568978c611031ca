"""What the tests with the official client share."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.server.live import Live, live

pytest.importorskip("openai")

from openai import AsyncOpenAI

from procession.agents.agent import Agent
from procession.server.app import App

HI: Any = [{"role": "user", "content": "Hi"}]
TOKEN = "correct-horse"


@asynccontextmanager
async def client_of(*agents: Agent, **options: Any) -> AsyncGenerator[AsyncOpenAI]:
    """Serve agents, and yield an official client of them."""
    async with live(App(agents=agents, token=TOKEN, **options)) as server, sdk(server) as client:
        yield client


def sdk(server: Live, token: str = TOKEN) -> AsyncOpenAI:
    """Return an official client of a server, which asks once."""
    return AsyncOpenAI(base_url=f"{server.url}/v1", api_key=token, max_retries=0)
