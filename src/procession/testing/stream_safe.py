"""
assert_stream_safe(): whether what a processor does to streamed text depends on how the text is cut.

A model decides where a chunk ends.  A *text guard* does the same to a text however it comes in pieces; every other
processor of chunks promises only what it does to a single chunk.
"""

from __future__ import annotations

import random
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

import anyio
import anyio.lowlevel

from procession.errors import InputError
from procession.messages.chunks import Chunk, DataChunk, TextDelta, TextEnd, TextStart
from procession.messages.message_list import MessageList
from procession.processors.chain import chain, processor_steps
from procession.processors.stream import StreamChain
from procession.processors.stream_plan import StreamPlan, stream_plan
from procession.processors.text_guard import TextGuard
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire

__all__ = ["StreamKind", "assert_stream_safe", "stream_kind"]

T = TypeVar("T")
StreamKind: TypeAlias = Literal["text guard", "per chunk"]
Forbidden: TypeAlias = str | re.Pattern[str]

_SHORT = 9
"""Texts of up to this many characters are cut in every way there is."""


class Streamed(NamedTuple):
    """
    What came out of one stream: the text, and whether a verdict ended it.
    """

    text: str
    tripped: bool

    def __str__(self) -> str:
        return f"{self.text!r}, then a tripwire" if self.tripped else repr(self.text)


class Fault(NamedTuple):
    """
    One cut that did not go as it should, and why.
    """

    text: str
    cut: Sequence[str]
    got: Streamed
    whole: Streamed
    why: str


def assert_stream_safe(
    processor: Any, texts: Iterable[str], *, forbidden: Iterable[Forbidden] = (), samples: int = 100, seed: int = 0
) -> None:
    """
    Check that *processor* does the same to each of *texts* however it is cut, and never lets out what is *forbidden*.

    *processor* is anything that may stand in ``output_processors``, or a list of such.  Texts of up to nine characters
    are cut in every way; longer ones at every single place, in pieces of equal size, and in *samples* random ways that
    *seed* decides.  Where the whole text is stopped by a verdict every cut must be, and a text guard that blocks must
    have let out nothing of what it found.

    Raises ``AssertionError`` with the simplest cut that goes wrong.

    >>> from procession.messages.text.patterns import Rule
    >>> class Codenames(TextGuard):
    ...     id = "codenames"
    ...     rules = (Rule("codename", "Project (?:Heron|Osprey)"),)
    >>> assert_stream_safe(Codenames(strategy="redact"), ["Ask about Project Heron."], forbidden=["Heron"])
    """
    fault = _search(processor, texts, tuple(forbidden), samples, seed)
    if fault is not None:
        raise AssertionError(
            f"{_name(processor)} is not safe in a stream: {fault.why}\n"
            f"  text:  {fault.text!r}\n"
            f"  cut:   {list(fault.cut)!r}\n"
            f"  gives: {fault.got}\n"
            f"  whole: {fault.whole}\n"
            "It works per chunk. Derive it from TextGuard, or promise only what it does to a single chunk."
        )


def stream_kind(processor: Any, texts: Iterable[str], *, samples: int = 100, seed: int = 0) -> StreamKind:
    """
    Tell which kind *processor* is, as far as *texts* show it.

    >>> from procession.processors.processor import processor
    >>> @processor(hook="process_output_stream")
    ... def hide(ctx):
    ...     chunk = ctx.chunk
    ...     return TextDelta(chunk.text.replace("secret", "***")) if isinstance(chunk, TextDelta) else chunk
    >>> stream_kind(hide, ["a secret"])
    'per chunk'
    """
    return "text guard" if _search(processor, texts, (), samples, seed) is None else "per chunk"


def _name(processor: Any) -> str:
    return f"processor {processor.id!r}" if hasattr(processor, "id") else "the list"


# -- looking for a fault


def _search(
    processor: Any, texts: Iterable[str], forbidden: tuple[Forbidden, ...], samples: int, seed: int
) -> Fault | None:
    things = list(cast("Sequence[Any]", processor)) if isinstance(processor, (list, tuple)) else [processor]
    plan = stream_plan(chain(processor_steps(things, where="processor"), "stream-safe"))
    if plan is None:
        raise InputError(f"{_name(processor)} has no process_output_stream", hint="there is nothing to check")
    guard = processor if isinstance(processor, TextGuard) else None

    async def main() -> Fault | None:
        for text in texts:
            whole = await _run(plan, [text])
            promise = _Promise(text, whole, guard, forbidden)
            for cut in _cuts(text, samples, random.Random(seed)):
                why = promise.broken_by(await _run(plan, cut))
                if why is not None:
                    return await _simplest(plan, promise, cut, why)
        return None

    return _in_a_loop(main)


class _Promise:
    """
    What holds for one text, however it is cut.
    """

    def __init__(self, text: str, whole: Streamed, guard: TextGuard | None, forbidden: tuple[Forbidden, ...]) -> None:
        self.text = text
        self.whole = whole
        self._forbidden = forbidden
        self._safe: int | None = None
        if guard is not None and whole.tripped and guard.strategy == "block":
            self._safe = min((region.start for region in guard.regions(text)), default=None)

    def broken_by(self, got: Streamed) -> str | None:
        """
        Say what is wrong with *got*, or ``None``.
        """
        if got.tripped != self.whole.tripped:
            return "whether the text is stopped depends on how it is cut"
        if not got.tripped and got.text != self.whole.text:
            return "what comes out depends on how the text is cut"
        if self._safe is not None and not (self.text.startswith(got.text) and len(got.text) <= self._safe):
            return "part of what is blocked comes out"
        for each in self._forbidden:
            if each in got.text if isinstance(each, str) else each.search(got.text):
                return f"{each if isinstance(each, str) else each.pattern!r} comes out"
        return None


async def _simplest(plan: StreamPlan, promise: _Promise, cut: Sequence[str], why: str) -> Fault:
    """
    Join pieces of *cut* for as long as it still goes wrong.
    """
    pieces: list[str] = list(cut)
    got = await _run(plan, pieces)
    simpler = True
    while simpler:
        simpler = False
        for place in range(len(pieces) - 1):
            joined: list[str] = [*pieces[:place], pieces[place] + pieces[place + 1], *pieces[place + 2 :]]
            there = await _run(plan, joined)
            reason = promise.broken_by(there)
            if reason is not None:
                pieces, got, why, simpler = joined, there, reason, True
                break
    return Fault(promise.text, pieces, got, promise.whole, why)


def _cuts(text: str, samples: int, chance: random.Random) -> Iterator[list[str]]:
    """
    Yield ways to cut *text*, the whole first.
    """
    yield [text]
    places = range(1, len(text))
    if len(text) <= _SHORT:
        for choice in range(1, 2 ** len(places)):
            yield _cut(text, [place for bit, place in enumerate(places) if choice >> bit & 1])
        return
    yield list(text)
    for place in places:
        yield _cut(text, [place])
    for size in (2, 3, 5, 8, 13, 64):
        yield _cut(text, list(range(size, len(text), size)))
    for _ in range(samples):
        count = chance.randint(2, min(len(places), 24))
        cut = _cut(text, sorted(chance.sample(places, count)))
        if chance.random() < 0.25:  # models send empty pieces, too
            cut.insert(chance.randint(0, len(cut)), "")
        yield cut


def _cut(text: str, places: Sequence[int]) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *places, len(text)])]


# -- one stream


async def _run(plan: StreamPlan, cut: Sequence[str]) -> Streamed:
    """
    Send one block of text through a chain of its own; data of the application comes between two of its pieces.
    """
    stream = StreamChain(plan, RequestScope(run_id="stream-safe"), MessageList())
    stream.begin(step_number=0, steps=(), retry_count=0)
    chunks: list[Chunk] = [TextStart(), *(TextDelta(piece) for piece in cut), TextEnd()]
    chunks.insert(len(chunks) // 2, DataChunk("data-between", None))
    said: list[str] = []
    try:
        for chunk in chunks:
            said += _texts(stream.fast(chunk) if stream.fast is not None else await stream.push(chunk))
        said += _texts(await stream.flush())
    except Tripwire:
        return Streamed("".join(said), True)
    return Streamed("".join(said), False)


def _texts(out: Chunk | list[Chunk] | None) -> list[str]:
    chunks = out if isinstance(out, list) else [out]
    return [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]


def _in_a_loop(main: Callable[[], Awaitable[T]]) -> T:
    """
    Run *main* to its end, in a thread of its own where an event loop is running in this one.
    """

    def run() -> T:
        return anyio.run(main)

    try:
        anyio.lowlevel.current_token()
    except RuntimeError:  # no loop runs here
        return run()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()
