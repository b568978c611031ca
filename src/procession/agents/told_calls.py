"""
ToldCalls: the tool calls of one answer, as the model tells of them.

Each has an id of its own, and those whose tools the provider ran itself come with their results.  No processor has seen
such a result: it is kept back here until the step's results are taken, and goes on as any other one does (D20).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from procession.agents.tool_outcome import ToolOutcome
from procession.ids import new_id
from procession.messages.chunks import ToolCall, ToolError, ToolResult
from procession.messages.message_list import MessageList
from procession.messages.parts import ToolCallPart
from procession.tools.json_value import json_value
from procession.tools.tool import Tool

__all__ = ["ToldCalls"]


class ToldCalls:
    """
    The tool calls of one answer, and the results that came with them.
    """

    __slots__ = ("_by_told_id", "_ids", "late", "results")

    def __init__(self) -> None:
        self.results: dict[str, ToolResult | ToolError] = {}
        """By the id of the call, as processors and the reader know it."""
        self.late: list[tuple[ToolCall, ToolResult | ToolError]] = []
        """What answers calls of earlier steps, with those calls."""
        self._by_told_id: dict[str, list[ToolCall]] = {}
        self._ids: set[str] = set()

    def named(self, call: ToolCall) -> ToolCall:
        """
        Return *call* under an id that no other call of the answer has: a result finds its call by nothing else.

        What has an id already keeps it; one that comes again is numbered, ``c1-2``.
        """
        told = own = call.tool_call_id
        calls = self._by_told_id.setdefault(told, [])
        if not told:
            own = f"call-{new_id()}"
        elif told in self._ids:
            number = len(calls) + 1
            while (own := f"{told}-{number}") in self._ids:
                number += 1
        if own != told:
            call = call.replace(tool_call_id=own)
        self._ids.add(own)
        calls.append(call)
        return call

    def answered(self, result: ToolResult | ToolError, messages: MessageList) -> ToolCall | None:
        """
        Keep *result* for its call; return that call where the answer has told of none.

        The call is found by its id, in this answer or as an open one of an earlier step, or by the name of a tool of
        the provider that still owes its result.
        """
        call = self._call_of(result)
        if call is not None:
            self.results[call.tool_call_id] = result
            return None
        earlier = messages.tool_call(result.tool_call_id)
        if earlier is not None and _is_open(earlier):
            self.late.append((_call(earlier), result))
            return None
        call = self.named(ToolCall(result.tool_call_id, result.tool_name, result.args, True))
        self.results[call.tool_call_id] = result
        return call

    def _call_of(self, result: ToolResult | ToolError) -> ToolCall | None:
        calls = self._by_told_id.get(result.tool_call_id)
        if calls:
            return next((call for call in calls if call.tool_call_id not in self.results), calls[-1])
        for calls in self._by_told_id.values():
            for call in calls:
                owes = call.provider_executed and call.tool_call_id not in self.results
                if owes and call.tool_name == result.tool_name:
                    return call
        return None

    def outcomes(
        self, calls: Iterable[ToolCall], ran: Iterable[ToolOutcome], tools: Mapping[str, Tool[Any]]
    ) -> list[ToolOutcome]:
        """
        Return the results that came with the answer and what was *ran* here, in the order of *calls*.

        A result whose call a processor has dropped is none of them.
        """
        known = {outcome.call.tool_call_id: outcome for outcome in ran}
        made: list[ToolOutcome] = []
        for call in calls:
            result = self.results.get(call.tool_call_id)
            if result is not None:
                made.append(_outcome(call, result, tools))
            elif call.tool_call_id in known:
                made.append(known[call.tool_call_id])
        return made + [_outcome(call, result, tools) for call, result in self.late]


def _is_open(part: ToolCallPart) -> bool:
    return part.provider_executed and part.state == "call"


def _call(part: ToolCallPart) -> ToolCall:
    return ToolCall(part.tool_call_id, part.tool_name, part.args, True, part.provider_metadata)


def _outcome(call: ToolCall, result: ToolResult | ToolError, tools: Mapping[str, Tool[Any]]) -> ToolOutcome:
    tool = None if call.provider_executed else tools.get(call.tool_name)
    if isinstance(result, ToolError):
        return ToolOutcome(call, tool, error=result.error, told=result)
    try:
        return ToolOutcome(call, tool, json_value(result.result), is_error=result.is_error, told=result)
    except Exception as error:  # guards could not look into it
        return ToolOutcome(call, tool, error=str(error) or type(error).__name__, told=result)
