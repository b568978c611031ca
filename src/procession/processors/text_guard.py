"""
TextGuard: the base of guards that find something in text and block, hide, drop or report it.

One search serves every place where text passes: new input, the streamed answer, the finished answer and the results
of tools.  A subclass says what it finds; the rest is here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from procession.messages.chunks import Chunk, TextDelta
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.text.patterns import Rule
from procession.messages.text.scan import FindLane, Lane, RuleLane
from procession.messages.text.spans import Region, Span, resolve
from procession.messages.text.whole import search_whole
from procession.processors.check_only import only_checks
from procession.processors.context import HookContext
from procession.processors.contexts import InputContext, OutputResultContext, OutputStreamContext, ToolResultContext
from procession.processors.guard_scope import Scope, messages_in, note_files, scope_of
from procession.processors.guarded_message import guarded_message, placed, told, undone
from procession.processors.guarded_strings import guarded_call, guarded_notes, guarded_strings
from procession.processors.hold_back import PASSED, Piece, Released, StreamedText, Watch, digest_of, pieces_of
from procession.processors.hooks import Hook
from procession.processors.listed import Allow, Deny, allowed, denied
from procession.processors.options import one_of, share
from procession.processors.processor import Processor
from procession.processors.streamed_guard import taken
from procession.processors.text_blocks import TextBlocks
from procession.processors.text_places import Place, answer_texts, args_texts, new_texts
from procession.processors.violation import OnViolation

__all__ = ["Look", "Mode", "Phase", "TextGuard"]

Mode = Literal["enforce", "monitor"]
Phase = Literal["input", "output", "all"]
Look: TypeAlias = Callable[[str], list[Region]]  # finds what counts in a text
_OUTPUT_HOOKS = ("process_output_stream", "process_output_result", "process_tool_result")
_LARGEST_BATCH = 16


class TextGuard(Processor):
    """
    A guard over text.  Give it ``rules``, or override ``find``, and a strategy:

    * ``block`` stops the run; nothing of a match is ever shown.
    * ``redact`` hides each match behind ``replacement``.
    * ``filter`` drops the message, the streamed block or the string that holds a match; ``warn`` only reports.

    A streamed answer is held back as far as a match could still begin: with ``rules`` as far as they need it, with a
    ``find`` of your own for ``window`` characters, which must be as long as your longest match and what it looks at
    on both sides; ``window = None`` holds each block to its end.

    *scope* says what is looked at on the way in: ``new_messages``, all that came with the call, the default;
    ``last_message`` of them (*last_message_only* says the same), ``last_user``, the last one of a user; or ``all``, what
    memory recalled as well: then what was blocked once, and is in the history, blocks every later turn.

    *allow* lists texts that are never reported, whatever finds them; *deny* texts that always are, where they stand as
    words, or with a type for each: ``{"Osprey": "codename"}``.

    >>> from procession.messages.text.patterns import Rule
    >>> class Codenames(TextGuard):
    ...     id = "codenames"
    ...     rules = (Rule("codename", "Project (?:Heron|Osprey)"),)
    >>> Codenames(strategy="redact").guard("Ask about Project Heron.")
    'Ask about [CODENAME].'
    """

    fails_closed = True
    process_tool_errors = True
    nested_text = True
    strategies: ClassVar[tuple[str, ...]] = ("block", "redact", "filter", "warn")
    strategy: str = "block"
    threshold: float = 0.5
    """The least score that counts."""
    rules: Sequence[Rule] = ()
    folds: bool = False
    """Whether rules look at what the text looks like, rather than at its code points (``normalise.fold``)."""
    carryover: int = 0
    """How many characters are held back at least, also where nothing could begin in them."""
    scan_tool_args: bool = False
    """Whether it looks at what tools are called with, too: they run with what the guard leaves of it."""
    asks: bool = False
    """Whether it asks somebody outside, so that its hooks are awaited and streamed blocks held to their end."""
    window: int | None = 128
    """How many characters to both sides of where a match begins a ``find`` of your own may look at."""

    def __init__(
        self,
        *,
        id: str | None = None,
        strategy: str | None = None,
        mode: Mode = "enforce",
        phase: Phase = "all",
        threshold: float | None = None,
        on_error: Literal["stop", "skip"] | None = None,
        timeout: float | None = None,
        on_violation: OnViolation | None = None,
        scan_tool_args: bool | None = None,
        scope: Scope | None = None,
        last_message_only: bool = False,
        allow: Allow = (),
        deny: Deny = (),
    ) -> None:
        super().__init__(id=id, on_violation=on_violation)
        name = type(self).__name__
        self.strategy = one_of(name, "strategy", strategy or self.strategy, self.strategies)
        self.mode = one_of(name, "mode", mode, ("enforce", "monitor"))
        self.phase = one_of(name, "phase", phase, ("input", "output", "all"))
        if threshold is not None:
            self.threshold = share(name, "threshold", threshold)
        self.scope: Scope = scope_of(name, scope, last_message_only)
        self.allowed = allowed(name, allow)
        """What is never reported, in lower case."""
        self.denied = denied(name, deny, reached=type(self).find is TextGuard.find)
        """The rules for what always is."""
        self.rules = (*self.denied, *self.rules)
        self.enforces = self.mode == "enforce"
        self.passes = not self.enforces or self.strategy not in self.changing()
        """Whether all text goes through unchanged, whatever is found."""
        self.redacts = self.enforces and self.strategy in ("redact", "filter")
        self.mutates = self.enforces and self.strategy in self.changing() and self.strategy != "block"
        self.check_only = self.check_only or only_checks(self, "process_input", "look_at", "settle")
        self.on_error = on_error if on_error is not None else "skip" if self.passes else "stop"
        self.timeout = timeout if timeout is not None else self.timeout
        self.scan_tool_args = self.scan_tool_args if scan_tool_args is None else scan_tool_args
        if phase == "output":
            setattr(self, "process_input", None)  # noqa: B010
        if phase == "input":
            for hook in _OUTPUT_HOOKS:
                setattr(self, hook, None)

    @property
    def batch(self) -> int:
        """
        How many new characters of a stream are worth a search: one, or some where there are many rules.
        """
        return max(1, min(_LARGEST_BATCH, len(self.rules) // 4))

    # -- what a subclass says

    def find(self, text: str) -> Sequence[Span]:
        """
        Return what is in *text*.  Spans may overlap.
        """
        return search_whole(self.search(), text, seconds=None if self.asks else self.timeout)

    def search(self, *, explain: bool = False) -> Lane:
        """
        Return a fresh search for ``rules``; with *explain* also for what their checks turn down.
        """
        return RuleLane(self.rules, fold=self.folds, explain=explain)

    def lane(self) -> Lane:
        """
        Return a fresh search for one block of streamed text.
        """
        if self.enforces and self.strategy == "filter":
            return FindLane(self.find, None)
        if type(self).find is not TextGuard.find:
            return FindLane(self.find, self.window)
        return self.search()

    def accepts(self, span: Span, text: str) -> bool:
        """
        Whether a finding counts; *text* is what was found.
        """
        return span.score >= self.threshold and not span.rejected and text.casefold() not in self.allowed

    def replacement(self, region: Region, text: str) -> str:
        """
        Return what stands in place of *region*; *text* is what the finding that owns it found.
        """
        owner = region.owner
        return owner.replacement if owner.replacement is not None else f"[{owner.type.upper()}]"

    def reason(self, spans: Sequence[Span]) -> str:
        """
        Say what was found, without showing it.
        """
        return f"{self.id}: found {', '.join(dict.fromkeys(span.type for span in spans))}"

    def metadata(self, spans: Sequence[Span]) -> object:
        """
        Return what a tripwire says besides its reason; never what was found.
        """
        return {"processorId": self.id, "types": list(dict.fromkeys(span.type for span in spans))}

    def detail(self, pieces: Sequence[Piece], where: Mapping[str, Any]) -> object:
        """
        Return what a report of another strategy says; *where* is hook, message and part.
        """
        spans = [span for piece in pieces if piece.region is not None for span in piece.region.members]
        return {
            "strategy": self.strategy,
            **where,
            "findings": [{"rule": span.rule, "index": span.start, "length": span.end - span.start} for span in spans],
        }

    @classmethod
    def changing(cls) -> tuple[str, ...]:
        """
        Return the strategies under which text does not simply pass.
        """
        return tuple(strategy for strategy in cls.strategies if strategy not in ("warn", "detect"))

    def for_request(self, messages: MessageList) -> TextGuard:
        """
        Return the guard as it looks at the texts of one request: itself, unless the *messages* say what it looks for.
        """
        return self

    # -- whole texts

    def regions(self, text: str) -> list[Region]:
        """
        Return what counts in *text*, overlapping findings as one region.
        """
        return resolve(span for span in self.find(text) if self.accepts(span, text[span.start : span.end]))

    def explain(self, text: str) -> list[Span]:
        """
        Return everything that was looked at in *text*: also what is below the threshold, or was turned down and why.
        """
        own = type(self).find is not TextGuard.find
        found = self.find(text) if own else search_whole(self.search(explain=True), text, seconds=60)
        return [told(span, text, folds=self.folds, allowed=self.allowed) for span in found]

    def guard(self, text: str) -> str:
        """
        Return *text* as ``redact`` leaves it.
        """
        return self.joined(pieces_of(text, self.regions(text)))

    # -- hooks

    def process_input(self, ctx: InputContext) -> Any:
        """
        Look at the messages that came with this call.
        """
        messages = self.new_messages(ctx)
        note_files(ctx, messages)
        for message in messages:
            self.look_at(ctx, message, self.texts_of(ctx, message), self.regions)

    def process_output_result(self, ctx: OutputResultContext) -> Any:
        """
        Look at this turn's answer, except for text that has passed in the stream.
        """
        for message in tuple(ctx.view):
            if message.role == "assistant":
                self.look_at(ctx, message, self.texts_of(ctx, message), self.regions)

    def process_tool_result(self, ctx: ToolResultContext) -> Any:
        """
        Look at every string in what a tool returned, or in its error.
        """
        return self.look_into(ctx, self.regions)

    def process_output_stream(self, ctx: OutputStreamContext) -> Any:
        """
        Pass on what is certain of a text block, and hold the rest back.
        """
        chunk = ctx.chunk
        if type(chunk) is not TextDelta:
            return guarded_call(self, ctx, chunk, self.regions) if self.scan_tool_args else chunk
        block = TextBlocks[StreamedText].of(ctx, self.new_block).block(chunk)
        text = taken(self, ctx, block, block.machine.feed(chunk.text))
        if self.passes:
            block.digest.update(chunk.text.encode("utf-8", "surrogatepass"))
            return chunk
        return TextDelta(text, chunk.id, chunk.provider_metadata) if text else None

    def flush_output_stream(self, ctx: OutputStreamContext) -> Any:
        """
        Return the rest of the blocks that end now that ``ctx.chunk`` is about to come.
        """
        out: list[Chunk] = []
        for id, block in TextBlocks[StreamedText].of(ctx, self.new_block).ended_by(ctx.chunk):
            text = self.take(ctx, block, block.machine.finish(), id, out)
            self.note_passed(ctx.state, block)
            if text and not self.passes:
                out.append(TextDelta(text, id))
        return out

    def unchecked_output_stream(self, ctx: OutputStreamContext, chunk: TextDelta | None) -> list[Chunk]:
        """
        Return what is held back of the block of *chunk*, or of the one that has just ended, as it came: this guard
        failed and is left out (``on_error="skip"``).  What it has found already stays hidden.

        Raises ``ValueError`` where several blocks ended at once: some of them may have been looked at.
        """
        if self.passes:
            return [] if chunk is None else [chunk]
        [(id, block)] = TextBlocks[StreamedText].of(ctx, self.new_block).given_up(None if chunk is None else chunk.id)
        text = "" if block.dropped else self.joined(block.unread())
        return [TextDelta(text, id)] if text else []

    def reset_output_stream(self, ctx: OutputStreamContext) -> None:
        """
        Drop what is held back: the attempt it belongs to was rejected.
        """
        TextBlocks.forget(ctx)

    # -- how

    def settle(self, ctx: HookContext[Any], pieces: Sequence[Piece], where: Mapping[str, Any]) -> bool:
        """
        Do what the strategy says about a finding; returns whether the text is to be changed.
        """
        spans = [span for piece in pieces if piece.region is not None for span in piece.region.members]
        reason = self.reason(spans)
        tricks = undone(pieces, folds=self.folds)
        if tricks:
            where = {**where, "transforms": tricks}
        if not self.enforces:
            ctx.report(reason, self.detail(pieces, where), "would_block")
            return False
        if self.strategy == "block":
            ctx.abort(reason, metadata=placed(self.metadata(spans), where))
        ctx.report(reason, self.detail(pieces, where), "warned" if self.passes else "modified")
        return not self.passes

    def note_passed(self, state: dict[str, Any], block: StreamedText) -> None:
        """
        Remember in this guard's *state* that the text of *block* has passed.
        """
        state.setdefault(PASSED, set()).add(block.digest.digest())

    def note_text(self, state: dict[str, Any], text: str) -> None:
        """
        Remember in this guard's *state* that *text* has passed.
        """
        state.setdefault(PASSED, set()).add(digest_of(text))

    async def regions_in(self, ctx: HookContext[Any], text: str) -> list[Region]:
        """
        Return what counts in *text*; a guard that asks a model awaits its verdict.
        """
        return self.regions(text)

    def new_messages(self, ctx: InputContext) -> list[Message]:
        """
        Return the messages that are looked at on the way in.
        """
        return messages_in(ctx, self.scope)

    def texts_of(self, ctx: HookContext[Any], message: Message) -> dict[Place, str]:
        """
        Return the texts of *message*: of new input with its tool results, of an answer what did not pass in the stream.
        """
        passed = ctx.state.get(PASSED, ())
        found = new_texts(message, joined=self.asks) if ctx.hook is Hook.INPUT else answer_texts(message, passed)
        return {**found, **args_texts(message, passed)} if self.scan_tool_args else found

    def look_at(self, ctx: HookContext[Any], message: Message, texts: Mapping[Any, str], look: Look) -> None:
        """
        Do what the strategy says about what *look* finds in the *texts* of *message*, which are named by place.
        """
        guarded_message(self, ctx, message, texts, look)

    def look_into(self, ctx: ToolResultContext, look: Look) -> dict[str, Any] | None:
        """
        Do what the strategy says about what *look* finds in the strings of a tool's result; returns the change.
        """
        where = {"phase": ctx.hook.value, "toolName": ctx.tool_name}
        result = guarded_strings(self, ctx, ctx.result, look, where)
        guarded_notes(self, ctx, look, where)
        return None if result is ctx.result else {"result": result}

    def joined(self, pieces: Iterable[Piece]) -> str:
        """
        Join *pieces*, with the replacement of each that holds something.
        """
        return "".join(
            piece.text if piece.region is None else self.replacement(piece.region, piece.found()) for piece in pieces
        )

    def new_block(self) -> StreamedText:
        """
        Return what is kept for a new block of streamed text.
        """
        return StreamedText([Watch(self.id, self.lane(), self.accepts)], least=self.carryover, batch=self.batch)

    def take(
        self,
        ctx: OutputStreamContext,
        block: StreamedText,
        released: Released,
        id: str | None = None,
        out: Sequence[Chunk] = (),
    ) -> str:
        """
        Do what the strategy says about what was *released*, and return what is to be sent on.
        """
        return taken(self, ctx, block, released, id, out)
