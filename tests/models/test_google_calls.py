"""The calls in Gemini's answers: of functions, and of Google's own tools."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.models.google_kit import CONTEXT, SIGNATURE, call, candidate, failure, read

from procession.errors import ModelError
from procession.messages.chunks import (
    Finish,
    TextDelta,
    TextEnd,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from procession.models.formats.google.answer import GoogleAnswer
from procession.models.wire_model import AnswerContext


def test_function_calls() -> None:
    """Calls come out complete, in their order, with their ids and signatures, and are why the answer ended."""
    chunks = read(
        {**candidate({"text": "One moment."}), "responseId": "r-1"},
        candidate({**call("f", {"city": "Zürich"}, id="c-1"), "thoughtSignature": SIGNATURE}, call("g", id="c-2")),
        candidate(finish="STOP"),
    )
    assert chunks[3:] == [
        TextEnd("text-1"),
        ToolInputStart("c-1", "f"),
        ToolInputDelta("c-1", '{"city": "Zürich"}', "f"),
        ToolInputStart("c-2", "g"),
        ToolInputDelta("c-2", "{}", "g"),
        ToolInputEnd("c-1"),
        ToolCall("c-1", "f", {"city": "Zürich"}, provider_metadata={"google": {"thoughtSignature": SIGNATURE}}),
        ToolInputEnd("c-2"),
        ToolCall("c-2", "g", {}),
        Finish("tool-calls", raw_reason="STOP"),
    ]


def test_what_follows_a_call_stays_behind_it() -> None:
    """The parts of an answer keep their order, though a call waits for its end."""
    chunks = read(candidate(call("f", {})), candidate({"text": "Done."}), candidate(call("g", {}), finish="STOP"))
    kept = [chunk for chunk in chunks if isinstance(chunk, (ToolCall, TextDelta))]
    assert [chunk.type for chunk in kept] == ["tool-call", "text-delta", "tool-call"]


@pytest.mark.parametrize(
    ("given", "args"), [({}, {}), (None, {}), ('{"a": ', '{"a": '), ([1], "[1]"), ({"a": [None]}, {"a": [None]})]
)
def test_arguments(given: Any, args: Any) -> None:
    """Arguments are an object; what is none goes on as text, for the tool to refuse."""
    (made,) = [chunk for chunk in read(candidate(call("f", given), finish="STOP")) if isinstance(chunk, ToolCall)]
    assert made.args == args


def ids_of(*events: Any, context: AnswerContext = CONTEXT) -> list[str]:
    """Return the ids of the calls of an answer."""
    return [chunk.tool_call_id for chunk in read(*events, context=context) if isinstance(chunk, ToolCall)]


def test_calls_without_ids() -> None:
    """The same answer gives the same ids, each once, and another answer gives others."""
    calls = candidate(call("f", {}), call("f", {}), call("f", {}, id="given"), call("g", {}, id="given"), finish="STOP")
    first = ids_of({**calls, "responseId": "r-1"})
    assert first == ids_of({**calls, "responseId": "r-1"})
    assert len({*first, *ids_of({**calls, "responseId": "r-2"})}) == 7
    assert first[2] == "given"
    assert len(set(first)) == 4


def test_calls_without_ids_in_answers_without_ids() -> None:
    """Where the server names nothing, the request tells the answers of a run apart."""
    calls = candidate(call("f", {}), finish="STOP")
    one, two = ({"contents": [{"role": "user", "parts": [{"text": text}]}]} for text in "ab")
    ids = [ids_of(calls, context=CONTEXT.replace(request=request)) for request in (one, one, two)]
    assert ids[0] == ids[1] != ids[2]


def test_a_server_cannot_take_the_ids_that_are_made() -> None:
    """An id that looks like one of ours is passed over when one is made."""
    (made,) = ids_of({**candidate(call("f", {}), finish="STOP"), "responseId": "r"})
    ids = ids_of({**candidate(call("f", {}, id=made), call("f", {}, id=""), finish="STOP"), "responseId": "r"})
    assert len(set(ids)) == 2


@pytest.mark.parametrize("more", [{"partialArgs": [{"jsonPath": "$.a"}]}, {"willContinue": True}])
def test_calls_in_pieces_are_refused(more: Any) -> None:
    """A call that comes in pieces would be run without its arguments: the answer fails, and says what to leave out."""
    assert "streamFunctionCallArguments" in str(failure(candidate(call("f", **more), finish="STOP")))


def test_a_call_without_a_name_is_refused() -> None:
    """A call of nothing is no answer."""
    failure(candidate({"functionCall": {"args": {}}}, finish="STOP"))


def test_no_call_comes_out_of_a_broken_answer() -> None:
    """As long as the answer is not complete, its calls are shown and not made."""
    answer = GoogleAnswer(CONTEXT)
    chunks = list(answer.read(json.dumps(candidate(call("f", {})))))
    assert [chunk.type for chunk in chunks] == [ToolInputStart.type, ToolInputDelta.type]
    with pytest.raises(ModelError, match="before it was complete"):
        list(answer.finish())


def test_code_that_google_ran() -> None:
    """Code and its outcome are a call and a result of the provider's, by their place where they have no ids."""
    chunks = read(
        candidate({"executableCode": {"language": "PYTHON", "code": "1/0"}, "thoughtSignature": "a"}),
        candidate({"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "x"}, "thoughtSignature": "b"}),
        candidate({"executableCode": {"language": "PYTHON", "code": "1", "id": "k"}}),
        candidate({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1", "id": "k"}}, {"text": "One."}),
        candidate(finish="STOP"),
    )
    first, failed, second, done = chunks[:4]
    assert isinstance(first, ToolCall)
    code = {"language": "PYTHON", "code": "1/0"}
    id = first.tool_call_id
    assert first == ToolCall(id, "code_execution", code, True, {"google": {"thoughtSignature": "a"}})
    outcome = {"outcome": "OUTCOME_FAILED", "output": "x"}
    notes = {"google": {"resultThoughtSignature": "b"}}
    assert failed == ToolResult(id, "code_execution", code, outcome, True, True, notes)
    assert second == ToolCall("k", "code_execution", {"language": "PYTHON", "code": "1"}, True, {"google": {"id": "k"}})
    assert isinstance(done, ToolResult)
    assert (done.tool_call_id, done.is_error) == ("k", False)
    assert chunks[-1] == Finish("stop", raw_reason="STOP")


def test_tools_that_google_ran() -> None:
    """Other tools of Google are known by their type, with what is needed to send them back."""
    kind = "GOOGLE_SEARCH_WEB"
    call, result = read(
        candidate({"toolCall": {"toolType": kind, "id": "s", "args": {"q": 1}}, "thoughtSignature": "a"}),
        candidate({"toolResponse": {"toolType": kind, "id": "s", "response": {"n": 3}}}, finish="STOP"),
    )[:2]
    notes = {"google": {"id": "s", "toolType": kind, "thoughtSignature": "a"}}
    assert call == ToolCall("s", "google_search_web", {"q": 1}, True, notes)
    assert result == ToolResult("s", "google_search_web", {"q": 1}, {"n": 3}, False, True)
