"""Both of OpenAI's formats, whatever bytes a server sends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models import responses_events as events
from tests.models.test_openai_answer import delta, part

from procession.errors import ModelError
from procession.messages.chunks import Finish, ToolCall
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.models.openai_responses import OpenAIResponsesModel
from procession.models.wire_model import WireModel
from procession.testing.recorder import Recording, record

ASK = ModelRequest(messages=())
ARGS = {"city": "Zürich"}
CHAT: list[dict[str, Any]] = [
    delta(role="assistant", content="né 🙂"),
    delta(tool_calls=[part('{"city":', index=0, id="c", name="weather")]),
    delta(tool_calls=[part(' "Zürich"}', index=0)]),
    delta("tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
]
RESPONSES = events.streamed(
    [events.reasoning("Hm"), events.message("né 🙂"), events.function_call(json.dumps(ARGS, ensure_ascii=False))]
)
TYPES = ["text/event-stream", "application/json", "text/plain", ""]


def body_of(stream: list[dict[str, Any]]) -> bytes:
    """Return events as a server sends them."""
    return "".join(f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in stream).encode()


CLIENTS: list[Any] = [
    pytest.param(OpenAIChatModel, body_of(CHAT), id="chat"),
    pytest.param(OpenAIResponsesModel, body_of(RESPONSES), id="responses"),
]


def read(client: Callable[..., WireModel], body: bytes, content_type: str) -> Recording[Any]:
    """Return what a client makes of a body."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": content_type}, content=body)

    model = client("m", base_url="http://test/v1", max_retries=0, transport=httpx.MockTransport(answer))

    async def ask() -> Recording[Any]:
        with anyio.fail_after(30):
            return await record(model.stream(ASK), catch=ModelError)

    return anyio.run(ask)


def check(recording: Recording[Any]) -> None:
    """An answer ends with its end, or is an error and nothing else."""
    assert (recording.error is None) == bool(recording.of(Finish))
    json.dumps([call.args for call in recording.of(ToolCall)])


@pytest.mark.parametrize(("client", "body"), CLIENTS)
@given(data=st.data())
def test_arbitrary_bytes(client: Callable[..., WireModel], body: bytes, data: st.DataObject) -> None:
    """Bytes that are nothing, under any content type, are an error."""
    junk = data.draw(st.binary(max_size=120))
    recording = read(client, junk, data.draw(st.sampled_from(TYPES)))
    assert isinstance(recording.error, ModelError)


@pytest.mark.parametrize(("client", "body"), CLIENTS)
@given(data=st.data())
def test_bytes_in_the_middle(client: Callable[..., WireModel], body: bytes, data: st.DataObject) -> None:
    """Bytes that are lost from a stream, or come into it, leave an answer or a ``ModelError``, and nothing else."""
    begin = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(begin, min(len(body), begin + 40)))
    junk = data.draw(st.sampled_from([b"", b"\n\n", b"data: ", b"\xff\xfe", b"\x00", b'"}', b"[DONE]\n\n", b": \r"]))
    check(read(client, body[:begin] + junk + body[end:], "text/event-stream"))


@pytest.mark.parametrize(("client", "body"), CLIENTS)
def test_stream_that_stops_anywhere(client: Callable[..., WireModel], body: bytes) -> None:
    """A stream that stops at any byte is an error, or has said all; no call of it is cut (STR-018, TOOL-006)."""
    whole = read(client, body, "text/event-stream")
    assert whole.error is None
    for kept in range(0, len(body), 7):
        recording = read(client, body[:kept], "text/event-stream")
        if recording.error is None:
            assert recording.of(ToolCall) == whole.of(ToolCall)
        else:
            assert isinstance(recording.error, ModelError)
            assert recording.of(ToolCall) == []
