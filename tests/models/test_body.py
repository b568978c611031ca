"""What an answer is, whatever its headers call it: events, one body of JSON, or a web page."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.google_streams import STREAMS, body_of
from tests.models.test_google_streams import expected, plain, reading
from tests.models.test_wire_cases import model_reading

from procession.errors import ModelError
from procession.models.model import ModelRequest
from procession.models.transport.body import AnswerBody
from procession.models.transport.sse import Event
from procession.testing.recorder import record

ASK = ModelRequest(messages=())
KINDS = [
    "text/event-stream",
    "text/event-stream; charset=iso-8859-1",
    "application/json",
    "application/json; charset=utf-8",
    "application/octet-stream",
    "text/plain",
    "text/html",
    "",
]
each_kind = pytest.mark.parametrize("content_type", KINDS)
CHAT = {"choices": [{"message": {"content": "né"}, "finish_reason": "stop"}]}
DELTA = {"choices": [{"delta": {"content": "né"}, "finish_reason": "stop"}]}


def events(*texts: str, content_type: str = "text/event-stream") -> list[Event]:
    """Return the events of a body that comes in these pieces."""
    body = AnswerBody(content_type, model="test/m")
    return [*(event for text in texts for event in body.feed(text.encode())), *body.end()]


@each_kind
@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\n", ""])
async def test_a_stream_is_a_stream(content_type: str, end: str) -> None:
    """Events are read as such under whatever name, with a byte order mark, and though the last has no end."""
    body = f"\ufeff: hello\n\ndata: {json.dumps(DELTA, ensure_ascii=False)}{end}".encode()
    for pieces in ([body], [bytes([byte]) for byte in body]):
        recording = await record(model_reading(pieces, content_type).stream(ASK))
        assert recording.text == "né"


@each_kind
async def test_json_is_json(content_type: str) -> None:
    """One object in place of a stream is the answer, under whatever name, however it is laid out."""
    body = f"\ufeff\n {json.dumps(CHAT, ensure_ascii=False, indent=1)}\n".encode()
    for pieces in ([body], [bytes([byte]) for byte in body]):
        recording = await record(model_reading(pieces, content_type).stream(ASK))
        assert recording.text == "né"


@each_kind
@pytest.mark.parametrize(
    "page", ["<html>Log in</html>", "\n\n<!DOCTYPE html>\n<p>data: x\n\n", "<?xml version='1.0'?>"]
)
async def test_a_web_page_is_no_answer(content_type: str, page: str) -> None:
    """A page is told as such, and asking again would not help."""
    recording = await record(model_reading([page.encode()], content_type).stream(ASK), catch=ModelError)
    assert isinstance(recording.error, ModelError)
    assert "web page" in str(recording.error)
    assert (recording.error.kind, recording.error.retryable) == ("rejected", False)


@each_kind
@pytest.mark.parametrize("listed", [False, True])
async def test_an_error_of_status_200(content_type: str, listed: bool) -> None:
    """An error in place of a stream is shown as the server put it, alone or in a list."""
    error = {"error": {"code": 503, "message": "The model is overloaded."}}
    body = json.dumps([error] if listed else error).encode()
    for model in (model_reading([body], content_type), reading([body], content_type)):
        recording = await record(model.stream(ASK), catch=ModelError)
        assert isinstance(recording.error, ModelError)
        assert "The model is overloaded." in str(recording.error)
        assert (recording.error.status_code, recording.error.retryable) == (503, True)


@each_kind
@pytest.mark.parametrize("name", STREAMS)
async def test_gemini_s_answers(content_type: str, name: str) -> None:
    """Gemini's events, and the list of them that it sends where no events were asked for, are the same."""
    for body in (body_of(STREAMS[name]), json.dumps(STREAMS[name]).encode()):
        recording = await record(reading([body[:40], body[40:]], content_type).stream(ASK))
        assert plain(recording) == expected(name)


@pytest.mark.parametrize("text", ['"a"', "1", "null", "true"])
def test_json_that_is_no_object(text: str) -> None:
    """What a server calls JSON is read as JSON unless it is events, and then refused as no answer."""
    assert events(text, content_type="application/json") == [Event(text)]
    assert events(f"data: {text}\n\n", content_type="application/json") == [Event(text)]


def test_a_last_event_that_was_cut_is_none() -> None:
    """What the end of the stream cut off is not taken for an event."""
    whole = 'data: {"a": 1}\n\n'
    assert events(whole, 'data: {"a": ') == [Event('{"a": 1}')]
    assert events(whole, "event: x\n") == [Event('{"a": 1}')]
    assert events(whole, 'data: {"b": 2}') == [Event('{"a": 1}'), Event('{"b": 2}')]
    assert events(whole, "data: [DONE]") == [Event('{"a": 1}'), Event("[DONE]")]
    assert events("id: 7\n" + whole, 'event: x\ndata: {"b":\ndata:  2}') == [
        Event('{"a": 1}'),
        Event('{"b":\n 2}', "x"),
    ]


def test_an_empty_body_has_no_events() -> None:
    """Nothing, or nothing but blanks and comments, is no event."""
    assert events() == []
    assert events("", " ", "\r\n", content_type="application/json") == []
    assert events(": ping\n", "\n", ": ping") == []


@given(st.lists(st.text(), max_size=4), st.sampled_from(KINDS), st.integers(0, 9))
def test_cuts_change_nothing(texts: list[str], content_type: str, size: int) -> None:
    """Whatever a body is, where it is cut makes no difference."""
    whole = "".join(texts)
    cut = [whole[at : at + size + 1] for at in range(0, len(whole), size + 1)]

    def read(pieces: list[str]) -> list[Event] | str:
        try:
            return events(*pieces, content_type=content_type)
        except ModelError as error:
            return str(error)

    assert read(cut) == read([whole])
