"""
SystemPromptScrubber: what was told to the model in confidence stays out of what it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, Literal

from procession.errors import ProcessorDefinitionError
from procession.messages.message_list import MessageList
from procession.messages.text.patterns import Rule, compile_pattern
from procession.messages.text.scan import FindLane, Lane, RuleLane
from procession.messages.text.spans import Region, Span
from procession.messages.text.whole import search_whole
from procession.models.model import LanguageModel
from procession.processors.asking_guard import AskingGuard, StreamBy
from procession.processors.detect.copies import SHORTEST, CopyLane, Known, known_texts, letters_in
from procession.processors.detect.detector import Detector
from procession.processors.detect.verdicts import VERDICT_TTL
from procession.processors.hold_back import Piece
from procession.processors.options import on_error_of, one_of, whole_number
from procession.processors.text_guard import Mode
from procession.processors.violation import OnViolation
from procession.storage.cache import CacheStore

__all__ = ["SystemPromptScrubber"]

_INSTRUCTIONS = (None, "user-provided")
"""Tags of system messages that are somebody's instructions; those of memory are what the user may be told."""
# What looks for the system prompt in a text, and is done by the guard as it is for one request.
_LOOKING = (
    "process_output_stream", "flush_output_stream", "process_output_result", "unchecked_output_stream", "regions_in",
    "call_looked_at", "look_slowly", "nested_looked_at",
)  # fmt: skip


class SystemPromptScrubber(AskingGuard):
    """
    Keeps the system prompt out of answers, also while they stream, and with ``scan_tool_args`` out of calls of tools.

    The system prompt of each request is known, so that copies of it are found without anybody's help: *min_letters*
    letters and digits in a row that are in it, too, whatever stands between them, in any case, look-alike letters and
    Base64 included; a shorter prompt as a whole.  *protect* are further texts, *allow* what may be said all the same,
    *custom_patterns* regular expressions of what may not.  A *model* or a *detector* is asked besides, about what the
    prompt was retold as.

    ``redact`` hides what was found behind stars (*redaction* ``mask``), behind *placeholder_text* (``placeholder``) or
    takes it away (``remove``); ``block``, ``filter`` and ``warn`` are every guard's.

    Raises ``ProcessorDefinitionError`` for options that mean nothing.

    >>> guard = SystemPromptScrubber(protect=["Give everybody ten per cent off, but never say so."])
    >>> guard.guard("I am told to GIVE everybody -- ten per cent off, but never say so!")
    'I am told to ****************************************************!'
    """

    id = "system-prompt-scrubber"
    description = "the system prompt in answers"
    strategies = ("block", "redact", "filter", "warn")
    strategy = "redact"
    threshold = 0.0
    window = None

    def __init__(
        self,
        *,
        model: LanguageModel | str | None = None,
        detector: Detector | None = None,
        strategy: Literal["block", "redact", "filter", "warn"] = "redact",
        redaction: Literal["mask", "placeholder", "remove"] | None = None,
        redaction_method: Literal["mask", "placeholder", "remove"] | None = None,
        placeholder_text: str = "[SYSTEM_PROMPT]",
        protect: Sequence[str] = (),
        allow: Sequence[str] = (),
        min_letters: int = 32,
        custom_patterns: Sequence[str | re.Pattern[str]] = (),
        include_detections: bool = False,
        instructions: str | None = None,
        provider_options: Mapping[str, Any] | None = None,
        json_prompt_injection: bool = False,
        stream_by: StreamBy | None = None,
        context: int | None = None,
        verdict_cache: CacheStore | int | None = None,
        verdict_ttl: float = VERDICT_TTL,
        mode: Mode = "enforce",
        id: str | None = None,
        on_error: Literal["stop", "skip"] | None = None,
        error_strategy: Literal["strict", "warn"] | None = None,
        timeout: float | None = None,
        on_violation: OnViolation | None = None,
        scan_tool_args: bool = False,
    ) -> None:
        name = type(self).__name__
        super().__init__(
            id=id, strategy=strategy, mode=mode, on_error=on_error_of(name, on_error, error_strategy), timeout=timeout,
            on_violation=on_violation, scan_tool_args=scan_tool_args, stream_by=stream_by, context=context,
            verdict_cache=verdict_cache, verdict_ttl=verdict_ttl,
        )  # fmt: skip
        for hook in ("process_input", "process_tool_result"):  # what comes in is no word of the model
            setattr(self, hook, None)
        methods = ("mask", "placeholder", "remove")
        self.redaction = one_of(name, "redaction", redaction or redaction_method or "mask", methods)
        self.placeholder_text = placeholder_text
        self.include_detections = include_detections
        self.min_letters = whole_number(name, "min_letters", min_letters, least=SHORTEST)
        self._protect = _texts(name, "protect", protect, SHORTEST)
        self._allow = _texts(name, "allow", allow, 1)
        patterns = _listed(custom_patterns)
        self._custom = tuple(_rule(name, number, pattern) for number, pattern in enumerate(patterns))
        if detector is None and model is not None:
            from procession.processors.detect.llm_moderation import leak_detector

            detector = leak_detector(
                model, [str(getattr(each, "pattern", each)) for each in patterns], instructions
            ).asking(provider_options, json_prompt_injection)
        self._secret = self._sought(())
        self._last: tuple[Any, SystemPromptScrubber] = (None, self)
        self.use(detector)
        for method in _LOOKING:
            setattr(self, method, _for_request(self, method))

    # -- the system prompt of a request

    def for_request(self, messages: MessageList) -> SystemPromptScrubber:
        """
        Return the guard as it looks for the system prompt among *messages*.
        """
        system = messages.system_messages
        seen, made = self._last
        if seen is not system:
            made = self._made_for(tuple(each.text for each in system if each.tag in _INSTRUCTIONS))
            self._last = (system, made)  # the next chunk is mostly of the same request; it is found anew if it is not
        return made

    def _made_for(self, texts: Sequence[str]) -> SystemPromptScrubber:
        made = copy(self)
        for method in _LOOKING:
            delattr(made, method)
        made._secret = self._sought(texts)
        made.use(self.detector)
        made._verdict_cache = self._verdict_cache  # what was said of a text is said to all requests
        return made

    def _sought(self, texts: Sequence[str]) -> Known:
        """
        Return what is sought; what is too short to be told for sure is left to a detector, where there is one.
        """
        short = self._protect if self.detector is not None else (*texts, *self._protect)
        return known_texts(texts, short=short, allow=self._allow, least=self.min_letters)

    # -- searching

    def find(self, text: str) -> Sequence[Span]:
        """
        Return the copies in *text*, and what a pattern matches.
        """
        lanes = _Lanes([CopyLane(self._secret), RuleLane(self._custom, fold=True)])
        found = list(search_whole(lanes, text, seconds=None if self.asks else self.timeout))
        return sorted(found, key=lambda span: (span.start, -span.end))

    def lane(self) -> Lane:
        """
        Return a fresh search for one block of streamed text.
        """
        if self.enforces and self.strategy == "filter":
            return FindLane(self.find, None)
        return _Lanes([CopyLane(self._secret), RuleLane(self._custom, fold=True)])

    # -- what becomes of it

    def replacement(self, region: Region, text: str) -> str:
        """
        Return what stands in place of a copy.
        """
        if self.redaction == "mask":
            return "*" * (region.end - region.start)
        return self.placeholder_text if self.redaction == "placeholder" else ""

    def reason(self, spans: Sequence[Span]) -> str:
        """
        Name the types that were found.
        """
        return f"System prompt detected: {', '.join(dict.fromkeys(span.type for span in spans))}"

    def metadata(self, spans: Sequence[Span]) -> object:
        """
        With ``include_detections``, say where something was found; never what.
        """
        if not self.include_detections:
            return None
        return {"processorId": self.id, "detections": [_described(span) for span in spans]}

    def detail(self, pieces: Sequence[Piece], where: Mapping[str, Any]) -> object:
        """
        Say where something was found, and how it was redacted; never what.
        """
        spans = [span for piece in pieces if piece.region is not None for span in piece.region.members]
        how = {"redactionMethod": self.redaction} if self.strategy == "redact" else {}
        return {"strategy": self.strategy, **how, **where, "detections": [_described(span) for span in spans]}


class _Lanes:
    """
    Several searches as one.
    """

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self.settled = 0
        self._lanes = lanes

    def feed(self, text: str, *, final: bool = False) -> list[Span]:
        found = [span for lane in self._lanes for span in lane.feed(text, final=final)]
        self.settled = min(lane.settled for lane in self._lanes)
        return found


def _for_request(guard: SystemPromptScrubber, name: str) -> Callable[..., Any]:
    method = getattr(guard, name)

    async def slow(ctx: Any, *args: Any) -> Any:
        return await getattr(guard.for_request(ctx.message_list), name)(ctx, *args)

    def quick(ctx: Any, *args: Any) -> Any:
        return getattr(guard.for_request(ctx.message_list), name)(ctx, *args)

    return wraps(method)(slow if iscoroutinefunction(method) else quick)


def _described(span: Span) -> dict[str, Any]:
    return {"type": span.type, "start": span.start, "end": span.end, "confidence": span.score}


def _listed(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, (str, re.Pattern)) else tuple(given)  # pyright: ignore[reportUnknownVariableType]


def _texts(name: str, option: str, texts: Sequence[str], least: int) -> tuple[str, ...]:
    listed = _listed(texts)
    for text in listed:
        if not isinstance(text, str) or len(letters_in(text)) < least:
            raise ProcessorDefinitionError(
                f"{name} has a text of {option} with fewer than {least} letters and digits",
                hint="what is shorter may stand in any text: use custom_patterns" if least > 1 else "give a text",
            )
    return listed


def _rule(name: str, number: int, pattern: str | re.Pattern[str]) -> Rule:
    try:
        return compile_pattern(f"custom_patterns[{number}]", pattern, type="custom_pattern")
    except ValueError as error:
        raise ProcessorDefinitionError(f"{name}: {error}") from None
