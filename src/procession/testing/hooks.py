"""
run_hook(): one hook of a processor, or of a list or workflow of them, by itself: no agent, no model.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from procession.agents.step_payload import StepPayload
from procession.errors import InputError, ModelError
from procession.messages.chunks import Chunk, DataChunk, TextDelta, TextEnd, TextStart
from procession.messages.message import Message, SystemMessage
from procession.messages.message_list import MessageList
from procession.messages.shapes import is_sequence
from procession.messages.signal import SentSignal, read_signal
from procession.messages.tripwire import TripwireInfo
from procession.messages.value import Value
from procession.processors.chain import chain, processor_steps
from procession.processors.hooks import HOOK_NAMES, OUTPUT_HOOKS, Hook, nearest_hook
from procession.processors.payloads import (
    APIErrorPayload,
    HookPayload,
    InputPayload,
    LLMRequestPayload,
    LLMResponsePayload,
    OutputResultPayload,
    OutputStepPayload,
    OutputStreamPayload,
    ToolResultPayload,
)
from procession.processors.stream import StreamChain
from procession.processors.stream_plan import stream_plan
from procession.processors.violation import Violation
from procession.runtime.runtime import Runtime
from procession.steps.request_context import RequestContext
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire
from procession.workflows.workflow import Workflow

__all__ = ["HookRun", "run_hook"]

_PAYLOADS: Mapping[Hook, type[HookPayload]] = {
    payload.hook: payload
    for payload in (
        InputPayload,
        StepPayload,
        LLMRequestPayload,
        OutputStreamPayload,
        APIErrorPayload,
        LLMResponsePayload,
        OutputStepPayload,
        ToolResultPayload,
        OutputResultPayload,
    )
}
_WHERE = ("step_number", "steps", "retry_count")


class HookRun(Value, kw_only=True):
    """
    What came of one call of a hook.
    """

    messages: Sequence[Message]
    """All messages as the hook left them."""
    system_messages: Sequence[SystemMessage]
    payload: Any
    """What else it may have changed: ``prompt`` and ``response``, ``result``, ``retry``, ``model_settings`` and so on."""
    chunks: Sequence[Chunk] = ()
    """Of ``process_output_stream``: what came out."""
    tripwire: TripwireInfo | None = None
    """The verdict, if it stopped the run or sent the step back."""
    replacement: str | None = None
    """The answer that it gave in place of the model's."""
    violations: Sequence[Violation] = ()
    """What it reported, a verdict included."""
    written: Sequence[DataChunk] = ()
    """The data that it wrote."""
    signals: Sequence[SentSignal] = ()
    state: Mapping[str, Mapping[str, Any]]
    """The state that was left, by the id of the processor."""

    @property
    def text(self) -> str:
        """
        The text that came out of a stream.
        """
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, TextDelta))


async def run_hook(
    processor: Any,
    hook: Hook | str,
    messages: Any = (),
    *,
    request_context: RequestContext | Mapping[str, Any] | None = None,
    state: Mapping[str, dict[str, Any]] | None = None,
    **arguments: Any,
) -> HookRun:
    """
    Run one *hook* of *processor*, or of a list or workflow of processors, and return what came of it.

    *messages* are a text, messages or a whole ``MessageList``; in hooks of the output the assistant's are this turn's
    answer.  *arguments* are what the hook is given besides, by the names that its context has: ``prompt=``, ``error=``,
    ``tool_name=`` and ``result=``, ``text=`` and ``tool_calls=``, ``step_number=``, ``retry_count=``.
    ``process_output_stream`` takes ``chunks=`` or ``text=``, which may be a list of pieces; what is held back is let go
    at the end.  *state* is what processors have kept so far, by id.

    A verdict stands in the result.  Raises ``ProcessorError`` where the hook fails, ``InputError`` for a hook that the
    processor does not have and for arguments that the hook is not given.

    >>> import anyio
    >>> from procession.processors.guardrails.pii import PIIDetector
    >>> guard = PIIDetector(redaction="placeholder")
    >>> anyio.run(run_hook, guard, "process_input", "Mail eva@example.net").messages[0].text
    'Mail [EMAIL]'
    """
    wanted = _hook(hook)
    scope = RequestScope(
        run_id="run-hook",
        request_context=request_context
        if isinstance(request_context, RequestContext)
        else RequestContext(request_context),
    )
    scope.states = dict(state or {})
    things: list[Any] = list(processor) if is_sequence(processor) else [processor]
    workflow = chain(processor_steps(things, where="processor"), "run-hook")
    if workflow is None or wanted.value not in workflow.as_step().hooks:
        raise InputError(f"there is no {wanted.value} to run in {processor!r}")
    held = _messages(messages, wanted)
    written: list[DataChunk] = []
    sent: list[SentSignal] = []
    _listen(scope, written, sent)
    chunks: list[Chunk] = []
    tripwire: TripwireInfo | None = None
    payload: HookPayload
    try:
        if wanted is Hook.OUTPUT_STREAM:
            payload = await _stream(workflow, held, scope, arguments, chunks)
        else:
            payload = _payload(wanted, held, arguments)
            result = await Runtime().create_run(workflow, scope=scope, durable=False).start(payload)
            tripwire = result.tripwire
            if result.error is not None:
                raise result.error
    except Tripwire as verdict:
        tripwire, payload = verdict.info, OutputStreamPayload(held)
    await scope.settle()
    return HookRun(
        messages=tuple(held.view()),
        system_messages=held.system_messages,
        payload=payload,
        chunks=tuple(chunks),
        tripwire=tripwire,
        replacement=scope.replacement,
        violations=tuple(scope.violations),
        written=tuple(written),
        signals=tuple(sent),
        state=scope.states,
    )


def _hook(hook: Hook | str) -> Hook:
    if hook not in HOOK_NAMES:
        near = nearest_hook(str(hook))
        raise InputError(f"{hook!r} is no hook", hint=f"did you mean {near!r}?" if near else None)
    return Hook(hook)


def _messages(given: Any, hook: Hook) -> MessageList:
    if isinstance(given, MessageList):
        return given
    everything = MessageList(given, source="input")
    if hook not in OUTPUT_HOOKS:
        return everything
    made = MessageList()
    for message in everything.view():
        made.add([message], "response" if message.role == "assistant" else "input")
    return made


def _listen(scope: RequestScope, written: list[DataChunk], sent: list[SentSignal]) -> None:
    async def write(chunk: DataChunk, sender: str | None, message_id: str | None) -> None:
        written.append(chunk)

    async def send(payload: HookPayload, form: Any, processor_id: str) -> SentSignal:
        signal = read_signal(form)
        payload.message_list.add(signal.as_message(), "input")
        sent.append(signal)
        return signal

    scope.resources["write_data"] = write
    scope.resources["send_signal"] = send


def _payload(hook: Hook, messages: MessageList, arguments: Mapping[str, Any]) -> HookPayload:
    kind = _PAYLOADS[hook]
    takes = [name for name in inspect.signature(kind).parameters if name not in ("message_list", "where")]
    takes = list(dict.fromkeys((*takes, *_WHERE)))
    _check(hook, arguments, takes)
    if hook is Hook.API_ERROR:
        arguments = {"error": ModelError("the call failed"), "can_retry": True, **arguments}
    return kind(messages, **arguments)


async def _stream(
    workflow: Workflow[Any, Any],
    messages: MessageList,
    scope: RequestScope,
    arguments: Mapping[str, Any],
    out: list[Chunk],
) -> HookPayload:
    _check(Hook.OUTPUT_STREAM, arguments, ("chunks", "text", *_WHERE))
    plan = stream_plan(workflow)
    assert plan is not None  # it has the hook
    stream = StreamChain(plan, scope, messages)
    stream.begin(
        step_number=arguments.get("step_number", 0),
        steps=arguments.get("steps", ()),
        retry_count=arguments.get("retry_count", 0),
    )
    for chunk in _chunks(arguments):
        pushed = stream.fast(chunk) if stream.fast is not None else await stream.push(chunk)
        if pushed is not None:
            out += pushed if isinstance(pushed, list) else [pushed]
        if scope.replacement is not None:
            return stream.payload
    out += await stream.flush()
    return stream.payload


def _chunks(arguments: Mapping[str, Any]) -> Sequence[Chunk]:
    if "chunks" in arguments:
        chunks: Sequence[Chunk] = arguments["chunks"]
        return chunks
    text: Any = arguments.get("text", "")
    pieces: Sequence[str] = [text] if isinstance(text, str) else text
    return [TextStart(), *map(TextDelta, pieces), TextEnd()]


def _check(hook: Hook, arguments: Mapping[str, Any], takes: Sequence[str]) -> None:
    for name in arguments:
        if name not in takes:
            raise InputError(f"{hook.value} is not given {name!r}", hint=f"it takes {', '.join(sorted(takes))}")
