"""What holds for the client of every provider, from the bytes of an answer to the last chunk."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.errors import InputError, ModelError
from procession.messages.chunks import Finish, ResponseMetadata, ToolCall
from procession.messages.parts import FilePart
from procession.messages.prompt import PromptMessage
from procession.models.anthropic import AnthropicModel
from procession.models.google import GoogleModel
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.models.openai_responses import OpenAIResponsesModel
from procession.models.wire_model import WireModel
from procession.testing.recorder import Recording, record

ASK = ModelRequest(messages=())
BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
CLIENTS: dict[str, Callable[..., WireModel]] = {
    "chat": partial(OpenAIChatModel, "m"),
    "responses": partial(OpenAIResponsesModel, "m"),
    "anthropic": partial(AnthropicModel, "m"),
    "google": partial(GoogleModel, "m"),
}


def event(payload: Any) -> bytes:
    """Return one event, named as those are that have a type."""
    name = f"event: {payload['type']}\n" if "type" in payload else ""
    return f"{name}data: {json.dumps(payload)}\n\n".encode()


def anthropic_block(block: dict[str, Any], deltas: Sequence[dict[str, Any]], stop: str) -> list[bytes]:
    """Return an answer of Anthropic's with one block."""
    start: dict[str, Any] = {
        "id": "a",
        "model": "m",
        "role": "assistant",
        "content": [],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return [
        event({"type": "message_start", "message": start}),
        event({"type": "content_block_start", "index": 0, "content_block": block}),
        *(event({"type": "content_block_delta", "index": 0, "delta": delta}) for delta in deltas),
        event({"type": "content_block_stop", "index": 0}),
        event({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}}),
        event({"type": "message_stop"}),
    ]


def responses_item(item: dict[str, Any], deltas: Sequence[dict[str, Any]], whole: dict[str, Any]) -> list[bytes]:
    """Return an answer of OpenAI's Responses with one item."""
    done = item | {"status": "completed"} | whole
    return [
        event(
            {"type": "response.created", "response": {"id": "r", "model": "m", "status": "in_progress", "output": []}}
        ),
        event({"type": "response.output_item.added", "output_index": 0, "item": item}),
        *(event({"output_index": 0, "content_index": 0, "item_id": item["id"]} | delta) for delta in deltas),
        event({"type": "response.output_item.done", "output_index": 0, "item": done}),
        event({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [done]}}),
    ]


def text_of(client: str, pieces: Sequence[str]) -> list[bytes]:
    """Return an answer that says these pieces."""
    whole = "".join(pieces)
    if client == "chat":
        said: list[dict[str, Any]] = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
        return [*map(event, said), event({"choices": [{"delta": {}, "finish_reason": "stop"}]}), b"data: [DONE]\n\n"]
    if client == "responses":
        item: dict[str, Any] = {"type": "message", "id": "i", "role": "assistant", "content": []}
        content: dict[str, Any] = {"content": [{"type": "output_text", "text": whole, "annotations": []}]}
        return responses_item(
            item, [{"type": "response.output_text.delta", "delta": piece} for piece in pieces], content
        )
    if client == "anthropic":
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        return anthropic_block({"type": "text", "text": ""}, deltas, "end_turn")
    said = [{"candidates": [{"content": {"role": "model", "parts": [{"text": piece}]}}]} for piece in pieces]
    return [*map(event, said), event({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]})]


def call_of(client: str, pieces: Sequence[str]) -> list[bytes]:
    """Return an answer that calls a tool with arguments of these pieces."""
    whole = "".join(pieces)
    if client == "chat":
        first = {"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}
        parts = [first, *({"index": 0, "function": {"arguments": piece}} for piece in pieces)]
        said: list[dict[str, Any]] = [{"choices": [{"delta": {"tool_calls": [part]}}]} for part in parts]
        return [
            *map(event, said),
            event({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
            b"data: [DONE]\n\n",
        ]
    if client == "responses":
        item = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": ""}
        deltas = [{"type": "response.function_call_arguments.delta", "delta": piece} for piece in pieces]
        return responses_item(item, deltas, {"arguments": whole})
    if client == "anthropic":
        block: dict[str, Any] = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
        return anthropic_block(
            block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces], "tool_use"
        )
    call = {"functionCall": {"name": "f", "args": json.loads(whole)}}
    return [event({"candidates": [{"content": {"role": "model", "parts": [call]}, "finishReason": "STOP"}]})]


async def heard(
    client: str, packets: Sequence[bytes], status: int = 200, *, request: ModelRequest = ASK
) -> Recording[Any]:
    """Return what a client makes of an answer that comes in these packets."""

    async def pieces() -> AsyncIterator[bytes]:
        for packet in packets:
            yield packet

    def answer(sent: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers={"content-type": "text/event-stream"}, content=pieces())

    model = CLIENTS[client](
        base_url="http://test/v1", api_key="k", transport=httpx.MockTransport(answer), max_retries=0
    )
    return await record(model.stream(request), catch=ModelError)


FRAGMENTS = [
    *(fragment for client in CLIENTS for fragment in text_of(client, ["Hel", "lo"])),
    *(fragment for client in CLIENTS for fragment in call_of(client, ['{"a"', ": 1}"])),
    b'{"error": {"message": "no", "code": "429", "status": "RESOURCE_EXHAUSTED"}}',
    b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n',
    b'data: {"type": "response.failed", "response": {"error": null}}\n\n',
    b'data: {"type": "content_block_delta", "index": [], "delta": null}\n\n',
    b'data: {"candidates": [null, {"content": {"parts": {"text": 1}}}], "usageMetadata": [1e999]}\n\n',
    b'data: {"choices": {"0": 1}, "usage": [NaN]}\n\n',
    b'"\\ud800',
    b"[" * 500,
    b"\xff\xfe",
    b"data: ",
    b"\r",
    b"\n\n",
]


@BACKENDS
@pytest.mark.parametrize("client", CLIENTS)
@given(
    fragments=st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=6), max_size=12),
    size=st.integers(1, 60),
    status=st.sampled_from([200, 200, 200, 429]),
)
def test_any_bytes_in_an_answer(backend: str, client: str, fragments: list[bytes], size: int, status: int) -> None:
    """Whatever comes, cut wherever, in a provider's language or another's, is an answer with an end, or a ``ModelError``."""
    whole = b"".join(fragments)

    async def main() -> Recording[Any]:
        with anyio.fail_after(20):
            return await heard(client, [whole[at : at + size] for at in range(0, len(whole), size)], status)

    recording = anyio.run(main, backend=backend)
    assert (recording.error is None) == bool(recording.of(Finish))
    assert recording.error is None or str(recording.error)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_text_and_calls_in_any_packets(client: str, size: int) -> None:
    """The same chunks come of the same answer, byte by byte and in one packet."""
    for stream in (text_of(client, ["Smør", "brød \u2028 ", "🧂"]), call_of(client, ['{"a', '": "', 'ø"}'])):
        whole = b"".join(stream)
        recording = await heard(client, [whole[at : at + size] for at in range(0, len(whole), size)])
        assert recording.error is None
        assert recording.text in ("", "Smørbrød \u2028 🧂")
        assert [call.args for call in recording.of(ToolCall)] == ([] if recording.text else [{"a": "ø"}])


@pytest.mark.parametrize("client", CLIENTS)
async def test_stream_that_breaks_off(client: str) -> None:
    """An answer without its end is an error wherever it breaks off, and its call never comes out (TOOL-006)."""
    for stream in (text_of(client, ["Hel", "lo"]), call_of(client, ['{"a"', ": 1}"])):
        whole = b"".join(stream)
        end = len(whole) - len(stream[-1])
        if client == "chat":  # the reason is what ends it, and [DONE] only says so
            end -= len(b"\n\n")
        for cut in (*range(0, end, 5), *range(max(0, end - 10), end)):
            recording = await heard(client, [whole[:cut]])
            assert isinstance(recording.error, ModelError)
            assert recording.of(ToolCall) == []


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("data", ["/home/ada/cat.png", "cat.png", "C:\\ada\\cat.png", Path("cat.png")])
async def test_a_path_is_no_picture(client: str, data: Any) -> None:
    """Who gives the path of a picture is told to give its bytes; the path is neither sent nor quoted."""
    question = PromptMessage("user", (FilePart(data, "image/png"),))
    made = CLIENTS[client](api_key="k", base_url="http://nowhere.invalid/v1")
    with pytest.raises(InputError, match=r"is no base64 \(hint: .*read_bytes\(\)") as caught:
        async for _ in made.stream(ModelRequest(messages=[question])):
            pass
    assert "cat.png" not in str(caught.value)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"settings": {"timeout": "5s"}}, r"'timeout' is str \(hint: give the seconds"),
        ({"settings": {"timeout": -1}}, r"'timeout' is -1"),
        ({"settings": {"max_retries": "3"}}, r"'max_retries' is str"),
        ({"settings": {"max_retries": -1}}, r"'max_retries' is -1"),
        ({"provider_options": {"reasoning": "low"}}, r"provider_options\['reasoning'\] is str \(hint: .*'reasoning'"),
    ],
)
async def test_a_setting_that_cannot_be_kept_to(client: str, given: dict[str, Any], told: str) -> None:
    """What cannot be kept to is refused before anything is sent: a limit that is none would hold nobody."""
    made = CLIENTS[client](api_key="k", base_url="http://nowhere.invalid/v1")
    with pytest.raises(InputError, match=told):
        async for _ in made.stream(ModelRequest(messages=(), **given)):
            pass


@pytest.mark.parametrize("client", CLIENTS)
async def test_options_that_nobody_reads(client: str) -> None:
    """Options under a name that is no provider's are reported, with the name that was meant; a provider's are not."""
    options: dict[str, Any] = {"Opnai": {"x": 1}, "thinking": {"x": 1}, "google": {}, "anthropic": {}, "openrouter": {}}
    recording = await heard(client, text_of(client, ["a"]), request=ASK.replace(provider_options=options))
    messages = [warning["message"] for warning in recording.of(ResponseMetadata)[0].warnings]
    assert messages[0].endswith("'Opnai': did you mean 'openai'?")
    assert "'thinking': those of this model stand under" in messages[1]
    assert len(messages) == 2


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_base_url_that_is_no_address(client: str) -> None:
    """A base URL without http:// is refused at once, and not quoted, since a password may stand in it."""
    made = CLIENTS[client](api_key="k", base_url="ada:secret@localhost:8080/v1")
    with pytest.raises(
        InputError, match=r"base URL of .*/m is no address \(hint: begin it with https://.*base_url="
    ) as caught:
        async for _ in made.stream(ASK):
            pass
    assert "secret" not in str(caught.value)


def calls_during(work: Callable[[], object]) -> int:
    """Return how many functions are called in *work*: a measure that no slow machine changes."""
    calls = 0

    def count(frame: Any, kind: str, arg: Any) -> None:
        nonlocal calls
        calls += kind.endswith("call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("make", [text_of, call_of])
@pytest.mark.parametrize("size", [64, 100_000])
def test_twice_as_much_takes_twice_as_long(client: str, make: Callable[..., list[bytes]], size: int) -> None:
    """What is done for an answer grows with its length and not with its square, however it is cut."""

    def calls(count: int) -> int:
        whole = b"".join(make(client, ['{"a": "', *["x"] * count, '"}']))
        packets = [whole[at : at + size] for at in range(0, len(whole), size)]
        return calls_during(lambda: anyio.run(heard, client, packets))

    calls(10)  # what is imported and compiled once
    assert calls(800) <= 2.2 * calls(400)
