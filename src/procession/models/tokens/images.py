"""
Images: what providers publish that an image costs, and how large an image is.

The rules are those of the providers' documentation: OpenAI's "Images and vision" (tiles of 512 pixels, patches of 32),
Anthropic's "Vision" (width times height by 750) and Google's "Image understanding" (tiles).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from math import ceil, sqrt
from typing import NamedTuple, TypeAlias

__all__ = [
    "ANTHROPIC_AREA", "GOOGLE_TILES", "OPENAI_TILES", "ImageRule", "Size", "image_size", "openai_patches",
    "openai_tiles",
]  # fmt: skip


class Size(NamedTuple):
    """
    How large an image is, in pixels.
    """

    width: int
    height: int


ImageRule: TypeAlias = Callable[[Size, "str | None"], float]
"""What an image of a size costs, at OpenAI's detail ``low``, ``high`` or ``auto``; ``None`` where none is said."""

_HEAD = 262_144
"""Bytes of a file that are looked at: cameras write up to 64 kB before the size, some of them a few times."""
_NO_SIZE = frozenset({0xC4, 0xC8, 0xCC})
"""Segments of a JPEG whose number looks like that of one with the size in it."""


def openai_tiles(base: int, tile: int) -> ImageRule:
    """
    Return the rule of OpenAI's models that cut images into tiles: *base* tokens and *tile* for each.

    The image is made to fit into 2,048 pixels, its shorter side then into 768.

    >>> openai_tiles(85, 170)(Size(1024, 1024), "high"), openai_tiles(85, 170)(Size(4096, 8192), "low")
    (765, 85)
    """

    def rule(size: Size, detail: str | None) -> float:
        if detail == "low":
            return base
        width, height = _within(size, 2048)
        shorter = min(width, height)
        if shorter > 768:
            width, height = width * 768 / shorter, height * 768 / shorter
        return base + tile * ceil(width / 512) * ceil(height / 512)

    return rule


def openai_patches(factor: float, most: int = 1536) -> ImageRule:
    """
    Return the rule of OpenAI's models that cut images into patches of 32 pixels, at *most* so many, times a *factor*.

    >>> openai_patches(1.62)(Size(1024, 1024), None)
    1659
    """

    def rule(size: Size, detail: str | None) -> float:
        width, height = size
        patches = ceil(width / 32) * ceil(height / 32)
        if patches > most:
            shrink = sqrt(most * 32 * 32 / (width * height))
            patches = min(most, ceil(width * shrink / 32) * ceil(height * shrink / 32))
        return ceil(patches * factor)

    return rule


def _anthropic(size: Size, detail: str | None) -> float:
    width, height = _within(size, 1568)
    return min(1600, ceil(width * height / 750))


def _google(size: Size, detail: str | None) -> float:
    if max(size) <= 384:
        return 258
    unit = min(768, max(256, min(size) // 1.5))
    return 258 * ceil(size.width / unit) * ceil(size.height / unit)


def _within(size: Size, longest: int) -> tuple[float, float]:
    shrink = min(1.0, longest / max(size))
    return size.width * shrink, size.height * shrink


OPENAI_TILES = openai_tiles(85, 170)
"""GPT-4o, GPT-4.1 and GPT-4.5."""
ANTHROPIC_AREA: ImageRule = _anthropic
"""Claude: width times height by 750, of an image that is made to fit into 1,568 pixels; at most 1,600."""
GOOGLE_TILES: ImageRule = _google
"""Gemini: 258 for each tile, and for a small image; a tile's side is two thirds of the shorter side, 256 to 768 pixels."""


def image_size(data: str | bytes) -> Size | None:
    """
    Return the size of a PNG, JPEG, GIF or WebP image, bytes or base64, from its first bytes; ``None`` where they do not
    tell, as of an address.

    >>> image_size("iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAA")
    Size(width=2, height=3)
    """
    if isinstance(data, str):
        if "://" in data[:16]:
            return None
        text = data.partition(",")[2] if data.startswith("data:") else data
        try:
            text = "".join(text[:_HEAD].split())
            head = base64.b64decode(text[: len(text) // 4 * 4])
        except (binascii.Error, ValueError):
            return None
    else:
        head = data[:_HEAD]
    found = _read_size(head)
    return found if found is not None and min(found) > 0 else None


def _read_size(head: bytes) -> Size | None:
    if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) >= 24:
        return Size(int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big"))
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
        return Size(int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little"))
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) >= 30:
        return _webp(head)
    if head[:2] == b"\xff\xd8":
        return _jpeg(head)
    return None


def _webp(head: bytes) -> Size | None:
    kind = head[12:16]
    if kind == b"VP8X":
        return Size(int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1)
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 ":
        return Size(int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF)
    return None


def _jpeg(head: bytes) -> Size | None:
    at = 2
    while at + 9 < len(head) and head[at] == 0xFF:
        kind = head[at + 1]
        if 0xC0 <= kind <= 0xCF and kind not in _NO_SIZE:
            return Size(int.from_bytes(head[at + 7 : at + 9], "big"), int.from_bytes(head[at + 5 : at + 7], "big"))
        at += 1 if kind == 0xFF else 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None
