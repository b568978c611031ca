"""
What a tool of a server answered, as our tools answer: a text or JSON, which guards look through, and files for the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from procession.errors import ToolServerError
from procession.messages.shapes import is_form
from procession.tools.json_schema import faults_of
from procession.tools.mcp.limits import MCPLimits
from procession.tools.mcp.schemas import visible

if TYPE_CHECKING:
    from mcp.types import CallToolResult

__all__ = ["for_the_model", "value_of"]

_BASE64: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,100}")
_CONTENT: Final = "content"


def value_of(result: CallToolResult, output: Any, tool: str, limits: MCPLimits) -> Any:
    """
    Return a result: the structured one where there is one, else the text; with files, a mapping of both.

    *output* is the schema of structured results.  Raises ``ToolServerError`` where the tool says that it failed, where
    the result is none that it may give, and where it says more than *limits* lets it.
    """
    entries = [_entry(block, tool) for block in result.content]
    texts = [entry["text"] for entry in entries if "text" in entry]
    text = "\n".join(texts)
    structured = result.structured_content
    size = len(text) + (len(json.dumps(structured)) if structured is not None else 0)
    files = sum(len(entry.get("data", "")) for entry in entries)
    if size > limits.text or files > limits.files:
        raise ToolServerError(
            f"tool {tool!r} answered with {size + files} characters, more than it may",
            hint="ask it for less, or let it: MCPLimits(text=..., files=...)",
        )
    if result.is_error:
        raise ToolServerError(visible(text)[: max(1, limits.text // 100)] or f"tool {tool!r} failed")
    if structured is not None and output is not None:
        faults = faults_of(structured, output)
        if faults:
            raise ToolServerError(
                f"tool {tool!r} answered what its own schema does not allow: {'; '.join(faults)[:500]}"
            )
    if structured is None and output is not None:
        raise ToolServerError(f"tool {tool!r} answered without the structure that it has promised")
    if not files and not any("uri" in entry for entry in entries):
        return structured if structured is not None else text
    made: dict[str, Any] = {_CONTENT: entries}
    if structured is not None:
        made = {"structured": structured, _CONTENT: [entry for entry in entries if "text" not in entry]}
    return made


def for_the_model(value: Any) -> Any:
    """
    Return a result, as guards have left it, as the model is told it: files as files.

    >>> for_the_model({"content": [{"type": "image", "data": "aGk=", "mediaType": "image/png"}]})
    {'type': 'content', 'value': [{'type': 'image', 'data': 'aGk=', 'mediaType': 'image/png'}]}
    """
    if not (is_form(value) and isinstance(value.get(_CONTENT), list)):
        return value
    entries = [entry for entry in value[_CONTENT] if is_form(entry)]
    if not any("data" in entry for entry in entries):
        return value
    told: list[Mapping[str, Any]] = [
        entry if "data" in entry or "text" in entry else {"type": "text", "text": json.dumps(entry)}
        for entry in entries
    ]
    if "structured" in value:
        told.insert(0, {"type": "text", "text": json.dumps(value["structured"])})
    return {"type": "content", "value": told}


def _entry(block: Any, tool: str) -> dict[str, Any]:
    """
    Return one piece of a result.
    """
    kind = block.type
    if kind == "text":
        return {"type": "text", "text": block.text}
    if kind in ("image", "audio"):
        return _file(kind, block.data, block.mime_type, tool)
    if kind == "resource_link":
        return {"type": "link", "uri": str(block.uri), "name": block.name}
    resource = block.resource
    if hasattr(resource, "text"):
        return {"type": "text", "text": resource.text}
    return _file("file", resource.blob, resource.mime_type or "application/octet-stream", tool)


def _file(kind: str, data: str, media_type: str, tool: str) -> dict[str, Any]:
    # A provider fetches what is a URL, and the server must not say which.
    if not _BASE64.fullmatch(data) or not _MEDIA_TYPE.fullmatch(media_type):
        raise ToolServerError(f"tool {tool!r} answered with a file that is no base64, or of no type")
    return {"type": kind, "data": data, "mediaType": media_type}
