"""
What a guard that asks a detector makes of a stream, sentence by sentence.

Text passes three stations: the rules' window, which holds back what they may still find; the cutter, which holds back
a sentence until it ends; and the detector, which is asked about it with some of what the reader has seen before it.
Only what was judged goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Protocol

from procession.messages.chunks import Chunk, TextDelta
from procession.messages.text.sentences import Sentences
from procession.messages.text.spans import Region, Span, resolve
from procession.processors.context import HookContext
from procession.processors.contexts import OutputStreamContext
from procession.processors.detect.detector import Verdict
from procession.processors.hold_back import PASSED, Piece, Released, StreamedText, new_digest, pieces_of
from procession.processors.streamed_guard import Judging, note_before
from procession.processors.text_blocks import TextBlocks
from procession.processors.time_limit import within

__all__ = [
    "SegmentedText",
    "Segmenting",
    "clipped",
    "judged_end",
    "judged_piece",
    "seams_not_judged",
    "seams_were_judged",
]

_APART = b"seams not judged"
"""Among what has passed: that blocks were judged each by itself, so that no text was the context of the next.  It stands
there since a run that is suspended keeps what has passed."""


class Segmenting(Judging, Protocol):
    """
    What is needed of a guard.
    """

    context: int

    @property
    def timeout(self) -> float | None:
        """Seconds that one question may take."""
        ...

    def new_segments(self) -> SegmentedText:
        """Return what is kept for a new block of streamed text."""
        ...

    def judged(self, verdict: Verdict, text: str) -> list[Region]:
        """Return what counts in a text, given a verdict."""
        ...

    async def verdict_of(self, ctx: HookContext[Any], text: str) -> Verdict:
        """Ask about a text."""
        ...

    def take(
        self,
        ctx: OutputStreamContext,
        block: StreamedText,
        released: Released,
        id: str | None = None,
        out: Sequence[Chunk] = (),
    ) -> str:
        """Do what the strategy says about what the rules' window released."""
        ...  # fmt: skip


class SegmentedText:
    """
    What is kept for one block: each station, and what has been judged and not been sent on yet.
    """

    __slots__ = ("cutter", "digest", "ready", "ruled", "seen", "waiting")

    def __init__(self, ruled: StreamedText, cutter: Sentences) -> None:
        self.ruled = ruled
        """The window of the rules."""
        self.cutter = cutter
        self.waiting: deque[str] = deque()
        """Sentences that are to be judged."""
        self.ready: list[str] = []
        """What was judged."""
        self.seen: str | None = None
        """The end of what the reader has of the answer so far; ``None`` where the block has just begun."""
        self.digest = new_digest()
        """Of the text that was judged: it need not be looked at again in ``process_output_result``."""

    def passed(self, text: str, context: int) -> None:
        """
        Note *text* as judged; *context* characters are kept for what comes.
        """
        if text:
            self.ready.append(text)
            self.digest.update(text.encode("utf-8", "surrogatepass"))
            self.seen = ((self.seen or "") + text)[-context:] if context else ""

    def let_go(self) -> str:
        """
        Take out what may be sent on.
        """
        text = "".join(self.ready)
        self.ready.clear()
        return text

    def unjudged(self) -> str:
        """
        Return what has left the rules' window and has not been judged.
        """
        return "".join(self.waiting) + self.cutter.rest


async def judged_piece(guard: Segmenting, ctx: OutputStreamContext, chunk: TextDelta) -> Chunk | None:
    """
    Take the next piece of a block, and return what was judged by now.
    """
    blocks = TextBlocks[SegmentedText].of(ctx, guard.new_segments)
    beside = blocks.are_open
    block = blocks.block(chunk)
    if block.seen is None:
        block.seen = "" if beside else blocks.tail
        if beside:
            seams_not_judged(ctx.state)
    stop = _cut(guard, ctx, block, block.ruled.machine.feed(chunk.text))
    await _judge(guard, ctx, block)
    if stop is not None:
        _block(guard, ctx, block, stop)
    text = block.let_go()
    return TextDelta(text, chunk.id, chunk.provider_metadata) if text else None


async def judged_end(guard: Segmenting, ctx: OutputStreamContext) -> list[Chunk]:
    """
    Judge the rest of the blocks that end now, and return it.
    """
    out: list[Chunk] = []
    blocks = TextBlocks[SegmentedText].of(ctx, guard.new_segments)
    for id, block in blocks.ended_by(ctx.chunk):
        stop = _cut(guard, ctx, block, block.ruled.machine.finish())
        if stop is None and (rest := block.cutter.finish()):
            block.waiting.append(rest)
        await _judge(guard, ctx, block, id, out)
        if stop is not None:
            _block(guard, ctx, block, stop, id, out)
        ctx.state.setdefault(PASSED, set()).add(block.digest.digest())
        blocks.tail = block.seen or ""
        text = block.let_go()
        if text:
            out.append(TextDelta(text, id))
    if ctx.chunk.control:
        blocks.tail = ""
    return out


def seams_not_judged(state: dict[str, Any]) -> None:
    """
    Note in the *state* of a guard that blocks were judged each by itself.
    """
    state.setdefault(PASSED, set()).add(_APART)


def seams_were_judged(state: dict[str, Any]) -> bool:
    """
    Whether the blocks of the streams that a guard with this *state* has seen were judged each with the one before it.
    """
    return _APART not in state.get(PASSED, ())


def _cut(guard: Segmenting, ctx: OutputStreamContext, block: SegmentedText, released: Released) -> Piece | None:
    """
    Hand what the rules' window *released* to the cutter.  Of a guard that blocks only what stands before the first match,
    which is returned: it counts once that text was judged, so that the verdict is the same wherever the text is cut.
    """
    pieces = released.pieces
    found = next((piece for piece in pieces if piece.region is not None), None)
    if found is None or guard.strategy != "block":
        block.waiting += block.cutter.feed(guard.take(ctx, block.ruled, released))
        return None
    block.waiting += block.cutter.feed("".join(piece.text for piece in pieces[: pieces.index(found)]))
    return found


async def _judge(
    guard: Segmenting,
    ctx: OutputStreamContext,
    block: SegmentedText,
    id: str | None = None,
    out: Sequence[Chunk] = (),
) -> None:
    """
    Ask about the sentences that wait, one after the other: each is shown what became of those before it.
    """
    while block.waiting:
        text = block.waiting[0]
        if text.strip():
            text = await within(guard.timeout, ctx, partial(_left_of, guard, ctx, block, text, id, out))
        block.waiting.popleft()
        block.passed(text, guard.context)


async def _left_of(
    guard: Segmenting, ctx: OutputStreamContext, block: SegmentedText, text: str, id: str | None, out: Sequence[Chunk]
) -> str:
    """
    Return what the strategy leaves of the sentence *text*.
    """
    before = block.seen or ""
    verdict = await guard.verdict_of(ctx, before + text)
    regions = guard.judged(verdict, before + text)
    found = resolve(clipped((span for region in regions for span in region.members), before)) if before else regions
    if not found:
        return text
    pieces = pieces_of(text, found)
    if guard.strategy == "block":
        _note(guard, ctx, block, pieces[0].text if pieces[0].region is None else "", id, out)
    guard.settle(ctx, pieces, {"phase": ctx.hook.value})
    return guard.joined(pieces)


def clipped(spans: Iterable[Span], before: str) -> list[Span]:
    """
    Return those of *spans* that reach into what comes after the context *before*, as places in that.
    """
    size = len(before)
    return [_clipped(span, before) for span in spans if span.end > size] if size else list(spans)


def _clipped(span: Span, before: str) -> Span:
    size = len(before)
    if span.start >= size or span.replacement is None:
        return span.replace(start=max(span.start - size, 0), end=span.end - size)
    # What is to stand for context and sentence together stands for the sentence without the context.
    rest = span.replacement.removeprefix(before)
    return span.replace(start=0, end=span.end - size, replacement=rest if rest != span.replacement else None)


def _block(
    guard: Segmenting,
    ctx: OutputStreamContext,
    block: SegmentedText,
    found: Piece,
    id: str | None = None,
    out: Sequence[Chunk] = (),
) -> None:
    _note(guard, ctx, block, block.unjudged(), id, out)
    guard.settle(ctx, [found], {"phase": ctx.hook.value})


def _note(
    guard: Segmenting, ctx: OutputStreamContext, block: SegmentedText, clean: str, id: str | None, out: Sequence[Chunk]
) -> None:
    """
    Note what stands before a match, and has not been sent on, for those behind this guard.
    """
    note_before(TextBlocks[Any].of(ctx, guard.new_segments), ctx, block.let_go() + clean, id, out)
