"""
LoopState: what goes round the agent loop, and Attempt, one try at one step.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from procession.agents.callbacks import tell_callback
from procession.agents.collector import Collector
from procession.agents.output import AgentResult, AgentStep
from procession.agents.pipelines import Pipelines
from procession.agents.rollback import without_attempt
from procession.agents.settings import RunSettings
from procession.agents.structured.run import StructuredRun
from procession.agents.suspended_call import Declined, SuspendedCall
from procession.agents.told_calls import ToldCalls
from procession.errors import ModelError, StructuredOutputError
from procession.ids import new_id
from procession.messages.chunks import Chunk, ResponseMetadata, Start, ToolCall, TripwireInfo
from procession.messages.message import Message, SystemMessage
from procession.messages.message_list import MessageList
from procession.messages.parts import DataPart, Part
from procession.messages.prompt import PromptMessage
from procession.messages.shapes import is_items
from procession.messages.to_prompt import PromptBuilder
from procession.messages.window import Window
from procession.models.model import ModelRequest, ToolSpec
from procession.processors.hooks import Hook
from procession.processors.payloads import InputStepPayload
from procession.processors.request_change import GivenResponse
from procession.steps.scope import RequestScope
from procession.steps.signals import Bail, Signal
from procession.steps.step import InlineRun

if TYPE_CHECKING:
    from procession.processors.stream import StreamChain
    from procession.processors.stream_plan import StreamPlan

__all__ = ["FEEDBACK_TAG", "NOTE_TAG", "Attempt", "GuardsOut", "LoopState", "Watched"]

FEEDBACK_TAG = "processor-retry-feedback"
NOTE_TAG = "iteration-feedback"
_NO_OPTIONS: Mapping[str, Any] = {}


class GuardsOut(Protocol):
    """
    Input guards that have not passed yet, where they run beside the model call (``guards_beside.py``).
    """

    async def check(self, state: LoopState, run: InlineRun, path: str) -> None:
        """Run them now, with no model call beside them."""
        ...

    async def passed(self, verdict: TripwireInfo | None = None) -> None:
        """Wait until they have passed; *verdict* is what the stream's processors say of the answer."""
        ...

    def drop(self, state: LoopState) -> None:
        """Give them up, and all that is held for them: the run has ended."""
        ...


class Watched(Protocol):
    """
    What is told to whoever observes the run (``watch.py``).
    """

    def asked(self, request: ModelRequest, path: str) -> None:
        """The model is asked *request*."""
        ...

    def answered(self, attempt: Attempt, path: str) -> None:
        """The model has answered, or what was given in its place was read."""
        ...

    def heard(self, stream: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
        """Pass on a stream that no processor looks at."""
        ...

    def ended(self, result: AgentResult[Any] | None) -> None:
        """The run has come to *result*, or was broken off."""
        ...


class Attempt:
    """
    One try at one step: what the model is asked with, and what it answered.
    """

    __slots__ = (
        "before", "begun", "calls", "charged", "chunks", "collector", "error", "first_call", "from_cache", "is_fallback", "outcomes",
        "passed", "prompt", "request", "response", "said", "step", "told", "using",
    )  # fmt: skip

    def __init__(self, using: RunSettings | InputStepPayload, step: AgentStep, before: Message | None) -> None:
        self.using = using
        """The model, tools and settings: the run's, or what ``process_input_step`` made of them."""
        self.step = step
        """What the attempt comes to; it joins the run's steps once the model has answered."""
        self.before = before
        """The response message as it was before this attempt, to go back to."""
        self.begun = False
        """Whether the model has begun to answer, or has failed to: what there is to be rejected."""
        self.charged = False  # whether what the model has used was counted
        self.said: Sequence[Part] = ()
        """The parts that this attempt has put into the response message."""
        self.prompt: Sequence[PromptMessage] | None = None
        self.response: GivenResponse | None = None
        """What a processor gave in place of the model's answer."""
        self.from_cache = False
        self.is_fallback = False
        """Whether it asks another model what the last attempt asked: ``process_input_step`` is not called again (D16)."""
        self.request: Any = None
        self.told: ResponseMetadata | None = None
        """What the provider said of its response, with the bodies that its client handed over."""
        self.collector = Collector()
        self.first_call: ToolCall | None = None
        self.calls: ToldCalls | None = None
        """The tool calls that the model told of, where it told of more than the first, or of results."""
        self.chunks: list[Chunk] = []
        """The model's own chunks, kept where a processor wants them."""
        self.error: ModelError | None = None
        self.passed: Hook | None = None
        """The last of the hooks that look at a whole answer in which processors have let this one pass."""
        self.outcomes: Sequence[Any] = ()
        """What became of the tool calls, in call order."""


class LoopState:
    """
    What goes round the agent loop.
    """

    __slots__ = (
        "answers", "api_retries", "asked", "attempt", "cancelled_before", "cancels", "chain", "emit", "ended",
        "failures", "fallen", "error", "feedback", "finish_reason", "finished", "guards", "heard", "looked_at_whole",
        "messages", "note", "noted", "on_chunk", "on_step_finish", "options", "own_retries", "pipelines", "progress",
        "prompts", "refused", "rejected", "response_id", "retries", "scope", "sealed", "settings", "snapshot",
        "specs", "started", "step_number", "step_texts_stale", "stoppable", "steps", "stopped_by", "structured",
        "suspended", "system", "system_seen", "tripwire", "turns", "watch", "written",
    )  # fmt: skip

    def __init__(
        self,
        *,
        settings: RunSettings,
        pipelines: Pipelines,
        scope: RequestScope,
        messages: MessageList,
        emit: Callable[[Chunk], Awaitable[None] | None] | None = None,
    ) -> None:
        self.settings = settings
        self.pipelines = pipelines
        self.scope = scope
        self.messages = messages
        self.emit = emit
        """Takes chunks to the reader, or ``None`` where nobody reads."""
        self.on_chunk = settings.on_chunk
        self.on_step_finish = settings.on_step_finish
        self.prompts = PromptBuilder()
        self.chain = _chain(pipelines.stream, scope, messages) if pipelines.stream is not None else None
        self.heard = self.chain is not None or emit is not None or self.on_chunk is not None
        """Whether anybody sees the chunks: a processor, a reader, a callback."""
        self.response_id = new_id()
        self.sealed: tuple[str, ...] = ()
        """The ids of the answers before this one, which a signal brought to an end."""
        self.system_seen: tuple[SystemMessage, ...] = ()
        """All system messages as they were when the last attempt began: where they still are, nothing is reset."""
        self.system: tuple[SystemMessage, ...] = ()
        """The untagged system messages as they were when the loop began (D23)."""
        self.steps: list[AgentStep] = []
        self.rejected: tuple[AgentStep, ...] = ()
        self.step_number = 0
        self.turns = 0
        """How often the loop has turned."""
        self.retries = 0
        """Attempts of this step so far that were sent back, whatever caused them (D16)."""
        self.api_retries = 0
        """Failed model calls of this step that were tried again: their own budget (D14)."""
        self.own_retries = 0
        """Failed model calls of this step that a processor had made again on its own count (D22)."""
        self.watch: Watched | None = None
        """Tells whoever observes the run, where somebody does."""
        self.written: list[tuple[DataPart, str]] | None = None
        """Data that processors wrote in the hook that runs now, and for which message."""
        self.feedback: str | None = None
        self.note: str | None = None
        """What ``on_iteration_complete`` has to say to the next step."""
        self.noted = False
        """Whether such a note stands before the model."""
        self.attempt: Attempt | None = None
        self.cancels: Callable[[], int] | None = None
        """Counts the cancellations of the task that drives the run, on asyncio; ``cancelled_before`` are older ones."""
        self.cancelled_before = 0
        self.fallen = 0
        """How many of this step's models have been given up: the next step begins with the first one again."""
        self.failures: tuple[ModelError, ...] = ()
        """Why they were."""
        self.stoppable = False
        """Whether somebody may end the run before its end: what ignores that is waited for within the grace period."""
        self.ended = False
        """Whether nothing is left to be done but to tell the reader."""
        self.started = False
        self.finished = False
        self.looked_at_whole = False
        """Whether ``process_output_result`` has had its say."""
        self.finish_reason = "unknown"
        self.tripwire: TripwireInfo | None = None
        self.error: ModelError | StructuredOutputError | None = None
        self.structured: StructuredRun | None = None
        """What becomes of the structured output, where any is asked for."""
        self.step_texts_stale = False
        self.stopped_by: Exception | Signal | None = None
        """What a processor decided, or failed with, about a chunk that a tool wrote."""
        self.guards: GuardsOut | None = None
        """The input guards that have not passed yet, where they run beside the model call."""
        self.options: Mapping[str, Any] = _NO_OPTIONS
        """What the call said differently from the agent."""
        self.suspended: tuple[SuspendedCall, ...] = ()
        """The tool calls that wait for somebody."""
        self.answers: Mapping[str, SuspendedCall | Declined] = _NO_OPTIONS
        """What a resumed run was given for them, by question."""
        self.asked: tuple[str, ...] = ()
        """The questions of the run so far, answered or not: none is numbered like another one."""
        self.progress: Callable[[], Awaitable[None]] | None = None
        """Writes down that one more of them is done with, where the run is kept."""
        self.refused: Exception | None = None
        """Why an answer was not taken after all."""
        self.snapshot = ""
        """The run as it is kept while it is suspended."""
        self.specs: tuple[Any, Any, tuple[ToolSpec, ...]] | None = None
        """Which tools, and which of them active, the model was last told of, and what it was told."""

    # -- steps

    def passes_on(self) -> bool | None:
        """
        Whether what runs inside is to answer as a stream, as this run does; ``None`` where nobody hears of it.
        """
        return self.settings.streaming if self.heard else None

    def seen_steps(self) -> Sequence[AgentStep]:
        """
        Return the steps so far as a snapshot of constant cost.
        """
        return Window(self.steps, 0, len(self.steps))

    async def open(self) -> Attempt:
        """
        Return the attempt in hand, beginning one where there is none.
        """
        attempt = self.attempt
        if attempt is not None:
            return attempt
        if self.finished:  # a processor gave the answer before the first step
            raise Bail(self)
        if not self.started:
            self.started = True
            self.system = self.messages.system(None)
            if self.heard:
                await self.send(Start(self.scope.run_id, self.response_id, self.settings.agent_id))
        else:
            if self.messages.system_messages is not self.system_seen:
                self.messages.reset_untagged_system(self.system)
            if self.step_number and not self.retries and self.pipelines.looks_ahead:
                self.messages.append_border(self.response_id)  # a hook looks before the model has answered
        if self.feedback is not None:
            self.messages.clear_system(FEEDBACK_TAG)
            self.messages.add_system(self.feedback, FEEDBACK_TAG)
            self.feedback = None
        if self.note is not None:
            self.messages.add_system(self.note, NOTE_TAG)
            self.note, self.noted = None, True
        self.system_seen = self.messages.system_messages
        step = AgentStep(self.step_number, self.response_id)
        using = self.settings
        if self.fallen:
            using = using.replace(model=using.fallbacks[self.fallen - 1])
        attempt = self.attempt = Attempt(using, step, self.messages.get_by_id(self.response_id))
        self.begin_chunks()
        return attempt

    def begin_chunks(self) -> None:
        """
        Tell the stream's processors that another turn of the loop begins.
        """
        if self.chain is not None:
            number, steps = self.step_number, self.seen_steps()
            self.chain.begin(step_number=number, steps=steps, retry_count=self.retries, turn=self.turns)
        self.turns += 1

    def accept(self) -> None:
        """
        The step stands: its feedback goes, and the next one begins with full budgets.
        """
        if self.retries:
            self.messages.clear_system(FEEDBACK_TAG)
            self.own_retries = 0
            if self.fallen:
                self.fallen, self.failures = 0, ()
        if self.noted:
            self.messages.clear_system(NOTE_TAG)
            self.noted = False
        self.step_number += 1
        self.retries = 0
        self.api_retries = 0
        self.attempt = None

    def roll_back(self, attempt: Attempt) -> None:
        """
        Take an attempt's text and tool calls out of the messages and the steps; its usage stays counted (D15).
        """
        if self.steps and self.steps[-1] is attempt.step:
            self.steps = self.steps[:-1]  # a copy: hooks may still hold a view of the list that had it
        self.take_back(attempt)
        self.scope.replacement = None
        if self.chain is not None:
            self.chain.discard()
        step = attempt.step
        step.text = attempt.collector.text
        step.finish_reason = "retry"
        step.tool_calls = tuple(attempt.collector.tool_calls)
        self.rejected = (*self.rejected, step)
        self.retries += 1
        self.attempt = None

    def take_back(self, attempt: Attempt, messages: MessageList | None = None) -> Message | None:
        """
        Take what an attempt said out of the answer; what processors have hidden of older parts stays hidden (D26).

        Of the answer in *messages* where a hook works on a fork.  Return what is left of it.
        """
        before = attempt.before
        held = self.messages if messages is None else messages
        kept = without_attempt(before, attempt.said, held.get_by_id(self.response_id))
        if kept is None:
            for step in self.steps:  # no border is left that would tell their texts apart
                if step.message_id == self.response_id:
                    step.text = ""
        elif kept is not before:
            self.step_texts_stale = True
        held.restore_response(self.response_id, kept)
        return kept

    # -- chunks

    async def send(self, chunk: Chunk) -> None:
        """
        Take a chunk to the reader, past no processor.
        """
        if self.on_chunk is not None:
            await tell_callback(self.on_chunk, chunk, self.scope)
        if self.emit is not None:
            waiting = self.emit(chunk)
            if waiting is not None:
                await waiting

    async def deliver(self, chunk: Chunk, sender: str | None = None) -> list[Chunk]:
        """
        Pass a chunk through the stream's processors, take what comes out to the reader, and return it.
        """
        chain = self.chain
        out: Any = chunk
        if chain is not None:
            out = chain.fast(chunk) if chain.fast is not None and sender is None else await chain.push(chunk, sender)
        if out is None:
            return []
        chunks: list[Chunk] = list(out) if is_items(out) else [out]
        for each in chunks:
            await self.send(each)
        return chunks


def _chain(plan: StreamPlan, scope: RequestScope, messages: MessageList) -> StreamChain:
    from procession.processors.stream import StreamChain  # with the first stream that a processor looks at

    return StreamChain(plan, scope, messages)
