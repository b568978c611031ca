"""Anthropic's own SDK reads the same bytes from the same server, and says the same as our chunks do."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import anyio
import pytest
from tests.models.anthropic_kit import CASES, STOP, answer_events, block, call, end, start, stream_of, text, thought
from tests.models.wire import WireAnswer, serving

from procession.agents.collector import Collector
from procession.messages.chunks import Chunk, Finish, SourceChunk, ToolCall, ToolResult
from procession.messages.parts import TextPart, ToolCallPart
from procession.messages.prompt import PromptMessage
from procession.messages.prompt_parts import step_entries
from procession.models.anthropic import AnthropicModel
from procession.models.formats.anthropic.prompt import messages_piece
from procession.models.model import ModelRequest
from procession.testing.recorder import Recording, record

pytest.importorskip("anthropic", reason="pip install 'anthropic>=2,<3'")

import anthropic
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import TypeAdapter

ASK = ModelRequest(messages=(PromptMessage("user", (TextPart("Q?"),)),))
EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
FOUND = [
    {"type": "web_search_result", "url": "https://a.test", "title": "A", "encrypted_content": "E=", "page_age": None}
]
CITED = {
    "type": "web_search_result_location", "url": "https://a.test", "title": "A", "cited_text": "c",
    "encrypted_index": "I=",
}  # fmt: skip
EVENTS: dict[str, list[dict[str, Any]]] = {
    **{name: answer_events(name) for name in ("ANT-001", "ANT-002", "ANT-004", "ANT-009")},
    "text": [start(), *text(0, "Hel", "lo 你好"), end("end_turn"), STOP],
    "stop sequence": [
        start(),
        *text(0, "one"),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "stop_sequence", "stop_sequence": "END"},
            "usage": {"output_tokens": 3},
        },
        STOP,
    ],
    "thinking and parallel tools": [
        start(cache_read_input_tokens=40, cache_creation_input_tokens=2),
        *thought(0, "hm", "S+/=="),
        *block(1, {"type": "redacted_thinking", "data": "ENC=="}),
        *text(2, "I look."),
        *call(3, "weather", '{"city": "Oslo"}'),
        *call(4, "weather", '{"city"', ': "Bergen"}'),
        *call(5, "now"),
        end("tool_use", output_tokens_details={"thinking_tokens": 5}),
        STOP,
    ],
    "web search": [
        start(),
        *call(0, "web_search", '{"query": "x"}', type="server_tool_use", id="srvtoolu_1"),
        *block(1, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": FOUND}),
        *block(
            2,
            {"type": "text", "text": "", "citations": []},
            {"type": "citations_delta", "citation": CITED},
            {"type": "text_delta", "text": "So."},
        ),
        end("end_turn", input_tokens=30, output_tokens=9),
        STOP,
    ],
    "cut call": [start(), *text(0, "x"), *call(1, "pay", '{"amount": 1'), end("max_tokens"), STOP],
    "empty": [start(), end("end_turn"), STOP],
}


def complete(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return events with what the reports left out and Anthropic always sends: the SDK wants it."""
    made: list[dict[str, Any]] = json.loads(json.dumps(list(events)))
    for event in made:
        if event["type"] == "message_start":
            event["message"] = {"type": "message", "model": "m", **event["message"]}
        if event.get("content_block", {}).get("type") == "thinking":
            event["content_block"].setdefault("signature", "")
    return made


async def both(name: str) -> tuple[Recording[Chunk], Message]:
    """Return what our client and the SDK make of one stream, each asked over a socket of its own."""
    body = stream_of(*complete(EVENTS[name]))
    async with serving(WireAnswer([body]), WireAnswer([body])) as server:
        ours = await record(AnthropicModel("m", base_url=server.base_url, api_key="k").stream(ASK))
        address = server.base_url.removesuffix("/v1")
        async with anthropic.AsyncAnthropic(base_url=address, api_key="k", max_retries=0) as client:
            said: Any = [{"role": "user", "content": [{"type": "text", "text": "Q?"}]}]
            async with client.messages.stream(model="m", max_tokens=4_096, messages=said) as stream:
                theirs = await stream.get_final_message()
        assert server.bodies[0] == server.bodies[1]
    return ours, theirs


@pytest.mark.parametrize("name", EVENTS)
async def test_same_answer_as_the_sdk(name: str) -> None:
    """Blocks, stop reason and usage are those that the SDK has in its message (ANT-001, 002, 004, 009)."""
    ours, theirs = await both(name)
    content = [one.model_dump(mode="json", exclude_none=True) for one in theirs.content]
    assert ours.text == "".join(one["text"] for one in content if one["type"] == "text")
    told = [[one.tool_call_id, one.tool_name, one.args] for one in ours.of(ToolCall)]
    calls = [
        [one["id"], one["name"], one["input"]] for one in content if one["type"] in ("tool_use", "server_tool_use")
    ]
    if theirs.stop_reason == "max_tokens":  # the SDK shows the half of the call: ours never comes out
        assert (told, [args for *_, args in calls]) == ([], [{"amount": 1}])
    else:
        assert told == calls
    found = [one["content"] for one in content if one["type"] == "web_search_tool_result"]
    assert [[{**one, "page_age": None} for one in every] for every in found] == [
        one.result for one in ours.of(ToolResult)
    ]
    cited = [place for one in content for place in one.get("citations") or ()]
    assert [(one.provider_metadata or {})["anthropic"] for one in ours.of(SourceChunk)] == cited
    (finish,) = ours.of(Finish)
    assert finish.raw_reason == theirs.stop_reason
    usage = theirs.usage
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    assert finish.usage.input_tokens == usage.input_tokens + cached + written
    assert finish.usage.output_tokens == usage.output_tokens
    assert (finish.usage.cached_input_tokens, finish.usage.cache_creation_input_tokens) == (cached, written)
    thoughts = usage.output_tokens_details.thinking_tokens if usage.output_tokens_details else 0
    assert finish.usage.reasoning_tokens == thoughts
    notes = (finish.provider_metadata or {}).get("anthropic", {})
    assert notes.get("stopSequence") == theirs.stop_sequence


@pytest.mark.parametrize("name", [name for name in EVENTS if name != "cut call"])
async def test_what_goes_back_is_what_the_sdk_would_send_back(name: str) -> None:
    """An answer that was collected goes back in the next request as the very blocks that the SDK keeps of it."""
    ours, theirs = await both(name)
    collector = Collector()
    for chunk in ours:
        collector.add(chunk)
    results = {one.tool_call_id: one for one in ours.of(ToolResult)}
    parts: list[Any] = []
    for part in collector.parts():
        if isinstance(part, ToolCallPart):
            found = results.get(part.tool_call_id)
            notes = found.provider_metadata if found is not None else part.provider_metadata
            given = found.result if found is not None else "ok"
            part = part.replace(state="result", result=given, provider_metadata=notes)
        parts.append(part)
    entries = [entry for entry in step_entries(parts) if entry.role == "assistant"]
    sent = [block for entry in entries for piece in messages_piece(entry).entries for block in piece["content"]]
    kept: Any = theirs.to_param()["content"]
    expected: list[dict[str, Any]] = [
        one.model_dump(mode="json", exclude_none=True, exclude={"citations", "parsed_output"}) for one in kept
    ]
    for one in expected:
        for result in one["content"] if one["type"] == "web_search_tool_result" else ():
            result["page_age"] = None
    assert sent == expected


@pytest.mark.parametrize("name", EVENTS)
def test_streams_are_what_the_sdk_knows(name: str) -> None:
    """The streams of these tests are made of events that the SDK's models take, but for those that nobody knows."""
    for event in complete(EVENTS[name]):
        if event["type"] not in ("ping", "new_thing"):
            EVENT.validate_python(event)


def test_every_reported_stream_is_read() -> None:
    """Every case with a stream is here or, as it ends in an error, in the tests of errors (ANT-003)."""
    assert {name for name in CASES if "body" in CASES[name]} - set(EVENTS) == {"ANT-003"}


async def test_error_in_the_stream_is_one_for_the_sdk_too() -> None:
    """What is an error of ours is an error of the SDK's, with the same words (ANT-003)."""
    body = stream_of(*complete(answer_events("ANT-003")))

    def ask(address: str) -> None:
        with anthropic.Anthropic(base_url=address, api_key="k", max_retries=0) as client:
            said: Any = [{"role": "user", "content": "Q?"}]
            with client.messages.stream(model="m", max_tokens=1, messages=said) as stream:
                stream.get_final_message()

    async with serving(WireAnswer([body])) as server:
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            await anyio.to_thread.run_sync(ask, server.base_url.removesuffix("/v1"))


async def test_whole_answer_of_the_sdk() -> None:
    """An answer that is not a stream is read as the SDK reads it."""
    content = [{"type": "text", "text": "né"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]
    usage = {"input_tokens": 3, "output_tokens": 2}
    whole = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content, "usage": usage}
    body = json.dumps({**whole, "stop_reason": "tool_use", "stop_sequence": None}).encode()
    answer = WireAnswer([body], headers=(("content-type", "application/json"),))
    async with serving(answer, answer) as server:
        ours = await record(AnthropicModel("m", base_url=server.base_url).stream(ASK))
        address = server.base_url.removesuffix("/v1")
        async with anthropic.AsyncAnthropic(base_url=address, api_key="k", max_retries=0) as client:
            theirs = await client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "Q?"}])
    assert [one.model_dump(exclude_none=True) for one in theirs.content] == content
    assert ours.text == "né"
    assert ours.of(ToolCall) == [ToolCall("t", "f", {"a": 1})]
    assert ours.of(Finish)[0].usage.total_tokens == theirs.usage.input_tokens + theirs.usage.output_tokens
