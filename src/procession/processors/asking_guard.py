"""
AskingGuard: a text guard that may ask a detector which has to be awaited, such as a model.

Without one it is a plain text guard.  With one its hooks are awaited, a streamed block is held to its end or judged
sentence by sentence, and each text is judged once in a request: verdicts are kept by what the text says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, cast

from procession.errors import ProcessorDefinitionError
from procession.messages.chunks import Chunk, TextDelta, ToolCall
from procession.messages.message import Message
from procession.messages.text.sentences import Sentences
from procession.messages.text.spans import Region, Span, resolve
from procession.processors.beside import watch_beside
from procession.processors.context import HookContext
from procession.processors.contexts import (
    InputContext,
    OutputResultContext,
    OutputStreamContext,
    ToolResultContext,
    notes_of,
)
from procession.processors.detect.detector import Detector, OfflineDetector, Verdict, sound
from procession.processors.detect.verdicts import VERDICT_TTL, VerdictCache, verdict_by
from procession.processors.guard_scope import note_files
from procession.processors.guarded_message import told
from procession.processors.guarded_strings import call_texts, guarded_call
from procession.processors.hold_back import StreamedText, pieces_of
from procession.processors.hooks import Hook
from procession.processors.nested_values import guarded_chunk, texts_beside
from procession.processors.options import a_detector, seconds, whole_number
from procession.processors.segmented_guard import SegmentedText, judged_end, judged_piece, seams_were_judged
from procession.processors.strings import strings_in
from procession.processors.text_blocks import TextBlocks
from procession.processors.text_guard import TextGuard
from procession.processors.text_places import Place
from procession.processors.time_limit import limits_itself, within
from procession.storage.cache import CacheStore

__all__ = ["AskingGuard", "StreamBy"]

StreamBy: TypeAlias = Literal["block", "sentence"] | int
"""How a streamed answer is judged: block by block, sentence by sentence, or so many characters at a time."""
_NOT_ASKED = "not asked: await guard.explained(text)"
_SMALLEST = 40
"""Shorter stretches are refused: that would be a question for every few words."""

MODEL_TIMEOUT = 30.0
"""Seconds that a hook which asks a model may take, unless the guard says otherwise (D17)."""
C = TypeVar("C", bound=HookContext[Any])
_SHORTEST = 8
"""Strings inside tool results with fewer characters are not worth a question."""


class AskingGuard(TextGuard):
    """
    A text guard with an optional detector that is awaited.  A subclass says in ``judged`` what its verdict means.

    *stream_by* says how a streamed answer is judged, under the strategies that block or change text:

    * ``"block"``: each block is held to its end and is one question.  The default: the detector sees all there is.
    * ``"sentence"``: a sentence is held until it ends and was judged, short ones together until they have 80
      characters; after 1000 characters one ends in any case.
    * a number: the same with stretches of so many characters, at least 40, cut at white space.

    Each stretch is judged with the last *context* characters that were sent on before it, so that what spans two of
    them is found, with the second: the first has been shown by then.  What the guard's rules find, as opposed to the
    detector, is held back whole as ever.  ``filter`` drops whole blocks and holds each to its end; a guard that changes
    nothing holds nothing back and asks once per block.

    A verdict is kept for the request.  With *verdict_cache*, a ``CacheStore`` or how many verdicts to keep in memory, it is
    kept for other requests of the same resource as well, for *verdict_ttl* seconds (an hour); failures never are.

    Other *options* are those of ``TextGuard``.  Raises ``ProcessorDefinitionError`` for options that mean nothing.
    """

    detector: Detector | None = None
    stream_by: StreamBy = "block"
    context: int = 200

    def __init__(
        self,
        *,
        stream_by: StreamBy | None = None,
        context: int | None = None,
        verdict_cache: CacheStore | int | None = None,
        verdict_ttl: float = VERDICT_TTL,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        name = type(self).__name__
        if stream_by is not None:
            self.stream_by = _checked_size(name, stream_by)
        if context is not None:
            self.context = whole_number(name, "context", context, least=0)
        self._verdict_store, self._verdict_ttl = verdict_cache, seconds(name, "verdict_ttl", verdict_ttl)
        self._verdict_cache: VerdictCache | None = None
        self.by_segments = self.stream_by != "block" and not self.passes and self.strategy != "filter"
        """Whether a streamed block is judged piece by piece."""

    def use(self, detector: Detector | None) -> None:
        """
        Ask *detector* from now on; the hooks that this guard has become asynchronous.
        """
        if detector is None:
            return
        self.detector = a_detector(type(self).__name__, detector)
        self.asks = True
        if self._verdict_store is not None:
            name = type(self).__name__
            self._verdict_cache = VerdictCache(name, detector, self._verdict_store, self._verdict_ttl)
        if self.timeout is None:
            self.timeout = MODEL_TIMEOUT
        slow: dict[str, Callable[[Any], Any]] = {
            "process_input": self._input_slowly,
            "process_output_result": self._result_slowly,
            "process_tool_result": self._tool_slowly,
        }
        for name, method in slow.items():
            if getattr(self, name) is not None:
                setattr(self, name, method)
        if self.process_output_stream is not None:
            gather = self._gather_and_ask if self.scan_tool_args else self._gather
            stream, flush = (
                (self._piece_by_piece, self._flush_pieces) if self.by_segments else (gather, self._flush_slowly)
            )
            setattr(self, "process_output_stream", stream)  # noqa: B010
            setattr(self, "flush_output_stream", flush)  # noqa: B010

    async def forget_owner(self, resource: str, thread: str | None) -> int:
        """
        Forget the verdicts that are kept for a resource, of whatever thread.
        """
        return await self._verdict_cache.forget(resource) if self._verdict_cache is not None else 0

    @property
    def asks_whom(self) -> str | None:
        """
        What ``agent.explain()`` says of whom it asks, and how.
        """
        if not self.asks:
            return None
        by = self.stream_by if self.by_segments else "block"
        said = f"asks {type(self.detector).__name__}"
        if self.process_output_stream is not None:
            said += f", in streams by {by} characters" if isinstance(by, int) else f", in streams by {by}"
        kept = ", verdicts kept between requests of one resource, or of none"
        return said + (kept if self._verdict_cache is not None else "")

    def judged(self, verdict: Verdict, text: str) -> list[Region]:
        """
        Return what counts in *text*, given a detector's *verdict* of it.
        """
        found = [span for span in verdict.spans if self.accepts(span, text[span.start : span.end])]
        if not verdict.spans:  # it says that something is there, and not where: that is the whole text
            made = verdict.rewritten
            types = [name for name in verdict.over(self.threshold) if verdict.scores[name] > 0]
            found = [Span(0, len(text), name, f"detector:{name}", verdict.scores[name], made) for name in types]
        return resolve(found)

    async def verdict_of(self, ctx: HookContext[Any], text: str) -> Verdict:
        """
        Ask the detector about *text*, once per request, or fewer times with a cache.
        """
        assert self.detector is not None
        state = ctx.scope.state(self.id)
        return await verdict_by(self.detector, text, state, ctx.scope, self._verdict_cache)

    async def regions_in(self, ctx: HookContext[Any], text: str) -> list[Region]:
        """
        Return what counts in *text*: what rules find, and what the detector finds.
        """
        found = self.regions(text)
        if self.detector is None or not text.strip():
            return found
        more = await self.detected_in(ctx, text)
        return resolve(span for region in (*found, *more) for span in region.members)

    def explain(self, text: str) -> list[Span]:
        """
        As every guard does, without asking anybody: the last entry then says that the detector was not asked.
        """
        found = super().explain(text)
        if self.detector is None or isinstance(self.detector, OfflineDetector):
            return found
        name = type(self.detector).__name__
        return [*found, Span(0, len(text), "detector", name, 0.0, rejected=_NOT_ASKED)]

    async def explained(self, text: str, *, scope: Any = None) -> list[Span]:
        """
        Return what ``explain`` returns, with what the detector says of *text*, which is asked: what it found where, and
        what it says without saying where, as a finding in the whole text.  What it costs is charged to *scope*.

        Raises whatever keeps the detector from a verdict.
        """
        found = [span for span in self.explain(text) if span.rejected != _NOT_ASKED]
        if self.detector is None:
            return found
        verdict = sound(await self.detector.detect(text, scope=scope), text)
        placed = {span.type for span in verdict.spans}
        more = [
            *verdict.spans,
            *(
                Span(0, len(text), category, verdict.reason or f"detector:{category}", score, verdict.rewritten)
                for category, score in verdict.scores.items()
                if category not in placed
            ),
        ]
        found += [told(span, text, folds=self.folds, allowed=self.allowed) for span in more if span not in found]
        return sorted(found, key=lambda span: (span.start, -span.end))

    async def detected_in(self, ctx: HookContext[Any], text: str) -> list[Region]:
        """
        Return what the detector finds in *text*.
        """
        return self.judged(await self.verdict_of(ctx, text), text)

    # -- hooks

    async def _input_slowly(self, ctx: InputContext) -> None:
        note_files(ctx, self.new_messages(ctx))
        await self._now_or_beside(ctx, lambda ctx: self._look_at_all(ctx, self.new_messages(ctx)))

    async def _result_slowly(self, ctx: OutputResultContext) -> None:
        answers = [message for message in ctx.view if message.role == "assistant"]
        await self._now_or_beside(ctx, lambda ctx: self._look_at_all(ctx, answers))

    async def _tool_slowly(self, ctx: ToolResultContext) -> Any:
        return await self._now_or_beside(ctx, self._look_into_all)

    async def _look_at_all(self, ctx: HookContext[Any], messages: Iterable[Message]) -> None:
        for message in messages:
            texts = self.texts_of(ctx, message)
            known = self._known(ctx, texts)
            found = {
                text: self.regions(text) if text in known else await self.regions_in(ctx, text)
                for text in texts.values()
            }
            self.look_at(ctx, message, texts, found.__getitem__)

    def _known(self, ctx: HookContext[Any], texts: Mapping[Place, str]) -> set[str]:
        """
        Return those of *texts* that the detector has seen in a stream: joined of blocks that were judged each with the
        end of the one before it.
        """
        if not self.by_segments or ctx.hook is not Hook.OUTPUT_RESULT or not seams_were_judged(ctx.state):
            return set()
        units = Counter(place.unit for place in texts)
        return {text for place, text in texts.items() if place.is_joined and units[place.unit] == 1}

    async def _look_into_all(self, ctx: ToolResultContext) -> dict[str, Any] | None:
        found: dict[str, list[Region]] = {}
        notes = notes_of(ctx)
        for _, text in strings_in([ctx.result, notes.value if notes is not None else None]):
            if text not in found:
                found[text] = await self._regions_in_string(ctx, text)
        return self.look_into(ctx, found.__getitem__)

    async def _now_or_beside(self, ctx: C, look: Callable[[C], Awaitable[Any]]) -> Any:
        """
        Await *look*; that of a monitor goes on beside the run (D36).
        """
        if self.enforces:
            return await look(ctx)
        watch_beside(ctx, look, self.timeout)
        return None

    def new_segments(self) -> SegmentedText:
        """
        Return what is kept for a new block of streamed text that is judged piece by piece.
        """
        has_rules = bool(self.rules) or type(self).find is not TextGuard.find
        ruled = self.new_block() if has_rules else StreamedText(())
        return SegmentedText(ruled, self.new_cutter())

    def new_cutter(self) -> Sentences:
        """
        Return what cuts a streamed block into the stretches that are judged.
        """
        if isinstance(self.stream_by, int):
            return Sentences(least=1, greatest=self.stream_by, ends=False)
        return Sentences()

    @limits_itself
    async def _piece_by_piece(self, ctx: OutputStreamContext) -> Chunk | None:
        chunk = ctx.chunk
        if type(chunk) is TextDelta:
            return await judged_piece(self, ctx, chunk)
        if not self.scan_tool_args:
            return chunk
        if not isinstance(chunk, ToolCall):
            return guarded_call(self, ctx, chunk, self.regions)
        return cast("Chunk | None", await within(self.timeout, ctx, partial(self.call_looked_at, ctx)))

    async def _flush_pieces(self, ctx: OutputStreamContext) -> list[Chunk]:
        return await judged_end(self, ctx)

    def unchecked_output_stream(self, ctx: OutputStreamContext, chunk: TextDelta | None) -> list[Chunk]:
        """
        As every guard does; what its rules have found by now stays hidden.
        """
        if not self.asks or self.passes:
            return super().unchecked_output_stream(ctx, chunk)
        [(id, block)] = TextBlocks[Any].of(ctx, self.new_segments).given_up(None if chunk is None else chunk.id)
        if isinstance(block, SegmentedText):
            text = block.let_go() + block.unjudged() + self.joined(block.ruled.unread())
        else:
            text = "".join(block)
            found = self.regions(text)
            text = "" if found and self.strategy == "filter" else self.joined(pieces_of(text, found))
        return [TextDelta(text, id)] if text else []

    def _gather(self, ctx: OutputStreamContext) -> Chunk | None:
        chunk = ctx.chunk
        if type(chunk) is not TextDelta:
            return chunk
        TextBlocks[list[str]].of(ctx, list[str]).block(chunk).append(chunk.text)
        return chunk if self.passes else None

    async def _gather_and_ask(self, ctx: OutputStreamContext) -> Chunk | None:
        chunk = ctx.chunk
        if not isinstance(chunk, ToolCall):
            return self._gather(ctx) if isinstance(chunk, TextDelta) else guarded_call(self, ctx, chunk, self.regions)
        if not self.enforces:
            watch_beside(ctx, self.call_looked_at, self.timeout)
            return chunk
        return await self.call_looked_at(ctx)

    async def call_looked_at(self, ctx: OutputStreamContext) -> Chunk | None:
        """
        Return the tool call in hand as the strategy leaves it; the detector is asked about each text in its arguments.
        """
        chunk = ctx.chunk
        texts = call_texts(chunk) if isinstance(chunk, ToolCall) else []
        found = {text: await self._regions_in_string(ctx, text) for text in dict.fromkeys(texts)}
        return guarded_call(self, ctx, chunk, lambda text: found[text] if text in found else self.regions(text))

    async def look_slowly(self, ctx: OutputStreamContext) -> Chunk | None:
        """
        Return a nested stream's chunk as the strategy leaves it; the detector is asked about each text in it.
        """
        if self.enforces:
            return await self.nested_looked_at(ctx)
        watch_beside(ctx, self.nested_looked_at, self.timeout)
        return ctx.chunk

    async def nested_looked_at(self, ctx: OutputStreamContext) -> Chunk | None:
        """
        Do what ``look_slowly`` does, now.
        """
        chunk = ctx.chunk
        found = {
            text: await self._regions_in_string(ctx, text) for text in dict.fromkeys(texts_beside(self, ctx, chunk))
        }
        return guarded_chunk(self, ctx, chunk, lambda text: found[text] if text in found else self.regions(text))

    async def _regions_in_string(self, ctx: HookContext[Any], text: str) -> list[Region]:
        worth = len(text) >= _SHORTEST and any(character.isalpha() for character in text)
        return await self.regions_in(ctx, text) if worth else self.regions(text)

    async def _flush_slowly(self, ctx: OutputStreamContext) -> list[Chunk]:
        out: list[Chunk] = []
        blocks = TextBlocks[list[str]].of(ctx, list[str])
        for id, pieces in blocks.ended_by(ctx.chunk):
            blocks.before = list(out)
            look = partial(self._whole, text="".join(pieces))
            text = await within(self.timeout, ctx, partial(self._now_or_beside, ctx, look))
            if text and not self.passes:
                out.append(TextDelta(text, id))
        return out

    async def _whole(self, ctx: OutputStreamContext, text: str) -> str:
        """
        Judge one whole block: first by rules, then, as they left it, by the detector.
        """
        where = {"phase": ctx.hook.value}
        found = self.regions(text)
        if found and self.settle(ctx, pieces_of(text, found), where):
            text = "" if self.strategy == "filter" else self.joined(pieces_of(text, found))
        if text.strip():
            more = self.judged(await self.verdict_of(ctx, text), text)
            if more and self.settle(ctx, pieces_of(text, more), where):
                text = "" if self.strategy == "filter" else self.joined(pieces_of(text, more))
        self.note_text(ctx.state, text)
        return text


def _checked_size(name: str, value: Any) -> Any:
    if value in ("block", "sentence") or (isinstance(value, int) and value >= _SMALLEST and value is not True):
        return value
    raise ProcessorDefinitionError(
        f"{name} has stream_by={value!r}",
        hint=f"it is 'block', 'sentence', or how many characters are judged at a time, at least {_SMALLEST}",
    )
