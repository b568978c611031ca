"""
One hook of a processor workflow, asked for in JSON: the payload, and what runs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from typing_extensions import TypedDict

from procession.agents.output import TurnResult
from procession.agents.step_payload import StepPayload
from procession.errors import InputError, MessageError, ModelError, SchemaError
from procession.errors.runs import ModelErrorKind
from procession.messages.chunk_reading import read_chunk
from procession.messages.chunks import Chunk, TextDelta, TextEnd, TextStart, ToolCall
from procession.messages.message_list import MessageList
from procession.messages.shapes import is_form
from procession.messages.to_prompt import PromptBuilder
from procession.messages.usage import NO_USAGE
from procession.processors.hooks import HOOK_NAMES, OUTPUT_HOOKS, Hook, nearest_hook
from procession.processors.payloads import (
    APIErrorPayload,
    HookPayload,
    InputPayload,
    LLMRequestPayload,
    LLMResponsePayload,
    OutputResultPayload,
    OutputStepPayload,
    ToolResultPayload,
)
from procession.processors.stream import StreamChain
from procession.processors.stream_plan import stream_plan
from procession.processors.stream_watched import Passed, WatchedChain
from procession.runtime.event_json import plain
from procession.runtime.observer import Told
from procession.runtime.run import Run
from procession.steps.step import Step, StepContext
from procession.workflows.workflow import Workflow, create_workflow

__all__ = ["HookBody", "hook_call", "hook_output", "watch_stream"]

_PASSED: Final = "hook-stream-passed"
"""Where the scope of a run has what is told of each chunk."""
_MOST: Final = 10_000
"""How many chunks one call may bring."""


class HookBody(TypedDict, total=False):
    """
    What one hook is run with, beside what every run may be given.
    """

    hook: str
    messages: Any
    """A text, or messages in any form that is read elsewhere; in hooks of the output an assistant's are the answer."""
    chunks: list[Any]
    """Of ``process_output_stream`` and ``process_llm_response``."""
    text: str
    """Of ``process_output_step``, and in place of chunks."""
    tool_calls: list[Any]
    tool_result: dict[str, Any]
    """``{"tool_name", "args", "result", "is_error"}``."""
    error: dict[str, Any]
    """``{"message", "kind", "status_code", "retryable"}``."""
    finish_reason: str
    step_number: int
    retry_count: int


def hook_call(workflow: Workflow[Any, Any], body: Mapping[str, Any]) -> tuple[Workflow[Any, Any], Any]:
    """
    Return what is run for one hook of the processor *workflow*, and what it is started with, as *body* says.

    Raises ``SchemaError`` naming the field that does not fit, ``InputError`` for a hook that *workflow* does not have.
    """
    hook = _hook(workflow, body.get("hook"))
    messages = _messages(body.get("messages", ()), hook)
    where: Mapping[str, Any] = {name: _count(body, name) for name in ("step_number", "retry_count")}
    if hook is Hook.OUTPUT_STREAM:
        return _streaming(workflow, messages, where), _chunks(body)
    return workflow, _payload(hook, messages, body, where)


def watch_stream(run: Run[Any, Any]) -> None:
    """
    Let whoever observes *run*, which has not begun, be told each chunk that passes its processors.
    """
    watchers = run.state.watchers
    if not watchers:
        return
    number = 0

    def passed(passed: Passed) -> None:
        nonlocal number
        told = Told("stream.passed", run.state.now(), Hook.OUTPUT_STREAM.value, {"passed": passed, "number": number})
        number += 1
        for tap in watchers:
            tap(told)

    run.scope.resources[_PASSED] = passed


def hook_output(output: Any) -> Any:
    """
    Return what one hook left as JSON: the chunks of a stream, else the messages' texts and what else it may change.
    """
    if isinstance(output, list | tuple):
        return plain(output)
    if not isinstance(output, HookPayload):
        return None
    fields = {name: plain(getattr(output, name)) for name in ("result", "retry") if name in output.changeable}
    return {"messages": [{"role": one.role, "text": one.text} for one in output.message_list.view()], **fields}


def _hook(workflow: Workflow[Any, Any], given: Any) -> Hook:
    hooks = workflow.as_step().hooks
    if given in HOOK_NAMES and given in hooks:
        return Hook(given)
    near = nearest_hook(str(given)) if given not in HOOK_NAMES else None
    known = [hook.value for hook in Hook if hook.value in hooks]
    raise InputError(
        f"hook: workflow {workflow.id!r} has no {str(given)[:60]!r}",
        hint=f"did you mean {near!r}?" if near in known else f"it has {', '.join(known)}",
    )


def _messages(given: Any, hook: Hook) -> MessageList:
    try:
        everything = MessageList(given, source="input")
    except MessageError as error:
        raise _fault("messages", str(error)) from None
    if hook not in OUTPUT_HOOKS:
        return everything
    made = MessageList()
    made.replace_system(everything.system_messages)
    for message in everything.view():
        made.add([message], "response" if message.role == "assistant" else "input")
    return made


def _payload(hook: Hook, messages: MessageList, body: Mapping[str, Any], where: Mapping[str, Any]) -> HookPayload:
    match hook:
        case Hook.INPUT:
            return InputPayload(messages, **where)
        case Hook.INPUT_STEP:
            return StepPayload(messages, **where)
        case Hook.LLM_REQUEST:
            return LLMRequestPayload(messages, prompt=PromptBuilder().build(messages), **where)
        case Hook.LLM_RESPONSE:
            return LLMResponsePayload(messages, chunks=_chunks(body), **where)
        case Hook.API_ERROR:
            return APIErrorPayload(messages, error=_error(body.get("error", {})), can_retry=True, **where)
        case Hook.TOOL_RESULT:
            return _tool_result(messages, body.get("tool_result", {}), where)
        case Hook.OUTPUT_STEP:
            return _step(messages, body, where)
        case _:
            text = "".join(message.text for message in messages.view("response"))
            turn = TurnResult(text, str(body.get("finish_reason", "stop")), (), NO_USAGE)
            return OutputResultPayload(messages, result=turn, **where)


def _step(messages: MessageList, body: Mapping[str, Any], where: Mapping[str, Any]) -> HookPayload:
    answer = next((message for message in reversed(messages.view("response"))), None)
    calls: list[ToolCall] = []
    for at, given in enumerate(_items(body, "tool_calls")):
        call = _chunk({"type": "tool-call", **given} if is_form(given) else given, f"tool_calls[{at}]")
        if not isinstance(call, ToolCall):
            raise _fault(f"tool_calls[{at}]", "it is no tool call")
        calls.append(call)
    return OutputStepPayload(
        messages,
        text=_text(body, "text", answer.text if answer is not None else ""),
        message_id=answer.id if answer is not None else None,
        finish_reason=_text(body, "finish_reason", "tool-calls" if calls else "stop"),
        tool_calls=tuple(calls),
        **where,
    )


def _tool_result(messages: MessageList, given: Any, where: Mapping[str, Any]) -> HookPayload:
    form = _form(given, "tool_result", ("tool_name", "tool_call_id", "args", "result", "is_error"))
    return ToolResultPayload(
        messages,
        tool_name=_text(form, "tool_name", "tool", "tool_result."),
        tool_call_id=_text(form, "tool_call_id", "call-1", "tool_result."),
        args=form.get("args", {}),
        result=form.get("result"),
        is_error=form.get("is_error") is True,
        origin="agent",
        **where,
    )


def _error(given: Any) -> ModelError:
    form = _form(given, "error", ("message", "kind", "status_code", "retryable"))
    kind: Any = form.get("kind", "other")
    if kind not in get_args(ModelErrorKind):
        raise _fault("error.kind", f"it is one of {', '.join(get_args(ModelErrorKind))}")
    status: Any = form.get("status_code")
    if status is not None and (isinstance(status, bool) or not isinstance(status, int)):
        raise _fault("error.status_code", "it is a whole number, or left out")
    return ModelError(
        _text(form, "message", "the call failed", "error."),
        kind=kind,
        status_code=status,
        retryable=form.get("retryable") is True,
    )


def _streaming(
    workflow: Workflow[Any, Any], messages: MessageList, where: Mapping[str, Any]
) -> Workflow[Sequence[Chunk], Sequence[Chunk]]:
    """
    Return a workflow of one step that lets chunks pass *workflow*, as a stream of an agent does.
    """
    plan = stream_plan(workflow)
    assert plan is not None  # it has the hook

    async def process_output_stream(ctx: StepContext[Any]) -> list[Chunk]:
        told = ctx.scope.resources.get(_PASSED)
        stream = (
            WatchedChain(plan, ctx.scope, messages, told)
            if told is not None
            else StreamChain(plan, ctx.scope, messages)
        )
        stream.begin(step_number=where["step_number"], steps=(), retry_count=where["retry_count"])
        left: list[Chunk] = []
        for chunk in ctx.input:
            pushed = stream.fast(chunk) if stream.fast is not None else await stream.push(chunk)
            if pushed is not None:
                left += pushed if isinstance(pushed, list) else [pushed]
            if ctx.scope.replacement is not None:
                return left
        left += await stream.flush()
        return left

    step: Step[Any, Any] = Step(id=Hook.OUTPUT_STREAM.value, execute=process_output_stream)
    return create_workflow(workflow.id).then(step).commit()


def _chunks(body: Mapping[str, Any]) -> tuple[Chunk, ...]:
    given = _items(body, "chunks")
    if len(given) > _MOST:
        raise _fault("chunks", f"there are {len(given)}, of at most {_MOST}")
    if not given:
        return (TextStart(), TextDelta(_text(body, "text", "")), TextEnd())
    return tuple(_chunk(each, f"chunks[{at}]") for at, each in enumerate(given))


def _chunk(given: Any, where: str) -> Chunk:
    try:
        return read_chunk(given, where)
    except MessageError as error:
        raise SchemaError(error.message, hint=error.hint, faults=[str(error)]) from None


def _items(body: Mapping[str, Any], name: str) -> Sequence[Any]:
    given: Any = body.get(name, [])
    if not isinstance(given, list):
        raise _fault(name, "it is a list")
    return given  # pyright: ignore[reportUnknownVariableType]


def _form(given: Any, where: str, fields: Sequence[str]) -> Mapping[str, Any]:
    if not is_form(given):
        raise _fault(where, f"it is an object with {', '.join(fields)}")
    for name in given:
        if name not in fields:
            raise _fault(f"{where}.{str(name)[:60]}", f"there is no such field: there are {', '.join(fields)}")
    return given


def _text(form: Mapping[str, Any], name: str, default: str, prefix: str = "") -> str:
    value: Any = form.get(name, default)
    if not isinstance(value, str):
        raise _fault(prefix + name, "it is a text")
    return value


def _count(body: Mapping[str, Any], name: str) -> int:
    value: Any = body.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _fault(name, "it is 0 or more")
    return value


def _fault(where: str, what: str) -> SchemaError:
    text = f"{where}: {what}"
    return SchemaError(text, faults=[text])
