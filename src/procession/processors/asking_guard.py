"""
AskingGuard: a text guard that may ask a detector which has to be awaited, such as a model.

Without one it is a plain text guard.  With one its hooks are awaited, a streamed block is held to its end, and each
text is judged once in a request: verdicts are kept by what the text says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from procession.messages.chunks import Chunk, TextDelta, ToolCall
from procession.messages.message import Message
from procession.messages.text.spans import Region, resolve
from procession.processors.beside import watch_beside
from procession.processors.context import HookContext
from procession.processors.contexts import (
    InputContext,
    OutputResultContext,
    OutputStreamContext,
    ToolResultContext,
    notes_of,
)
from procession.processors.detect.detector import Detector, Verdict, verdict_by
from procession.processors.guarded_strings import call_texts, guarded_call
from procession.processors.hold_back import pieces_of
from procession.processors.nested_values import guarded_chunk, texts_beside
from procession.processors.strings import strings_in
from procession.processors.text_blocks import TextBlocks
from procession.processors.text_guard import TextGuard
from procession.processors.time_limit import within

__all__ = ["AskingGuard"]

MODEL_TIMEOUT = 30.0
"""Seconds that a hook which asks a model may take, unless the guard says otherwise (D17)."""
C = TypeVar("C", bound=HookContext[Any])
_SHORTEST = 8
"""Strings inside tool results with fewer characters are not worth a question."""


class AskingGuard(TextGuard):
    """
    A text guard with an optional detector that is awaited.  A subclass says in ``judged`` what its verdict means.
    """

    detector: Detector | None = None

    def use(self, detector: Detector | None) -> None:
        """
        Ask *detector* from now on; the hooks that this guard has become asynchronous.
        """
        if detector is None:
            return
        self.detector = detector
        self.asks = True
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
            setattr(self, "process_output_stream", gather)  # noqa: B010
            setattr(self, "flush_output_stream", self._flush_slowly)  # noqa: B010

    def judged(self, verdict: Verdict, text: str) -> list[Region]:
        """
        Return what counts in *text*, given a detector's *verdict* of it.
        """
        return resolve(span for span in verdict.spans if self.accepts(span, text[span.start : span.end]))

    async def verdict_of(self, ctx: HookContext[Any], text: str) -> Verdict:
        """
        Ask the detector about *text*, once per request.
        """
        assert self.detector is not None
        return await verdict_by(self.detector, text, ctx.scope.state(self.id), ctx.scope)

    async def regions_in(self, ctx: HookContext[Any], text: str) -> list[Region]:
        """
        Return what counts in *text*: what rules find, and what the detector finds.
        """
        found = self.regions(text)
        if self.detector is None or not text.strip():
            return found
        more = self.judged(await self.verdict_of(ctx, text), text)
        return resolve(span for region in (*found, *more) for span in region.members)

    # -- hooks

    async def _input_slowly(self, ctx: InputContext) -> None:
        await self._now_or_beside(ctx, lambda ctx: self._look_at_all(ctx, self.new_messages(ctx)))

    async def _result_slowly(self, ctx: OutputResultContext) -> None:
        answers = [message for message in ctx.view if message.role == "assistant"]
        await self._now_or_beside(ctx, lambda ctx: self._look_at_all(ctx, answers))

    async def _tool_slowly(self, ctx: ToolResultContext) -> Any:
        return await self._now_or_beside(ctx, self._look_into_all)

    async def _look_at_all(self, ctx: HookContext[Any], messages: Iterable[Message]) -> None:
        for message in messages:
            texts = self.texts_of(ctx, message)
            found = {text: await self.regions_in(ctx, text) for text in texts.values()}
            self.look_at(ctx, message, texts, found.__getitem__)

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
