"""
Contents of messages: texts, images and files as Chat Completions have them, as parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from mimetypes import guess_type
from typing import Any, Final

from procession.messages.media_types import media_type_of
from procession.messages.part_reading import DEFAULT_FILE, DEFAULT_IMAGE
from procession.messages.parts import FilePart, TextPart
from procession.messages.shapes import is_form, is_items
from procession.models.loose import as_mapping
from procession.server.openai.refused import refused

__all__ = ["content_parts", "content_text"]

_AUDIO: Final = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_URLS: Final = ("https://", "http://", "data:")


def content_parts(content: Any, where: str) -> list[TextPart | FilePart]:
    """
    Return the parts of a user's content: a text, or a list of texts, images, sounds and files.

    Raises ``RequestRefused`` naming the part that cannot be read.

    >>> content_parts([{"type": "text", "text": "Hi"}], "messages[0].content")
    [TextPart(text='Hi')]
    """
    if isinstance(content, str):
        return [TextPart(content)]
    if not is_items(content) or not content:
        raise refused(where, "should be a text, or a list of parts with something in it")
    parts: list[TextPart | FilePart] = []
    for at, part in enumerate(content):
        place = f"{where}[{at}]"
        kind = part.get("type") if is_form(part) else None
        reader = _READERS.get(kind) if isinstance(kind, str) else None
        if reader is None or not is_form(part):
            raise refused(place, f"should be a part of the type {', '.join(_READERS)}")
        parts.append(reader(part, place))
    return parts


def content_text(content: Any, where: str) -> str:
    """
    Return a content that may be text alone, as that of an assistant or a tool.

    Raises ``RequestRefused`` for anything else.
    """
    if isinstance(content, str):
        return content
    if not is_items(content):
        raise refused(where, "should be a text, or a list of texts")
    texts: list[str] = []
    for at, part in enumerate(content):
        kind = part.get("type") if is_form(part) else None
        if kind not in ("text", "refusal") or not is_form(part):
            raise refused(f"{where}[{at}]", "should be a part of the type text")
        texts.append(_text(part, str(kind), f"{where}[{at}]"))
    return "".join(texts)


def _text(part: Mapping[str, Any], field: str, where: str) -> str:
    text = part.get(field)
    if not isinstance(text, str):
        raise refused(f"{where}.{field}", "should be a text")
    return text


def _read_text(part: Mapping[str, Any], where: str) -> TextPart:
    return TextPart(_text(part, "text", where))


def _read_image(part: Mapping[str, Any], where: str) -> FilePart:
    image = part.get("image_url")
    url = _text(as_mapping(image), "url", f"{where}.image_url")
    if not url.startswith(_URLS):
        raise refused(f"{where}.image_url.url", "should be a URL: https, http or data")
    return FilePart(url, media_type_of(url, DEFAULT_IMAGE))


def _read_audio(part: Mapping[str, Any], where: str) -> FilePart:
    audio = as_mapping(part.get("input_audio"))
    kind = _AUDIO.get(str(audio.get("format")))
    if kind is None:
        raise refused(f"{where}.input_audio.format", f"should be one of {', '.join(_AUDIO)}")
    return FilePart(_text(audio, "data", f"{where}.input_audio"), kind)


def _read_file(part: Mapping[str, Any], where: str) -> FilePart:
    file = as_mapping(part.get("file"))
    if file.get("file_id") is not None:
        raise refused(f"{where}.file.file_id", "no files are kept here: send file_data", code="unsupported_value")
    data = _text(file, "file_data", f"{where}.file")
    name = file.get("filename")
    filename = name if isinstance(name, str) and name else None
    by_name = guess_type(filename, strict=False)[0] if filename else None
    return FilePart(data, media_type_of(data, by_name or DEFAULT_FILE), filename)


_READERS: Final[dict[str, Callable[[Mapping[str, Any], str], TextPart | FilePart]]] = {
    "text": _read_text,
    "image_url": _read_image,
    "input_audio": _read_audio,
    "file": _read_file,
}
