"""
Values as OpenAI's two formats write them: JSON as text, files as URLs, ids that are not too long.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any

from procession.errors import InputError
from procession.messages.media_types import media_type_of
from procession.messages.parts import FilePart, TextPart
from procession.messages.value import Value
from procession.models.formats.file_data import base64_text
from procession.models.loose import as_list, as_mapping, as_text

__all__ = [
    "arguments_text",
    "base64_of",
    "fitting_id",
    "is_json_object",
    "json_text",
    "nine_letters",
    "result_parts",
    "url_of",
]

_URLS = ("http://", "https://", "data:")
_HASHED = 16
_SHORT = 9


def json_text(value: Any) -> str:
    """
    Return *value* as JSON, as well as it goes.
    """
    return json.dumps(value, ensure_ascii=False, default=_plain)


def arguments_text(args: Any, *, any_text: bool = True) -> str:
    """
    Return the arguments of a call as the text that a model writes; text stays as it is.

    Without *any_text* text that is no JSON object is put into one: servers that parse it would refuse the conversation
    for good.

    >>> arguments_text('{"a": tru', any_text=False)
    '{"arguments": "{\\\\"a\\\\": tru"}'
    """
    if isinstance(args, str) and (any_text or is_json_object(args)):
        return args
    return json_text({"arguments": args} if isinstance(args, str) else args)


def is_json_object(text: str) -> bool:
    """
    Tell whether *text* is a JSON object.
    """
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def fitting_id(call_id: str, longest: int) -> str:
    """
    Return *call_id*, or where it has more than *longest* characters one that stands for it, always the same.

    >>> fitting_id("call_1", 40)
    'call_1'
    """
    if len(call_id) <= longest:
        return call_id
    return f"{call_id[: longest - _HASHED - 1]}-{sha256(call_id.encode('utf-8', 'replace')).hexdigest()[:_HASHED]}"


def nine_letters(call_id: str) -> str:
    """
    Return *call_id* if it has nine letters and digits, as Mistral wants it, else one that stands for it.

    >>> nine_letters("abcDEF123"), len(nine_letters("call_1"))
    ('abcDEF123', 9)
    """
    if len(call_id) == _SHORT and call_id.isascii() and call_id.isalnum():
        return call_id
    return sha256(call_id.encode("utf-8", "replace")).hexdigest()[:_SHORT]


def one_system(entries: list[dict[str, Any]], role: str) -> list[dict[str, Any]]:
    """
    Return *entries* with those of *role* that they begin with as one.

    >>> one_system([{"role": "system", "content": "Be brief."}, {"role": "system", "content": "Be kind."}], "system")
    [{'role': 'system', 'content': 'Be brief.\\n\\nBe kind.'}]
    """
    end = next((at for at, entry in enumerate(entries) if entry.get("role") != role), len(entries))
    if end < 2:
        return entries
    contents = [entry["content"] for entry in entries[:end]]
    if all(isinstance(content, str) for content in contents):
        return [{**entries[0], "content": "\n\n".join(contents)}, *entries[end:]]
    blocks = [
        block
        for content in contents
        for block in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]
    return [{**entries[0], "content": blocks}, *entries[end:]]


def url_of(part: FilePart) -> str:
    """
    Return a file as a URL: the one it has, or one that contains its data.
    """
    if isinstance(part.data, str) and part.data.startswith(_URLS):
        return part.data
    kind = media_type_of(part.data, "image/png") if part.media_type == "image/*" else part.media_type
    return f"data:{kind};base64,{base64_of(part)}"


def base64_of(part: FilePart) -> str:
    """
    Return the data of a file as base64.

    Raises ``InputError`` for a file that is elsewhere, at a URL, and for what is no base64, such as a path.
    """
    if isinstance(part.data, str) and part.data.startswith(("http://", "https://")):
        raise InputError(
            f"a file of type {part.media_type!r} cannot be sent as a URL", hint="download it and give its bytes"
        )
    return base64_text(part)


def result_parts(output: Mapping[str, Any]) -> list[TextPart | FilePart]:
    """
    Return what a tool answered as texts and files: one text, unless the output is of the type ``content``.

    >>> result_parts({"type": "json", "value": {"degrees": 9}})
    [TextPart(text='{"degrees": 9}')]
    """
    kind, value = output.get("type"), output.get("value")
    if kind in ("text", "error-text"):
        return [TextPart(str(value))]
    if kind == "content" and isinstance(value, (list, tuple)):
        return [_content_part(entry) for entry in as_list(value)]
    return [TextPart(json_text(value))]


def _content_part(entry: Any) -> TextPart | FilePart:
    if isinstance(entry, (TextPart, FilePart)):
        return entry
    part = as_mapping(entry)
    if not part:
        return TextPart(str(entry))
    if "text" in part:
        return TextPart(str(part["text"]))
    data = part.get("data") or part.get("url") or part.get("image")
    kind = as_text(part.get("type"))
    media_type = as_text(part.get("media_type") or part.get("mediaType") or part.get("mimeType"))
    if not media_type and kind.startswith("image"):
        media_type = "image/*"
    if isinstance(data, (str, bytes)) and media_type:
        return FilePart(data, media_type, as_text(part.get("filename")) or None)
    return TextPart(f"[{media_type or kind or 'file'}]")


def _plain(value: Any) -> Any:
    """
    Return what JSON can say of a value that a tool returned.
    """
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    if isinstance(value, Mapping):
        return dict(as_mapping(value))
    if isinstance(value, Value):
        return {field: getattr(value, field) for field in type(value).__fields__}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return str(value)
