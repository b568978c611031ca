"""
What of a message is embedded: its text in pieces, and what is known of it to filter by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from math import isfinite
from typing import Any

from procession.messages.message import Message
from procession.messages.parts import TextPart
from procession.storage.vectors import Facts

__all__ = ["PIECE", "facts_of", "pieces_of_message", "text_to_embed"]

PIECE = 2_000
"""Characters of one piece: what the offline embedder reads as one text, and well below what others take."""
_LONGEST_FACT = 256
"""Characters: what is longer is a text, and nothing to filter by."""
_MOST_FACTS = 64
"""Of one message: metadata can be anything that a client sends."""
_LARGEST = 2**63
"""What databases take as a whole number is below this."""
_NO_FACT = re.compile("[\0\ud800-\udfff]")
"""What databases refuse in a text."""
_SPOKEN = frozenset({"user", "assistant"})


def text_to_embed(message: Message) -> str:
    """
    Return what a user or a model said in *message*, empty where that is nothing.

    Reasoning, calls and results of tools, files and signals are not what was said.

    >>> text_to_embed(Message.user("Hello"))
    'Hello'
    >>> text_to_embed(Message("signal", [TextPart("noted")]))
    ''
    """
    if message.role not in _SPOKEN:
        return ""
    text = "\n".join(part.text for part in message.parts if isinstance(part, TextPart))
    return text.encode("utf-8", "replace").decode().strip()  # half a surrogate pair is no text, and cannot be sent


def pieces_of_message(message: Message) -> list[str]:
    """
    Return the text of *message* in pieces that are short enough for any embedder; none where there is no text.
    """
    return list(_cut(text_to_embed(message)))


def facts_of(message: Message) -> Facts:
    """
    Return the role of *message*, and what stands in its metadata as a short text, a number or a truth value.

    >>> facts_of(Message.user("Hello").with_metadata(language="en", tags=["a"]))
    {'language': 'en', 'role': 'user'}
    """
    metadata: dict[Any, Any] = dict(message.metadata or {})
    plain = ((name, value) for name, value in metadata.items() if _is_word(name) and _is_plain(value))
    return {**dict(islice(plain, _MOST_FACTS)), "role": message.role}


def _is_plain(value: Any) -> bool:
    if isinstance(value, int):
        return abs(value) < _LARGEST
    return isfinite(value) if isinstance(value, float) else _is_word(value)


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_FACT and _NO_FACT.search(value) is None


def _cut(text: str) -> Iterator[str]:
    """
    Yield *text* in pieces, each cut behind the last end of a paragraph, a sentence or a word in its second half.
    """
    begin = 0
    while len(text) - begin > PIECE:
        end = begin + PIECE
        for border in ("\n\n", ". ", "\n", " "):
            at = text.rfind(border, begin + PIECE // 2, end)
            if at >= 0:
                end = at + len(border)
                break
        if piece := text[begin:end].strip():
            yield piece
        begin = end
    if piece := text[begin:].strip():
        yield piece
