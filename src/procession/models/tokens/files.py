"""
Files: what a file in a prompt costs, an image by its provider's rule, a text as text, and the rest by its size.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from procession.messages.parts import FilePart
from procession.messages.shapes import is_form
from procession.models.tokens.images import ImageRule, Size, image_size

__all__ = ["UNKNOWN_FILE", "UNKNOWN_SIZE", "file_tokens"]

UNKNOWN_SIZE = Size(1024, 1024)
"""The size that an image is taken to have where its data does not tell."""
UNKNOWN_FILE = 258
"""Tokens of a file of which nothing but its address is known; also the least of any file."""
_DETAIL = ("imageDetail", "image_detail", "detail")


def file_tokens(part: FilePart, count: Callable[[str], float], images: ImageRule) -> float:
    """
    Return what a file costs: an image by the rule *images*, at its detail, a text by *count*, and anything else a token
    for four bytes, at least 258.

    >>> from procession.models.tokens.images import OPENAI_TILES
    >>> file_tokens(FilePart("https://example.com/cat.png", "image/png"), len, OPENAI_TILES)
    765
    """
    kind = part.media_type.lower()
    if kind.startswith("image/"):
        return images(image_size(part.data) or UNKNOWN_SIZE, _detail(part))
    if isinstance(part.data, str) and "://" in part.data[:16]:
        return UNKNOWN_FILE
    if kind.startswith("text/") or kind == "application/json":
        return count(_text(part.data))
    size = len(part.data) * 3 // 4 if isinstance(part.data, str) else len(part.data)
    return max(UNKNOWN_FILE, -(-size // 4))


def _text(data: str | bytes) -> str:
    if isinstance(data, str):
        try:
            data = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return str(data)
    return data.decode("utf-8", "replace")


def _detail(part: FilePart) -> str | None:
    """
    Return the detail that OpenAI's options on the part ask for.
    """
    options: Any = (part.provider_metadata or {}).get("openai")
    if not is_form(options):
        return None
    return next((str(options[name]) for name in _DETAIL if options.get(name)), None)
