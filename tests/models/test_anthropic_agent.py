"""Agents on the client for Anthropic, over a socket: the reported cases that take more than one call."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field
from tests.agents.kit import WAYS, ask
from tests.models.anthropic_kit import CASES, STOP, block, call, end, start, stream_of, text
from tests.models.wire import WireAnswer, WireServer, serving

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.serial import from_json, to_json
from procession.models.anthropic import AnthropicModel
from procession.models.formats.anthropic.body import ANSWER_TOOL
from procession.processors.memory.memory import Memory
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.storage.base import JournalStore
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.tools.tool import Tool, tool

both_ways = pytest.mark.parametrize("way", WAYS)
DONE = WireAnswer([stream_of(start(), *text(0, "Done."), end("end_turn"), STOP)])
JSON = (("content-type", "application/json"),)
THOUGHTS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "a é 😀  \n", "signature": "SIG+/=="},
    {"type": "redacted_thinking", "data": "ENC=="},
    {"type": "tool_use", "id": "t", "name": "f", "input": {}},
]
"""What has to go back of the reported answer, in this order."""
MEMORY = InMemoryJournal()


def answer(case: str) -> WireAnswer:
    """Return the reported stream, as a server sends it."""
    return WireAnswer([CASES[case]["body"].encode()])


def agent_on(server: WireServer, *tools: Tool[Any], **options: Any) -> Agent:
    """Return an agent whose model is at *server*."""
    return Agent("a", model=AnthropicModel("claude-sonnet-5-5", base_url=server.base_url), tools=tools, **options)


@tool
def f() -> str:
    """Do something."""
    return "ok"


def reply_in(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of the assistant's turn that a request sends back."""
    (turn,) = [message for message in body["messages"] if message["role"] == "assistant"]
    content: list[dict[str, Any]] = turn["content"]
    return content


@both_ways
async def test_thoughts_go_back_in_the_next_step(way: str) -> None:
    """The next request has the thoughts, the redacted ones and the call, in this order and byte for byte (ANT-004)."""
    async with serving(answer("ANT-004"), DONE) as server:
        seen = await ask(agent_on(server, f), way)
        assert seen.result.text == "Done."
        assert reply_in(server.bodies[1]) == THOUGHTS
        result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
        assert server.bodies[1]["messages"][-1] == {"role": "user", "content": [result]}


async def test_thoughts_survive_being_written_down() -> None:
    """Messages that were written as JSON and read again send the same thoughts (ANT-004)."""
    async with serving(answer("ANT-004"), DONE, DONE) as server:
        agent = agent_on(server, f)
        result = await agent.generate("Hi")
        kept: list[Message] = from_json(to_json(list(result.messages)))
        await agent.generate([Message.user("Hi"), *kept, Message.user("And now?")])
        assert server.bodies[2]["messages"][1]["content"][: len(THOUGHTS)] == THOUGHTS


async def test_thoughts_survive_memory() -> None:
    """A thread that is recalled sends the same thoughts (ANT-004)."""
    async with serving(answer("ANT-004"), DONE, DONE) as server:
        agent = agent_on(server, f, memory=Memory())
        await agent.generate("Hi", thread="t", resource="r")
        await agent.generate("And now?", thread="t", resource="r")
        assert server.bodies[2]["messages"][1]["content"] == THOUGHTS


@asynccontextmanager
async def journal_in(path: Path | None) -> AsyncGenerator[JournalStore]:
    """Open the journal in *path*, as another process would, or the one in memory."""
    if path is None:
        yield MEMORY
        return
    async with aclosing(SQLiteJournal(path)) as journal:
        yield journal


@both_ways
@pytest.mark.parametrize("backend", ["memory", "sqlite"])
async def test_thoughts_survive_a_suspended_run(way: str, backend: str, tmp_path: Path) -> None:
    """A run that waits for a person, and is gone on with in another runtime, sends the same thoughts (ANT-004)."""

    @tool(name="f", requires_approval=True)
    def asked() -> str:
        """Do something that has to be allowed."""
        return "ok"

    path = tmp_path / "runs.db" if backend == "sqlite" else None
    async with serving(answer("ANT-004"), DONE) as server:
        async with journal_in(path) as journal:
            first = await ask(agent_on(server, asked, runtime=Runtime(journal)), way)
        assert first.result.status == "suspended"
        async with journal_in(path) as journal:
            result = await agent_on(server, asked, runtime=Runtime(journal)).approve(first.result.run_id)
        assert result.text == "Done."
        assert reply_in(server.bodies[1]) == THOUGHTS


class Loud(Processor):
    """Rewrites every text that it is given, as a guard may."""

    id = "loud"

    async def process_output_result(self, ctx: Any) -> Any:
        """Write everything in capitals."""
        for message in ctx.messages:
            message.text = message.text.upper()
        return ctx.messages


async def test_processors_leave_thoughts_alone() -> None:
    """A processor that rewrites the text of the answer leaves what was thought as it was (ANT-004)."""
    async with serving(answer("ANT-004"), DONE, DONE) as server:
        agent = agent_on(server, f, output_processors=[Loud()])
        result = await agent.generate("Hi")
        assert result.text == "DONE."
        await agent.generate([Message.user("Hi"), *result.messages, Message.user("And now?")])
        turns = [one["content"] for one in server.bodies[2]["messages"] if one["role"] == "assistant"]
        assert turns == [THOUGHTS, [{"type": "text", "text": "DONE."}]]


@both_ways
async def test_error_in_the_stream_runs_nothing(way: str) -> None:
    """A call that an error cut off is not run, hooks see the error's kind, and nothing of it is told (ANT-003)."""
    runs: list[float] = []
    errors: list[ModelError] = []

    @tool
    def pay(amount: float) -> str:
        """Pay."""
        runs.append(amount)
        return "paid"

    class Watch(Processor):
        """Sees the error."""

        id = "watch"

        async def process_api_error(self, ctx: Any) -> None:
            """Keep the error."""
            errors.append(ctx.error)

    memory = Memory()
    async with serving(answer("ANT-003")) as server:
        agent = agent_on(server, pay, error_processors=[Watch()], memory=memory)
        seen = await ask(agent, way, thread="t", resource="r")
    assert runs == []
    kept = [part.type for message in await memory.recall("t", "r") for part in message.parts]
    assert kept == ["text", "error"]  # the question, and how it ended: nothing of the call
    (error,) = errors
    assert (error.kind, error.provider_code, error.retryable) == ("stream", "overloaded_error", True)
    told = seen.error or seen.result.error
    assert isinstance(told, ModelError)
    assert "tool-call" not in seen.chunks.types


@both_ways
async def test_refused_prefill_is_continued(way: str) -> None:
    """A model that refuses to go on from the assistant's turn is asked to continue, once, by default (ANT-007)."""
    case = CASES["ANT-007"]
    refusal = case["first_response"]
    refused = WireAnswer([json.dumps(refusal["body"]).encode()], refusal["status"], JSON)
    memory = Memory()
    async with serving(refused, DONE) as server:
        seen = await ask(agent_on(server, memory=memory), way, case["history"], thread="t", resource="r")
    assert seen.result.text == "Done."
    first, second = (body["messages"] for body in server.bodies)
    assert [one["role"] for one in first] == ["user", "assistant"]
    assert second[:2] == first
    (reminder,) = second[2]["content"]
    assert second[2]["role"] == "user"
    assert reminder["text"].startswith("<system-reminder")
    assert "continue" in reminder["text"]
    recalled = await memory.recall("t", "r")
    assert [one.text for one in recalled] == ["q", "half", "Done."]
    raw = await memory.recall("t", "r", signals=True)
    assert [one.role for one in raw] == ["user", "assistant", "signal", "assistant"]
    shown = MessageList(raw, source="memory").get.all.ui()
    assert [one["content"] for one in shown] == ["q", "half", "Done."]


@both_ways
async def test_refused_prefill_is_tried_once(way: str) -> None:
    """A second refusal of that kind is told: the retry has one reminder, and is not made again (ANT-007)."""
    case = CASES["ANT-007"]
    refusal = case["first_response"]
    refused = WireAnswer([json.dumps(refusal["body"]).encode()], refusal["status"], JSON)
    async with serving(refused, refused) as server:
        seen = await ask(agent_on(server), way, case["history"])
    assert isinstance(seen.error, ModelError)
    assert len(server.bodies) == 2


@both_ways
async def test_tools_of_the_server_go_back(way: str) -> None:
    """What Anthropic's own tools found goes back in place, and nothing of ours is run for it."""
    found = [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "E=="}]
    searched = [
        start(),
        *call(0, "web_search", '{"query": "x"}', type="server_tool_use", id="srvtoolu_1"),
        *block(1, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found}),
        *text(2, "So."),
        *call(3, "f", "{}", id="t"),
        end("tool_use"),
        STOP,
    ]
    async with serving(WireAnswer([stream_of(*searched)]), DONE) as server:
        seen = await ask(agent_on(server, f), way)
        assert seen.result.text == "So.Done."
        assert reply_in(server.bodies[1]) == [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found},
            {"type": "text", "text": "So."},
            {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        ]


async def test_messages_may_mark_the_cache() -> None:
    """What a message in the documents' form says of the cache marks its end."""
    mark = {"type": "ephemeral"}
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    said = {"role": "user", "content": parts, "providerOptions": {"anthropic": {"cacheControl": mark}}}
    async with serving(DONE) as server:
        await agent_on(server).generate([said])
    content = server.bodies[0]["messages"][0]["content"]
    assert [block.get("cache_control") for block in content] == [None, mark]


class Trip(BaseModel):
    """What the answer is to be."""

    city: str
    days: int = Field(ge=1)


async def test_a_turn_that_is_paused_goes_on() -> None:
    """A turn that Anthropic pauses is gone on with in the next step, without the call that was under way."""
    search: dict[str, Any] = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    paused = stream_of(start(), *text(0, "I search."), *block(1, search), end("pause_turn"), STOP)
    async with serving(WireAnswer([paused]), DONE) as server:
        result = await agent_on(server).generate("Hi")
    assert (result.text, result.finish_reason) == ("I search.Done.", "stop")
    assert reply_in(server.bodies[1]) == [{"type": "text", "text": "I search."}]


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-3-7-sonnet-latest"])
async def test_value_as_an_answer(model: str) -> None:
    """An agent's structured output comes by the schema, or by the tool of a model from before schemas."""
    json_text = '{"city": "Bergen", "days": 3}'
    by_schema = [start(), *text(0, json_text), end("end_turn"), STOP]
    by_tool = [start(), *call(0, ANSWER_TOOL, json_text), end("tool_use"), STOP]
    answered = by_schema if "sonnet-5" in model else by_tool
    async with serving(WireAnswer([stream_of(*answered)])) as server:
        agent = Agent("a", model=AnthropicModel(model, base_url=server.base_url), structured_output=Trip)
        result = await agent.generate("Plan a trip.")
    assert result.object == Trip(city="Bergen", days=3)
    assert result.finish_reason == "stop"
    assert ("output_config" in server.bodies[0], "tools" in server.bodies[0]) == (
        answered is by_schema,
        answered is by_tool,
    )
