"""Agents on the clients for OpenAI, over a socket: the reported cases that take a whole run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio
from tests.agents.kit import WAYS, ask, counted_tool
from tests.models.wire import DONE, Packet, WireAnswer, delta, event, serving
from trio.testing import MockClock

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.messages.chunks import Chunk, ErrorChunk, Finish, StepFinish, TextDelta
from procession.messages.message import Message
from procession.messages.parts import TextPart, ToolCallPart
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.models.openai_responses import OpenAIResponsesModel
from procession.processors.memory.memory import Memory
from procession.processors.processor import Processor
from procession.storage.memory import InMemoryStore
from procession.testing.recorder import Recording, record

both_ways = pytest.mark.parametrize("way", WAYS)
IDS: dict[str, Any] = {"thread": "t", "resource": "r"}
CASES: dict[str, dict[str, Any]] = {
    case["id"]: case for case in json.loads((Path(__file__).parent / "data" / "wire_cases.json").read_text("utf-8"))
}
JSON = (("content-type", "application/json"),)


def answer(case: str) -> WireAnswer:
    """Return the reported stream, as a server sends it."""
    packets: list[Packet] = []
    for packet in CASES[case]["packets"]:
        packets.append("close" if "close" in packet else packet["utf8"].encode())
    return WireAnswer(packets)


class Asked(Processor):
    """Notes each failed call with what had come of it, and asks for another one where it is to."""

    id = "asked"

    def __init__(self, *, retry: bool = False) -> None:
        super().__init__()
        self.retry = retry
        self.errors: list[tuple[str, int | None, bool, str]] = []

    def process_api_error(self, ctx: Any) -> dict[str, bool]:
        """Note it."""
        self.errors.append((ctx.error.kind, ctx.error.status_code, ctx.error.retryable, ctx.text))
        return {"retry": self.retry}


async def said_in(store: InMemoryStore) -> list[tuple[str, str]]:
    """Return who said what, as it is stored."""
    return [(message.role, message.text) for message in await store.messages("t")]


def parts_in(messages: Sequence[Message]) -> list[str]:
    """Return the types of the parts of the assistant's messages."""
    return [part.type for message in messages if message.role == "assistant" for part in message.parts]


# -- streams that end in an error


@both_ways
async def test_a_stream_of_nothing_is_no_answer(way: str) -> None:
    """STR-007: an empty stream is an error that may pass, names provider and model and is handed to processors."""
    asked, store = Asked(), InMemoryStore()
    async with serving(answer("STR-007")) as server:
        model = OpenAIChatModel("m", base_url=server.base_url, provider="local")
        seen = await ask(Agent("a", model=model, error_processors=[asked], memory=Memory(store)), way, **IDS)
    assert isinstance(seen.error, ModelError)
    assert (seen.error.provider_code, seen.error.retryable) == ("empty_stream", True)
    assert "local/m" in str(seen.error)
    assert asked.errors == [("stream", None, True, "")]
    assert [chunk.reason for chunk in seen.chunks.of(Finish)] == ["error"]
    assert parts_in(await store.messages("t")) == ["error"]


@both_ways
async def test_an_error_frame_is_no_end(way: str) -> None:
    """STR-008: the run fails with the server's code, processors see what had come, and nothing ends with ``stop``."""
    asked, store = Asked(), InMemoryStore()
    async with serving(answer("STR-008")) as server:
        model = OpenAIChatModel("m", base_url=server.base_url)
        seen = await ask(Agent("a", model=model, error_processors=[asked], memory=Memory(store)), way, **IDS)
    assert isinstance(seen.error, ModelError)
    assert (seen.error.kind, seen.error.status_code, seen.error.retryable) == ("stream", 502, True)
    assert asked.errors == [("stream", 502, True, "Par")]
    assert seen.chunks.text == "Par"
    last = seen.chunks[-3:]
    assert [type(chunk) for chunk in last] == [ErrorChunk, StepFinish, Finish]
    assert [chunk.reason for chunk in seen.chunks if isinstance(chunk, (StepFinish, Finish))] == ["error", "error"]
    # what is stored says itself that it is no finished answer
    assert parts_in(await store.messages("t")) == ["text", "error"]


HELLO = WireAnswer([delta(content="Hello world!"), delta("stop"), DONE])
"""The second attempt of STR-018."""


@both_ways
@pytest.mark.parametrize("retry", [False, True])
async def test_an_answer_that_broke_off_is_told_once(way: str, retry: bool) -> None:
    """STR-018: without a retry the error follows the visible text; with one ``step-finish(retry)`` stands between."""
    asked, store = Asked(retry=retry), InMemoryStore()
    async with serving(answer("STR-018"), HELLO) as server:
        model = OpenAIChatModel("m", base_url=server.base_url)
        seen = await ask(Agent("a", model=model, error_processors=[asked], memory=Memory(store)), way, **IDS)
    told = [
        chunk.text if isinstance(chunk, TextDelta) else f"{chunk.type} {getattr(chunk, 'reason', '')}".strip()
        for chunk in seen.chunks
        if isinstance(chunk, (TextDelta, StepFinish, ErrorChunk))
    ]
    assert asked.errors == [("stream", None, True, "Hello wor")]
    if not retry:
        assert isinstance(seen.error, ModelError)
        assert told == ["Hello wor", "error", "step-finish error"]
        return
    assert told == ["Hello wor", "step-finish retry", "Hello world!", "step-finish stop"]
    assert seen.result.text == "Hello world!"
    assert await said_in(store) == [("user", "Hi"), ("assistant", "Hello world!")]
    assert seen.result.usage == seen.result.steps[0].usage


# -- calls of tools


def call_of(arguments: str | None) -> dict[str, Any]:
    """Return a call of a tool that takes nothing."""
    return {"index": 0, "id": "c1", "type": "function", "function": {"name": "now", "arguments": arguments}}


@both_ways
@pytest.mark.parametrize("arguments", ["", "   ", None])
@pytest.mark.parametrize("streamed", [True, False])
async def test_a_tool_without_arguments_runs_once(way: str, streamed: bool, arguments: str | None) -> None:
    """TOOL-001: whatever is sent for no arguments, streamed or in one body, is one call with none, made once."""
    tool, calls = counted_tool("now")
    first = WireAnswer([delta(tool_calls=[call_of(arguments)]), delta("tool_calls"), DONE])
    if streamed and arguments == "":
        first = answer("TOOL-001")
    if not streamed:
        message = {"role": "assistant", "content": None, "tool_calls": [call_of(arguments)]}
        whole = {
            "id": "cc-1",
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        }
        first = WireAnswer([json.dumps(whole).encode()], headers=JSON)
    async with serving(first, HELLO) as server:
        agent = Agent("a", model=OpenAIChatModel("m", base_url=server.base_url), tools=[tool])
        seen = await ask(agent, way)
        assert calls == [{}]
        assert seen.result.text == "Hello world!"
        assert [(call.tool_call_id, call.tool_name, call.args) for call in seen.result.tool_calls] == [
            ("c1", "now", {})
        ]
        (sent,) = server.bodies[1]["messages"][1]["tool_calls"]
        assert sent["function"] == {"name": "now", "arguments": "{}"}


@both_ways
async def test_a_call_that_the_limit_cut_is_not_run(way: str) -> None:
    """TOOL-006: the run ends with ``length``, no tool runs, and the fragment is kept beside the end alone."""
    tool, calls = counted_tool("shell")
    store = InMemoryStore()
    async with serving(answer("TOOL-006")) as server:
        agent = Agent("a", model=OpenAIChatModel("m", base_url=server.base_url), tools=[tool], memory=Memory(store))
        seen = await ask(agent, way, **IDS)
        assert len(server.bodies) == 1
    assert calls == []
    assert (seen.result.finish_reason, seen.result.tool_calls) == ("length", ())
    assert "tool-call" not in seen.chunks.types
    assert not any(isinstance(part, ToolCallPart) for one in await store.messages("t") for part in one.parts)
    fragment = {"tool_call_id": "a", "tool_name": "shell", "args_text": '{"cmd":"rm -rf /data/old'}
    assert seen.result.steps[0].provider_metadata == {"dropped_tool_calls": [fragment]}


# -- what is counted


@both_ways
async def test_usage_is_summed_by_step(way: str) -> None:
    """OAI-004: counts so far are not added up within a call, those of the steps are; ``null`` is no count."""
    tool, _ = counted_tool("now")
    so_far = [
        event({"choices": [{"index": 0, "delta": piece, "finish_reason": finish}], "usage": usage})
        for piece, finish, usage in (
            ({"tool_calls": [call_of("{}")]}, None, {"prompt_tokens": 4, "completion_tokens": 1, "total_tokens": 5}),
            ({}, None, None),
            ({}, "tool_calls", {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}),
        )
    ]
    async with serving(WireAnswer([*so_far, DONE]), answer("OAI-004")) as server:
        agent = Agent("a", model=OpenAIChatModel("m", base_url=server.base_url), tools=[tool])
        seen = await ask(agent, way)
    counts = [(one.usage.input_tokens, one.usage.output_tokens, one.usage.total_tokens) for one in seen.result.steps]
    assert counts == [(4, 2, 6), (10, 3, 13)]
    assert (seen.result.text, seen.result.usage.total_tokens) == ("aaa", 19)


# -- what goes back


@both_ways
@pytest.mark.parametrize("item_ids", [None, True])
async def test_an_item_without_its_reasoning_goes_back_without_its_id(way: str, item_ids: bool | None) -> None:
    """OAI-001: the request has no id that the server would refuse, and what is stored stays as it was."""
    kept = TextPart("a", {"openai": {"itemId": "msg_1"}})
    done = {"type": "message", "role": "assistant", "id": "msg_2", "content": [{"type": "output_text", "text": "ok"}]}
    said = {"id": "resp_1", "object": "response", "model": "m", "status": "completed", "output": [done]}
    store = InMemoryStore()
    async with serving(WireAnswer([json.dumps(said).encode()], headers=JSON)) as server:
        model = OpenAIResponsesModel("m", base_url=server.base_url, item_ids=item_ids)
        await store.save("t", IDS["resource"], [Message.user("q"), Message("assistant", [kept])])
        seen = await ask(Agent("a", model=model, memory=Memory(store)), way, "q2", **IDS)
        assert seen.result.text == "ok"
        sent = [(item["role"], "id" in item) for item in server.bodies[0]["input"]]
        assert sent == [("user", False), ("assistant", False), ("user", False)]
    assert [one.parts for one in await store.messages("t")][1] == (kept,)


# -- comments


async def test_comments_are_no_events() -> None:
    """STR-004: a stream with comments, one of which says ``[DONE]``, gives the chunks that it gives without."""
    (packet,) = CASES["STR-004"]["packets"]
    bare = "\n".join(line for line in packet["utf8"].split("\n") if not line.startswith(":"))
    async with serving(answer("STR-004"), WireAnswer([bare.encode()])) as server:
        model = OpenAIChatModel("m", base_url=server.base_url)
        told = [await record(model.stream(ModelRequest(messages=()))) for _ in range(2)]
    assert told[0].text == "AB"
    assert told[0] == told[1]


@pytest.mark.parametrize("comments", [True, False])
def test_comments_break_the_silence(comments: bool) -> None:
    """STR-004: a server that says nothing but comments for longer than the read timeout is heard out."""

    heard: list[Recording[Chunk]] = []

    async def main() -> None:
        quiet = [anyio.Event() for _ in range(4)]
        packets: list[Packet] = []
        for each in quiet:
            packets.extend([each, b": PROCESSING\n\n"] if comments else [each])

        async with serving(WireAnswer([*packets, delta("stop", content="A"), DONE])) as server:

            async def speak() -> None:
                await server.asked.wait()
                for each in quiet:
                    await anyio.sleep(50)  # of a clock that jumps where all wait
                    each.set()

            model = OpenAIChatModel("m", base_url=server.base_url, read_timeout=60)
            async with anyio.create_task_group() as group:
                group.start_soon(speak)
                heard.append(await record(model.stream(ModelRequest(messages=())), catch=ModelError))

    trio.run(main, clock=MockClock(autojump_threshold=0.02))
    (told,) = heard
    assert told.text == ("A" if comments else "")
    assert (told.error is None) is comments
