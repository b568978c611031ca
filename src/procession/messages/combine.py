"""
Combine: how two versions, or two halves, of an assistant's message become one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from procession.messages.message import Message
from procession.messages.parts import DataPart, Part, Parts, StepStartPart, TextPart, ToolCallPart
from procession.messages.shapes import is_dict, is_form
from procession.messages.value import open_form

__all__ = ["beyond_seal", "can_join", "is_sealed", "joined", "recalled", "updated_call", "with_parts"]

_CLOSING = ("sealed", "responseBoundary", "response_boundary")
_TASK = ("completionResult", "completion_result", "isTaskCompleteResult", "is_task_complete_result")
_ORDER = {
    "partial-call": 0, "call": 1, "approval-requested": 2, "approval-responded": 3,
    "output-error": 4, "output-denied": 4, "result": 4,
}  # fmt: skip
"""How far a tool call has come; it never goes back."""

Metadata: TypeAlias = Mapping[str, Any] | None

_new: Any = object.__new__
_OpenMessage = open_form(Message)


def with_parts(message: Message, parts: Parts) -> Message:
    """
    Return *message* with other *parts*: ``Message.with_parts`` written out, since the loop does it twice a step.
    """
    made = _new(_OpenMessage)
    made.role = message.role
    made.parts = parts
    made.id = message.id
    made.created_at = message.created_at
    made.thread_id = message.thread_id
    made.resource_id = message.resource_id
    made.type = message.type
    made.metadata = message.metadata
    made.provider_metadata = message.provider_metadata
    made.__class__ = Message
    done: Message = made
    return done


def _own_marks(message: Message) -> Mapping[str, Any]:
    marks = (message.metadata or {}).get("mastra")
    return marks if is_form(marks) else {}


def is_sealed(message: Message) -> bool:
    """
    Whether *message* may not be changed any more.
    """
    return message.metadata is not None and bool(_own_marks(message).get("sealed"))


def _is_closed(message: Message) -> bool:
    if message.metadata is None:
        return False
    marks = _own_marks(message)
    return any(marks.get(key) for key in _CLOSING) or any(message.metadata.get(key) or marks.get(key) for key in _TASK)


def can_join(latest: Message, message: Message) -> bool:
    """
    Whether *message* goes on where *latest*, the last message of the list, stopped.
    """
    return (
        latest.role == "assistant"
        and message.role == "assistant"
        and latest.thread_id == message.thread_id
        and not _is_closed(latest)
        and not _is_closed(message)
        and not (len(latest.parts) > 0 and all(isinstance(part, DataPart) for part in latest.parts))
    )


def joined(latest: Message, message: Message) -> Message:
    """
    Return *latest* with what *message* adds: outcomes go to their tool calls, what is there already is not repeated.

    A step starts before text that follows a tool call.  Id and time stay.
    """
    parts = list(latest.parts)
    calls = {part.tool_call_id: at for at, part in enumerate(parts) if isinstance(part, ToolCallPart)}
    seen: list[Part] = []
    border: StepStartPart | None = None
    for part in message.parts if message.parts != latest.parts else ():
        if isinstance(part, ToolCallPart) and part.tool_call_id in calls:
            at = calls[part.tool_call_id]
            known = parts[at]
            assert isinstance(known, ToolCallPart)
            parts[at] = _with_outcome(known, part)
            continue
        if isinstance(part, StepStartPart):
            # Stands only in front of something new.
            border = part
            continue
        seen.append(part)
        if sum(other == part for other in latest.parts) >= sum(other == part for other in seen):
            border = None
            continue
        if border is None and isinstance(part, TextPart) and parts and isinstance(parts[-1], ToolCallPart):
            border = StepStartPart()
        if border is not None and not (parts and isinstance(parts[-1], StepStartPart)):
            parts.append(border)
        border = None
        parts.append(part)
        if isinstance(part, ToolCallPart):
            calls[part.tool_call_id] = len(parts) - 1
    metadata = latest.metadata
    if message.metadata:
        metadata = {**(latest.metadata or {}), **message.metadata}
    provider_metadata = merged_metadata(latest.provider_metadata, message.provider_metadata)
    if parts == list(latest.parts) and metadata == latest.metadata and provider_metadata == latest.provider_metadata:
        return latest
    return latest.replace(parts=Parts(parts), metadata=metadata, provider_metadata=provider_metadata)


def recalled(stored: Message, live: Message, *, is_response: bool) -> Message:
    """
    Return the *stored* version of a message with what the *live* one knows better.

    Of an input copy (a client's echo of the conversation) only outcomes of tool calls count, and only if they are
    further than the stored ones; a response goes on where the stored one stopped.
    """
    if is_response:
        return joined(stored, live)
    outcomes = {part.tool_call_id: part for part in live.parts if isinstance(part, ToolCallPart)}
    parts = stored.parts
    for at, part in enumerate(stored.parts):
        if isinstance(part, ToolCallPart) and part.tool_call_id in outcomes:
            parts = parts.replaced(at, _with_outcome(part, outcomes[part.tool_call_id]))
    return stored if parts == stored.parts else stored.with_parts(parts)


def _with_outcome(known: ToolCallPart, news: ToolCallPart) -> ToolCallPart:
    if _ORDER[news.state] < _ORDER[known.state] or known == news:
        return known
    args = known.args
    if is_dict(args) and is_dict(news.args):
        args = {**args, **news.args}
    elif not args:
        args = news.args
    return updated_call(known, news.replace(args=args), keep_args=False)


def beyond_seal(sealed: Message, message: Message) -> tuple[Part, ...]:
    """
    Return the parts that *message* has beyond those of its *sealed* version.
    """
    return message.parts.flat[len(sealed.parts) :]


def updated_call(known: ToolCallPart, news: ToolCallPart, *, keep_args: bool = True) -> ToolCallPart:
    """
    Return *news*, the next state of the tool call *known*, with what a call never loses: its arguments and title,
    who runs it, what its provider said about it.
    """
    args = known.args if keep_args else news.args
    title = known.title if known.title is not None else news.title
    provider_executed = known.provider_executed or news.provider_executed
    raw_input = news.raw_input if news.raw_input is not None else known.raw_input
    approval = news.approval if news.approval is not None else known.approval
    provider_metadata = news.provider_metadata
    if known.provider_metadata is not provider_metadata:
        provider_metadata = merged_metadata(known.provider_metadata, provider_metadata)
    if (
        args is news.args
        and title is news.title
        and provider_executed is news.provider_executed
        and raw_input is news.raw_input
        and approval is news.approval
        and provider_metadata is news.provider_metadata
    ):
        return news
    return ToolCallPart(
        news.tool_call_id,
        news.tool_name,
        args,
        news.state,
        news.result,
        news.error_text,
        news.is_error,
        raw_input,
        approval,
        news.model_output,
        provider_executed,
        title,
        provider_metadata,
    )


def merged_metadata(old: Metadata, new: Metadata) -> Metadata:
    """
    Return both providers' notes: a provider's keys are merged one by one, *new* before *old*.
    """
    if not old or not new:
        return new or old
    merged = dict(old)
    for provider, notes in new.items():
        known = merged.get(provider)
        if is_form(known) and is_form(notes):
            merged[provider] = {**known, **notes}
        else:
            merged[provider] = notes
    return merged
