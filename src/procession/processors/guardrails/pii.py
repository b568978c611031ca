"""
PIIDetector: personal data, found by form, and by a model where you give one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from procession.errors import ProcessorDefinitionError
from procession.messages.text.spans import Region, Span
from procession.models.model import LanguageModel
from procession.processors.asking_guard import AskingGuard, StreamBy
from procession.processors.detect.detector import Detector, Verdict
from procession.processors.detect.phones import REGIONS
from procession.processors.detect.pii import MODEL_TYPES, OFFLINE_TYPES, pii_rules
from procession.processors.detect.verdicts import VERDICT_TTL
from procession.processors.guard_scope import Scope
from procession.processors.guardrails.masks import Redaction, redacted
from procession.processors.hold_back import Piece
from procession.processors.listed import Allow, Deny
from procession.processors.options import one_of, some_of
from procession.processors.text_guard import Mode, Phase
from procession.processors.violation import OnViolation
from procession.storage.cache import CacheStore

__all__ = ["PIIDetector"]


class PIIDetector(AskingGuard):
    """
    Finds personal data in new input, in answers while they stream, and in results of tools.

    Rules find what can be told from its form: ``detection_types`` of ``OFFLINE_TYPES``, all of them by default, with
    ``api-key`` for secrets of any kind.  ``name`` and ``address`` need a *model* or a *detector*, which is asked
    besides the rules and may find any type; each streamed block is then held to its end, or with *stream_by* judged
    sentence by sentence, as ``AskingGuard`` says.

    *redaction* is ``mask`` (enough is left to recognise it), ``hash`` (equal values stay equal), ``placeholder``
    (``[EMAIL]``) or ``remove``.  *allow* lists values that are never reported, *deny* values that always are.
    *regions* says how telephone numbers without a country code are written.

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
        threshold: float = 0.6,
        allow: Allow = (),
        deny: Deny = (),
        regions: Sequence[str] = REGIONS,
        include_detections: bool = False,
        model: LanguageModel | str | None = None,
        detector: Detector | None = None,
        instructions: str | None = None,
        stream_by: StreamBy | None = None,
        context: int | None = None,
        verdict_cache: CacheStore | int | None = None,
        verdict_ttl: float = VERDICT_TTL,
        scope: Scope | None = None,
        last_message_only: bool = False,
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
        asks = model is not None or detector is not None
        known = (*OFFLINE_TYPES, *MODEL_TYPES) if asks else OFFLINE_TYPES
        if isinstance(detection_types, str):  # one of them; its letters are none
            detection_types = (detection_types,)
        wanted = tuple(detection_types) if detection_types is not None else known
        if not asks and (by_model := [kind for kind in wanted if kind in MODEL_TYPES]):
            raise ProcessorDefinitionError(
                f"PIIDetector is to find {', '.join(map(repr, by_model))}, which no rule finds",
                hint="give it model='...' or a detector of your own",
            )
        self.detection_types = wanted if asks else some_of("PIIDetector", "detection_types", wanted, known)
        self.redaction: Redaction = one_of(
            "PIIDetector",
            "redaction",
            redaction or redaction_method or "mask",
            ("mask", "hash", "remove", "placeholder"),
        )
        self.preserve_format = preserve_format
        self.include_detections = include_detections
        self.rules = (
            *self.denied,
            *pii_rules((kind for kind in self.detection_types if kind in OFFLINE_TYPES), regions=regions),
        )
        if detector is None and model is not None:
            from procession.processors.detect.llm import pii_detector

            detector = pii_detector(model, self.detection_types, instructions)
        self.use(detector)

    def judged(self, verdict: Verdict, text: str) -> list[Region]:
        """
        Return what a model found; what it reports without saying where stands for the whole text.
        """
        found = super().judged(verdict, text)
        if not found and not verdict.spans and (types := verdict.over(self.threshold)):
            whole = Span(0, len(text), types[0], f"model:{types[0]}", verdict.scores[types[0]], verdict.rewritten)
            return [Region(0, len(text), whole, (whole,))]
        return found

    def replacement(self, region: Region, text: str) -> str:
        """
        Return the value as *redaction* leaves it.
        """
        if region.owner.replacement is not None:
            return region.owner.replacement
        return redacted(text, region.owner.type, self.redaction, keep_format=self.preserve_format)

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


def _described(span: Span) -> dict[str, Any]:
    return {"type": span.type, "start": span.start, "end": span.end, "score": span.score}
