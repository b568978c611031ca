"""Gemini's streams over a socket, wherever their bytes are cut, and where they break."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import httpx
import pytest
from tests.models.google_kit import candidate, read
from tests.models.google_streams import STREAMS, body_of
from tests.models.pieces_kit import Pieces
from tests.models.wire import Packet, WireAnswer, serving

from procession.errors import ModelError
from procession.messages.chunks import Chunk, Finish, ResponseMetadata, TextDelta, ToolCall
from procession.models.google import GoogleModel
from procession.models.model import ModelRequest
from procession.testing.recorder import Recording, record

ASK = ModelRequest(messages=())
each_stream = pytest.mark.parametrize("name", STREAMS)


def reading(pieces: Iterable[bytes], content_type: str = "text/event-stream") -> GoogleModel:
    """Return a model whose server answers in these pieces, without a network."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": content_type}, stream=Pieces(pieces))

    return GoogleModel("m", base_url="http://test/v1", transport=httpx.MockTransport(answer), max_retries=0)


def plain(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return chunks without what the connection adds."""
    bare = {"headers": None, "request": None, "raw_response": None}
    return [chunk.replace(**bare) if isinstance(chunk, ResponseMetadata) else chunk for chunk in chunks]


def expected(name: str) -> list[Chunk]:
    """Return what the events of a stream are, read one by one."""
    return plain(read(*STREAMS[name]))


async def asked(*packets: Packet, content_type: str = "text/event-stream") -> Recording[Any]:
    """Return what a model says whose server sends these packets, each by itself."""
    async with serving(WireAnswer(packets, headers=(("content-type", content_type),))) as server:
        model = GoogleModel("m", base_url=server.base_url, max_retries=0)
        return await record(model.stream(ASK), catch=ModelError)


@each_stream
@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
async def test_byte_by_byte_over_a_socket(name: str, end: str) -> None:
    """A stream whose every byte is a packet gives the same chunks, with any of the three line ends."""
    recording = await asked(*(bytes([byte]) for byte in body_of(STREAMS[name], end)))
    assert recording.error is None
    assert plain(recording) == expected(name)


@each_stream
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # no event loop sees these cuts
async def test_in_any_two_pieces(name: str) -> None:
    """A stream gives the same chunks wherever its bytes are cut in two."""
    body = body_of(STREAMS[name])
    for cut in range(1, len(body)):
        recording = await record(reading([body[:cut], body[cut:]]).stream(ASK), catch=ModelError)
        assert plain(recording) == expected(name), cut


@each_stream
async def test_an_answer_that_is_not_streamed(name: str) -> None:
    """A server that answers with a list, as Google's does without ``alt=sse``, or with one object, gives the same."""
    body = json.dumps(STREAMS[name], ensure_ascii=False, indent=1).encode()
    for content_type in ("application/json", "application/json; charset=UTF-8"):
        recording = await asked(body[:7], body[7:], content_type=content_type)
        assert plain(recording) == expected(name)
    if len(STREAMS[name]) == 1:
        recording = await asked(json.dumps(STREAMS[name][0]).encode(), content_type="application/json")
        assert plain(recording) == expected(name)


@each_stream
async def test_a_stream_that_breaks_is_an_error(name: str) -> None:
    """A connection that drops before the end is an error after what was said, whose calls never come out."""
    events = STREAMS[name]
    recording = await asked(body_of(events[:-1]) + b"data: {", "close")
    assert isinstance(recording.error, ModelError)
    assert (recording.error.kind, recording.error.retryable) == ("stream", True)
    assert [chunk for chunk in recording.of(ToolCall) if not chunk.provider_executed] == []
    assert recording.of(Finish) == []
    whole = "".join(chunk.text for chunk in expected(name) if isinstance(chunk, TextDelta))
    assert whole.startswith(recording.text)


async def test_a_stream_without_an_end_is_an_error() -> None:
    """A stream that ends well but never says why is not complete."""
    recording = await asked(body_of([candidate({"text": "Once"})]))
    assert recording.text == "Once"
    assert isinstance(recording.error, ModelError)
    assert recording.error.provider_code == "incomplete_stream"
    recording = await asked()
    assert isinstance(recording.error, ModelError)
    assert recording.error.provider_code == "empty_stream"


async def test_an_error_comes_after_what_was_said() -> None:
    """An error in the middle of a stream is raised once its reader has what came before it."""
    error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    recording = await asked(body_of([candidate({"text": "Once"}), error, candidate({"text": "x"}, finish="STOP")]))
    assert recording.types[-1] == "text-delta"
    assert isinstance(recording.error, ModelError)
    assert (recording.error.kind, recording.error.status_code) == ("stream", 503)
    listed = await asked(json.dumps([error]).encode(), content_type="application/json")
    assert "overloaded" in str(listed.error)


async def test_a_large_answer_is_read_in_one_go() -> None:
    """Reading takes time for what is there: ten thousand events of one answer are no burden."""
    events = [candidate({"text": "word "}) for _ in range(10_000)] + [candidate(finish="STOP")]
    body = body_of(events)
    recording = await record(reading([body[at : at + 1_000] for at in range(0, len(body), 1_000)]).stream(ASK))
    assert len(recording.of(TextDelta)) == 10_000
