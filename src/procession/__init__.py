"""
Procession: agents whose processors are steps of a workflow.

Everything here is imported when it is first used, so that ``import procession`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from procession.agents.agent import Agent
    from procession.agents.output import AgentResult
    from procession.agents.stream import AgentStream
    from procession.errors import ProcessionError
    from procession.messages.chunks import Chunk
    from procession.messages.message import Message
    from procession.messages.message_list import MessageList
    from procession.models.model import LanguageModel
    from procession.models.structured_output import StructuredOutput
    from procession.processors.hooks import Hook
    from procession.processors.memory.memory import Memory
    from procession.processors.processor import Processor, processor
    from procession.runtime.run import Run, RunResult
    from procession.runtime.runtime import Runtime, run, run_sync
    from procession.server.app import App
    from procession.steps.budget import Budget
    from procession.steps.request_context import RequestContext
    from procession.steps.retry import RetryPolicy
    from procession.steps.signals import Tripwire
    from procession.steps.step import Step, StepContext, step
    from procession.tools.tool import Tool, tool
    from procession.workflows.nodes import arm, pick
    from procession.workflows.workflow import Workflow, create_workflow

__all__ = [
    "Agent",
    "AgentResult",
    "AgentStream",
    "App",
    "Budget",
    "Chunk",
    "Hook",
    "LanguageModel",
    "Memory",
    "Message",
    "MessageList",
    "ProcessionError",
    "Processor",
    "RequestContext",
    "RetryPolicy",
    "Run",
    "RunResult",
    "Runtime",
    "Step",
    "StepContext",
    "StructuredOutput",
    "Tool",
    "Tripwire",
    "Workflow",
    "arm",
    "create_workflow",
    "pick",
    "processor",
    "run",
    "run_sync",
    "step",
    "tool",
]

_HOMES = {
    "agents.agent": ("Agent",),
    "agents.output": ("AgentResult",),
    "agents.stream": ("AgentStream",),
    "models.structured_output": ("StructuredOutput",),
    "errors": ("ProcessionError",),
    "messages.chunks": ("Chunk",),
    "messages.message": ("Message",),
    "messages.message_list": ("MessageList",),
    "models.model": ("LanguageModel",),
    "processors.hooks": ("Hook",),
    "processors.memory.memory": ("Memory",),
    "processors.processor": ("Processor", "processor"),
    "runtime.run": ("Run", "RunResult"),
    "runtime.runtime": ("Runtime", "run", "run_sync"),
    "server.app": ("App",),
    "steps.budget": ("Budget",),
    "steps.request_context": ("RequestContext",),
    "steps.retry": ("RetryPolicy",),
    "steps.signals": ("Tripwire",),
    "steps.step": ("Step", "StepContext", "step"),
    "tools.tool": ("Tool", "tool"),
    "workflows.nodes": ("arm", "pick"),
    "workflows.workflow": ("Workflow", "create_workflow"),
}
_HOME = {name: f"procession.{module}" for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("procession")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'procession' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
