"""
What of a turn is not stored: calls of tools that serve the memory itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from procession.messages.message import Message
from procession.messages.parts import Part, ReasoningPart, StepStartPart, ToolCallPart

__all__ = ["without_calls"]


def without_calls(messages: Iterable[Message], tools: Collection[str]) -> list[Message]:
    """
    Return *messages* without the calls of *tools* and what they answered; a message that was nothing else is left out.

    Reasoning that led to nothing but such a call goes with it: some providers refuse it alone.

    >>> call = ToolCallPart("c1", "note", {}, "result", True)
    >>> without_calls([Message("assistant", (call,))], {"note"})
    []
    """
    kept: list[Message] = []
    for message in messages:
        if any(isinstance(part, ToolCallPart) and part.tool_name in tools for part in message.parts):
            parts = _parts_without(message.parts, tools)
            if all(isinstance(part, StepStartPart) for part in parts):
                continue
            message = message.with_parts(parts)
        kept.append(message)
    return kept


def _parts_without(parts: Iterable[Part], tools: Collection[str]) -> list[Part]:
    kept: list[Part] = []
    step: list[Part] = []
    called = False
    for part in parts:
        if isinstance(part, StepStartPart):
            kept += _said(step, called)
            step = [part]
            called = False
        elif isinstance(part, ToolCallPart) and part.tool_name in tools:
            called = True
        else:
            step.append(part)
    return [*kept, *_said(step, called)]


def _said(step: Sequence[Part], called: bool) -> Sequence[Part]:
    """
    Return what is left of one step, which has *called* a tool that is left out, or has not.
    """
    if called and all(isinstance(part, (ReasoningPart, StepStartPart)) for part in step):
        return [part for part in step if isinstance(part, StepStartPart)]
    return step
