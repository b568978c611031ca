"""
The token counter of the conformance run (R11): the reference's estimate, which is no tokenizer.
"""

from __future__ import annotations

import re

__all__ = ["CONVERSATION", "MESSAGE", "estimate_message", "estimate_tokens"]

MESSAGE = 3.8
"""What each message costs besides its text."""
CONVERSATION = 24
"""What each request costs besides its messages."""

SIGNS = r".,!?;:(){}\[\]<>/\\|@#$%^&*+=`~_\-"
SEGMENTS = re.compile(rf"\s+|[{SIGNS}]+|[^\s{SIGNS}]+")
SIGN_RUN = re.compile(rf"[{SIGNS}]+")
EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u1100-\u11ff]")
DIACRITIC = re.compile("[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]")


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _segment(text: str) -> int:
    if text.isspace():
        return 0
    if EAST_ASIAN.search(text):
        return len(text)
    units = _units(text)
    if units <= 3:
        return 1
    if SIGN_RUN.fullmatch(text):
        return -(-units // 2)
    return -(-units // (3 if DIACRITIC.search(text) else 6))


def estimate_tokens(text: str) -> int:
    """
    Return the estimate for a text.

    >>> estimate_tokens("You are a parrot.")
    5
    """
    return sum(_segment(segment) for segment in SEGMENTS.findall(text))


def estimate_message(role: str, text: str) -> float:
    """
    Return the estimate for a message: role and text are joined without a space.

    >>> estimate_message("system", "You are a parrot.")
    9.8
    """
    return MESSAGE + estimate_tokens(role + text)
