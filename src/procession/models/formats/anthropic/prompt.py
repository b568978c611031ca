"""
A prompt as Anthropic's Messages: pure functions, no network.

What a model thought goes back byte for byte or not at all: a signature holds for the very words that it came with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from procession.errors import InputError
from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.shapes import is_dict
from procession.models.formats.anthropic.files import file_block
from procession.models.loose import as_list, as_mapping, as_text
from procession.models.pieces import Piece
from procession.tools.json_value import json_value

__all__ = ["cache_control_of", "joined", "messages_piece"]

ANTHROPIC = "anthropic"
"""The format's name: the key of what is Anthropic's in ``provider_metadata``."""
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_SERVER_TOOLS = frozenset({
    "web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution",
    "tool_search_tool_regex", "tool_search_tool_bm25",
})  # fmt: skip
"""Tools that Anthropic runs itself, for histories that do not say whose a call is."""
_is_legal = re.compile(r"[a-zA-Z0-9_-]+").fullmatch
_illegal = re.compile(r"[^a-zA-Z0-9_-]")

_FOREIGN_THOUGHTS = {"type": "other", "message": "reasoning that is not Anthropic's, or not signed, is not sent"}
_LAST_THOUGHTS = {"type": "other", "message": "reasoning at the end of an assistant's turn is not sent"}
_FOREIGN_TOOLS = {"type": "other", "message": "what tools of other providers did is not sent"}
_FILES_LEFT_OUT = {"type": "other", "message": "files that a model made are not sent"}
_RESULT_FILES = {"type": "other", "message": "files in a tool's result that Anthropic does not take are only named"}
_SYSTEM_MOVED = {"type": "other", "message": "system messages between others are sent before them all"}


def messages_piece(message: PromptMessage) -> Piece:
    """
    Return one entry of a prompt as a message of content blocks; a system entry as one of the role ``system``.

    ``provider_metadata={"anthropic": {"cache_control": {"type": "ephemeral"}}}`` of a part marks its block.  Left out
    are texts of nothing but blanks, which Anthropic refuses, and what is another provider's own.

    Raises ``InputError`` for a file that cannot be sent, naming its type.

    >>> messages_piece(PromptMessage("user", (TextPart("Hello"),))).entries
    ({'role': 'user', 'content': [{'type': 'text', 'text': 'Hello'}]},)
    """
    changes: list[Mapping[str, Any]] = []
    if message.role == "assistant":
        content = _assistant_blocks(message, changes)
    elif message.role == "tool":
        content = [_result_block(part, changes) for part in message.content if isinstance(part, PromptToolResult)]
    else:
        content = [
            _text_block(part) if isinstance(part, TextPart) else _marked(file_block(part), part)
            for part in message.content
            if isinstance(part, FilePart) or (isinstance(part, TextPart) and part.text.strip())
        ]
    role = "user" if message.role == "tool" else message.role
    return Piece(({"role": role, "content": content},) if content else (), tuple(changes))


def joined(
    pieces: Iterable[Piece],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Mapping[str, Any]]]:
    """
    Return the system blocks, the messages, and what had to be changed so that they fit together.

    System entries come first, whatever stood before them.  Roles alternate: entries of one role are one message, in
    which the results of tools come first, since they must follow their calls.  No turn of an assistant ends with
    reasoning, the text of the last one not with blanks, and no two calls have one id: Anthropic refuses all of it.
    """
    entries = [entry for piece in pieces for entry in piece.entries]
    changes: list[Mapping[str, Any]] = []
    system = [block for entry in entries if entry["role"] == "system" for block in entry["content"]]
    said = [entry for entry in entries if entry["role"] != "system"]
    first = next((at for at, entry in enumerate(entries) if entry["role"] != "system"), len(entries))
    if len(entries) - first > len(said):
        changes.append(_SYSTEM_MOVED)
    messages = _turns(said)
    if any(turn["content"][-1]["type"] in _THOUGHTS for turn in messages):
        changes.append(_LAST_THOUGHTS)
        messages = _turns([turn for turn in map(_ended, messages) if turn["content"]])
    if messages and messages[-1]["role"] == "assistant":
        messages[-1] = _without_last_blanks(messages[-1])
    return system, _with_own_ids(messages), changes


def _turns(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    if all(before["role"] != after["role"] for before, after in pairwise(entries)):  # as those of an agent's steps do
        return list(entries)
    turns: list[dict[str, Any]] = []
    for role, run in groupby(entries, key=itemgetter("role")):
        first, *more = run
        if more:  # the entries are kept for the next call, so what is joined is new
            content = [block for entry in (first, *more) for block in entry["content"]]
            if role == "user":
                content.sort(key=_comes_second)
            first = {"role": role, "content": content}
        turns.append(first)
    return turns


def _comes_second(block: Mapping[str, Any]) -> bool:
    return bool(block["type"] != "tool_result")


def _ended(turn: dict[str, Any]) -> dict[str, Any]:
    content = list(turn["content"])
    while content and content[-1]["type"] in _THOUGHTS:
        content.pop()
    return {**turn, "content": content}


def _without_last_blanks(turn: dict[str, Any]) -> dict[str, Any]:
    *before, block = turn["content"]
    if block["type"] != "text":
        return turn
    return {**turn, "content": [*before, {**block, "text": block["text"].rstrip()}]}


def _with_own_ids(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    Number the ids of calls that come again, as those of servers do that count from nought in every answer.
    """
    calls = [
        block["id"]
        for message in messages
        if message["role"] == "assistant"
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    if len(set(calls)) == len(calls):
        return messages
    seen: set[str] = set()
    numbers: dict[str, int] = {}
    unanswered: dict[str, list[str]] = {}
    for at, message in enumerate(messages):
        for index, block in enumerate(message["content"]):
            key = "id" if block["type"] == "tool_use" else "tool_use_id" if block["type"] == "tool_result" else None
            if key is None:
                continue
            own = told = block[key]
            if key == "id":
                while own in seen:
                    numbers[told] = numbers.get(told, 1) + 1
                    own = f"{told}-{numbers[told]}"
                seen.add(own)
                unanswered.setdefault(told, []).append(own)
            elif unanswered.get(told):
                own = unanswered[told].pop(0)
            if own != told:
                content = [*messages[at]["content"]]
                content[index] = {**block, key: own}
                messages[at] = {**message, "content": content}
    return messages


# --- blocks ----------------------------------------------------------------------


def _assistant_blocks(message: PromptMessage, changes: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    results = {part.tool_call_id: part for part in message.content if isinstance(part, PromptToolResult)}
    own_calls: dict[str, PromptToolCall] = {}
    for part in message.content:
        block: dict[str, Any] | None = None
        if isinstance(part, TextPart):
            block = _text_block(part) if part.text.strip() else None
        elif isinstance(part, ReasoningPart):
            block = _thought_block(part)
            if block is None:
                changes.append(_FOREIGN_THOUGHTS)
        elif isinstance(part, FilePart):
            changes.append(_FILES_LEFT_OUT)
        elif isinstance(part, PromptToolCall):
            if not part.provider_executed:
                block = _call_block(part, "tool_use")
            elif _is_ours(part, results.get(part.tool_call_id)):
                own_calls[part.tool_call_id] = part
                block = _call_block(part, as_text(_notes(part).get("type")) or "server_tool_use")
            else:
                changes.append(_FOREIGN_TOOLS)
        elif part.tool_call_id in own_calls:
            block = _server_result_block(part, own_calls[part.tool_call_id])
        if block is not None:
            content.append(block)
    return content


def _text_block(part: TextPart) -> dict[str, Any]:
    return _marked({"type": "text", "text": part.text}, part)


def _thought_block(part: ReasoningPart) -> dict[str, Any] | None:
    notes = _notes(part)
    if part.provider_metadata and ANTHROPIC not in part.provider_metadata:
        return None
    redacted = part.redacted or notes.get("redactedData")
    if redacted:
        return {"type": "redacted_thinking", "data": redacted}
    signature = part.signature or notes.get("signature")
    return {"type": "thinking", "thinking": part.text, "signature": signature} if signature else None


def _is_ours(call: PromptToolCall, result: PromptToolResult | None) -> bool:
    """
    Return whether a call of a provider's tool, and its result, can go back to Anthropic.

    A result that a guard has changed is none that Anthropic would take, and its encrypted half would still tell what
    the guard took out: with the change it lost the note of its kind, and it is not sent.
    """
    if result is not None and not isinstance(result.output.get("value"), (list, Mapping)):
        return False
    if call.provider_metadata:
        return ANTHROPIC in call.provider_metadata and (result is None or bool(_notes(call).get("result")))
    return call.tool_name in _SERVER_TOOLS


def _call_block(call: PromptToolCall, kind: str) -> dict[str, Any]:
    args: Any = {} if call.args is None else json_value(call.args)
    block: dict[str, Any] = {
        "type": kind,
        "id": _legal_id(call.tool_call_id),
        "name": call.tool_name,
        # What was no JSON object when the model said it is told as it was: Anthropic takes objects alone.
        "input": args if is_dict(args) else {"arguments": args},
    }
    notes = _notes(call)
    if kind == "mcp_tool_use":
        block["server_name"] = as_text(notes.get("serverName"))
    elif as_mapping(notes.get("caller")):
        block["caller"] = notes["caller"]
    return _marked(block, call)


def _server_result_block(result: PromptToolResult, call: PromptToolCall) -> dict[str, Any]:
    """
    Return the block of what a tool of Anthropic's found.
    """
    name = "tool_search" if call.tool_name.startswith("tool_search_tool") else call.tool_name
    block: dict[str, Any] = {
        "type": as_text(_notes(call).get("result")) or f"{name}_tool_result",
        "tool_use_id": _legal_id(result.tool_call_id),
        "content": result.output.get("value"),
    }
    if block["type"] == "mcp_tool_result":
        block["is_error"] = as_text(result.output.get("type")).startswith("error")
    return _marked(block, result)


def _result_block(result: PromptToolResult, changes: list[Mapping[str, Any]]) -> dict[str, Any]:
    kind, value = as_text(result.output.get("type")), result.output.get("value")
    content: str | list[dict[str, Any]]
    if kind == "content" and isinstance(value, (list, tuple)):
        content = [made for entry in as_list(value) if (made := _content_block(entry, changes)) is not None]
    else:
        content = value if isinstance(value, str) and kind.endswith("text") else _json(value)
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": _legal_id(result.tool_call_id), "content": content}
    if kind.startswith("error"):
        block["is_error"] = True
        block["content"] = content or "The tool failed."  # Anthropic refuses an error that says nothing
    return _marked(block, result)


def _content_block(entry: Any, changes: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    """
    Return one part of what a tool answered: a text, an image or a document.
    """
    part = as_mapping(entry) or {"text": str(entry)}
    text = part.get("text")
    if text is not None:
        return {"type": "text", "text": str(text)} if str(text).strip() else None
    data = part.get("data") or part.get("url") or part.get("image")
    kind = as_text(part.get("media_type") or part.get("mediaType"))
    if not isinstance(data, (str, bytes)):
        return {"type": "text", "text": _json(entry)}
    if not kind and as_text(part.get("type")).startswith("image"):
        kind = "image/*"
    try:
        return file_block(FilePart(data, kind, as_text(part.get("filename")) or None))
    except InputError:  # the call was made and has to be answered
        changes.append(_RESULT_FILES)
        return {"type": "text", "text": f"[{kind or 'file'}]"}


# --- what blocks have in common ----------------------------------------------------


def cache_control_of(notes: Mapping[str, Any]) -> Mapping[str, Any]:
    """
    Return what *notes* for Anthropic say of the cache, in either spelling.

    >>> cache_control_of({"cacheControl": {"type": "ephemeral", "ttl": "1h"}})
    {'type': 'ephemeral', 'ttl': '1h'}
    """
    return as_mapping(notes.get("cache_control", notes.get("cacheControl")))


def _notes(part: Any) -> Mapping[str, Any]:
    return as_mapping(as_mapping(part.provider_metadata).get(ANTHROPIC))


def _marked(block: dict[str, Any], part: Any) -> dict[str, Any]:
    if part.provider_metadata and (mark := cache_control_of(_notes(part))):
        block["cache_control"] = dict(mark)
    return block


def _legal_id(tool_call_id: str) -> str:
    """
    Return the id of a call as Anthropic takes it; one that it refuses gets another, always the same one.
    """
    if _is_legal(tool_call_id):
        return tool_call_id
    from hashlib import blake2b  # here, as few need it and all would wait for its import

    # What replaces the illegal characters could make two ids one; the digest keeps them apart.
    digest = blake2b(tool_call_id.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{_illegal.sub('_', tool_call_id)}_{digest}"


def _json(value: Any) -> str:
    return json.dumps(json_value(value), ensure_ascii=False)
