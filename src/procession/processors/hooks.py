"""
Hook: the nine places at which processors take part, in order of firing.
"""

from __future__ import annotations

from difflib import get_close_matches
from enum import StrEnum

__all__ = ["HOOK_NAMES", "INPUT_HOOKS", "OUTPUT_HOOKS", "Hook", "nearest_hook"]


class Hook(StrEnum):
    """
    A place at which processors take part.  The value is the name of the processor's method.
    """

    INPUT = "process_input"
    """Once, before the first step: the history and the new input."""
    INPUT_STEP = "process_input_step"
    """Before each model call: all messages and the step's settings."""
    LLM_REQUEST = "process_llm_request"
    """Before each model call: the converted prompt.  A response given here replaces the call."""
    OUTPUT_STREAM = "process_output_stream"
    """Each chunk of the answer."""
    API_ERROR = "process_api_error"
    """Each failed model call."""
    LLM_RESPONSE = "process_llm_response"
    """After each model call: the model's own chunks."""
    OUTPUT_STEP = "process_output_step"
    """After each model call, before its tools run."""
    TOOL_RESULT = "process_tool_result"
    """Each result of a tool, before anything is derived from it."""
    OUTPUT_RESULT = "process_output_result"
    """Once, after the last step: this turn's response."""


HOOK_NAMES: frozenset[str] = frozenset(hook.value for hook in Hook)

INPUT_HOOKS: frozenset[Hook] = frozenset(
    {Hook.INPUT, Hook.INPUT_STEP, Hook.LLM_REQUEST, Hook.LLM_RESPONSE, Hook.API_ERROR}
)
"""The hooks that a processor in ``input_processors`` takes part in."""

OUTPUT_HOOKS: frozenset[Hook] = frozenset(
    {Hook.OUTPUT_STREAM, Hook.OUTPUT_STEP, Hook.TOOL_RESULT, Hook.OUTPUT_RESULT, Hook.API_ERROR}
)
"""The hooks that a processor in ``output_processors`` takes part in."""


def nearest_hook(name: str) -> str | None:
    """
    Return the hook whose name is most like *name*, or ``None`` where none is.
    """
    close = get_close_matches(name, sorted(HOOK_NAMES), n=1, cutoff=0.6)
    return close[0] if close else None
