"""
What OpenAI's own tools did: as chunks, and as the items that go back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from procession.messages.chunks import Chunk, FileChunk, ToolCall, ToolResult
from procession.messages.parts import FilePart
from procession.messages.prompt import PromptToolCall, PromptToolResult
from procession.models.formats.openai.values import arguments_text, base64_of, json_text
from procession.models.loose import as_mapping, as_text

__all__ = ["CLIENT_ITEMS", "PROVIDER_ITEMS", "image_item", "provider_chunks", "provider_item"]

PROVIDER_ITEMS: Mapping[str, str] = {
    "web_search_call": "web_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_interpreter",
    "image_generation_call": "image_generation",
    "mcp_call": "mcp",
}
"""The items of tools that OpenAI runs, each with the name of its tool."""

CLIENT_ITEMS = frozenset({
    "apply_patch_call", "computer_call", "custom_tool_call", "local_shell_call", "mcp_approval_request", "shell_call",
})  # fmt: skip
"""Items that wait for an answer which this client cannot give."""

_ASKED: Mapping[str, tuple[str, ...]] = {
    "web_search_call": ("action",),
    "file_search_call": ("queries",),
    "code_interpreter_call": ("code", "container_id"),
}
_ANSWERED: Mapping[str, tuple[str, ...]] = {"file_search_call": ("results",), "code_interpreter_call": ("outputs",)}


def provider_chunks(item: Mapping[str, Any], item_id: str) -> tuple[Chunk, ...]:
    """
    Return what an item of ``PROVIDER_ITEMS`` says: a call and its result, or the image that was made.

    What was asked and what was answered come apart, so that guards see both, and what they change is what goes back.

    >>> item = {"type": "file_search_call", "queries": ["tax"], "results": [], "status": "completed"}
    >>> [chunk.type for chunk in provider_chunks(item, "fs_1")]
    ['tool-call', 'tool-result']
    """
    kind = as_text(item.get("type"))
    noted: dict[str, Any] = {"itemId": item_id, "itemType": kind}
    image = as_text(item.get("result")) if kind == "image_generation_call" else ""
    if image:
        form = as_text(item.get("output_format")) or "png"
        media_type = "image/svg+xml" if form == "svg" else f"image/{form}"
        return (FileChunk(image, media_type, provider_metadata={"openai": noted}),)
    name, args, result = PROVIDER_ITEMS[kind], _asked(item, kind), _answered(item, kind)
    failed = item.get("status") == "failed"
    if kind == "mcp_call":
        name = as_text(item.get("name")) or name
        noted["serverLabel"] = as_text(item.get("server_label"))
        failed = failed or item.get("error") is not None
    metadata = {"openai": noted}
    return (
        ToolCall(item_id, name, args, provider_executed=True, provider_metadata=metadata),
        ToolResult(item_id, name, args, result, failed, provider_executed=True, provider_metadata=metadata),
    )


def provider_item(call: PromptToolCall, result: PromptToolResult | None) -> dict[str, Any] | None:
    """
    Return the item that a call of one of OpenAI's own tools came from; ``None`` where it is not one, or not whole.
    """
    noted = as_mapping(as_mapping(call.provider_metadata).get("openai"))
    kind, item_id = as_text(noted.get("itemType")), as_text(noted.get("itemId"))
    if result is None or not item_id:
        return None
    if kind == "mcp_call":
        return {"type": kind, "id": item_id, **_mcp_fields(call, as_text(noted.get("serverLabel")), result.output)}
    asked, answer = as_mapping(call.args), as_mapping(result.output.get("value"))
    if kind not in _ASKED or any(key not in asked for key in _ASKED[kind]):
        return None
    item: dict[str, Any] = {"type": kind, "id": item_id, "status": as_text(answer.get("status")) or "completed"}
    item.update((key, asked[key]) for key in _ASKED[kind])
    item.update((key, answer.get(key)) for key in _ANSWERED.get(kind, ()))
    return item


def image_item(part: FilePart) -> dict[str, Any] | None:
    """
    Return the item that an image came from; ``None`` where OpenAI's own tool did not make it, or it is elsewhere now.
    """
    noted = as_mapping(as_mapping(part.provider_metadata).get("openai"))
    item_id = as_text(noted.get("itemId"))
    elsewhere = isinstance(part.data, str) and part.data.startswith(("http://", "https://"))
    if noted.get("itemType") != "image_generation_call" or not item_id or elsewhere:
        return None
    return {"type": "image_generation_call", "id": item_id, "status": "completed", "result": base64_of(part)}


def _asked(item: Mapping[str, Any], kind: str) -> Any:
    if kind == "mcp_call":
        text = as_text(item.get("arguments"))
        try:
            args: Any = json.loads(text or "{}")
        except (ValueError, RecursionError):
            return text
        return as_mapping(args) if isinstance(args, dict) else text
    asked = {key: item[key] for key in _ASKED.get(kind, ()) if key in item}
    if kind == "web_search_call" and "sources" in as_mapping(asked.get("action")):
        asked["action"] = {key: value for key, value in as_mapping(asked["action"]).items() if key != "sources"}
    return asked


def _answered(item: Mapping[str, Any], kind: str) -> Any:
    if kind == "mcp_call":
        error = item.get("error")
        return item.get("output") if error is None else error
    answer: dict[str, Any] = {"status": as_text(item.get("status")) or "completed"}
    answer.update((key, item.get(key)) for key in _ANSWERED.get(kind, ()))
    sources = as_mapping(item.get("action")).get("sources")
    if sources is not None:
        answer["sources"] = sources  # for whoever shows them: they do not go back
    if kind == "image_generation_call" and item.get("error") is not None:
        answer["error"] = item["error"]
    return answer


def _mcp_fields(call: PromptToolCall, server_label: str, output: Mapping[str, Any]) -> dict[str, Any]:
    value = output.get("value")
    fields = {"name": call.tool_name, "server_label": server_label, "arguments": arguments_text(call.args)}
    if as_text(output.get("type")).startswith("error"):
        error = as_mapping(value) or {"type": "mcp_tool_execution_error", "content": value}
        return {**fields, "output": None, "error": error}
    return {**fields, "output": value if isinstance(value, str) or value is None else json_text(value)}
