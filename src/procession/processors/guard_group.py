"""
GuardGroup: several text guards that look at one stream side by side.

Branches of a ``.parallel()`` that each held back and changed the same chunk could not be put together again.  So text
guards that no map chooses between share one window: what any of them finds is held back, overlapping findings are
united, the strictest strategy counts, and every finding is still its own guard's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from procession.messages.chunks import Chunk, TextDelta, ToolCall
from procession.messages.message_list import MessageList
from procession.messages.text.spans import Region, Span, resolve
from procession.processors.adapter import left_out
from procession.processors.asking_guard import AskingGuard
from procession.processors.beside import watch_beside
from procession.processors.contexts import OutputStreamContext
from procession.processors.guarded_strings import guarded_call
from procession.processors.hold_back import Piece, Released, StreamedText, Watch, pieces_of
from procession.processors.judge import detected_in, judged, look_and_report
from procession.processors.nested_values import guarded_chunk
from procession.processors.segmented_group import GroupBlock, GroupSegments
from procession.processors.segmented_guard import seams_not_judged
from procession.processors.spared_lane import SparedLane
from procession.processors.streamed_guard import note_before
from procession.processors.text_blocks import TextBlocks
from procession.processors.text_guard import TextGuard
from procession.processors.time_limit import limited, within
from procession.processors.violation import Violation
from procession.steps.stray import is_failure

__all__ = ["GuardGroup"]


class GuardGroup:
    """
    Text guards as one processor of a stream: block before filter before redact before warn.

    A guard that asks a model makes the group wait for the end of each block, unless all that ask and may change the text
    judge it by sentence.  What fails is left out, or stops the run, as the guard that failed has it.
    """

    on_error = "stop"
    timeout: float | None = None
    mutates = True
    nested_text = True

    def __init__(self, guards: Sequence[TextGuard]) -> None:
        self.guards = tuple(guards)
        self.id = "+".join(guard.id for guard in self.guards)
        self.fails_closed = any(not guard.passes for guard in self.guards)
        self._by_id = {guard.id: guard for guard in self.guards}
        self._strict = [guard for guard in self.guards if not guard.passes]
        self._lenient = [guard for guard in self.guards if guard.passes]
        self.waits = any(guard.asks for guard in self.guards)
        """Whether it asks somebody outside."""
        self._depends = any(type(guard).for_request is not TextGuard.for_request for guard in self.guards)
        """Whether what one of them looks for depends on the request."""
        self._strictest_first = sorted(self.guards, key=_leniency)
        self._scanning = [guard for guard in self._strictest_first if guard.scan_tool_args]
        """Those that look at what tools are called with, the strictest first."""
        self._asking = [guard for guard in self._strict if isinstance(guard, AskingGuard) and guard.asks]
        self._by_segments = bool(self._asking) and all(guard.by_segments for guard in self._asking)
        """Whether blocks are judged piece by piece."""
        if self._by_segments or any(guard.asks for guard in self._scanning):
            setattr(self, "process_output_stream", self._stream_slowly)  # noqa: B010

    def on_violation(self, violation: Violation) -> Any:
        """
        Hand a verdict to the guard whose it is.
        """
        guard = self._by_id.get(violation.processor_id)
        callback = guard.on_violation if guard is not None else None
        return callback(violation) if callback is not None else None

    def process_output_stream(self, ctx: OutputStreamContext) -> Chunk | None:
        """
        Pass on what is certain of a text block, and hold the rest back.
        """
        chunk = ctx.chunk
        if type(chunk) is not TextDelta:
            return self._guarded_call(ctx, chunk) if self._scanning else chunk
        block = self._blocks(ctx).block(chunk)
        if self.waits:
            block.whole.append(chunk.text)
            return None if self._strict else chunk
        for guard, own in block.own:
            with self._as(ctx, guard):
                guard.take(ctx, own, own.machine.feed(chunk.text))
        if not self._strict:
            block.shared.passed(chunk.text)
            return chunk
        text = self._settle(ctx, block, self._searched(ctx, block, chunk.text).pieces)
        return TextDelta(text, chunk.id, chunk.provider_metadata) if text else None

    def _guarded_call(self, ctx: OutputStreamContext, chunk: Chunk) -> Chunk | None:
        out: Chunk | None = chunk
        for guard in self._scanning:
            with self._as(ctx, guard):
                out = guarded_call(guard, ctx, out, _regions(ctx, guard)) if out is not None else None
        return out

    async def _stream_slowly(self, ctx: OutputStreamContext) -> Chunk | None:
        """
        Do what ``process_output_stream`` does where a guard asks somebody before the end of a block.
        """
        if self._by_segments and type(ctx.chunk) is TextDelta:
            return await self._judged_piece(ctx, ctx.chunk)
        if not isinstance(ctx.chunk, ToolCall):
            return GuardGroup.process_output_stream(self, ctx)
        for guard in self._scanning:
            with self._as(ctx, guard):
                if not isinstance(guard, AskingGuard) or not guard.asks:
                    ctx.chunk = guarded_call(guard, ctx, ctx.chunk, _regions(ctx, guard)) or ctx.chunk
                elif not guard.enforces:
                    watch_beside(ctx, guard.call_looked_at, guard.timeout)
                else:
                    look = partial(guard.call_looked_at, ctx)
                    ctx.chunk = await within(guard.timeout, ctx, look) or ctx.chunk
        return ctx.chunk

    async def _judged_piece(self, ctx: OutputStreamContext, chunk: TextDelta) -> Chunk | None:
        block = self._blocks(ctx).block(chunk)
        assert block.segments is not None
        block.whole.append(chunk.text)
        pieces = self._searched(ctx, block, chunk.text).pieces
        stop = block.segments.take(pieces, self._blocker)
        text = await self._judged_by_now(ctx, block, block.segments, stop, chunk.id, ())
        return TextDelta(text, chunk.id, chunk.provider_metadata) if text else None

    async def _judged_by_now(
        self,
        ctx: OutputStreamContext,
        block: GroupBlock,
        segments: GroupSegments,
        stop: Sequence[Piece],
        id: str,
        out: Any,
    ) -> str:
        """
        Ask about the sentences that are whole and return what the strategies leave of them; then *stop*, if that is to be.
        """
        ready = ""
        for pieces in segments.whole():
            text = "".join(piece.text for piece in pieces)
            found: list[Span] = []
            if text.strip() and not block.shared.dropped:
                asked = segments.before + text
                for judge in await judged(ctx, self._asking, asked, detected_in):
                    with self._as(ctx, judge.guard):
                        judge.tell(ctx, asked)
                    found += judge.spans()
            before = [*out, TextDelta(ready, id)] if ready else out
            made = self._settle(ctx, block, segments.united(pieces, found), id, before)
            segments.passed(made)
            ready += made
        if stop:
            before = [*out, TextDelta(ready, id)] if ready else out
            self._settle(ctx, block, [*segments.rest(), *stop], id, before)
        return ready

    def look(self, ctx: OutputStreamContext) -> Chunk | None:
        """
        Return a nested stream's chunk as the guards leave what stands in it beside text.
        """
        out: Chunk | None = ctx.chunk
        for guard in self._strictest_first:
            with self._as(ctx, guard):
                out = guarded_chunk(guard, ctx, out, _regions(ctx, guard)) if out is not None else None
        return out

    async def look_slowly(self, ctx: OutputStreamContext) -> Chunk | None:
        """
        Do what ``look`` does where a guard asks somebody.
        """
        for guard in self._strictest_first:
            out: Chunk | None = ctx.chunk
            with self._as(ctx, guard):
                if isinstance(guard, AskingGuard) and guard.asks:
                    out = await within(guard.timeout, ctx, partial(guard.look_slowly, ctx))
                else:
                    out = guarded_chunk(guard, ctx, ctx.chunk, _regions(ctx, guard))
            if out is None:
                return None
            ctx.chunk = out
        return ctx.chunk

    def flush_output_stream(self, ctx: OutputStreamContext) -> Any:
        """
        Return the rest of the blocks that end now that ``ctx.chunk`` is about to come.
        """
        ended = self._blocks(ctx).ended_by(ctx.chunk)
        if self.waits and ended:
            return self._flush_slowly(ctx, ended)
        out: list[Chunk] = []
        for id, block in ended:
            for guard, own in block.own:
                with self._as(ctx, guard):
                    guard.take(ctx, own, own.machine.finish())
            text = self._settle(ctx, block, self._searched(ctx, block, None).pieces, id, out)
            self._note_passed(ctx, block)
            if text:
                out.append(TextDelta(text, id))
        return out

    async def _flush_slowly(self, ctx: OutputStreamContext, ended: list[tuple[str, GroupBlock]]) -> list[Chunk]:
        out: list[Chunk] = []
        for id, block in ended:
            text = "".join(block.whole)
            strict: list[Span] = []
            now: list[TextGuard] = []
            made = ""
            if block.segments is not None:
                stop = block.segments.take(self._searched(ctx, block, None).pieces, self._blocker, final=True)
                made = await self._judged_by_now(ctx, block, block.segments, stop, id, out)
            for guard in self._lenient if block.segments is not None else self.guards:
                if not guard.asks or guard.enforces:
                    now.append(guard)
                    continue
                with self._as(ctx, guard):
                    watch_beside(ctx, partial(look_and_report, guard=guard, text=text), guard.timeout)
            for judge in await judged(ctx, now, text):
                with self._as(ctx, judge.guard):
                    judge.tell(ctx, text)
                strict += judge.spans()
            if block.segments is None:
                made = self._settle(ctx, block, pieces_of(text, resolve(strict)), id, out)
            self._note_passed(ctx, block)
            if made and self._strict:
                out.append(TextDelta(made, id))
        return out

    def reset_output_stream(self, ctx: OutputStreamContext) -> None:
        """
        Drop what is held back: the attempt it belongs to was rejected.
        """
        ctx.speak_for(self)  # a verdict left it to its guard
        TextBlocks.forget(ctx)

    def _blocks(self, ctx: OutputStreamContext) -> TextBlocks[GroupBlock]:
        make = partial(self._new_block, ctx.message_list) if self._depends else self._new_block
        return TextBlocks[GroupBlock].of(ctx, make)

    def _new_block(self, messages: MessageList | None = None) -> GroupBlock:
        if self.waits and not self._by_segments:
            return GroupBlock(StreamedText([]), [], [])
        seen = {guard.id: guard if messages is None else guard.for_request(messages) for guard in self.guards}
        spared = [
            (guard, SparedLane(seen[guard.id]))
            for guard in self._strict
            if guard.on_error == "skip" or guard.timeout is not None
        ]
        lanes = {guard.id: lane for guard, lane in spared}
        return GroupBlock(
            StreamedText(
                [
                    Watch(guard.id, lane, lane.accepts)
                    if (lane := lanes.get(guard.id)) is not None
                    else Watch(guard.id, seen[guard.id].lane(), guard.accepts)
                    for guard in self._strict
                ],
                least=max((guard.carryover for guard in self._strict), default=0),
                batch=max((guard.batch for guard in self._strict), default=1),
            ),
            [] if self._by_segments else [(guard, seen[guard.id].new_block()) for guard in self._lenient],
            spared,
            GroupSegments(self._asking[0].new_cutter(), max(guard.context for guard in self._asking))
            if self._by_segments
            else None,
        )

    def _note_passed(self, ctx: OutputStreamContext, block: GroupBlock) -> None:
        for guard in self.guards:
            state = ctx.scope.state(guard.id)
            guard.note_passed(state, block.shared)
            if guard.asks:
                seams_not_judged(state)

    def _settle(
        self, ctx: OutputStreamContext, block: GroupBlock, pieces: Sequence[Piece], id: str | None = None, out: Any = ()
    ) -> str:
        """
        Do what the strategies say about *pieces*, and return what is to be sent on behind *out*.

        What stands behind the first match of a guard that blocks is nobody's business any more.
        """
        shared = block.shared
        if not shared.dropped and len(pieces) == 1 and pieces[0].region is None:
            return shared.passed(pieces[0].text)
        stop = next((at for at, piece in enumerate(pieces) if self._blocker(piece) is not None), len(pieces))
        before = pieces[:stop]
        for guard in self._strict:
            found = list(_own(before, guard.id))
            if found:
                with self._as(ctx, guard):
                    guard.settle(ctx, found, {"phase": ctx.hook.value})
                shared.dropped = shared.dropped or guard.strategy == "filter"
        text = "" if shared.dropped else "".join(self._shown(piece) for piece in before)
        if stop < len(pieces):
            blocker = self._blocker(pieces[stop])
            assert blocker is not None
            guard, spans = blocker
            note_before(self._blocks(ctx), ctx, text, id, out)
            with self._as(ctx, guard):
                ctx.abort(guard.reason(spans), metadata=guard.metadata(spans))
        return shared.passed(text)

    def _blocker(self, piece: Piece) -> tuple[TextGuard, Sequence[Span]] | None:
        """
        Return the guard that blocks for what is in *piece*, the first of them, and its first match there.
        """
        if piece.region is not None:
            for guard in self._strict:
                for own in _own([piece], guard.id) if guard.strategy == "block" else ():
                    assert own.region is not None
                    return guard, own.region.members
        return None

    def _shown(self, piece: Piece) -> str:
        if piece.region is None:
            return piece.text
        return self._by_id[piece.region.owner.source].replacement(piece.region, piece.found())

    def _searched(self, ctx: OutputStreamContext, block: GroupBlock, text: str | None) -> Released:
        """
        Let the strict guards look at more *text*, or at the end; what one of them raises is that guard's failure.
        """
        machine = block.shared.machine
        try:
            released = machine.finish() if text is None else machine.feed(text)
        except Exception:
            failed = self._by_id.get(machine.failed or "")
            if failed is not None:
                ctx.speak_for(failed)
            raise
        for guard, lane in block.spared:
            if lane.error is not None:
                error, lane.error = lane.error, None
                with self._as(ctx, guard):
                    raise error
        return released

    @contextmanager
    def _as(self, ctx: OutputStreamContext, guard: TextGuard) -> Generator[None]:
        """
        Let *ctx* speak for *guard*: its id on what it reports, its callback told once, what it may fail left out.

        A verdict, and a failure that is not left out, stay the guard's: they are settled in its name.
        """
        told: set[str] = ctx.scope.state(self.id).setdefault("told", set())
        if not ctx.violated:
            told.clear()
        ctx.speak_for(guard)
        ctx.violated = guard.id in told
        try:
            if guard.timeout is None:
                yield
            else:
                with limited(guard.timeout):
                    yield
        except BaseException as error:
            if ctx.verdict is not None or guard.on_error != "skip" or not is_failure(error):
                raise
            left_out(ctx, error)
        if ctx.violated:
            told.add(guard.id)
        ctx.speak_for(self)
        ctx.violated = bool(told)


def _regions(ctx: OutputStreamContext, guard: TextGuard) -> Callable[[str], list[Region]]:
    return guard.for_request(ctx.message_list).regions


def _leniency(guard: TextGuard) -> int:
    if guard.passes:
        return 3
    return {"block": 0, "filter": 1}.get(guard.strategy, 2)


def _own(pieces: Sequence[Piece], source: str) -> Iterator[Piece]:
    """
    Yield what one guard found, as it would have found it alone.
    """
    for piece in pieces:
        if piece.region is None:
            continue
        for region in resolve(span for span in piece.region.members if span.source == source):
            start = region.start - piece.start
            yield Piece(piece.text[start : start + region.end - region.start], region.start, region)
