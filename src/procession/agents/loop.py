"""
The agent loop as a workflow: one node per hook, and a loop node for the steps (D3).

A node whose hook no processor takes part in is a placeholder: it is drawn, and costs nothing when the loop runs.
"""

from __future__ import annotations

from typing import Any

from procession.agents.guards_beside import ModelCallBeside, input_before_model
from procession.agents.hook_steps import api_error, input_step, llm_request, llm_response, output_step, process_input
from procession.agents.model_call import model_call
from procession.agents.pipelines import Pipelines
from procession.agents.state import LoopState
from procession.agents.step_finish import continues, finish_resumed, finish_run, finish_step, output_result
from procession.agents.tool_calls import run_and_take, run_answered, run_tools, take_results
from procession.processors.hooks import Hook
from procession.steps.step import Step, StepKind
from procession.workflows.workflow import Workflow, create_workflow

__all__ = ["build_loop", "build_tail"]


def build_loop(agent_id: str, pipelines: Pipelines) -> Workflow[LoopState, LoopState]:
    """
    Return the loop of an agent as a workflow over its state.
    """
    return (
        create_workflow(agent_id, description="The agent loop.")
        .then(_hook(Hook.INPUT, process_input, pipelines) if pipelines.beside is None else _input_before(pipelines))
        .do_while(_one_step(pipelines), continues)
        .then(_hook(Hook.OUTPUT_RESULT, output_result, pipelines))
        .then(_step("finish", finish_run))
        .commit()
    )


def build_tail(agent_id: str, pipelines: Pipelines) -> Workflow[LoopState, LoopState]:
    """
    Return what is left of the loop for a run that was suspended: the rest of its step, then the loop as ever.
    """
    rest: Workflow[Any, Any] = (
        create_workflow("resumed-step", description="The calls that were answered, and the end of their step.")
        .then(_step("tool-calls", run_answered, "tool"))
        .then(_step("step-finish", finish_resumed))
        .commit()
    )
    return (
        create_workflow(agent_id, description="The agent loop, from the suspended step on.")
        .then(rest)
        .do_while(_one_step(pipelines), continues)
        .then(_hook(Hook.OUTPUT_RESULT, output_result, pipelines))
        .then(_step("finish", finish_run))
        .commit()
    )


def _one_step(pipelines: Pipelines) -> Workflow[Any, Any]:
    def hook(which: Hook, inline: Any) -> Step[Any, Any]:
        return _hook(which, inline, pipelines)

    hooked = pipelines.takes_results
    return (
        create_workflow("step", description="One model call with its tools; sent back, it is made again.")
        .then(hook(Hook.INPUT_STEP, input_step))
        .then(hook(Hook.LLM_REQUEST, llm_request))
        .then(_model_call(pipelines))
        .then(_passes(Hook.OUTPUT_STREAM, pipelines))
        .then(hook(Hook.LLM_RESPONSE, llm_response))
        .then(hook(Hook.API_ERROR, None if pipelines.errors_at_call else api_error))
        .then(hook(Hook.OUTPUT_STEP, output_step))
        .then(_step("tool-calls", run_tools if hooked else run_and_take, "tool"))
        .then(hook(Hook.TOOL_RESULT, take_results))
        .then(_step("step-finish", finish_step))
        .commit()
    )


def _hook(which: Hook, inline: Any, pipelines: Pipelines) -> Step[Any, Any]:
    taking_part = pipelines.get(which)
    return Step(
        id=which.value,
        inline=inline if taking_part is not None else None,
        kind="hook",
        body=taking_part,
        hooks=frozenset(),
        description=(inline.__doc__ or "").strip() if inline is not None else "",
    )


def _step(id: str, inline: Any, kind: StepKind = "step") -> Step[Any, Any]:
    return Step(id=id, inline=inline, kind=kind, description=(inline.__doc__ or "").strip())


def _model_call(pipelines: Pipelines) -> Step[Any, Any]:
    call = _step("model-call", model_call, "model")
    if pipelines.beside is None:
        return call
    beside = ModelCallBeside(pipelines.beside, call)
    return call.replace(inline=beside.ask, body=beside.workflow)


def _input_before(pipelines: Pipelines) -> Step[Any, Any]:
    """
    The place of ``process_input`` where guards run beside the model call: those that do not are drawn here.
    """
    return Step(
        id=Hook.INPUT.value,
        inline=input_before_model,
        kind="hook",
        body=pipelines.get(Hook.INPUT),
        description=(input_before_model.__doc__ or "").strip(),
    )


def _passes(hook: Hook, pipelines: Pipelines) -> Step[Any, Any]:
    """
    The place at which chunks pass the stream's processors: the model call does it, chunk by chunk.
    """
    return Step(id=hook.value, kind="hook", body=pipelines.get(hook), description="Each chunk, as it comes.")
