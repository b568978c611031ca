"""
PIIDetector: personal data, found by form, by names that are known, and by a model where you give one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal

from procession.errors import ProcessorDefinitionError
from procession.messages.chunks import Chunk, TextDelta
from procession.messages.message import Message
from procession.messages.text.spans import Region, Span
from procession.models.model import LanguageModel
from procession.processors.asking_guard import AskingGuard, StreamBy
from procession.processors.context import HookContext
from procession.processors.contexts import OutputStreamContext, ToolResultContext
from procession.processors.detect.checks import why_no_card
from procession.processors.detect.detector import Detector, Verdict
from procession.processors.detect.dictionary import Names, dictionary_rules
from procession.processors.detect.encoded import encoded_spans, with_codes
from procession.processors.detect.mails import FILE_ENDINGS
from procession.processors.detect.national_ids import ID_TYPES
from procession.processors.detect.phones import REGIONS
from procession.processors.detect.pii import MODEL_TYPES, OFFLINE_TYPES, Wording, pii_rules, worded
from procession.processors.detect.verdicts import VERDICT_TTL
from procession.processors.guard_scope import Scope
from procession.processors.guardrails.masks import Redaction, hash_key_of, redacted
from procession.processors.hold_back import Piece
from procession.processors.hooks import Hook
from procession.processors.listed import Allow, Deny
from procession.processors.options import listed, one_of, share, some_of
from procession.processors.stand_ins import StandIns, stand_ins_of
from procession.processors.text_guard import Look, Mode, Phase
from procession.processors.text_places import Place, file_names
from procession.processors.violation import OnViolation
from procession.steps.scope import RequestScope
from procession.storage.cache import CacheStore

__all__ = ["PIIDetector"]

_NOW: ContextVar[tuple[StandIns, Sequence[Piece]] | None] = ContextVar("stand-ins", default=None)
"""The tokens of the request whose finding was settled last in this task, and what was found: a guard serves many
requests at once, and replaces right after it has settled."""


class PIIDetector(AskingGuard):
    """
    Finds personal data in new input, in answers while they stream, and in results of tools.

    Rules find what can be told from its form: ``detection_types`` of ``OFFLINE_TYPES``, all of them by default, with
    ``api-key`` for secrets of any kind; those of ``ID_TYPES`` only where they are named, with the ``ids`` extra.
    *names* are people, or texts by type, that you know.  Other ``name``s, and ``address``, need a *model* or a
    *detector*, which is asked besides the rules and may find any type; each streamed block is then held to its end, or
    with *stream_by* judged sentence by sentence, as ``AskingGuard`` says.

    *redaction* is ``mask`` (enough is left to recognise it), ``hash`` (equal values stay equal; keyed with *hash_key*),
    ``placeholder`` (``[EMAIL]``), ``remove``, or ``reversible``: one token per value over the request (``<EMAIL_1>``).
    With *restore* the reader gets the values again, with *restore_tool_args* tools do; the model and memory never.

    *allow* lists values that are never reported, *deny* values that always are.  *regions* says how telephone numbers
    without a country code are written.  *thresholds* are those of single types; *context_words* and *unless_words*, by
    type, speak for and against what stands behind them; without *validate* check digits need not be right.

    Raises ``ProcessorDefinitionError`` for options that mean nothing.

    >>> PIIDetector(redaction="placeholder").guard("write to eva@example.net or call +44 20 7946 0311")
    'write to [EMAIL] or call [PHONE]'
    """

    id = "pii-detector"
    description = "personal data and secrets"
    strategies = ("block", "redact", "filter", "warn")
    strategy = "redact"
    threshold = 0.6
    folds = True

    def __init__(
        self,
        *,
        strategy: Literal["block", "redact", "filter", "warn"] = "redact",
        detection_types: Sequence[str] | None = None,
        redaction: Redaction | None = None,
        redaction_method: Redaction | None = None,
        preserve_format: bool = True,
        reversible: bool = False,
        restore: bool = False,
        restore_tool_args: bool = False,
        hash_key: str | bytes | None = None,
        threshold: float = 0.6,
        thresholds: Mapping[str, float] | None = None,
        allow: Allow = (),
        deny: Deny = (),
        names: Names = (),
        regions: Sequence[str] = REGIONS,
        context_words: Wording | None = None,
        unless_words: Wording | None = None,
        validate: bool = True,
        include_detections: bool = False,
        model: LanguageModel | str | None = None,
        detector: Detector | None = None,
        instructions: str | None = None,
        provider_options: Mapping[str, Any] | None = None,
        json_prompt_injection: bool = False,
        stream_by: StreamBy | None = None,
        context: int | None = None,
        verdict_cache: CacheStore | int | None = None,
        verdict_ttl: float = VERDICT_TTL,
        scope: Scope | None = None,
        last_message_only: bool = False,
        scan_file_names: bool = False,
        phase: Phase = "all",
        mode: Mode = "enforce",
        id: str | None = None,
        on_error: Literal["stop", "skip"] | None = None,
        timeout: float | None = None,
        on_violation: OnViolation | None = None,
        scan_tool_args: bool = False,
    ) -> None:
        super().__init__(
            id=id, strategy=strategy, mode=mode, phase=phase, threshold=threshold, on_error=on_error, timeout=timeout,
            on_violation=on_violation, scan_tool_args=scan_tool_args, stream_by=stream_by, context=context,
            verdict_cache=verdict_cache, verdict_ttl=verdict_ttl, scope=scope, last_message_only=last_message_only,
            allow=allow, deny=deny,
        )  # fmt: skip
        name = type(self).__name__
        known = dictionary_rules(name, names)
        self.detection_types = _types(name, detection_types, {rule.type for rule in known}, model, detector)
        methods = ("mask", "hash", "remove", "placeholder", "reversible")
        self.redaction: Redaction = one_of(name, "redaction", redaction or redaction_method or "mask", methods)
        if reversible:
            self.redaction = one_of(name, "redaction", redaction or redaction_method or "reversible", methods[3:])
            self.redaction = "reversible"
        self.restore = restore
        self.restore_tool_args = restore_tool_args
        if (restore or restore_tool_args) and (self.redaction != "reversible" or self.strategy != "redact"):
            raise ProcessorDefinitionError(
                f"{name} is to restore what it does not keep", hint="use strategy='redact', redaction='reversible'"
            )
        self._hash_key = hash_key_of(name, hash_key)
        self.preserve_format = preserve_format
        self.include_detections = include_detections
        self.scan_file_names = scan_file_names
        self.thresholds = {
            kind: share(name, f"thresholds[{kind!r}]", least) for kind, least in (thresholds or {}).items()
        }
        by_rule = [kind for kind in self.detection_types if kind in OFFLINE_TYPES or kind in ID_TYPES]
        self.rules = (
            *self.denied,
            *known,
            *worded(name, pii_rules(by_rule, regions=regions), context_words, unless_words, validate=validate),
        )
        if detector is None and model is not None:
            from procession.processors.detect.llm import pii_detector

            detector = pii_detector(model, self.detection_types, instructions).asking(
                provider_options, json_prompt_injection
            )
        self.use(detector)

    # -- what counts

    def accepts(self, span: Span, text: str) -> bool:
        """
        Whether a finding counts: it is sure enough for its type, and not on the list of what is allowed.
        """
        least = self.thresholds.get(span.type)
        if least is None:
            return super().accepts(span, text)
        return span.score >= least and not span.rejected and text.casefold() not in self.allowed

    def judged(self, verdict: Verdict, text: str) -> list[Region]:
        """
        Return what a model found; what it reports without saying where stands for the whole text.
        """
        found = super().judged(verdict, text)
        if not found and not verdict.spans and (types := verdict.over(self.threshold)):
            whole = Span(0, len(text), types[0], f"model:{types[0]}", verdict.scores[types[0]], verdict.rewritten)
            return [Region(0, len(text), whole, (whole,))]
        return found

    def explain(self, text: str) -> list[Span]:
        """
        As every guard does; of a row of digits that is no card it says why: ``luhn`` or ``issuer``.
        """
        found = [*super().explain(text), *encoded_spans(text, self.regions)]
        return [
            span.replace(rejected=why_no_card(text[span.start : span.end])) if span.rejected == "card_number" else span
            for span in found
        ]

    def look_at(self, ctx: HookContext[Any], message: Message, texts: Mapping[Any, str], look: Look) -> None:
        """
        As every guard does; of new input also what codes in it hold, such as Base64.
        """
        super().look_at(ctx, message, texts, with_codes(look, self.regions) if ctx.hook is Hook.INPUT else look)

    def look_into(self, ctx: ToolResultContext, look: Look) -> dict[str, Any] | None:
        """
        As every guard does, and what codes in the result hold.
        """
        return super().look_into(ctx, with_codes(look, self.regions))

    def texts_of(self, ctx: HookContext[Any], message: Message) -> dict[Place, str]:
        """
        As every guard does; with ``scan_file_names`` also the names of files that came with the call.
        """
        found = super().texts_of(ctx, message)
        if not self.scan_file_names or ctx.hook is not Hook.INPUT:
            return found
        return {**found, **{place: _without_ending(name) for place, name in file_names(message).items()}}

    # -- what becomes of it

    def begin_request(self, scope: RequestScope) -> None:
        """
        Let the reader of the request have the values, if that is wanted.
        """
        scope.reveals = scope.reveals or self.restore

    def settle(self, ctx: HookContext[Any], pieces: Sequence[Piece], where: Mapping[str, Any]) -> bool:
        """
        Do what the strategy says; where it is to redact so that it can be undone, that is noted for this request.
        """
        changes = super().settle(ctx, pieces, where)
        if changes and self.redaction == "reversible":
            _NOW.set((stand_ins_of(ctx.scope, ctx.message_list.view()), pieces))
        return changes

    def guard(self, text: str) -> str:
        """
        Return *text* as ``redact`` leaves it; tokens are those of this text alone.
        """
        _NOW.set((StandIns(), ()))
        return super().guard(text)

    def unchecked_output_stream(self, ctx: OutputStreamContext, chunk: TextDelta | None) -> list[Chunk]:
        """
        As every guard does; what was found already has its tokens of this request.
        """
        if self.redaction == "reversible":
            _NOW.set((stand_ins_of(ctx.scope, ctx.message_list.view()), ()))
        return super().unchecked_output_stream(ctx, chunk)

    def replacement(self, region: Region, text: str) -> str:
        """
        Return the value as *redaction* leaves it.
        """
        owner = region.owner
        if self.redaction == "reversible":
            return self._token(region, text)
        if owner.replacement is not None:
            return owner.replacement
        return redacted(text, owner.type, self.redaction, keep_format=self.preserve_format, key=self._hash_key)

    def _token(self, region: Region, text: str) -> str:
        now = _NOW.get()
        stand_ins, pieces = now if now is not None else (StandIns(), ())
        whole = next((piece.text for piece in pieces if piece.region is region), text)
        return stand_ins.token(whole, region.owner.type, shown=self.restore, for_tools=self.restore_tool_args)

    # -- what is told of it

    def reason(self, spans: Sequence[Span]) -> str:
        """
        Name the types that were found.
        """
        return f"PII detected. Types: {', '.join(dict.fromkeys(span.type for span in spans))}"

    def metadata(self, spans: Sequence[Span]) -> object:
        """
        With ``include_detections``, say what types were found where; never what.
        """
        if not self.include_detections:
            return None
        return {"processorId": self.id, "detections": [_described(span) for span in spans]}

    def detail(self, pieces: Sequence[Piece], where: Mapping[str, Any]) -> object:
        """
        Say what types were found where, and how they were redacted; never what.
        """
        spans = [span for piece in pieces if piece.region is not None for span in piece.region.members]
        how = {"redactionMethod": self.redaction} if self.strategy == "redact" else {}
        return {"strategy": self.strategy, **how, **where, "detections": [_described(span) for span in spans]}


def _without_ending(name: str) -> str:
    """
    Return the name of a file without its ending, which would be taken for the end of an address.
    """
    stem, _, ending = name.rpartition(".")
    return stem if ending.lower() in FILE_ENDINGS else name


def _described(span: Span) -> dict[str, Any]:
    return {"type": span.type, "start": span.start, "end": span.end, "score": span.score}


def _types(
    name: str, wanted: Sequence[str] | None, named: set[str], model: object, detector: object
) -> tuple[str, ...]:
    """
    Return the types that are looked for.

    Raises ``ProcessorDefinitionError`` for one that nothing finds.
    """
    asks = model is not None or detector is not None
    if isinstance(wanted, str):  # one of them; its letters are none
        wanted = (wanted,)
    if wanted is None:
        return tuple(dict.fromkeys((*OFFLINE_TYPES, *(MODEL_TYPES if asks else ()), *named)))
    wanted = listed(name, "detection_types", wanted)
    if asks:
        return wanted
    if by_model := [kind for kind in wanted if kind in MODEL_TYPES and kind not in named]:
        raise ProcessorDefinitionError(
            f"{name} is to find {', '.join(map(repr, by_model))}, which no rule finds",
            hint="give it names=[...], model='...' or a detector of your own",
        )
    return some_of(name, "detection_types", wanted, (*OFFLINE_TYPES, *ID_TYPES, *named))
