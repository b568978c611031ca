"""
Caller: what a call needs of the agent that is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from procession.agents.callbacks import Condition
from procession.agents.pipelines import GuardMode, Pipelines
from procession.agents.state import LoopState
from procession.agents.turns import ThreadPolicy
from procession.models.model import LanguageModel
from procession.models.structured_output import StructuredOutput
from procession.processors.chain import ProcessorList
from procession.runtime.runtime import Runtime
from procession.steps.request_context import RequestContext
from procession.tools.tool import Approver, Tool
from procession.workflows.workflow import Workflow

if TYPE_CHECKING:
    from procession.processors.memory.memory import Memory

__all__ = ["Caller"]


class Caller(Protocol):
    """
    What a call needs of the agent that is called.
    """

    id: str
    instructions: Any
    input_processors: ProcessorList
    output_processors: ProcessorList
    error_processors: ProcessorList
    guard_mode: GuardMode
    models: tuple[LanguageModel, ...] | Callable[[RequestContext], Any]
    tools: Mapping[str, Tool[Any]] | Callable[[RequestContext], Any]
    memory: Memory | None
    max_processor_retries: int | None
    max_steps: int
    model_settings: Mapping[str, Any] | None
    provider_options: Mapping[str, Any] | None
    tool_concurrency: int
    require_tool_approval: Approver
    raise_on_tripwire: bool
    stop_when: Condition | Sequence[Condition] | None
    callbacks: dict[str, Any]
    thread_policy: ThreadPolicy
    structured_output: StructuredOutput | None
    runtime: Runtime

    @property
    def is_static(self) -> bool:
        """Whether the processor lists are the same for every request."""
        ...

    def pipelines_of(
        self,
        *,
        input: Sequence[Any] | None = None,
        output: Sequence[Any] | None = None,
        error: Sequence[Any] | None = None,
        prepare_step: Any = None,
        guard_mode: GuardMode | None = None,
    ) -> Pipelines:
        """The pipelines of one set of lists, the agent's own where none is given."""
        ...

    def loop_of(self, pipelines: Pipelines) -> Workflow[LoopState, LoopState]:
        """The loop round these pipelines."""
        ...
