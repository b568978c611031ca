"""Answers of Responses that are none, or not complete."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.models.responses_events import (
    DONE,
    calls_of,
    chunks_of,
    delta,
    finish_of,
    function_call,
    message,
    response,
    streamed,
    text_of,
)

from procession.errors import ModelError
from procession.messages.chunks import (
    Chunk,
    ToolCall,
)
from procession.models.formats.openai.responses_answer import ResponsesAnswer


@pytest.mark.parametrize("last", range(2, 9))
def test_stream_that_stops(last: int) -> None:
    """A stream that ends before the response does is an error that may be tried again, and no call comes out."""
    answer = ResponsesAnswer("test/m")
    seen: list[Chunk] = []
    with pytest.raises(ModelError) as caught:
        for event in streamed([function_call('{"city":"Oslo"}')])[:last]:
            seen.extend(answer.read(json.dumps(event)))
        seen.extend(answer.finish())
    assert (caught.value.kind, caught.value.retryable) == ("stream", True)
    assert not [chunk for chunk in seen if isinstance(chunk, ToolCall)]


@pytest.mark.parametrize("end", ["[DONE]", ""])
def test_done_is_not_the_end_of_a_response(end: str) -> None:
    """``[DONE]``, which some servers send, does not make an answer complete."""
    with pytest.raises(ModelError, match="before it was complete"):
        chunks_of(delta("Hi"), end)
    assert text_of(chunks_of(delta("Hi"), DONE, "[DONE]")) == "Hi"


def test_nothing_at_all() -> None:
    """A stream without anything in it is an error, not an empty answer (STR-007)."""
    with pytest.raises(ModelError) as caught:
        chunks_of()
    assert caught.value.provider_code == "empty_stream"


ERRORS: list[dict[str, Any]] = [
    {"type": "error", "code": "server_error", "message": "upstream", "param": None, "sequence_number": 3},
    {"type": "error", "error": {"type": "server_error", "message": "upstream"}},
    {"error": {"code": "server_error", "message": "upstream"}},
    {
        "type": "response.failed",
        "response": response("failed", error={"code": "server_error", "message": "upstream"}),
    },
    response("failed", error={"code": "server_error", "message": "upstream"}),
]


@pytest.mark.parametrize("payload", ERRORS)
def test_errors_in_the_stream(payload: dict[str, Any]) -> None:
    """An error in place of an answer says what the server said (STR-008)."""
    with pytest.raises(ModelError, match="upstream") as caught:
        chunks_of(delta("Hi"), payload)
    assert (caught.value.kind, caught.value.provider_code, caught.value.retryable) == ("stream", "server_error", True)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_end_that_is_none(status: str) -> None:
    """A response that failed or was cancelled without saying why is an error."""
    with pytest.raises(ModelError, match=status):
        chunks_of({"type": f"response.{status}", "response": response(status)})


def test_response_that_is_still_being_made() -> None:
    """A response in the background, of which only the beginning is there, is no answer."""
    with pytest.raises(ModelError, match="without an answer"):
        chunks_of(response("queued"))


def test_error_event() -> None:
    """An event called ``error`` is one, whatever its body looks like."""
    with pytest.raises(ModelError, match="too busy"):
        list(ResponsesAnswer("test/m").read('{"message": "too busy"}', "error"))


def test_event_name_beside_the_data() -> None:
    """A server that names an event only beside its data is understood."""
    answer = ResponsesAnswer("test/m")
    assert text_of(list(answer.read('{"delta": "Hi"}', "response.output_text.delta"))) == "Hi"


@pytest.mark.parametrize("data", ["{", "[]", "5", "not json", "[" * 100_000])
def test_events_that_are_no_objects(data: str) -> None:
    """An event that is no JSON object is an error that shows how it begins."""
    with pytest.raises(ModelError, match="no JSON object") as caught:
        chunks_of(data)
    assert len(str(caught.value)) < 500


def test_secrets_are_not_quoted() -> None:
    """An error does not repeat the key."""
    with pytest.raises(ModelError) as caught:
        list(ResponsesAnswer("test/m", secrets=("k-77",)).read('{"error": {"message": "bad key k-77"}}'))
    assert "k-77" not in f"{caught.value} {caught.value.body}"


def test_incomplete_without_a_reason() -> None:
    """An answer that is incomplete for no stated reason has met the limit, and a call at its end does not come out."""
    cut = function_call('{"a": ')
    chunks = chunks_of({"type": "response.completed", "response": response("incomplete", [message("Once"), cut])})
    assert (text_of(chunks), calls_of(chunks)) == ("Once", [])
    assert (finish_of(chunks).reason, finish_of(chunks).raw_reason) == ("length", "incomplete")
