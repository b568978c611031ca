"""Pieces that were kept are never stale, whatever hooks, retries and fallbacks do to a run's prompts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from random import Random
from typing import Any

import pytest

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.messages.chunks import Chunk, Finish, ReasoningEnd, ReasoningStart, TextDelta, ToolCall
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall
from procession.messages.usage import Usage
from procession.models.anthropic import AnthropicModel
from procession.models.google import GoogleModel
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.models.openai_responses import OpenAIResponsesModel
from procession.models.wire_model import WireModel
from procession.processors.contexts import LLMRequestContext, OutputStepContext
from procession.processors.memory.memory import Memory
from procession.processors.processor import Processor
from procession.processors.recovery.history_compat import ProviderHistoryCompat
from procession.processors.recovery.stream_retry import StreamErrorRetry
from procession.tools.tool import tool

VALUES: tuple[Any, ...] = (0, 1, True, False, 1.0, "a")
CLIENTS: tuple[WireModel, ...] = (
    AnthropicModel("claude-sonnet-5-5"),
    OpenAIChatModel("m"),
    OpenAIChatModel("m", provider="deepseek"),
    OpenAIResponsesModel("gpt-5-mini"),
    OpenAIResponsesModel("gpt-5-mini", item_ids=True),
    GoogleModel("gemini-3-pro-preview"),
    GoogleModel("gemini-2.5-flash"),
)


class Compared:
    """A model that says or fails at random, and compares what would be sent with what a new conversion would send."""

    def __init__(self, client: WireModel, chance: Random) -> None:
        self.client, self.chance = client, chance
        self.id, self.provider = client.id, client.provider
        self.same: list[bool] = []

    def sent(self, request: ModelRequest) -> str:
        """Return the body, and what was changed, as text."""
        wire = self.client.prepare(request, base_url="http://test/v1", key=None)
        return json.dumps([wire.body, wire.warnings])

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Compare, then say something."""
        self.same.append(self.sent(request) == self.sent(request.replace(memo=None)))
        said = self.chance.random()
        if said < 0.15:
            raise ModelError("down", kind="unavailable", retryable=True)
        if said > 0.6:
            notes: Mapping[str, Any] = {self.chance.choice(("anthropic", "google", "openai")): {"itemId": "rs_1"}}
            yield ReasoningStart("r", notes)
            yield ReasoningEnd("r", "c2ln", notes)
        yield TextDelta(f"text {self.chance.randint(0, 2)}", "t")
        if said < 0.25:
            raise ModelError("cut", kind="stream", retryable=True)
        if said < 0.8:
            for _ in range(self.chance.randint(1, 3)):
                yield ToolCall(f"c{self.chance.randint(0, 5)}", "echo", {"value": self.chance.choice(VALUES)})
        yield Finish("tool-calls" if said < 0.8 else "stop", Usage(1, 1))


class Meddling(Processor):
    """Changes prompts at random, and has steps made again."""

    id = "meddling"

    def __init__(self, chance: Random) -> None:
        super().__init__()
        self.chance = chance

    async def process_llm_request(self, ctx: LLMRequestContext) -> Any:
        """Put another entry first, one more in between, or other arguments into the calls."""
        prompt, said = list(ctx.prompt), self.chance.random()
        if said < 0.2:
            prompt[0] = PromptMessage(prompt[0].role, (TextPart(f"edited {self.chance.randint(0, 2)}"),))
        elif said < 0.3:
            prompt.insert(1, PromptMessage("user", (TextPart("inserted"),)))
        elif said < 0.5:
            args = {"value": self.chance.choice(VALUES)}
            prompt = [
                entry.replace(
                    content=tuple(
                        part.replace(args=args) if isinstance(part, PromptToolCall) else part for part in entry.content
                    )
                )
                for entry in prompt
            ]
        return {"prompt": prompt} if said < 0.5 else None

    async def process_output_step(self, ctx: OutputStepContext) -> None:
        """Have a step made again now and then."""
        if self.chance.random() < 0.2:
            ctx.abort("again", retry=True)


@tool
def echo(value: Any = 0) -> Any:
    """Give it back."""
    return {"value": value}


@pytest.mark.parametrize("seed", range(12))
async def test_what_is_kept_is_what_would_be_made_anew(seed: int) -> None:
    """Every call of a run, and of the runs after it on the thread, sends what it would without anything kept."""
    chance = Random(seed)
    models = [Compared(client, chance) for client in chance.sample(CLIENTS, 3)]
    agent = Agent(
        "a",
        model=models,
        tools=[echo],
        instructions="Be brief.",
        input_processors=[Meddling(chance), ProviderHistoryCompat()][: chance.randint(1, 2)],
        error_processors=[StreamErrorRetry(max_retries=2)],
        memory=Memory(),
        max_processor_retries=5,
    )
    for question in ("one", "two", "three"):
        try:
            await agent.generate(question, thread="t", resource="r", max_steps=6)
        except ModelError as error:
            assert str(error) in ("down", "cut")
    same = [one for model in models for one in model.same]
    assert len(same) >= 3
    assert all(same)
