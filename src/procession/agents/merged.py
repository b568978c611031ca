"""
What the agent's settings and the call's come to together: the messages of a call, and what it is made with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from procession.agents.callbacks import CALLBACKS, Condition
from procession.agents.caller import Caller
from procession.agents.options import CallOptions
from procession.agents.settings import DEFAULT_API_RETRIES, RunSettings, merged
from procession.agents.toolset import tools_by_name
from procession.errors import (
    InputError,
)
from procession.messages.message_list import MessageList
from procession.messages.value import Value
from procession.models.model import LanguageModel
from procession.models.structured_output import structured_output
from procession.processors.log import log_once
from procession.processors.memory.use import ON_TITLE, MemoryUse, thread_given
from procession.processors.tenant import SERVED
from procession.steps.owner import THREAD
from procession.steps.scope import RequestScope
from procession.tools.tool import Tool

__all__ = ["message_list_of", "settings_of", "use_memory"]

USER_TAG = "user-provided"
_NONE: frozenset[str] = frozenset()


def use_memory(agent: Caller, options: CallOptions, scope: RequestScope) -> tuple[str | None, str | None]:
    """
    Note which thread the request belongs to; returns the thread and the resource that own its messages, if any do.
    """
    given, resource = options.get("thread"), options.get("resource")
    named = thread_given(given) if given is not None else None
    thread = named.id if named is not None else None
    if thread is not None:
        options["thread"] = thread  # from here on it is its id
    said = options.get("memory_options")
    if said:  # as a suspended run can write it down
        if agent.memory is not None:  # also where the call names no thread, and nothing would come of it
            from procession.processors.memory.call_options import checked_options  # with the first that says something

            checked_options(said)
        options["memory_options"] = {name: _plain(value) for name, value in said.items()}
    in_use = agent.memory is not None and thread is not None
    if agent.memory is not None and (thread is None) != (resource is None):
        raise InputError(
            f"agent {agent.id!r} has a memory, and the call names only a {'thread' if thread else 'resource'}",
            hint="give both thread= and resource=, or neither",
        )
    if resource is not None:
        scope.resources["resource"] = resource
    if thread is not None:
        scope.resources[THREAD] = thread
    if named is not None and resource is not None:  # without a memory a history may still be listed by hand
        scope.resources["memory"] = (
            agent.memory.use(named, resource, options.get("memory_options"))
            if agent.memory is not None
            else MemoryUse(thread_id=named.id, resource_id=resource, title=named.title, metadata=named.metadata)
        )
        if (told := options.get(ON_TITLE)) is not None:
            scope.resources[ON_TITLE] = told
    return (thread, resource) if in_use else (None, None)


def _plain(value: Any) -> Any:
    """
    Return settings as a mapping of those that are not as they are by default; anything else as it is.
    """
    if not isinstance(value, Value):
        return value
    kind = type(value)
    found = {name: getattr(value, name) for name in kind.__fields__}
    return {name: one for name, one in found.items() if one != kind.__field_defaults__.get(name)}


def message_list_of(
    messages: Any, options: CallOptions, owner: tuple[str | None, str | None], instructions: Any
) -> MessageList:
    """
    Return the messages that a call begins with: instructions, context, further system messages, and the input.
    """
    made = MessageList(thread_id=owner[0], resource_id=owner[1])
    if instructions:
        made.add_system(instructions)
    context, system = options.get("context"), options.get("system")
    if context:
        made.add(context, "context")
    if system:
        made.add_system(system, USER_TAG)
    made.add(messages, "input")
    return made


def settings_of(
    agent: Caller,
    options: CallOptions,
    user_handles_errors: bool,
    streaming: bool,
    models: tuple[LanguageModel, ...],
    tools: Mapping[str, Tool[Any]],
) -> RunSettings:
    """
    Return what a call is made with: what it says itself, and else what the agent says.
    """
    given = options.get("tools")
    brought: Mapping[str, Tool[Any]] = tools_by_name(given) if given else {}
    if brought:
        tools = {**tools, **brought}
    unknown = set(options.get("active_tools") or ()).difference(tools)
    if unknown:  # no error: a processor may bring the tool, and nothing more is let in
        names, there = ", ".join(sorted(unknown)), ", ".join(tools) or "none"
        if SERVED.get():  # what a caller from outside writes gets into no log
            names = "one that a client sent"
        what = f"active_tools of a call of agent {agent.id!r} names no tool of it: {names}; there are {there}"
        log_once(agent.id, what)
    limit = options.get("max_processor_retries", agent.max_processor_retries)
    wanted, approval = options.get("structured_output"), options.get("require_tool_approval")
    return RunSettings(
        agent_id=agent.id,
        model=models[0],
        fallbacks=models[1:],
        tools=tools,
        tools_of_call=frozenset(brought) if brought else _NONE,
        tool_choice=options.get("tool_choice", "auto"),
        active_tools=options.get("active_tools"),
        model_settings=merged(agent.model_settings, options.get("model_settings")),
        provider_options=merged(agent.provider_options, options.get("provider_options")),
        structured_output=structured_output(wanted) if wanted is not None else agent.structured_output,
        max_steps=options.get("max_steps") or agent.max_steps,
        max_retries=limit,
        max_api_retries=(limit if limit is not None else DEFAULT_API_RETRIES) if user_handles_errors else 0,
        tool_concurrency=agent.tool_concurrency,
        require_tool_approval=approval if approval is not None else agent.require_tool_approval,
        streaming=streaming,
        stop_when=_conditions(options.get("stop_when", agent.stop_when)),
        **(agent.callbacks if CALLBACKS.isdisjoint(options) else {**agent.callbacks, **_callbacks(options)}),
    )


def _callbacks(options: CallOptions) -> dict[str, Any]:
    return {name: options.get(name) for name in CALLBACKS if name in options}


def _conditions(given: Condition | Sequence[Condition] | None) -> Sequence[Condition]:
    if given is None:
        return ()
    return (given,) if callable(given) else given
