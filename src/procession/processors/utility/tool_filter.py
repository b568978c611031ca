"""
ToolCallFilter: calls of earlier turns stay out of the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from procession.errors import ProcessorDefinitionError
from procession.messages.message_list import MessageList
from procession.messages.parts import ReasoningPart, TextPart, ToolCallPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.messages.shapes import is_form, is_sequence
from procession.processors.contexts import LLMRequestContext
from procession.processors.processor import Processor

__all__ = ["ToolCallFilter"]


class ToolCallFilter(Processor):
    """
    Leaves tool calls, each with its result, out of what the model is sent; what is kept and stored stays as it is.

    By default all calls of earlier turns go, for the whole run, and those that this turn makes stay.  *exclude* names the
    tools it is about (``None`` for all, an empty list for none).  With *filter_after_tool_steps* the last so many steps
    of the prompt that called tools stay, whatever turn they are of (0 for none), and all earlier ones go.  With
    *preserve_model_output* a call whose tool has ``to_model_output`` leaves the text of that behind.

    Raises ``ProcessorDefinitionError`` for a count that is none.

    >>> ToolCallFilter(exclude=["search"]).exclude
    frozenset({'search'})
    """

    id = "tool-call-filter"
    description = "Leaves earlier tool calls out of the prompt."
    mutates = True

    def __init__(
        self,
        *,
        exclude: Sequence[str] | None = None,
        filter_after_tool_steps: int | None = None,
        preserve_model_output: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.exclude = _names(exclude)
        """The tools whose calls are left out, or ``None`` for all."""
        self.filter_after_tool_steps = _count(filter_after_tool_steps)
        self.preserve_model_output = preserve_model_output

    def process_llm_request(self, ctx: LLMRequestContext) -> Mapping[str, Any] | None:
        """
        Send the prompt without those calls.
        """
        if self.exclude is not None and not self.exclude:
            return None
        prompt = ctx.prompt
        if self.filter_after_tool_steps is None:
            called = self._of_earlier_turns(ctx.message_list)
        else:
            called = self._before_last_steps(prompt, self.filter_after_tool_steps)
        if not called:
            return None
        told = _told(ctx.message_list, called) if self.preserve_model_output else {}
        return {"prompt": [left for entry in prompt if (left := _without(entry, called, told)) is not None]}

    def _concerns(self, tool_name: str) -> bool:
        return self.exclude is None or tool_name in self.exclude

    def _of_earlier_turns(self, messages: MessageList) -> set[str]:
        """
        Return the ids of the calls that stand before the newest thing that a user said.

        They are read from the messages and not remembered: so they are the same after a resume in another process, and a
        call that the client has just answered is part of this turn.
        """
        given = messages.view("context", "memory", "input")
        newest = next((at for at in range(len(given) - 1, -1, -1) if given[at].role == "user"), 0)
        return {
            part.tool_call_id
            for message in given[:newest]
            for part in message.parts
            if isinstance(part, ToolCallPart) and self._concerns(part.tool_name)
        }

    def _before_last_steps(self, prompt: Sequence[PromptMessage], kept: int) -> set[str]:
        steps = [
            calls for entry in prompt if (calls := [part for part in entry.content if isinstance(part, PromptToolCall)])
        ]
        return {
            call.tool_call_id
            for calls in steps[: max(0, len(steps) - kept)]
            for call in calls
            if self._concerns(call.tool_name)
        }


def _without(entry: PromptMessage, called: Collection[str], told: Mapping[str, str]) -> PromptMessage | None:
    """
    Return *entry* without the calls, or ``None`` where nothing is left that a provider would take.
    """
    content: list[PromptPart] = []
    changed = False
    for part in entry.content:
        if not isinstance(part, (PromptToolCall, PromptToolResult)) or part.tool_call_id not in called:
            content.append(part)
            continue
        changed = True
        if isinstance(part, PromptToolCall) and part.tool_call_id in told:
            content.append(TextPart(told[part.tool_call_id]))
    if not changed:
        return entry
    # What was thought before a call belongs to it: providers refuse a signed thought that nothing follows.
    if all(isinstance(part, ReasoningPart) for part in content):
        return None
    return entry.replace(content=tuple(content))


def _told(messages: MessageList, called: Collection[str]) -> dict[str, str]:
    """
    Return for each completed call whose tool said something for the model what is left in its place.
    """
    told: dict[str, str] = {}
    for message in messages.view():
        for part in message.parts:
            if isinstance(part, ToolCallPart) and part.tool_call_id in called and part.state == "result":
                text = _text(part.model_output) if part.model_output is not None else ""
                if text:
                    told[part.tool_call_id] = f"{part.tool_name} result:\n{text}"
    return told


def _text(output: Any) -> str:
    value = output
    if is_form(output) and "value" in output:
        value = output["value"]
        if output.get("type") == "content" and is_sequence(value):
            return "\n".join(str(item.get("text")) for item in value if is_form(item) and item.get("type") == "text")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _names(exclude: Sequence[str] | None) -> frozenset[str] | None:
    if exclude is None:
        return None
    return frozenset([exclude] if isinstance(exclude, str) else exclude)


def _count(steps: Any) -> int | None:
    if steps is None or (isinstance(steps, int) and steps is not True and steps is not False and steps >= 0):
        return steps
    raise ProcessorDefinitionError(
        f"ToolCallFilter has filter_after_tool_steps={steps!r}",
        hint="give how many steps stay, 0 for none, or None to leave out the calls of earlier turns",
    )
