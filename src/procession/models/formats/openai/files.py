"""
Files as Chat Completions take them.
"""

from __future__ import annotations

from typing import Any

from procession.errors import InputError
from procession.messages.parts import FilePart
from procession.models.formats.openai.values import base64_of, url_of

__all__ = ["chat_file"]

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def chat_file(part: FilePart) -> dict[str, Any]:
    """
    Return a file as a part of a user's message.

    Raises ``InputError`` for one that cannot be sent, naming its type.
    """
    kind = part.media_type.partition(";")[0].strip().lower()
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url_of(part)}}
    if kind in _AUDIO:
        return {"type": "input_audio", "input_audio": {"data": base64_of(part), "format": _AUDIO[kind]}}
    if kind == "application/pdf":
        return {"type": "file", "file": {"filename": part.filename or "document.pdf", "file_data": url_of(part)}}
    if kind.startswith("text/") and isinstance(part.data, bytes):
        return {"type": "text", "text": part.data.decode("utf-8", "replace")}
    raise InputError(
        f"a file of type {part.media_type!r} cannot be sent to an OpenAI-compatible model",
        hint="images, WAV, MP3, PDF and text can; read other files with a tool",
    )
