"""A prompt as input items of OpenAI Responses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.models.responses_events import function_call, message, reasoning, response

from procession.agents.collector import Collector
from procession.errors import InputError
from procession.messages.chunks import ToolResult
from procession.messages.parts import FilePart, ReasoningPart, TextPart, ToolCallPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.prompt_parts import step_entries
from procession.models.formats.openai.responses_answer import ResponsesAnswer
from procession.models.formats.openai.responses_prompt import responses_piece

LONE = {"type": "other", "message": "reasoning is not sent without what it led to"}
LOST = {"type": "other", "message": "reasoning without its encrypted content is not sent"}


def said(*parts: Any, item_ids: bool = False) -> tuple[list[Any], list[Any]]:
    """Return the items of a model's message, and what was changed."""
    piece = responses_piece(PromptMessage("assistant", parts), item_ids=item_ids)
    return list(piece.entries), list(piece.changes)


def thought(text: str = "", item_id: str = "rs_1", encrypted: str | None = "gAAA-1", **noted: Any) -> ReasoningPart:
    """Reasoning of OpenAI's."""
    own = {"itemId": item_id, **({"reasoningEncryptedContent": encrypted} if encrypted else {}), **noted}
    return ReasoningPart(text, provider_metadata={"openai": own})


def text(words: str, item_id: str = "msg_1", **noted: Any) -> TextPart:
    """Text of OpenAI's."""
    return TextPart(words, {"openai": {"itemId": item_id, **noted}})


def call(item_id: str = "fc_1") -> PromptToolCall:
    """A call of a function."""
    return PromptToolCall("call_1", "weather", {"city": "Oslo"}, provider_metadata={"openai": {"itemId": item_id}})


def test_conversation() -> None:
    """Each entry becomes the items that stand for it."""
    assert responses_piece(PromptMessage("system", (TextPart("Be brief."),)), system_role="developer").entries == (
        {"type": "message", "role": "developer", "content": "Be brief."},
    )
    assert responses_piece(PromptMessage("user", (TextPart("Hi"), TextPart("there")))).entries == (
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Hi"}, {"type": "input_text", "text": "there"}],
        },
    )
    assert responses_piece(PromptMessage("user", ())).entries == ({"type": "message", "role": "user", "content": ""},)
    assert said(TextPart("Let me see."), call())[0] == [
        {"type": "message", "role": "assistant", "content": "Let me see."},
        {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Oslo"}'},
    ]


def test_reasoning_goes_back_in_its_place() -> None:
    """Encrypted reasoning goes back byte for byte, in front of what it led to; a summary in parts is one item."""
    items, changes = said(
        thought("One", encrypted=None), thought("Two"), text("Wait."), thought("", "rs_2", "gAAA-2"), call()
    )
    assert items == [
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "One"}, {"type": "summary_text", "text": "Two"}],
            "encrypted_content": "gAAA-1",
        },
        {"type": "message", "role": "assistant", "content": "Wait."},
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA-2"},
        {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Oslo"}'},
    ]
    assert changes == []


def test_ids_where_the_server_keeps_items() -> None:
    """Where the server keeps items, they go back under their ids, behind the reasoning that they belong to."""
    items, changes = said(thought(encrypted=None), text("Wait."), text("More."), call(), item_ids=True)
    assert items == [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "status": "completed",
            "content": [
                {"type": "output_text", "text": "Wait.", "annotations": []},
                {"type": "output_text", "text": "More.", "annotations": []},
            ],
        },
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "weather",
            "arguments": '{"city": "Oslo"}',
            "id": "fc_1",
        },
    ]
    assert changes == []


def test_no_id_without_its_reasoning() -> None:
    """An item whose reasoning is gone goes back without its id, which the server would refuse for good (OAI-001)."""
    assert said(text("a"), item_ids=True)[0] == [{"type": "message", "role": "assistant", "content": "a"}]
    unknown = ReasoningPart("Hmm", provider_metadata={"openai": {}})
    assert "id" not in said(unknown, call(), item_ids=True)[0][-1]


def test_encrypted_reasoning_has_its_id() -> None:
    """Reasoning that no server looks up goes back under its id, also if only its last part has what is encrypted."""
    parts = (thought("One", encrypted=None), thought("Two"), call(), thought("Three", "rs_2", None), text("a"))
    summary = [{"type": "summary_text", "text": text} for text in ("One", "Two")]
    (reasoning_item, *others) = responses_piece(PromptMessage("assistant", parts)).entries
    assert reasoning_item == {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "gAAA-1"}
    assert [(item["type"], "id" in item) for item in others] == [("function_call", False), ("message", False)]
    assert not any("id" in item for item in said(*parts, item_ids=False)[0])


@pytest.mark.parametrize("item_ids", [False, True])
def test_reasoning_is_never_alone(item_ids: bool) -> None:
    """Reasoning whose call was not answered, and so is not sent, is not sent either."""
    assert said(text("a"), thought("Hmm"), item_ids=item_ids) == (
        [{"type": "message", "role": "assistant", "content": "a"}],
        [LONE],
    )
    gone = PromptToolCall("srv_1", "search", {}, provider_executed=True)
    items, changes = said(thought("Hmm"), gone, text("a"), item_ids=item_ids)
    assert items == [{"type": "message", "role": "assistant", "content": "a"}]
    assert LONE in changes


def test_reasoning_that_the_server_forgot() -> None:
    """Reasoning that is neither encrypted nor kept by the server is left out and reported."""
    items, changes = said(thought("Hmm", encrypted=None), text("a"))
    assert items == [{"type": "message", "role": "assistant", "content": "a"}]
    assert changes == [LOST]


def test_reasoning_of_open_models() -> None:
    """Thoughts that a server sent as they were go back as they were."""
    items, _ = said(thought("Hmm", encrypted=None, reasoningText=True), text("a"))
    assert items[0] == {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hmm"}]}


@pytest.mark.parametrize(
    ("part", "reported"),
    [
        (ReasoningPart("Hmm", "sig"), True),
        (ReasoningPart("Hmm", provider_metadata={"google": {"thoughtSignature": "x"}}), True),
        (ReasoningPart("", redacted="x"), True),
        (ReasoningPart("Hmm"), False),
    ],
)
def test_reasoning_of_others(part: ReasoningPart, reported: bool) -> None:
    """Reasoning of another provider is left out, and reported where it was signed."""
    items, changes = said(part, TextPart("a"))
    assert items == [{"type": "message", "role": "assistant", "content": "a"}]
    assert changes == ([{"type": "other", "message": "reasoning of another provider is not sent"}] if reported else [])


def test_phase_of_a_message() -> None:
    """What a model said on its way goes back as such."""
    items, _ = said(text("Looking.", phase="commentary"), text("Done.", "msg_2", phase="final_answer"))
    assert [item["phase"] for item in items] == ["commentary", "final_answer"]


def test_long_call_ids() -> None:
    """An id that is longer than the server takes is replaced by the same one for the call and for its result."""
    long = "call_" + "x" * 80
    ((item,), _) = said(PromptToolCall(long, "f", {}))
    result = PromptToolResult(long, "f", {"type": "text", "value": "1"})
    (output,) = responses_piece(PromptMessage("tool", (result,))).entries
    assert item["call_id"] == output["call_id"]
    assert len(item["call_id"]) == 64


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"type": "text", "value": "noon"}, "noon"),
        ({"type": "error-text", "value": "no"}, "no"),
        ({"type": "json", "value": {"a": 1}}, '{"a": 1}'),
        ({"type": "content", "value": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        (
            {
                "type": "content",
                "value": [
                    {"type": "text", "text": "See:"},
                    {"type": "media", "mediaType": "image/png", "data": "iVBORw=="},
                    {"type": "image-url", "url": "https://example.com/a.png"},
                    {"type": "media", "mediaType": "application/pdf", "data": "JVBERg==", "filename": "a.pdf"},
                ],
            },
            [
                {"type": "input_text", "text": "See:"},
                {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"},
                {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
            ],
        ),
    ],
)
def test_results(output: dict[str, Any], expected: Any) -> None:
    """What a tool answered is text, or a list where there are images and files in it."""
    result = PromptToolResult("call_1", "f", output)
    assert responses_piece(PromptMessage("tool", (result,))).entries == (
        {"type": "function_call_output", "call_id": "call_1", "output": expected},
    )


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            FilePart(b"\x89PNG\r\n", "image/*"),
            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0K", "detail": "auto"},
        ),
        (
            FilePart("", "image/png", provider_metadata={"openai": {"fileId": "file-1", "imageDetail": "low"}}),
            {"type": "input_image", "file_id": "file-1", "detail": "low"},
        ),
        (
            FilePart(b"%PDF", "application/pdf"),
            {
                "type": "input_file",
                "filename": "document.pdf",
                "file_data": "data:application/pdf;base64,JVBERg==",
            },
        ),
        (
            FilePart("https://example.com/a.pdf", "application/pdf"),
            {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        ),
        (
            FilePart("", "application/pdf", provider_metadata={"openai": {"fileId": "file-1"}}),
            {"type": "input_file", "file_id": "file-1"},
        ),
        (FilePart("né".encode(), "text/csv"), {"type": "input_text", "text": "né"}),
    ],
)
def test_files(part: FilePart, expected: dict[str, Any]) -> None:
    """Files are sent in the form that their type has."""
    (item,) = responses_piece(PromptMessage("user", (part,))).entries
    assert item["content"] == [expected]


@pytest.mark.parametrize("kind", ["audio/wav", "video/mp4"])
def test_files_that_cannot_be_sent(kind: str) -> None:
    """A file that the format has no place for is refused, naming its type."""
    with pytest.raises(InputError, match=kind):
        responses_piece(PromptMessage("user", (FilePart(b"RIFF", kind),)))


def test_end_of_what_is_cached() -> None:
    """A part can say that all up to it is to be cached."""
    part = TextPart("A long text", {"openai": {"promptCacheBreakpoint": {"mode": "explicit"}}})
    (item,) = responses_piece(PromptMessage("user", (part,))).entries
    assert item["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}


def replayed(*items: dict[str, Any], item_ids: bool = False) -> list[Any]:
    """Return what goes back of an answer with these items, after it was kept as a message."""
    answer = ResponsesAnswer("test/m")
    chunks = [*answer.read(json.dumps(response("completed", items))), *answer.finish()]
    collector = Collector()
    for chunk in chunks:
        collector.add(chunk)
    results = {chunk.tool_call_id: chunk for chunk in chunks if isinstance(chunk, ToolResult)}
    parts: list[Any] = []
    for part in collector.parts():
        if isinstance(part, ToolCallPart):
            told = results.get(part.tool_call_id)
            part = part.replace(state="result", result="Sunny" if told is None else told.result)
            if told is not None:
                part = part.replace(is_error=told.is_error)
        parts.append(part)
    (assistant, *_) = step_entries(parts)
    return said(*assistant.content, item_ids=item_ids)[0]


def test_answer_goes_back_as_it_came() -> None:
    """An answer that the loop kept as a message goes back as the items that it came in, where the server keeps them."""
    sent = [
        reasoning("One", "Two", encrypted="gAA+/="),
        message("Let me see.", phase="commentary"),
        reasoning(item_id="rs_2", encrypted="gAAA-2"),
        function_call('{"city": "Oslo"}'),
    ]
    del sent[1]["content"][0]["logprobs"]
    del sent[3]["status"]
    assert replayed(*sent, item_ids=True) == sent
    assert [item.get("encrypted_content") for item in replayed(*sent)] == ["gAA+/=", None, "gAAA-2", None]


OWN: list[dict[str, Any]] = [
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "tax", "queries": ["tax"]},
    },
    {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["tax"], "results": None},
    {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "status": "completed",
        "code": "1+1",
        "container_id": "c_1",
        "outputs": [{"type": "logs", "logs": "2"}],
    },
    {
        "type": "mcp_call",
        "id": "mcp_1",
        "name": "roll",
        "server_label": "dice",
        "arguments": '{"sides": 6}',
        "output": "4",
    },
    {
        "type": "mcp_call",
        "id": "mcp_2",
        "name": "roll",
        "server_label": "dice",
        "arguments": "{}",
        "output": None,
        "error": {"type": "http_error", "code": 500, "message": "down"},
    },
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw=="},
]


@pytest.mark.parametrize("item", OWN, ids=lambda item: str(item["id"]))
@pytest.mark.parametrize("item_ids", [False, True])
def test_tools_that_openai_ran_go_back(item: dict[str, Any], item_ids: bool) -> None:
    """What OpenAI's own tools did goes back as it came, behind the reasoning that led to it."""
    items = replayed(reasoning(), item, message("Done."), item_ids=item_ids)
    assert [it["type"] for it in items] == ["reasoning", item["type"], "message"]
    assert items[1] == item


def test_guarded_results_go_back_guarded() -> None:
    """A result that a guard changed goes back as changed."""
    own = {"openai": {"itemId": "mcp_1", "itemType": "mcp_call", "serverLabel": "crm"}}
    asked = PromptToolCall("mcp_1", "read", {}, provider_executed=True, provider_metadata=own)
    answered = PromptToolResult("mcp_1", "read", {"type": "text", "value": "[EMAIL]"})
    ((item,), _) = said(asked, answered)
    assert item["output"] == "[EMAIL]"


@pytest.mark.parametrize(
    "noted",
    [None, {"anthropic": {}}, {"openai": {"itemId": "x", "itemType": "new"}}, {"openai": {"itemType": "mcp_call"}}],
)
def test_tools_that_others_ran(noted: Any) -> None:
    """What cannot be told to be OpenAI's is left out and reported."""
    asked = PromptToolCall("srv_1", "search", {}, provider_executed=True, provider_metadata=noted)
    answered = PromptToolResult("srv_1", "search", {"type": "json", "value": {}})
    items, changes = said(asked, answered, TextPart("a"))
    assert items == [{"type": "message", "role": "assistant", "content": "a"}]
    assert changes == [{"type": "other", "message": "what another provider's tools did is not sent"}]


def test_files_that_others_made() -> None:
    """An image of another provider's model, or one that was moved, is left out and reported."""
    own = {"openai": {"itemId": "ig_1", "itemType": "image_generation_call"}}
    for part in (FilePart(b"\x89PNG", "image/png"), FilePart("https://example.com/a.png", "image/png", None, own)):
        items, changes = said(part, TextPart("a"))
        assert len(items) == 1
        assert changes == [{"type": "other", "message": "files that a model of another provider made are not sent"}]
