"""Recorded-style streams of Anthropic's, byte for byte: over a socket, and cut wherever they can be cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.anthropic_kit import CASES, STOP, block, call, end, start, stream_of, text, thought
from tests.models.pieces_kit import sending
from tests.models.wire import WireAnswer, serving

from procession.errors import ModelError
from procession.messages.chunks import Chunk, Finish, SourceChunk, TextDelta, ToolCall, ToolResult
from procession.models.anthropic import AnthropicModel
from procession.models.model import ModelRequest
from procession.testing.recorder import Recording, record

ASK = ModelRequest(messages=())
FOUND = [{"type": "web_search_result", "url": "https://a.test", "title": "Ä", "encrypted_content": "E+/=="}]
CITED = {"type": "web_search_result_location", "url": "https://a.test", "title": "Ä", "cited_text": "雨"}
STREAMS: dict[str, bytes] = {
    **{name: CASES[name]["body"].encode() for name in CASES if "body" in CASES[name]},
    "everything": stream_of(
        start(cache_read_input_tokens=5),
        {"type": "ping"},
        *thought(0, "hm 😀 \u2028", "SIG+/=="),
        *text(1, "Ich ", "sehe\n nach: 你好"),
        *call(2, "web_search", '{"query": "Zür', 'ich"}', type="server_tool_use", id="srvtoolu_1"),
        *block(3, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": FOUND}),
        *block(
            4, {"type": "text", "text": ""}, {"type": "citations_delta", "citation": CITED}, {"type": "text_delta", "text": "é"}
        ),
        *call(5, "pay", '{"amount"', ": 10}"),
        end("tool_use"),
        STOP,
    ),
}  # fmt: skip


def model_reading(pieces: Sequence[bytes]) -> AnthropicModel:
    """Return a model whose server answers in these pieces, as they are when it is asked, without a network."""
    return AnthropicModel("m", base_url="http://test", transport=sending(pieces))


async def heard(model: AnthropicModel) -> Recording[Chunk]:
    """Return what a model's stream gave, and the error that ended it."""
    return await record(model.stream(ASK), catch=ModelError)


def told(recording: Recording[Chunk]) -> tuple[Any, ...]:
    """Return a recording as what can be compared, but for the server's headers."""
    error = recording.error
    chunks = [chunk for chunk in recording if chunk.type != "response-metadata"]
    return chunks, error and (str(error), getattr(error, "kind", None))


@pytest.mark.parametrize("name", STREAMS)
async def test_stream_over_a_socket(name: str) -> None:
    """Each stream gives the same whether a real server sends it whole, line by line or byte by byte."""
    body = STREAMS[name]
    lines = body.splitlines(keepends=True)
    single = [body[at : at + 1] for at in range(len(body))]
    async with serving(WireAnswer([body]), WireAnswer(lines), WireAnswer(single)) as server:
        model = AnthropicModel("m", base_url=server.base_url)
        whole, by_line, by_byte = [told(await heard(model)) for _ in range(3)]
    assert whole == by_line == by_byte
    assert whole[0]


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # no event loop sees these cuts
async def test_stream_in_any_two_pieces(name: str) -> None:
    """Each stream gives the same chunks wherever its bytes are cut in two."""
    body = STREAMS[name]
    pieces = [body]
    model = model_reading(pieces)
    whole = await heard(model)
    for cut in range(1, len(body)):
        pieces[:] = body[:cut], body[cut:]
        cut_up = await heard(model)
        assert cut_up == whole, cut
        assert str(cut_up.error) == str(whole.error), cut


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # no event loop sees these cuts
async def test_stream_that_breaks_off_at_any_byte(name: str) -> None:
    """A stream that ends before its last event is an error, wherever it ends, and no call of its own tools comes out."""
    body = STREAMS[name]
    pieces = [body]
    model = model_reading(pieces)
    whole = await heard(model)
    for cut in range(len(body)):
        pieces[:] = [body[:cut]]
        recording = await heard(model)
        if recording.error is None:
            assert told(recording) == told(whole)
            assert body[cut:].strip() == b""
            continue
        assert isinstance(recording.error, ModelError)
        assert recording.error.kind == "stream"
        assert [one for one in recording.of(ToolCall) if not one.provider_executed] == []
        assert recording.of(Finish) == []


async def test_connection_that_drops() -> None:
    """A connection that drops in the middle of a call is an error of the stream, after what was said before."""
    events = [start(), *text(0, "One moment."), *call(1, "pay", '{"amount": 10}')[:-1]]
    async with serving(WireAnswer([stream_of(*events), "close"])) as server:
        recording = await heard(AnthropicModel("m", base_url=server.base_url))
    assert isinstance(recording.error, ModelError)
    assert recording.error.kind == "stream"
    assert recording.text == "One moment."
    assert recording.of(ToolCall) == []


async def test_everything_comes_out() -> None:
    """A stream with everything in it gives text, sources, calls and results in their order."""
    recording = await heard(model_reading([STREAMS["everything"]]))
    assert recording.text == "Ich sehe\n nach: 你好é"
    assert [one.url for one in recording.of(SourceChunk)] == ["https://a.test"]
    assert [(one.tool_name, one.args) for one in recording.of(ToolCall)] == [
        ("web_search", {"query": "Zürich"}),
        ("pay", {"amount": 10}),
    ]
    assert [one.result for one in recording.of(ToolResult)] == [FOUND]
    assert recording.of(Finish)[0].usage.input_tokens == 16


@given(st.lists(st.binary(max_size=40), max_size=6), st.sampled_from(sorted(STREAMS)), st.integers(0, 400))
async def test_any_bytes_are_an_answer_or_a_model_error(noise: list[bytes], name: str, at: int) -> None:
    """Whatever bytes a server sends, alone or amid a stream, the client ends, with nothing worse than ``ModelError``."""
    body = STREAMS[name]
    recording = await heard(model_reading([*noise, body[:at], *noise, body[at:]]))
    assert isinstance(recording.error, ModelError) or recording.of(Finish)
    if recording.error is not None:
        assert recording.of(Finish) == []


@given(st.permutations(STREAMS["everything"].split(b"\n\n")[:-1]))
async def test_shuffled_streams_end(events: list[bytes]) -> None:
    """Events in any order make an answer or an error, and never a call with half its arguments as an object."""
    recording = await heard(model_reading([event + b"\n\n" for event in events]))
    assert isinstance(recording.error, ModelError) or recording.of(Finish)
    for one in recording.of(ToolCall):
        assert one.args in ({}, {"amount": 10}, {"query": "Zürich"}) or isinstance(one.args, str)


async def test_answer_in_one_piece() -> None:
    """A server that does not stream gives an answer all the same."""
    body = '{"type": "message", "id": "m", "content": [{"type": "text", "text": "né"}], "stop_reason": "end_turn"}'
    model = AnthropicModel("m", base_url="http://test", transport=sending([body.encode()], "application/json"))
    recording = await heard(model)
    assert [one.text for one in recording.of(TextDelta)] == ["né"]
    assert recording.of(Finish)[0].reason == "stop"
