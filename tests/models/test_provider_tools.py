"""Tools that a provider runs, as each format is told of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from procession.agents.agent import Agent
from procession.models.formats.anthropic.body import messages_body
from procession.models.formats.google.body import google_body
from procession.models.formats.openai.chat_body import chat_body
from procession.models.formats.openai.responses_body import responses_body
from procession.models.model import ModelRequest
from procession.testing.fake_model import FakeModel
from procession.tools.provider_tool import ProviderTool
from procession.tools.tool import Tool

Make = Callable[[ModelRequest], tuple[dict[str, Any], Any]]
BODIES: dict[str, Make] = {
    "anthropic": lambda request: messages_body(request, model="claude-haiku-5-5"),
    "google": lambda request: google_body(request, model="gemini-3-flash"),
    "openai": lambda request: responses_body(request, model="gpt-5-mini"),
    "chat": lambda request: chat_body(request, model="gpt-5-mini"),
}
OURS: Tool[Any] = Tool(name="lookup", execute=lambda args, ctx: None)
EVERYWHERE = ProviderTool(
    "web_search",
    openai={"type": "web_search"},
    anthropic={"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
    google={"google_search": {}},
)
ELSEWHERE = ProviderTool("web_search", elsewhere={"type": "secret_search"})
CHOSEN = {"type": "tool", "tool_name": "web_search"}


async def asked(tool: ProviderTool, **options: Any) -> ModelRequest:
    """Return what an agent with *tool*, beside one of its own, asks its model."""
    model = FakeModel("ok")
    await Agent("a", model=model, tools=[tool, OURS]).generate("Hi", **options)
    return model.requests[0]


@pytest.mark.parametrize("target", ["anthropic", "google", "openai"])
async def test_the_definition_is_sent_as_it_is(target: str) -> None:
    """Beside the agent's own tools, and without a word about it; no other provider's definition goes along."""
    body, warnings = BODIES[target](await asked(EVERYWHERE))
    assert EVERYWHERE.definitions[target] in body["tools"]
    sent = json.dumps(body)
    assert "lookup" in sent
    others = [each for name, each in EVERYWHERE.definitions.items() if name != target]
    assert all(each not in body["tools"] for each in others)
    assert "web_search" not in json.dumps(warnings)


@pytest.mark.parametrize("target", BODIES)
@pytest.mark.parametrize("choice", ["auto", "required", CHOSEN])
async def test_where_there_is_no_definition_the_tool_is_left_out(target: str, choice: Any) -> None:
    """A warning names it, and the model is not made to call what it was not told of."""
    body, warnings = BODIES[target](await asked(ELSEWHERE, tool_choice=choice))
    sent = json.dumps(body)
    assert "web_search" not in sent
    assert "secret_search" not in sent
    assert "lookup" in sent
    assert "web_search" in json.dumps(warnings)


@pytest.mark.parametrize("target", BODIES)
@pytest.mark.parametrize("choice", ["required", CHOSEN])
async def test_a_request_may_be_left_without_tools(target: str, choice: Any) -> None:
    """Then nothing is said of a choice, which servers would refuse."""
    request = await asked(ELSEWHERE, tool_choice=choice, active_tools=["web_search"])
    body, _ = BODIES[target](request)
    assert not {"tools", "tool_choice", "toolConfig"} & set(body)
