"""
A prompt as Gemini's ``contents``: pure functions, no network.

Gemini signs what it thinks: a ``thoughtSignature`` comes with a text, a thought, a function call or a file, and goes back
byte for byte with the very part it came with.  It is kept in ``provider_metadata``, under ``google``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from procession.messages.media_types import media_type_of
from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.models.formats.file_data import base64_text
from procession.models.loose import as_list, as_mapping, as_text
from procession.models.pieces import Piece
from procession.tools.json_value import json_value

__all__ = ["CODE_EXECUTION", "UNSIGNED", "contents_of", "google_piece"]

CODE_EXECUTION = "code_execution"
"""The name under which code that Gemini runs is called."""
UNSIGNED = "skip_thought_signature_validator"
"""What Google's documentation wants in place of the signature of a function call that Gemini did not make."""

_is_url = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:").match  # one letter is a drive
_THOUGHTS_LEFT_OUT = {"type": "other", "message": "reasoning of another provider is not sent"}
_FILES_LEFT_OUT = {"type": "other", "message": "files that a model of another provider made are not sent"}
_RUNS_LEFT_OUT = {"type": "other", "message": "what another provider's tools did is not sent"}
_NOT_SIGNED = {"type": "other", "message": "a tool call that Gemini did not sign is sent with Google's placeholder"}
_SYSTEM_MOVED = {"type": "other", "message": "a later system message is sent before the conversation, with the others"}


def google_piece(message: PromptMessage, *, signs: bool = False) -> Piece:
    """
    Return one entry of a prompt as contents of Gemini.

    *signs* tells that the model is of a family that signs its function calls, and refuses those without a signature in
    the current turn: Gemini 3 and later.  Those take files as parts of a tool's answer, too.

    >>> google_piece(PromptMessage("user", (TextPart("Hello"),))).entries
    ({'role': 'user', 'parts': [{'text': 'Hello'}]},)
    """
    changes: list[Mapping[str, Any]] = []
    if message.role == "assistant":
        role, parts = "model", list(_said(message.content, signs, changes))
    elif message.role == "tool":
        results = [part for part in message.content if isinstance(part, PromptToolResult)]
        role, parts = "user", [sent for part in results for sent in _answer(part, files_inside=signs)]
    else:
        role, parts = message.role, [sent for part in message.content for sent in _given(part)]
    return Piece(({"role": role, "parts": parts},) if parts else (), tuple(changes))


def contents_of(
    pieces: Sequence[Piece],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], tuple[Mapping[str, Any], ...]]:
    """
    Return the contents, the parts of the system instruction, and what was changed in putting them together.

    Entries of one role that follow each other become one.
    """
    system: list[dict[str, Any]] = []
    contents: list[dict[str, Any]] = []
    moved = False
    for piece in pieces:
        for entry in piece.entries:
            if entry["role"] == "system":
                moved = moved or bool(contents)
                system.extend(entry["parts"])
            elif contents and contents[-1]["role"] == entry["role"]:
                contents[-1]["parts"].extend(entry["parts"])
            else:
                contents.append({"role": entry["role"], "parts": list(entry["parts"])})
    return contents, system, (_SYSTEM_MOVED,) if moved else ()


def _given(part: PromptPart) -> Iterator[dict[str, Any]]:
    if isinstance(part, TextPart):
        if part.text:
            yield {"text": part.text}
    elif isinstance(part, FilePart):
        yield _file(part)


def _said(parts: Sequence[PromptPart], signs: bool, changes: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    ran: dict[str, PromptToolCall] = {}
    first_call = True
    for part in parts:
        own = _own(part)
        if isinstance(part, TextPart):
            if part.text:
                yield _signed({"text": part.text}, own)
        elif isinstance(part, ReasoningPart):
            if own is None:
                changes.append(_THOUGHTS_LEFT_OUT)
            elif part.text or own.get("thoughtSignature"):
                yield _signed(_thought(part, own), own)
        elif isinstance(part, FilePart):
            if own is None:
                changes.append(_FILES_LEFT_OUT)
            else:
                yield _signed(_file(part), own)
        elif isinstance(part, PromptToolCall):
            if not part.provider_executed:
                call = _signed(_call(part), own)
                if first_call and signs and "thoughtSignature" not in call:
                    call["thoughtSignature"] = UNSIGNED
                    changes.append(_NOT_SIGNED)
                first_call = False  # of calls that were made together, Gemini signs the first
                yield call
            elif own is None:
                changes.append(_RUNS_LEFT_OUT)
            else:
                ran[part.tool_call_id] = part
                yield _signed(_run(part, own), own)
        elif part.tool_call_id in ran:
            yield _ran(part, _own(ran[part.tool_call_id]) or {})


def _own(part: PromptPart) -> Mapping[str, Any] | None:
    """
    Return what Gemini noted at *part*, and ``None`` where it did not make it.
    """
    notes = (part.provider_metadata or {}).get("google")
    return None if notes is None else as_mapping(notes)


def _signed(part: dict[str, Any], own: Mapping[str, Any] | None) -> dict[str, Any]:
    signature = (own or {}).get("thoughtSignature")
    if isinstance(signature, str) and signature:
        part["thoughtSignature"] = signature
    return part


def _thought(part: ReasoningPart, own: Mapping[str, Any]) -> dict[str, Any]:
    # A signature may come by itself, with no text and no thought.
    return {"text": part.text} if own.get("thought") is False else {"text": part.text, "thought": True}


def _call(part: PromptToolCall) -> dict[str, Any]:
    return {"functionCall": {"id": part.tool_call_id, "name": part.tool_name, "args": _object(part.args, "input")}}


def _object(value: Any, key: str) -> dict[str, Any]:
    """
    Return *value* as an object: as itself, or under *key* where it is none.
    """
    plain = json_value(value)
    if isinstance(plain, Mapping):
        return dict(as_mapping(plain))
    return {} if plain is None else {key: plain}


def _run(part: PromptToolCall, own: Mapping[str, Any]) -> dict[str, Any]:
    args = _object(part.args, "input")
    given = {"id": own["id"]} if "id" in own else {}
    if part.tool_name == CODE_EXECUTION:
        return {"executableCode": {**args, **given}}
    return {"toolCall": {"toolType": own.get("toolType"), "args": args, **given}}


def _ran(part: PromptToolResult, own: Mapping[str, Any]) -> dict[str, Any]:
    result = _object(part.output.get("value"), "output")
    given = {"id": own["id"]} if "id" in own else {}
    if part.tool_name == CODE_EXECUTION:
        sent: dict[str, Any] = {"codeExecutionResult": {"outcome": "OUTCOME_OK", **result, **given}}
    else:
        sent = {"toolResponse": {"toolType": own.get("toolType"), "response": result, **given}}
    return _signed(sent, {"thoughtSignature": own.get("resultThoughtSignature")})


def _answer(part: PromptToolResult, *, files_inside: bool) -> list[dict[str, Any]]:
    kind, value = as_text(part.output.get("type")), part.output.get("value")
    files: list[dict[str, Any]] = []
    if kind == "content":
        texts: list[Any] = []
        for entry in as_list(value):
            file = _content_file(as_mapping(entry))
            if file is not None:
                files.append(file)
            else:
                texts.append(as_mapping(entry).get("text", entry))
        value = texts[0] if len(texts) == 1 else texts
    response = {"error" if kind.startswith("error") else "output": json_value(value)}
    answer: dict[str, Any] = {"id": part.tool_call_id, "name": part.tool_name, "response": response}
    if files and files_inside:
        answer["parts"] = files
        files = []
    return [{"functionResponse": answer}, *files]


def _content_file(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = entry.get("media_type") or entry.get("mediaType") or entry.get("mimeType")
    data = entry.get("data", entry.get("url", entry.get("image")))
    if not kind and as_text(entry.get("type")).startswith("image"):
        kind = "image/*"
    if not isinstance(kind, str) or not isinstance(data, (str, bytes)):
        return None
    return _file(FilePart(data, kind))


def _file(part: FilePart) -> dict[str, Any]:
    data, kind = part.data, part.media_type
    if kind == "image/*":  # some only know that it is one, and Gemini wants to know which
        content = data.partition(",")[2] if isinstance(data, str) and data.startswith("data:") else data
        kind = media_type_of(content, "image/jpeg")
    if isinstance(data, str) and not (data.startswith("data:") and ";base64," in data[:200]) and _is_url(data):
        return {"fileData": {"mimeType": kind, "fileUri": data}}
    return {"inlineData": {"mimeType": kind, "data": base64_text(part)}}
