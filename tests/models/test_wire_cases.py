"""Recorded quirks of servers, byte for byte: the cases in data/wire_cases.json."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.models.pieces_kit import sending
from tests.models.wire import Packet, WireAnswer, serving

from procession.errors import ModelError
from procession.messages.chunks import Finish, ResponseMetadata, TextDelta, ToolCall
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.testing.recorder import Recording, record

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "wire_cases.json").read_text("utf-8"))
ASK = ModelRequest(messages=())


def packets_of(case: dict[str, Any]) -> list[Packet]:
    """Return the packets of a case as a server sends them."""
    packets: list[Packet] = []
    for packet in case["packets"]:
        if "close" in packet:
            packets.append("close")
        else:
            packets.append(packet["utf8"].encode() if "utf8" in packet else bytes.fromhex(packet["hex"]))
    return packets


def model_reading(pieces: Iterable[bytes], content_type: str = "text/event-stream") -> OpenAIChatModel:
    """Return a model whose server answers in these pieces, without a network."""
    return OpenAIChatModel("m", base_url="http://test/v1", transport=sending(pieces, content_type))


def check(recording: Recording[Any], expected: dict[str, Any]) -> None:
    """Compare what a model's stream gave with what a case expects."""
    assert recording.text == expected.get("text", "")
    assert "\ufffd" not in recording.text
    if "deltas" in expected:
        assert [chunk.text for chunk in recording.of(TextDelta)] == expected["deltas"]
    calls = [[call.tool_call_id, call.tool_name, call.args] for call in recording.of(ToolCall)]
    assert calls == expected.get("calls", [])
    if "metadata" in expected:
        assert [[it.id, it.model_id] for it in recording.of(ResponseMetadata)] == [expected["metadata"]]
    finishes = recording.of(Finish)
    if "error" in expected:
        assert isinstance(recording.error, ModelError)
        assert finishes == []
        assert "local/m" in str(recording.error) or "openai/m" in str(recording.error)
        told = {name: getattr(recording.error, name) for name in expected["error"]}
        assert told == expected["error"]
    else:
        assert recording.error is None
        assert [finish.reason for finish in finishes] == [expected["finish"]]
        if "usage" in expected:
            assert [finishes[0].usage.input_tokens, finishes[0].usage.output_tokens] == expected["usage"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
async def test_case_over_a_socket(case: dict[str, Any]) -> None:
    """Each case comes out right when a real server sends its packets one by one."""
    async with serving(WireAnswer(packets_of(case))) as server:
        model = OpenAIChatModel("m", base_url=server.base_url, provider="local")
        check(await record(model.stream(ASK), catch=ModelError), case["expected"])


@pytest.mark.parametrize(
    "case", [case for case in CASES if {"close": "abrupt"} not in case["packets"]], ids=lambda case: str(case["id"])
)
async def test_case_in_any_two_pieces(case: dict[str, Any]) -> None:
    """Each case gives the same chunks wherever its bytes are cut in two."""
    body = b"".join(packet for packet in packets_of(case) if isinstance(packet, bytes))
    whole = await record(model_reading([body]).stream(ASK), catch=ModelError)
    check(whole, case["expected"])
    for cut in range(1, len(body)):
        cut_up = await record(model_reading([body[:cut], body[cut:]]).stream(ASK), catch=ModelError)
        assert cut_up == whole, cut


async def test_stream_in_single_bytes() -> None:
    """A stream that comes byte by byte gives the same chunks, with any of the three line ends."""
    body = "".join(
        f"data: {json.dumps({'choices': [{'delta': {'content': text}}]}, ensure_ascii=False)}\n\n"
        for text in ("你好", "\u2028 a line \u2029 apart \x85", "🙂‍↔️", "é")
    )
    body += 'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    for end in ("\n", "\r\n", "\r"):
        pieces = [bytes([byte]) for byte in body.replace("\n", end).encode()]
        recording = await record(model_reading(pieces).stream(ASK))
        assert [chunk.text for chunk in recording.of(TextDelta)] == [
            "你好",
            "\u2028 a line \u2029 apart \x85",
            "🙂‍↔️",
            "é",
        ]


@pytest.mark.parametrize(
    "content_type", ["text/event-stream; charset=iso-8859-1", "text/plain", "application/octet-stream", ""]
)
async def test_stream_is_utf8_whatever_is_declared(content_type: str) -> None:
    """A stream is read as UTF-8 events, with or without a byte order mark, under whatever content type."""
    body = '\ufeffdata: {"choices": [{"delta": {"content": "né"}, "finish_reason": "stop"}]}\n\n'.encode()
    recording = await record(model_reading([body], content_type).stream(ASK))
    assert recording.text == "né"


async def test_error_object_comes_with_the_text_before_it() -> None:
    """What was said before a failure in the stream has reached the reader when the error is raised (STR-008)."""
    case = next(case for case in CASES if case["id"] == "STR-008")
    async with serving(WireAnswer(packets_of(case))) as server:
        model = OpenAIChatModel("m", base_url=server.base_url)
        recording = await record(model.stream(ASK), catch=ModelError)
    assert recording.types[-1] == "text-delta"
    assert "upstream capacity" in str(recording.error)
