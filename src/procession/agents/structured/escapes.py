"""
Plain escapes: JSON text in which no escape stands for a character that could stand there itself.

Text guards look at text as it is written.  A model may write ``\\u0048`` for an ``H``: where guards stand in the stream of
a structured answer, they are given the ``H``.  What JSON cannot say otherwise stays: quotes, backslashes, control
characters and halves of characters.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator

from procession.messages.chunks import Chunk, TextDelta

__all__ = ["decoded", "plain_escapes"]

_HIGH = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_escapes = re.compile(
    rf"(?P<pair>{_HIGH}\\u[dD][c-fC-F][0-9a-fA-F]{{2}})"
    rf"|(?P<open>{_HIGH}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?\Z|\\(?:u[0-9a-fA-F]{{0,3}})?\Z)"
    r"|\\u(?P<code>[0-9a-fA-F]{4})"
    r"|\\(?P<other>.)",
    re.DOTALL,
).finditer
_KEPT = frozenset('"\\\x7f')


def decoded(text: str) -> tuple[str, str]:
    """
    Return *text* with plain escapes, and what is held back of it because it may go on.

    >>> decoded(r'{"a": "\\u0048i\\n"}')
    ('{"a": "Hi\\\\n"}', '')
    >>> decoded(r'"\\ud83d')
    ('"', '\\\\ud83d')
    """
    pieces: list[str] = []
    end = 0
    for found in _escapes(text):
        if found["open"] is not None:
            return "".join((*pieces, text[end : found.start()])), found["open"]
        character = _character(found)
        if character is not None:
            pieces += text[end : found.start()], character
            end = found.end()
    return "".join((*pieces, text[end:])), ""


def _character(found: re.Match[str]) -> str | None:
    """
    Return what an escape stands for, where it may stand in a JSON text itself.
    """
    if found["pair"] is not None:
        high, low = int(found["pair"][2:6], 16), int(found["pair"][8:], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00)
    if found["code"] is None:
        return "/" if found["other"] == "/" else None
    code = int(found["code"], 16)
    character = chr(code)
    return None if code < 0x20 or 0xD800 <= code < 0xE000 or character in _KEPT else character


async def plain_escapes(stream: AsyncIterator[Chunk]) -> AsyncGenerator[Chunk, None]:
    """
    Pass a model's answer on with plain escapes, however it is cut.
    """
    held, id = "", ""
    try:
        async for chunk in stream:
            if type(chunk) is TextDelta:
                if held and chunk.id != id:
                    yield TextDelta(held, id)
                    held = ""
                if held or "\\" in chunk.text:
                    id = chunk.id
                    text, held = decoded(held + chunk.text)
                    if text:
                        yield chunk.replace(text=text)
                    continue
            elif held:
                yield TextDelta(held, id)
                held = ""
            yield chunk
        if held:
            yield TextDelta(held, id)
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
