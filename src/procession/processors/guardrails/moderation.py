"""
ModerationProcessor: harmful text, judged by a model or a detector of your own, and words that nobody is to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal

from procession.errors import ProcessorDefinitionError
from procession.messages.text.scan import FindLane, Lane
from procession.messages.text.spans import Region, Span
from procession.messages.text.whole import search_whole
from procession.models.model import LanguageModel
from procession.processors.asking_guard import AskingGuard, StreamBy
from procession.processors.detect.detector import Detector, Verdict
from procession.processors.detect.verdicts import VERDICT_TTL
from procession.processors.detect.word_list import WordMatch, Words, find_words, word_lane, word_lists, word_rules
from procession.processors.guard_scope import Scope
from procession.processors.hold_back import Piece
from procession.processors.listed import Allow
from procession.processors.options import on_error_of, one_of, share, whole_number
from procession.processors.text_guard import Mode, Phase
from procession.processors.violation import OnViolation
from procession.storage.cache import CacheStore

__all__ = ["CATEGORIES", "ModerationProcessor"]

CATEGORIES = (
    "hate", "hate/threatening", "harassment", "harassment/threatening", "self-harm", "self-harm/intent",
    "self-harm/instructions", "sexual", "sexual/minors", "violence", "violence/graphic",
)  # fmt: skip
"""What a model is asked for unless it is told otherwise."""


class ModerationProcessor(AskingGuard):
    """
    Judges new input, answers while they stream, and results of tools.

    A *model* is asked which of *categories*, any words of yours, a text falls under, or a *detector* is; a score of at
    least *threshold*, or of the category's own in *thresholds*, counts.  *words*, a list or lists by category, are
    found without anybody's help: as whole words, or with ``match="substring"`` anywhere.  There is no sound offline
    judge of harm, so that one of the three must be given.

    ``block`` stops the run, ``warn`` reports, and ``filter`` drops the message, or the answer's text.

    Raises ``ProcessorDefinitionError`` for options that mean nothing.

    >>> guard = ModerationProcessor(words=["cock"])
    >>> [len(guard.regions(text)) for text in ("What a cock!", "The cockpit is here.")]
    [1, 0]
    """

    id = "moderation"
    description = "harmful text"
    strategies = ("block", "warn", "filter")
    strategy = "block"

    def __init__(
        self,
        *,
        model: LanguageModel | str | None = None,
        detector: Detector | None = None,
        words: Words = (),
        ban_words: Words = (),
        match: WordMatch = "word",
        categories: Sequence[str] | None = None,
        threshold: float = 0.5,
        thresholds: Mapping[str, float] | None = None,
        strategy: Literal["block", "warn", "filter"] = "block",
        instructions: str | None = None,
        provider_options: Mapping[str, Any] | None = None,
        json_prompt_injection: bool = False,
        include_scores: bool = False,
        stream_by: StreamBy | None = None,
        context: int | None = None,
        chunk_window: int = 0,
        verdict_cache: CacheStore | int | None = None,
        verdict_ttl: float = VERDICT_TTL,
        scope: Scope = "new_messages",
        last_message_only: bool = False,
        allow: Allow = (),
        phase: Phase = "all",
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
            id=id, strategy=strategy, mode=mode, phase=phase, threshold=threshold,
            on_error=on_error_of(name, on_error, error_strategy), timeout=timeout, on_violation=on_violation,
            scan_tool_args=scan_tool_args, context=context, verdict_cache=verdict_cache, verdict_ttl=verdict_ttl,
            scope=None if last_message_only and scope == "new_messages" else scope, last_message_only=last_message_only,
            allow=allow,
            stream_by=stream_by or ("sentence" if whole_number(name, "chunk_window", chunk_window, least=0) else None),
        )  # fmt: skip
        if words and ban_words:
            raise ProcessorDefinitionError(f"{name} has words and ban_words", hint="they are the same: give one")
        self.match = one_of(name, "match", match, ("word", "substring"))
        self.include_scores = include_scores
        self._words = word_lists(words or ban_words)
        self.rules = word_rules(name, self._words, self.match)
        if model is None and detector is None and not self.rules:
            raise ProcessorDefinitionError(
                f"{name} has nobody to ask and no words to look for",
                hint="give it model='...', a detector, or words=[...]: no rule can tell what is harmful",
            )
        if isinstance(categories, str):
            categories = (categories,)
        asked = tuple(category.strip().lower() for category in categories) if categories else CATEGORIES
        self.categories = asked
        self._wanted = frozenset(asked) if detector is not None and categories else None
        self._thresholds = _checked(name, thresholds or {}, None if detector is not None else (*asked, *self._named()))
        if detector is None and model is not None:
            from procession.processors.detect.llm_moderation import moderation_detector

            detector = moderation_detector(model, asked, instructions).asking(provider_options, json_prompt_injection)
        self.use(detector)

    def _named(self) -> tuple[str, ...]:
        return tuple(rule.name for rule in self.rules)

    # -- words

    def find(self, text: str) -> Sequence[Span]:
        """
        Return the words of the list that are in *text*.
        """
        return search_whole(word_lane(self.rules), text, seconds=None if self.asks else self.timeout)

    def lane(self) -> Lane:
        """
        Return a fresh search for words in one block of streamed text.
        """
        if self.enforces and self.strategy == "filter":
            return FindLane(self.find, None)
        return word_lane(self.rules)

    def explain(self, text: str) -> list[Span]:
        """
        Return the words in *text*, with those that stand inside of longer ones and so are none, which ``rejected`` says.
        """
        found = super().explain(text)
        if self.match == "word":
            taken = {(span.start, span.end) for span in found}
            anywhere = find_words(word_rules(type(self).__name__, self._words, "substring"), text)
            found += [
                span.replace(rejected="inside a word") for span in anywhere if (span.start, span.end) not in taken
            ]
        return sorted(found, key=lambda span: (span.start, -span.end))

    # -- verdicts

    def judged(self, verdict: Verdict, text: str) -> list[Region]:
        """
        Return one region over the text where a category reaches its threshold.
        """
        over = [(name, score) for name, score in verdict.scores.items() if self._counts(name, score)]
        if not over or not text:
            return []
        members = tuple(Span(0, len(text), name, verdict.reason or "", score) for name, score in over)
        return [Region(0, len(text), members[0], members)]

    def _counts(self, category: str, score: float) -> bool:
        """
        Whether *score* is enough; one of a kind of a category, such as ``hate/threatening``, counts as that category.
        """
        kinds = (category, category.partition("/")[0])
        if self._wanted is not None and self._wanted.isdisjoint(kinds):
            return False
        return score >= next((self._thresholds[kind] for kind in kinds if kind in self._thresholds), self.threshold)

    # -- what is said of them

    def reason(self, spans: Sequence[Span]) -> str:
        """
        Name the categories and the reason that the detector gave; never the word.
        """
        scores = {span.type: span.score for span in spans}
        said = f"Content flagged for moderation. Categories: {', '.join(scores)}"
        words = self._named()
        why = next((span.rule for span in spans if span.rule and span.rule not in words), "")
        if why:
            said += f". Reason: {why}"
        if self.include_scores:
            said += f". Scores: {', '.join(f'{name} {score:.2f}' for name, score in scores.items())}"
        return said

    def metadata(self, spans: Sequence[Span]) -> object:
        """
        With ``include_scores``, say how sure the detector is of each category.
        """
        if not self.include_scores:
            return None
        return {"processorId": self.id, "scores": {span.type: span.score for span in spans}}

    def detail(self, pieces: Sequence[Piece], where: Mapping[str, Any]) -> object:
        """
        Say which categories were found, and how sure the detector is.
        """
        spans = [span for piece in pieces if piece.region is not None for span in piece.region.members]
        return {"strategy": self.strategy, **where, "scores": {span.type: span.score for span in spans}}


def _checked(name: str, thresholds: Mapping[str, float], known: Sequence[str] | None) -> dict[str, float]:
    made: dict[str, float] = {}
    for category, least in thresholds.items():
        kind = category.strip().lower()
        if known is not None and kind not in known:
            near = get_close_matches(kind, known, n=1)
            raise ProcessorDefinitionError(
                f"{name} has a threshold for {category!r}, which it is not asked for",
                hint=f"did you mean {near[0]!r}?" if near else f"the categories are {', '.join(known)}",
            )
        made[kind] = share(name, f"thresholds[{category!r}]", least)
    return made
