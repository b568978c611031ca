"""
RunSettings: what one call of an agent is made with, the agent's own settings and the call's merged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from procession.agents.callbacks import Callback, Condition
from procession.messages.chunks import Chunk
from procession.messages.value import Value
from procession.models.model import LanguageModel
from procession.models.structured_output import StructuredOutput
from procession.tools.tool import Approver, Tool

__all__ = ["DEFAULT_API_RETRIES", "DEFAULT_MAX_STEPS", "RunSettings", "merged"]

DEFAULT_MAX_STEPS = 5
"""Steps of a run where nothing else is said (the documents' default)."""

DEFAULT_API_RETRIES = 10
"""Failed model calls that may be tried again where a processor handles them (D14)."""


class RunSettings(Value, kw_only=True):
    """
    What one call of an agent is made with.
    """

    agent_id: str
    model: LanguageModel
    fallbacks: tuple[LanguageModel, ...] = ()
    """The models that are asked, one after the other, where the one before has failed."""
    tools: Mapping[str, Tool[Any]]
    tools_of_call: frozenset[str] = frozenset()
    """The names of those that the call itself brought."""
    tool_choice: Any = "auto"
    active_tools: Sequence[str] | None = None
    model_settings: Mapping[str, Any] | None = None
    provider_options: Mapping[str, Any] | None = None
    structured_output: StructuredOutput | None = None
    max_steps: int = DEFAULT_MAX_STEPS
    stop_when: Sequence[Condition] = ()
    """What else ends the run where a step would have another one follow."""
    max_retries: int | None = None
    """How often processors may send a step back; ``None`` for never (D14)."""
    max_api_retries: int = 0
    tool_concurrency: int = 10
    require_tool_approval: Approver = False
    """Whether a person must agree to tool calls whose tools do not ask for it themselves."""
    streaming: bool = False
    """Whether the caller reads the answer as it comes."""
    on_chunk: Callable[[Chunk], Any] | None = None
    on_step_finish: Callback | None = None
    on_finish: Callback | None = None
    on_error: Callback | None = None
    on_abort: Callback | None = None
    on_iteration_complete: Callback | None = None


def merged(*settings: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """
    Merge mappings key by key, later ones over earlier ones; ``None`` deletes a key (D7).
    """
    if not any(settings):
        return None
    together: dict[str, Any] = {}
    for each in settings:
        together.update(each or {})
    return {key: value for key, value in together.items() if value is not None} or None
