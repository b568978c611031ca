"""
The links of a stream chain: one kind per kind of node, made for one run.

Each takes a chunk and gives a chunk, or ``None`` where it dropped it or holds it back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn, TypeAlias, cast

from procession.errors import MessageError
from procession.messages.chunks import Chunk, DataChunk, Finish, TextDelta, TextEnd
from procession.messages.shapes import is_items
from procession.processors.adapter import HookCaller
from procession.processors.context import Replaced
from procession.processors.contexts import OutputStreamContext
from procession.processors.hooks import Hook
from procession.processors.nested_path import Calls
from procession.processors.payloads import OutputStreamPayload
from procession.processors.protocols import guards, option
from procession.processors.text_blocks import TextBlocks
from procession.steps.scope import RequestScope
from procession.steps.signals import Signal, Tripwire, signal_in
from procession.steps.stray import is_failure, is_stray

__all__ = ["CallLink", "Due", "Item", "Link", "ProcessorItem", "release_all", "run_items"]

_END = Finish("unknown")
"""What a hook that lets go is shown where the answer is over without a chunk that says so."""


class Item:
    """
    One link.  ``is_async`` says whether ``apply`` is awaited, ``holds`` whether it may hold text back.
    """

    __slots__ = ("holds", "is_async", "owner_id", "path")

    def __init__(
        self, *, is_async: bool = False, holds: bool = False, owner_id: str | None = None, path: str = ""
    ) -> None:
        self.is_async = is_async
        self.holds = holds
        self.owner_id = owner_id
        self.path = path  # where it stands in its list, as an error says

    asks: bool = False
    """Whether it asks somebody outside about what it holds back."""

    def link(self) -> Link:
        """
        Return what is called for every chunk, looked up once: ``apply`` itself, unless it is a processor's hook.
        """
        return None, self.apply, None, self.is_async

    def begin(self, payload: OutputStreamPayload) -> None:
        """
        A step begins.
        """

    def discard(self) -> None:
        """
        Drop what is held back: the attempt was rejected.
        """

    def apply(self, chunk: Chunk, sender: str | None = None) -> Chunk | Awaitable[Chunk | None] | None:
        """
        Return what becomes of *chunk*; *sender* is the processor that wrote it, if one did.
        """
        raise NotImplementedError

    def must_release(self, chunk: Chunk) -> bool:
        """
        Whether held text must go on before *chunk* does.
        """
        return False

    async def release(self, coming: Chunk | None) -> list[Chunk]:
        """
        Return what is held back, now that *coming* (``None`` at the end) is about to arrive.
        """
        return []

    def forget(self, calls: Calls) -> None:
        """
        Drop what is held back of the nested streams inside *calls*.
        """


async def run_items(items: Sequence[Item], start: int, chunk: Chunk, out: list[Chunk], sender: str | None) -> None:
    """
    Pass *chunk* through *items* from *start* and append what comes out to *out*; what was held back goes first.
    """
    for index in range(start, len(items)):
        item = items[index]
        try:
            if item.holds and item.must_release(chunk):
                for held in await item.release(chunk):
                    await run_items(items, index + 1, held, out, sender)
            if sender is not None and item.owner_id == sender:
                continue
            result = item.apply(chunk, sender)
            if item.is_async:
                result = await cast("Awaitable[Chunk | None]", result)
        except Due as due:
            await due.settle(items, index + 1)
        if result is None:
            return
        chunk = cast("Chunk", result)
    out.append(chunk)


async def release_all(
    items: Sequence[Item], coming: Chunk | None, out: list[Chunk], *, start: int = 0, asking: bool = True
) -> None:
    """
    Append to *out* what *items* hold back, from *start* on, each piece passed through the items after it; without
    *asking* those that would ask somebody keep what they hold.
    """
    for index in range(start, len(items)):
        item = items[index]
        if item.holds and (asking or not item.asks):
            try:
                for held in await item.release(coming):
                    await run_items(items, index + 1, held, out, None)
            except Due as due:
                await due.settle(items, index + 1)


class Due(Exception):
    """
    A verdict of *item* that waits for those behind it, which have yet to look at *chunks*, the text before the match.

    So the match that comes first in the text stops the run, wherever the text is cut.  *end* tells that a nested one ends.
    """

    def __init__(self, item: ProcessorItem, chunks: Sequence[Chunk], end: Chunk | None = None) -> None:
        super().__init__(item.owner_id)
        self.item = item
        self.chunks = chunks
        self.end = end

    async def settle(self, items: Sequence[Item], behind: int) -> NoReturn:
        """
        Let the items from *behind* on look at that text as if it ended there, and raise the verdict, or theirs if there
        is one.  Nobody is shown that text.
        """
        unseen: list[Chunk] = []
        for chunk in self.chunks:
            await run_items(items, behind, chunk, unseen, None)
        await release_all(items, self.end, unseen, start=behind, asking=False)
        self.item.decide()
        raise AssertionError("a verdict was due")


class ProcessorItem(Item):
    """
    One processor: its context serves the whole run.
    """

    __slots__ = (
        "_block", "_guards", "_keeps", "caller", "ctx", "defers", "method", "payload", "scope", "takes_data",
    )  # fmt: skip

    def __init__(self, caller: HookCaller, payload: OutputStreamPayload, scope: RequestScope, path: str) -> None:
        owner = caller.owner
        holds = callable(getattr(owner, "flush_output_stream", None))
        super().__init__(is_async=caller.is_async[Hook.OUTPUT_STREAM], holds=holds, owner_id=owner.id, path=path)
        self.caller = caller
        self.method: Callable[[Any], Any] = caller.methods[Hook.OUTPUT_STREAM]
        self.ctx = OutputStreamContext(payload, scope, owner)
        self.takes_data: bool = option(owner, "process_data_parts")
        self._keeps: bool = option(owner, "uses_stream_parts")
        self._guards = guards(owner)
        self.payload = payload
        self.scope = scope
        self._block: str | None = None
        self.defers = False
        """Whether its verdicts wait until those behind it have looked at the text before the match."""

    @property
    def asks(self) -> bool:  # type: ignore[override]
        """
        Whether it asks somebody outside about what it holds back.
        """
        owner = self.caller.owner
        return bool(getattr(owner, "asks", False) or getattr(owner, "waits", False))

    @property
    def is_simple(self) -> bool:
        """
        Whether the hook can be called with nothing around it: no held text, no kept chunks, no time limit.
        """
        return not (self.holds or self._keeps or self.caller.timeout is not None)

    def link(self) -> CallLink:
        """
        Return the processor, its hook, the context that the hook is given, and whether it is awaited.
        """
        return self, self.method, self.ctx, self.is_async

    def takes(self, chunk: Chunk, sender: str | None) -> bool:
        """
        Whether the processor is shown *chunk*: nobody is shown their own, and data chunks only those who opted in (D18).
        """
        return (sender is None or self.owner_id != sender) and (self.takes_data or type(chunk) is not DataChunk)

    def begin(self, payload: OutputStreamPayload) -> None:
        """
        A step begins.
        """
        self.ctx.violated = False
        if self._guards:
            for guard in getattr(self.caller.owner, "guards", (self.caller.owner,)):
                self.scope.note_look(guard.id, Hook.OUTPUT_STREAM.value)

    def discard(self) -> None:
        """
        Let the processor drop what it holds back.
        """
        self._block = None
        reset = getattr(self.caller.owner, "reset_output_stream", None)
        if reset is not None:
            reset(self.ctx)

    def apply(self, chunk: Chunk, sender: str | None = None) -> Chunk | Awaitable[Chunk | None] | None:
        """
        Call the processor's hook, unless it did not opt in to data chunks.
        """
        if not self.takes_data and type(chunk) is DataChunk:
            return chunk if not self.is_async else self._as_it_is(chunk)
        self._note(chunk)
        if self.is_async:
            return self._apply_async(chunk)
        try:
            out = self.method(self.ctx)
        except Exception as error:
            out = self.raised(chunk, error)
        except BaseException as raised:
            out = self.signalled(chunk, raised)
        if self.ctx.verdict is not None:
            self.settle()
        return out if out is chunk else self.kept(chunk, out)

    async def _apply_async(self, chunk: Chunk) -> Chunk | None:
        ctx = self.ctx
        try:
            out = await self.method(ctx)
        except Exception as error:
            out = self.raised(chunk, error)
        except BaseException as raised:
            out = self.signalled(chunk, raised)
        if ctx.verdict is not None:
            self.settle()
        return out if out is chunk else self.kept(chunk, out)

    async def _as_it_is(self, chunk: Chunk) -> Chunk:
        return chunk

    def _note(self, chunk: Chunk) -> None:
        if self._keeps:
            self.ctx.note(chunk)
        else:
            self.ctx.chunk = chunk
        if type(chunk) is TextDelta:
            self._block = chunk.id

    def must_release(self, chunk: Chunk) -> bool:
        """
        Text is held until a block ends, another begins, or the step is over; what else comes in between passes it.
        """
        if self._block is None:
            return False
        kind = type(chunk)
        return chunk.id != self._block if kind is TextDelta else kind is TextEnd or chunk.control  # type: ignore[attr-defined]

    async def release(self, coming: Chunk | None) -> list[Chunk]:
        """
        Ask the processor for what it holds back.
        """
        if self._block is None:
            return []
        if coming is None:
            self._block = None
        ctx = self.ctx
        ctx.chunk = coming if coming is not None else _END
        held: Any = None
        try:
            held = self.caller.flush(ctx) if self.caller.flush is not None else None
            if hasattr(held, "__await__"):
                held = await held
        except BaseException as error:
            if is_failure(error):
                self.raised(None, error)
                held = self._given_back(None, error)
            else:
                self.signalled(None, error)
        if ctx.verdict is not None:
            self.settle()
        if held is None:
            return []
        return list(held) if is_items(held) else [held]

    def kept(self, chunk: Chunk, out: Any) -> Chunk | None:
        """
        What really becomes of *chunk*: control chunks carry the stream's structure and stay (D18).
        """
        if out is not None and not isinstance(out, Chunk):
            close = getattr(out, "close", None)  # of a coroutine: nobody will await it
            if close is not None:
                close()
            return self.raised(chunk, _no_chunk(out))
        if chunk.control and type(out) is not type(chunk):
            return chunk
        return out

    def signalled(self, chunk: Chunk | None, raised: BaseException) -> Chunk | None:
        """
        Note a verdict that came without the context or in a task group's, and return what becomes of the chunk.

        A cancellation goes on as it came, unless it is another task's: then the hook has failed.
        """
        if not isinstance(raised, (Signal, BaseExceptionGroup)):
            if is_stray(raised):
                return self.raised(chunk, raised)
            raise raised
        ctx = self.ctx
        ctx.verdict = signal_in(cast("Signal | BaseExceptionGroup[BaseException]", raised), ctx.verdict)
        # Where an answer was given in place of the model's, its own words pass whoever gave it.
        return ctx.chunk if isinstance(ctx.verdict, Replaced) and self.scope.replacement is not None else None

    def settle(self) -> None:
        """
        Raise what the hook decided, or that it is due.
        """
        if self.defers and isinstance(self.ctx.verdict, Tripwire):
            raise Due(self, TextBlocks.before_verdict(self.scope.state(self.caller.owner.id), self.ctx))
        self.decide()

    def decide(self) -> None:
        """
        Raise what the hook decided; the context is clean again for the next attempt.
        """
        try:
            self.caller.settle(self.ctx, self.scope)
        finally:
            self.ctx.verdict = None

    def raised(self, chunk: Chunk | None, error: BaseException) -> Chunk | None:
        """
        Stop the run, or leave the processor out of this chunk (D17).
        """
        if self.ctx.verdict is not None:
            return None
        if not self.caller.skips:
            self._failed(error)
        self.caller.skipped(self.ctx, error)
        if self.holds and type(chunk) is TextDelta:
            given = self._given_back(chunk, error)
            return given[0] if given else None
        return chunk

    def _given_back(self, chunk: TextDelta | None, error: BaseException) -> list[Chunk]:
        """
        Return what a processor that failed and is skipped holds back, of the block of *chunk* or of what ended.

        One that does not say what that is has failed for good: to skip it would lose text.
        """
        if self.ctx.verdict is not None:
            return []
        give = getattr(self.caller.owner, "unchecked_output_stream", None)
        if give is None:
            if chunk is not None:
                return [chunk]
            self._failed(error)
        try:
            held: list[Chunk] = give(self.ctx, chunk)
        except Exception:
            self._failed(error)
        return held

    def _failed(self, error: BaseException) -> NoReturn:
        try:
            self.caller.failure(self.ctx, error, self.payload.place_of(self.path))
        finally:
            self.ctx.verdict = None


Link: TypeAlias = tuple[ProcessorItem | None, Callable[..., Any], Any, bool]
CallLink: TypeAlias = tuple[ProcessorItem, Callable[[Any], Any], OutputStreamContext, bool]


def _no_chunk(out: object) -> MessageError:
    return MessageError(
        f"process_output_stream returned {type(out).__name__}",
        hint="return ctx.chunk, another chunk in its place, or None to drop it; a hook that awaits is an async def",
    )
