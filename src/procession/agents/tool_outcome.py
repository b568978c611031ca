"""
ToolOutcome: what one tool call came to, before any processor saw it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from procession.agents.suspended_call import Declined, SuspendedCall
from procession.errors import TripwireError
from procession.messages.chunks import ToolCall, ToolError, ToolResult
from procession.processors.result_notes import ResultNotes
from procession.tools.json_value import json_value
from procession.tools.tool import Tool

__all__ = ["ToolOutcome", "pending", "told_of"]


def told_of(error: TripwireError) -> Any:
    """
    Return what is told of a tripwire inside of what a tool ran.
    """
    info: Any = error.tripwire
    return json_value(
        {"reason": info.reason, "retry": info.retry, "metadata": info.metadata, "processor_id": info.processor_id}
    )


class ToolOutcome:
    """
    What one tool call came to, before any processor saw it.
    """

    __slots__ = ("call", "denied", "error", "is_error", "pending", "result", "told", "tool", "waiting")

    def __init__(
        self,
        call: ToolCall,
        tool: Tool[Any] | None,
        result: Any = None,
        error: str | None = None,
        is_error: bool = False,
        pending: bool = False,
        waiting: SuspendedCall | None = None,
        told: ToolResult | ToolError | None = None,
    ) -> None:
        self.call = call
        self.tool = tool
        self.result = result
        self.error = error
        self.is_error = is_error
        self.pending = pending
        """Whether there is no result yet: the caller runs the tool, or somebody is waited for."""
        self.waiting = waiting
        """What the run is to be suspended for."""
        self.told = told
        """The chunk with which the model's answer brought the result, where no tool was run for it."""
        self.denied: Declined | None = None
        """Why the tool was not run, where somebody said so."""

    def notes(self) -> ResultNotes | None:
        """
        Return what the provider said beside the result, where it said something.
        """
        told = self.told
        return ResultNotes(told.provider_metadata) if isinstance(told, ToolResult) and told.provider_metadata else None


def pending(outcomes: Sequence[ToolOutcome]) -> bool:
    """
    Whether a call waits for the caller to run its tool.
    """
    for outcome in outcomes:  # no generator: this is asked at every step
        if outcome.pending:
            return True
    return False
