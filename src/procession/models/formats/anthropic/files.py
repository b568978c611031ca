"""
Files as Anthropic takes them: images, and documents that are PDF or text.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from procession.errors import InputError
from procession.messages.media_types import media_type_of
from procession.messages.parts import FilePart
from procession.models.formats.file_data import base64_text
from procession.models.loose import as_mapping, as_text

__all__ = ["file_block"]

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_TEXTS = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})
"""Text under other names; ``text/...`` is text as well."""
_WEB = ("http://", "https://")


def file_block(part: FilePart) -> dict[str, Any]:
    """
    Return the content block of a file: its bytes, or its URL where Anthropic fetches one (images and PDF).

    ``provider_metadata={"anthropic": {...}}`` may name a file that was uploaded before (``fileId``), and say ``title``,
    ``context`` and ``citations`` of a document.  Raises ``InputError`` for a file that cannot be sent, naming its type.
    """
    notes = as_mapping((part.provider_metadata or {}).get("anthropic"))
    kind = part.media_type.partition(";")[0].strip().lower()
    if kind.startswith("image/"):
        return {"type": "image", "source": _uploaded(notes) or _image_source(part, kind)}
    block: dict[str, Any] = {"type": "document", "source": _uploaded(notes) or _document_source(part, kind)}
    title = as_text(notes.get("title")) or part.filename
    if title:
        block["title"] = title
    if as_text(notes.get("context")):
        block["context"] = notes["context"]
    if as_mapping(notes.get("citations")):
        block["citations"] = dict(notes["citations"])
    return block


def _uploaded(notes: Mapping[str, Any]) -> dict[str, Any] | None:
    file_id = as_text(notes.get("fileId") or notes.get("file_id"))
    return {"type": "file", "file_id": file_id} if file_id else None


def _image_source(part: FilePart, kind: str) -> dict[str, Any]:
    if isinstance(part.data, str) and part.data.startswith(_WEB):
        return {"type": "url", "url": part.data}
    kind = "image/jpeg" if kind == "image/jpg" else kind
    if kind not in _IMAGES:  # also "image/*": some only know that it is one
        kind = media_type_of(part.data, kind)
    if kind not in _IMAGES:
        raise _unsupported(part)
    return {"type": "base64", "media_type": kind, "data": base64_text(part)}


def _document_source(part: FilePart, kind: str) -> dict[str, Any]:
    on_the_web = isinstance(part.data, str) and part.data.startswith(_WEB)
    if kind == "application/pdf":
        if on_the_web:
            return {"type": "url", "url": part.data}
        return {"type": "base64", "media_type": kind, "data": base64_text(part)}
    if not (kind.startswith("text/") or kind in _TEXTS):
        raise _unsupported(part)
    if on_the_web:
        raise InputError(
            f"a file of type {part.media_type!r} cannot be sent to Anthropic as a URL",
            hint="download it and give its bytes; Anthropic fetches images and PDF alone",
        )
    return {"type": "text", "media_type": "text/plain", "data": _text(part)}


def _text(part: FilePart) -> str:
    if isinstance(part.data, bytes):
        return part.data.decode("utf-8", "replace")
    try:
        return base64.b64decode("".join(base64_text(part).split()), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise InputError(
            f"the data of a file of type {part.media_type!r} is no base64", hint="give bytes, or base64 text"
        ) from None


def _unsupported(part: FilePart) -> InputError:
    return InputError(
        f"a file of type {part.media_type!r} cannot be sent to Anthropic",
        hint="JPEG, PNG, GIF, WebP, PDF and text can; read other files with a tool",
    )
