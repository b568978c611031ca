"""What OpenAI's own tools did, and what it cites, in an answer."""

from __future__ import annotations

from typing import Any

import pytest
from tests.models.responses_events import (
    chunks_of,
    finish_of,
    message,
    streamed,
)

from procession.errors import ModelError
from procession.messages.chunks import (
    FileChunk,
    SourceChunk,
    ToolCall,
    ToolResult,
)


def test_sources() -> None:
    """What a text cites comes out once, after the text, as pages and as files."""
    page = {"type": "url_citation", "url": "https://example.com/a", "title": "A", "start_index": 0, "end_index": 2}
    file = {"type": "file_citation", "file_id": "file_1", "filename": "tax.pdf", "index": 2}
    chunks = chunks_of(*streamed([message("Hello", annotations=[page, file])]))
    sources = [chunk for chunk in chunks if isinstance(chunk, SourceChunk)]
    assert sources == [
        SourceChunk(
            "source-1",
            "url",
            "https://example.com/a",
            "A",
            provider_metadata={"openai": {"startIndex": 0, "endIndex": 2}},
        ),
        SourceChunk(
            "source-2",
            "document",
            title="tax.pdf",
            filename="tax.pdf",
            provider_metadata={"openai": {"index": 2, "fileId": "file_1"}},
        ),
    ]
    assert [chunk.type for chunk in chunks[-4:]] == ["text-end", "source", "source", "finish"]


SEARCH = {"type": "search", "query": "tax", "sources": [{"type": "url", "url": "https://example.com"}]}
BLOCKED = {"type": "moderation_error", "message": "blocked"}
OWN_TOOLS: list[tuple[dict[str, Any], str, Any, Any, bool]] = [
    (
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": SEARCH},
        "web_search",
        {"action": {"type": "search", "query": "tax"}},
        {"status": "completed", "sources": SEARCH["sources"]},
        False,
    ),
    (
        {"type": "file_search_call", "id": "fs_1", "status": "failed", "queries": ["tax"], "results": None},
        "file_search",
        {"queries": ["tax"]},
        {"status": "failed", "results": None},
        True,
    ),
    (
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "code": "1+1",
            "container_id": "c_1",
            "outputs": [{"type": "logs", "logs": "2"}],
        },
        "code_interpreter",
        {"code": "1+1", "container_id": "c_1"},
        {"status": "completed", "outputs": [{"type": "logs", "logs": "2"}]},
        False,
    ),
    (
        {"type": "mcp_call", "id": "mcp_1", "name": "roll", "server_label": "dice", "arguments": "{}", "output": "4"},
        "roll",
        {},
        "4",
        False,
    ),
    (
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "name": "roll",
            "server_label": "dice",
            "arguments": '{"n":',
            "error": {"type": "http_error", "code": 500, "message": "down"},
        },
        "roll",
        '{"n":',
        {"type": "http_error", "code": 500, "message": "down"},
        True,
    ),
    (
        {"type": "image_generation_call", "id": "ig_1", "status": "failed", "result": None, "error": BLOCKED},
        "image_generation",
        {},
        {"status": "failed", "error": BLOCKED},
        True,
    ),
]


@pytest.mark.parametrize(("item", "name", "args", "result", "failed"), OWN_TOOLS)
def test_tools_that_the_provider_runs(item: dict[str, Any], name: str, args: Any, result: Any, failed: bool) -> None:
    """What OpenAI's own tools were asked and answered comes out in its place, as a call with its result."""
    chunks = chunks_of(*streamed([item, message("Hi")]))
    call, answer = chunks[1:3]
    assert isinstance(call, ToolCall)
    assert isinstance(answer, ToolResult)
    assert (call.tool_call_id, call.tool_name, call.args, call.provider_executed) == (item["id"], name, args, True)
    assert (answer.result, answer.is_error, answer.provider_executed) == (result, failed, True)
    assert chunks[3].type == "text-start"
    assert finish_of(chunks).reason == "stop"


def test_image_that_the_provider_made() -> None:
    """An image that OpenAI's own tool made is a file."""
    item = {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": "iVBORw==",
        "output_format": "webp",
    }
    (file,) = [chunk for chunk in chunks_of(*streamed([item])) if isinstance(chunk, FileChunk)]
    metadata = {"openai": {"itemId": "ig_1", "itemType": "image_generation_call"}}
    assert file == FileChunk("iVBORw==", "image/webp", provider_metadata=metadata)


@pytest.mark.parametrize("kind", ["computer_call", "custom_tool_call", "mcp_approval_request", "local_shell_call"])
def test_items_that_nobody_can_answer(kind: str) -> None:
    """An answer that waits for what this client cannot do is an error that names it, not an empty answer."""
    with pytest.raises(ModelError, match=kind) as caught:
        chunks_of({"type": "response.output_item.done", "item": {"type": kind, "id": "x"}})
    assert (caught.value.kind, caught.value.retryable) == ("rejected", False)
