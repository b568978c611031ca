"""
CallOptions: what a single call of an agent may say differently from the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from procession.agents.settings import Callback
from procession.messages.chunks import Chunk
from procession.models.model import LanguageModel
from procession.processors.chain import ProcessorList
from procession.steps.request_context import RequestContext

__all__ = ["CallOptions"]


class CallOptions(TypedDict, total=False):
    """
    What a single call may say differently.  Processor lists replace the agent's own; memory's stay around them.
    """

    request_context: RequestContext | Mapping[str, Any]
    """Values that steps, tools and hooks of this request may read."""
    thread: str
    """The conversation; with ``resource`` it makes the agent's memory take part."""
    resource: str
    """Whose conversation it is."""
    memory_options: Mapping[str, Any]
    model: LanguageModel | str
    instructions: str
    system: str | Sequence[str]
    """Further system messages for this call, tagged ``user-provided``."""
    context: Any
    """Messages that the model sees and that are neither input nor stored."""
    tools: Sequence[Any] | Mapping[str, Any]
    """Further tools; one with a name that the agent has takes its place."""
    tool_choice: Any
    active_tools: Sequence[str] | None
    model_settings: Mapping[str, Any]
    provider_options: Mapping[str, Any]
    max_steps: int
    max_processor_retries: int | None
    input_processors: ProcessorList
    output_processors: ProcessorList
    error_processors: ProcessorList
    prepare_step: Callable[[Any], Any]
    """Called like ``process_input_step``, after the processors."""
    raise_on_tripwire: bool
    run_id: str
    on_chunk: Callable[[Chunk], Any]
    on_step_finish: Callback
    on_finish: Callback
    on_error: Callback
