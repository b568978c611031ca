"""Feeding a guard by hand: a text in pieces, as the stream runner would give it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from procession.messages.chunks import Chunk, TextDelta, TextEnd
from procession.messages.message_list import MessageList
from procession.processors.contexts import OutputStreamContext
from procession.processors.payloads import OutputStreamPayload
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire


class Streamed:
    """What came out of a guard, piece by piece, and the tripwire that ended it, if one did."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.tripwire: Tripwire | None = None
        self.scope = RequestScope()
        self.longest_hold = 0

    @property
    def text(self) -> str:
        """The joined output."""
        return "".join(self.pieces)


def context(guard: Any, scope: RequestScope | None = None) -> OutputStreamContext:
    """Return the context that serves one stream."""
    return OutputStreamContext(OutputStreamPayload(MessageList()), scope or RequestScope(), guard)


def stream(guard: Any, chunks: Iterable[str]) -> Streamed:
    """Feed *chunks* to *guard* as one block of text."""
    out = Streamed()
    ctx = context(guard, out.scope)
    fed = 0
    try:
        for text in chunks:
            ctx.note(TextDelta(text))
            out.pieces += texts([guard.process_output_stream(ctx)])
            fed += len(text)
            out.longest_hold = max(out.longest_hold, fed - len(out.text))
        ctx.chunk = TextEnd()
        out.pieces += texts(guard.flush_output_stream(ctx))
    except Tripwire as signal:
        out.tripwire = signal
    return out


def texts(chunks: Iterable[Chunk | None]) -> list[str]:
    """Return the texts of chunks."""
    return [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]


def cut(text: str, places: Sequence[int]) -> list[str]:
    """Cut *text* at *places*."""
    edges = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]


@st.composite
def cuts(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> tuple[str, list[str]]:
    """Draw a text and a way of cutting it: single characters, a few cuts, or many; empty chunks as well."""
    text = draw(texts)
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return text, list(text)
    if kind == 1:
        size = draw(st.integers(1, 9))
        return text, [text[at : at + size] for at in range(0, len(text), size)]
    return text, cut(text, draw(st.lists(st.integers(0, max(len(text), 1)), max_size=12)))
