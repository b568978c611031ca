"""
ToolCallFilter: calls of earlier turns stay out of the prompt.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from procession.errors import ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import ReasoningPart, TextPart, ToolCallPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.messages.prompt_parts import ANSWERED, legal_name
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
        self._legal = None if self.exclude is None else frozenset(map(legal_name, self.exclude))
        """Those names as prompts have them."""
        self.filter_after_tool_steps = _count(filter_after_tool_steps)
        self.preserve_model_output = preserve_model_output

    def process_llm_request(self, ctx: LLMRequestContext) -> Mapping[str, Any] | None:
        """
        Send the prompt without those calls.
        """
        if self.exclude is not None and not self.exclude:
            return None
        prompt = ctx.prompt
        calls = _PromptCalls(prompt)
        if self.filter_after_tool_steps is None:
            gone = self._of_earlier_turns(calls, ctx.message_list)
        else:
            gone = self._before_last_steps(calls, self.filter_after_tool_steps)
        if not gone:
            return None
        told = _told(calls, gone, ctx.message_list) if self.preserve_model_output else {}
        left = [_without(entry, calls.parts[at], gone, told) for at, entry in enumerate(prompt)]
        return {"prompt": [entry for entry in left if entry is not None]}

    def _concerns(self, tool_name: str) -> bool:
        return self._legal is None or legal_name(tool_name) in self._legal

    def _of_earlier_turns(self, calls: _PromptCalls, messages: MessageList) -> set[int]:
        """
        Return the calls that stand before the newest thing that a user said.

        They are read from the messages and not remembered: so they are the same after a resume in another process, and a
        call that the client has just answered is part of this turn.  An id that this turn has as well, as with servers
        that begin anew with every answer, stands for its last calls in the prompt.
        """
        given = messages.view("context", "memory", "input")
        newest = next((at for at in range(len(given) - 1, -1, -1) if given[at].role == "user"), 0)
        earlier = {part.tool_call_id for part in _answered(given[:newest])}
        if not earlier:
            return set()
        later = Counter(part.tool_call_id for part in _answered((*given[newest:], *messages.view("response"))))
        gone: set[int] = set()
        for id, numbers in calls.by_id.items():
            if id in earlier:
                gone.update(numbers[: max(0, len(numbers) - later[id])])
        return {number for number in gone if self._concerns(calls.calls[number].tool_name)}

    def _before_last_steps(self, calls: _PromptCalls, kept: int) -> set[int]:
        steps = sorted(set(calls.steps))
        old = set(steps[: max(0, len(steps) - kept)])
        return {
            number
            for number, (call, step) in enumerate(zip(calls.calls, calls.steps, strict=True))
            if step in old and self._concerns(call.tool_name)
        }


class _PromptCalls:
    """
    The calls of a prompt, by number.  Ids may repeat, so a result belongs to the last call of its id before it; where one
    entry has several of an id, their results come in their order.
    """

    __slots__ = ("by_id", "calls", "parts", "steps")

    def __init__(self, prompt: Sequence[PromptMessage]) -> None:
        self.calls: list[PromptToolCall] = []
        self.steps: list[int] = []
        """The entry that each call stands in."""
        self.by_id: dict[str, list[int]] = {}
        self.parts: list[dict[int, int]] = []
        """For each entry the numbers of the calls that its parts are, or answer."""
        waiting: dict[str, list[int]] = {}
        for at, entry in enumerate(prompt):
            numbers: dict[int, int] = {}
            for place, part in enumerate(entry.content):
                if isinstance(part, PromptToolCall):
                    numbers[place] = number = len(self.calls)
                    self.by_id.setdefault(part.tool_call_id, []).append(number)
                    self.calls.append(part)
                    self.steps.append(at)
                    before = waiting.get(part.tool_call_id, ())
                    waiting[part.tool_call_id] = [*(one for one in before if self.steps[one] == at), number]
                elif isinstance(part, PromptToolResult) and part.tool_call_id in waiting:
                    asked = waiting[part.tool_call_id]
                    numbers[place] = asked.pop(0) if len(asked) > 1 else asked[0]
            self.parts.append(numbers)


def _without(
    entry: PromptMessage, numbers: Mapping[int, int], gone: AbstractSet[int], told: Mapping[int, str]
) -> PromptMessage | None:
    """
    Return *entry* without the calls, or ``None`` where nothing is left that a provider would take.
    """
    if gone.isdisjoint(numbers.values()):
        return entry
    content: list[PromptPart] = []
    for place, part in enumerate(entry.content):
        number = numbers.get(place, -1)
        if number not in gone:
            content.append(part)
        elif isinstance(part, PromptToolCall) and number in told:
            content.append(TextPart(told[number]))
    # What was thought before a call belongs to it: providers refuse a signed thought that nothing follows.
    if all(isinstance(part, ReasoningPart) for part in content):
        return None
    return entry.replace(content=tuple(content))


def _answered(messages: Iterable[Message]) -> list[ToolCallPart]:
    """
    Return the calls that a prompt has: those that were answered.
    """
    return [
        part
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCallPart) and part.state in ANSWERED
    ]


def _told(calls: _PromptCalls, gone: AbstractSet[int], messages: MessageList) -> dict[int, str]:
    """
    Return for each completed call whose tool said something for the model what is left in its place.
    """
    made: dict[str, list[ToolCallPart]] = {}
    for part in _answered(messages.view()):
        made.setdefault(part.tool_call_id, []).append(part)
    told: dict[int, str] = {}
    for id, numbers in calls.by_id.items():
        # The last ones of an id are the same here and there; the first may have been left out of the prompt before.
        for number, part in zip(reversed(numbers), reversed(made.get(id, ())), strict=False):
            if number in gone and part.state == "result" and part.model_output is not None:
                text = _text(part.model_output)
                if text:
                    told[number] = f"{part.tool_name} result:\n{text}"
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
