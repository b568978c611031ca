"""
Codes: what is written in a text in another way than letters, and what it stands for.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterator

__all__ = ["decoded"]

_LONGEST = 20_000
"""Codes of more characters than this are left alone."""
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}={0,2}(?![A-Za-z0-9+/_-])")
_HEX = re.compile(r"(?<![0-9A-Fa-f])(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ ,:]?){12,}(?![0-9A-Fa-f])")
_BASE32 = re.compile(r"(?<![A-Za-z0-9+/=_-])(?=[A-Z]*[2-7])[A-Z2-7]{24,}={0,6}(?![A-Za-z0-9+/=_-])")
_BINARY = re.compile(r"(?<![01])(?:[01]{8}[ ,]{0,2}){5,}(?![0-9])")
_DECIMAL = re.compile(r"(?<![0-9])(?:(?:[3-9][0-9]|1[0-2][0-9])[ ,]{1,2}){7,}(?:[3-9][0-9]|1[0-2][0-9])(?![0-9])")
_NUMBER = re.compile(r"[01]{8}|[0-9]{2,3}")
_BACKWARDS = re.compile("\u202e([^\u202c\n]{4,})")
_HEX_SIGN = re.compile(
    r"[0-9A-Fa-f]{2}[ ,:]?[0-9A-Fa-f]{2}[ ,:]?[0-9A-Fa-f]{2}[ ,:]?[0-9A-Fa-f]{2}[ ,:]?[0-9A-Fa-f]{2}"
)
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}|[A-Za-z0-9+._-]){0,400}(?:%[0-9A-Fa-f]{2}[A-Za-z0-9+._-]{0,40}){3,}")
_ENTITIES = re.compile(r"(?:&#?[A-Za-z0-9]{1,8};[^&\n]{0,40}){3,}")
_ESCAPES = re.compile(r"(?:\\u[0-9A-Fa-f]{4}[ -~]{0,12}?){4,}")
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})")
_HEX_PAIR = re.compile(r"[0-9A-Fa-f]{2}(?![0-9A-Fa-f]?x)")


def decoded(text: str) -> Iterator[tuple[str, int, int, str]]:
    """
    Yield what codes in *text* stand for: name, start, end and the text.
    """
    for found in _TAGS.finditer(text):
        if text[found.start() - 1 : found.start()] != "\U0001f3f4":  # not the flag of a region
            yield "tags", found.start(), found.end(), "".join(chr(ord(one) - 0xE0000) for one in found[0])
    for found in _BACKWARDS.finditer(text) if "\u202e" in text else ():
        yield "bidi", found.start(), found.end(), found[1][::-1]
    for found in _BASE32.finditer(text):
        inner = _from_base32(found[0])
        if inner is not None:
            yield "base32", found.start(), found.end(), inner
    for name, pattern, base in (("binary", _BINARY, 2), ("decimal", _DECIMAL, 10)):
        for found in pattern.finditer(text):
            numbers = [int(number, base) for number in _NUMBER.findall(found[0])]
            inner = _as_text(bytes(numbers)) if max(numbers) < 256 else None
            if inner is not None:
                yield name, found.start(), found.end(), inner
    for found in _BASE64.finditer(text):
        inner = _from_base64(found[0])
        if inner is not None:
            yield "base64", found.start(), found.end(), inner
    for found in _HEX.finditer(text) if _HEX_SIGN.search(text) else ():
        pairs = _HEX_PAIR.findall(found[0].replace("0x", "").replace("\\x", ""))
        inner = _as_text(bytes.fromhex("".join(pairs)))
        if inner is not None:
            yield "hex", found.start(), found.end(), inner
    if text.count("%") >= 3:
        for found in _PERCENT.finditer(text):
            from urllib.parse import unquote  # here, as few texts need it

            yield "percent", found.start(), found.end(), unquote(found[0].replace("+", " "), errors="replace")
    if "&" in text:
        for found in _ENTITIES.finditer(text):
            yield "entities", found.start(), found.end(), html.unescape(found[0])
    if "\\u" in text:
        for found in _ESCAPES.finditer(text):
            yield "escapes", found.start(), found.end(), _ESCAPE.sub(lambda code: chr(int(code[1], 16)), found[0])


def _from_base32(code: str) -> str | None:
    if len(code) > _LONGEST:
        return None
    plain = code.rstrip("=")
    try:
        return _as_text(base64.b32decode(plain + "=" * (-len(plain) % 8)))
    except (binascii.Error, ValueError):
        return None


def _from_base64(code: str) -> str | None:
    if len(code) > _LONGEST or code.isdigit() or code.isalpha() and code.islower():
        return None
    plain = code.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return _as_text(base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True))
    except (binascii.Error, ValueError):
        return None


def _as_text(data: bytes) -> str | None:
    """
    Return *data* as text, if it reads like words and not like something random.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    usual = sum(character.isalnum() or character in " \n\t.,;:!?'\"-()" for character in text)
    blanks = sum(character.isspace() for character in text)
    if blanks == 0 and text.isascii() and not _BASE64.fullmatch(text):
        return None
    return text if usual >= 0.85 * len(text) and (text.isprintable() or "\n" in text) else None
