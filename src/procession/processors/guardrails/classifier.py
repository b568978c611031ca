"""
ClassifierProcessor: questions about a text, and what you make of the answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NoReturn, TypeAlias

from procession.errors import ProcessorDefinitionError
from procession.messages.text.spans import Span
from procession.models.model import LanguageModel
from procession.processors.asking_guard import AskingGuard, StreamBy
from procession.processors.context import HookContext
from procession.processors.detect.answers import FlagIf, flagging
from procession.processors.detect.classifier import Answered, Answering, Answers, Classifier, Classify, questions_of
from procession.processors.detect.detector import Verdict
from procession.processors.guard_scope import Scope
from procession.processors.hold_back import Piece
from procession.processors.hooks import Hook
from procession.processors.options import on_error_of, whole_number
from procession.processors.text_guard import Mode, Phase
from procession.processors.violation import OnViolation

__all__ = ["Classified", "ClassifierProcessor", "OnResult"]

_PHASES = {Hook.INPUT: "input", Hook.OUTPUT_STREAM: "stream", Hook.TOOL_RESULT: "tool_result"}


class Classified:
    """
    What ``on_result`` is given besides the answers: the *text*, where it stands (*phase* is ``input``, ``stream``,
    ``output`` or ``tool_result``), and what can be done about it.
    """

    def __init__(self, guard: ClassifierProcessor, ctx: HookContext[Any], text: str) -> None:
        self.text = text
        self.phase: str = _PHASES.get(ctx.hook, "output")
        self._guard = guard
        self._ctx = ctx
        self.flagged: str | None = None
        """Why the text is to be dropped, if it is."""

    def abort(
        self,
        reason: str | None = None,
        *,
        retry: bool = False,
        metadata: object = None,
        message: str | None = None,
    ) -> NoReturn:
        """
        Stop the run, as ``ctx.abort`` does; under ``mode="monitor"`` or ``strategy="warn"`` only report.
        """
        if self._guard.passes:
            self.flagged = reason or _SAID
            raise _Told
        self._ctx.abort(reason or _SAID, retry=retry, metadata=metadata, message=message)

    def filter(self, reason: str | None = None) -> None:
        """
        Drop the text.

        Raises ``ProcessorDefinitionError`` under ``strategy="block"``, which holds back too little of a stream for it.
        """
        if self._guard.strategy == "block" and self._guard.enforces:
            raise ProcessorDefinitionError(
                f"on_result of {self._guard.id!r} filters, and its strategy is 'block'", hint='give strategy="filter"'
            )
        self.flagged = reason or _SAID

    def warn(self, reason: str, *, metadata: object = None) -> None:
        """
        Report, and change nothing.
        """
        self._ctx.report(reason, metadata, "warned")


OnResult: TypeAlias = Callable[[Answers, Classified], Awaitable[None] | None]
"""Decides what becomes of a text; it may be asynchronous."""
_SAID = "Content flagged by a classifier"


class ClassifierProcessor(AskingGuard):
    """
    Has questions about new input, answers and results of tools answered, and acts on the answers.

    A *classifier* answers: an object with ``async classify(text, *, scope)``, or a function of a text; or a *model* does,
    to which *questions* are put, by name: texts to be answered by yes or no, or mappings with ``question``, ``type``
    (``bool``, ``choices``, ``score``) and ``choices``.

    What the answers mean is said by *flag_if*: for each question ``True`` or ``False``, the choices, or the least score
    that flags the text; or a function of the answers that returns whether they do, or why.  Then ``block`` stops the
    run, ``filter`` drops the text and ``warn`` reports.  Or it is said by *on_result*, which is given the answers and a
    ``Classified``, and may ``abort``, ``filter`` or ``warn``.

    Texts of more than *max_input_length* characters are classified in pieces; what flags one flags the text.

    Raises ``ProcessorDefinitionError`` for options that mean nothing.

    >>> guard = ClassifierProcessor(classifier=lambda text: {"shouts": text.isupper()}, flag_if={"shouts": True})
    >>> guard.id, guard.strategy
    ('classifier', 'block')
    """

    id = "classifier"
    description = "questions about what is said"
    strategies = ("block", "warn", "filter")
    threshold = 0.0

    def __init__(
        self,
        *,
        classifier: Classifier | Classify | None = None,
        model: LanguageModel | str | None = None,
        questions: Mapping[str, Any] | None = None,
        instructions: str | None = None,
        flag_if: FlagIf | None = None,
        on_result: OnResult | None = None,
        strategy: Literal["block", "warn", "filter"] | None = None,
        max_input_length: int | None = None,
        stream_by: StreamBy | None = None,
        context: int | None = None,
        chunk_window: int = 0,
        scope: Scope | None = None,
        last_message_only: bool = False,
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
        if (flag_if is None) == (on_result is None):
            raise ProcessorDefinitionError(
                f"{name} has {'both' if flag_if is not None else 'neither'} flag_if and on_result",
                hint="say what the answers mean with one of them",
            )
        super().__init__(
            id=id, strategy=strategy or ("filter" if on_result is not None else "block"), mode=mode, phase=phase,
            on_error=on_error_of(name, on_error, error_strategy), timeout=timeout, on_violation=on_violation,
            scan_tool_args=scan_tool_args, scope=scope, last_message_only=last_message_only, context=context,
            stream_by=stream_by or ("sentence" if whole_number(name, "chunk_window", chunk_window, least=0) else None),
        )  # fmt: skip
        if max_input_length is not None:
            whole_number(name, "max_input_length", max_input_length)
        self.max_input_length = max_input_length
        self.questions = questions_of(name, questions or {})
        self._on_result = on_result
        if (classifier is None) == (model is None) or (model is None) == bool(self.questions):
            raise ProcessorDefinitionError(
                f"{name} has nobody to ask, or nothing to ask",
                hint="give it a classifier, or a model with questions, and not both",
            )
        if model is not None:
            from procession.processors.detect.llm_questions import ModelClassifier

            classifier = ModelClassifier(model, self.questions, instructions)
        self._flagging = flagging(name, flag_if, self.questions) if flag_if is not None else None
        assert classifier is not None
        self.use(Answering(classifier))

    async def verdict_of(self, ctx: HookContext[Any], text: str) -> Verdict:
        """
        Have *text* classified, piece by piece where it is long, and return what flags it.
        """
        for piece in self._pieces(text):
            answered = await super().verdict_of(ctx, piece)
            assert isinstance(answered, Answered)
            found = (
                self._flagging(answered.answers)
                if self._flagging is not None
                else await self._heard(ctx, piece, answered.answers)
            )
            if found:
                return Verdict({}, tuple(Span(0, len(text), *each) for each in found))
        return Verdict()

    async def _heard(self, ctx: HookContext[Any], text: str, answers: Answers) -> list[tuple[str, str]]:
        """
        Let ``on_result`` decide, and return why the text is flagged, if it is.
        """
        assert self._on_result is not None
        classified = Classified(self, ctx, text)
        try:
            waiting = self._on_result(answers, classified)
            if waiting is not None:
                await waiting
        except _Told:
            pass
        return [("classified", classified.flagged)] if classified.flagged is not None else []

    def _pieces(self, text: str) -> Iterator[str]:
        """
        Yield the pieces that are classified, cut at white space where there is some.
        """
        most = self.max_input_length
        at = 0
        while most is not None and len(text) - at > most:
            cut = max(text.rfind(" ", at, at + most + 1), text.rfind("\n", at, at + most + 1))
            cut = cut if cut > at else at + most
            yield text[at:cut]
            at = cut
        if at == 0 or text[at:].strip():
            yield text[at:]

    def reason(self, spans: Sequence[Span]) -> str:
        """
        Say why the text is flagged.
        """
        said = next((span.rule for span in spans if span.rule), "")
        return said or f"{_SAID}: {', '.join(dict.fromkeys(span.type for span in spans))}"

    def metadata(self, spans: Sequence[Span]) -> object:
        """
        Name the questions whose answers flag the text.
        """
        return {"processorId": self.id, "questions": list(dict.fromkeys(span.type for span in spans))}

    def detail(self, pieces: Sequence[Piece], where: Mapping[str, Any]) -> object:
        """
        Name the questions whose answers flag the text, and say where it stands.
        """
        spans = [span for piece in pieces if piece.region is not None for span in piece.region.members]
        return {"strategy": self.strategy, **where, "questions": list(dict.fromkeys(span.type for span in spans))}


class _Told(Exception):
    """
    ``abort`` of a guard that changes nothing: the rest of ``on_result`` has nothing to decide.
    """
